//! git as it is run here: no hooks, no helpers of a URL's choice, no prompts, no settings of a repository that an agent has
//! touched. It never looks at a directory that an agent works in.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use uwf_engine::Env;

use crate::workspace::WorkspaceError;

/// How long one command may take.
const LONGEST: Duration = Duration::from_secs(600);

/// How often it is looked whether it has ended.
const TICK: Duration = Duration::from_millis(5);

/// What git is told of the environment: where programs and credentials are, and the network.
const TOLD: [&str; 22] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_SSL_CAINFO",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "GNUPGHOME",
];

/// Whatever the settings of a person are.
const SETTINGS: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "gc.auto=0",
    "maintenance.auto=false",
    "http.lowSpeedLimit=100",
    "http.lowSpeedTime=60",
    "push.gpgSign=false",
];

/// What a command has said.
pub(super) struct Said {
    pub(super) is_success: bool,
    pub(super) out: Vec<u8>,
    /// For people, with nothing secret in it.
    pub(super) why: String,
}

impl Said {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).trim().to_owned()
    }
}

/// A command of git on a repository of ours.
pub(super) fn command(env: &Env, repository: &Path) -> Command {
    let mut git = Command::new("git");
    git.env_clear();
    git.envs(TOLD.iter().filter_map(|name| Some((name, env.get(name)?))));
    let ssh =
        env.text("GIT_SSH_COMMAND").unwrap_or("ssh").to_owned() + " -oBatchMode=yes -oConnectTimeout=20";
    git.env("GIT_SSH_COMMAND", ssh).env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "");
    git.env("GIT_ALLOW_PROTOCOL", "file:http:https:ssh").env("LC_ALL", "C");
    git.arg("--git-dir").arg(repository);
    SETTINGS.iter().for_each(|setting| {
        git.args(["-c", setting]);
    });
    git
}

/// What writes that which a command reads.
pub(super) type Input<'a> = dyn FnMut(&mut dyn Write) -> Result<(), WorkspaceError> + Send + 'a;

/// Runs a command to its end; `input` writes what it reads.
pub(super) fn run(mut command: Command, input: Option<&mut Input<'_>>) -> Result<Said, WorkspaceError> {
    let mut child = started(&mut command, input.is_some())?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut stdin, mut stdout, mut stderr) = pipes;
    let (written, status, out, err) = thread::scope(|scope| {
        let writer = scope.spawn(move || match (input, stdin.take()) {
            (Some(input), Some(mut pipe)) => input(&mut pipe),
            _ => Ok(()),
        });
        let out = scope.spawn(move || all_of(stdout.as_mut()));
        let err = scope.spawn(move || all_of(stderr.as_mut()));
        let status = ended(&mut child);
        let written = writer.join().unwrap_or(Ok(()));
        (written, status, out.join().unwrap_or_default(), err.join().unwrap_or_default())
    });
    let is_success = status.is_some_and(|status| status.success());
    if is_success {
        written?;
    }
    let why = match status {
        None => format!("it took more than {} minutes", LONGEST.as_secs() / 60),
        Some(_) => masked(&String::from_utf8_lossy(&err)),
    };
    Ok(Said { is_success, out, why })
}

pub(super) fn started(command: &mut Command, is_told: bool) -> Result<Child, WorkspaceError> {
    command.stdin(if is_told { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| WorkspaceError::NotHere {
        what: format!("git cannot be run on this machine: {error}"),
        hint: "install git, or leave the thread to a worker that has it".to_owned(),
    })
}

/// Waits for the end of a command; none where that took too long.
fn ended(child: &mut Child) -> Option<std::process::ExitStatus> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if begun.elapsed() < LONGEST => thread::sleep(TICK),
            _ => {
                child.kill().ok();
                child.wait().ok();
                return None;
            }
        }
    }
}

fn all_of(pipe: Option<&mut impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.read_to_end(&mut bytes).ok();
    }
    bytes
}

/// The last lines of what git says, with no login in a URL.
fn masked(text: &str) -> String {
    let mut words = Vec::new();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    for word in lines[lines.len().saturating_sub(6)..].iter().flat_map(|line| line.split_whitespace()) {
        let word: String = word.chars().filter(|c| !c.is_control()).collect();
        words.push(match word.split_once("://") {
            Some((scheme, rest)) => match rest.split_once('/').unwrap_or((rest, "")) {
                (authority, path) if authority.contains('@') => {
                    let host = authority.rsplit('@').next().unwrap_or_default();
                    format!("{scheme}://{host}/{path}")
                }
                _ => word,
            },
            None => word,
        });
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_told_without_logins() {
        let said = "Cloning…\nfatal: unable to access 'https://anna:s3cret@example.org/a.git/': \x1b[1mno\nhint: a\n";
        assert_eq!(
            masked(said),
            "Cloning… fatal: unable to access 'https://example.org/a.git/': [1mno hint: a"
        );
    }
}
