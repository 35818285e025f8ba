//! git as it is run here: no hooks, no helpers of a URL's choice, no prompts, no settings of a repository that an agent has
//! touched. It never looks at a directory that an agent works in.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use uwf_engine::Env;

use super::group::{self, Ended};
use crate::workspace::WorkspaceError;
use crate::workspace::halt::Halting;

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

/// What git starts for a repository that is a path. It does not pass our settings on to that, and the repository's own, and its
/// hooks, are of whoever can write there.
macro_rules! served {
    ($service:literal) => {
        concat!(
            "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true \
             -c receive.denyCurrentBranch=refuse -c receive.autogc=false -c gc.auto=0 -c maintenance.auto=false ",
            $service
        )
    };
}

/// For `fetch` and `ls-remote` from a path.
pub(super) const UPLOAD_PACK: &str = concat!("--upload-pack=", served!("upload-pack"));

/// For `push` to a path.
pub(super) const RECEIVE_PACK: &str = concat!("--receive-pack=", served!("receive-pack"));

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
    git.env("GIT_NO_LAZY_FETCH", "1");
    git.arg("--git-dir").arg(repository);
    SETTINGS.iter().for_each(|setting| {
        git.args(["-c", setting]);
    });
    git
}

/// What writes that which a command reads.
pub(super) type Input<'a> = dyn FnMut(&mut dyn Write) -> Result<(), WorkspaceError> + Send + 'a;

/// Runs a command to its end, or to that of `halting`; `input` writes what it reads.
pub(super) fn run(
    halting: &Halting,
    mut command: Command,
    input: Option<&mut Input<'_>>,
) -> Result<Said, WorkspaceError> {
    halting.check()?;
    let mut child = started(&mut command, input.is_some())?;
    let stdin = child.stdin.take();
    let (written, ended) = thread::scope(|scope| {
        let writer = scope.spawn(move || match (input, stdin) {
            (Some(input), Some(mut pipe)) => input(&mut pipe),
            _ => Ok(()),
        });
        let ended = group::end_of(&mut child, halting);
        (writer.join().unwrap_or(Ok(())), ended)
    });
    let Ended { is_success, out, err } = match ended? {
        Some(ended) => ended,
        None => {
            let why = format!("it took more than {} seconds", halting.limit.as_secs());
            return Ok(Said { is_success: false, out: Vec::new(), why });
        }
    };
    if is_success {
        written?;
    }
    Ok(Said { is_success, out, why: masked(&String::from_utf8_lossy(&err)) })
}

/// Starts a command in a process group of its own.
pub(super) fn started(command: &mut Command, is_told: bool) -> Result<Child, WorkspaceError> {
    command.stdin(if is_told { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command.spawn().map_err(|error| WorkspaceError::NotHere {
        what: format!("git cannot be run on this machine: {error}"),
        hint: "install git, or leave the thread to a worker that has it".to_owned(),
    })
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
