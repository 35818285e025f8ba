//! What to say when a command failed and the sandbox is the likely cause: which rule, and what can be done instead.
//!
//! Pure. It judges by the words that programs print; a path that commands may write is never blamed on the sandbox.

use std::path::Path;

use super::reach::Reach;
use super::report::{Enforced, Network};

/// What programs print when there is no network.
const OFFLINE: &[&str] = &[
    "Network is unreachable",
    "Could not resolve host",
    "could not resolve host",
    "Couldn't resolve host",
    "Temporary failure in name resolution",
    "Temporary failure resolving",
    "Name or service not known",
    "failed to lookup address",
    "getaddrinfo ENOTFOUND",
    "EAI_AGAIN",
    "ENETUNREACH",
    "network is unreachable",
    "no such host",
];

/// What programs print when they may not.
const REFUSED: &[&str] = &[
    "Permission denied",
    "permission denied",
    "Operation not permitted",
    "operation not permitted",
    "EACCES",
    "EPERM",
    "Read-only file system",
    "read-only file system",
    "EROFS",
    // A hard link from where nothing may be moved.
    "Invalid cross-device link",
];

/// What programs print when there is no such file, which may be one that commands do not see.
const ABSENT: &[&str] = &["No such file or directory", "no such file or directory", "ENOENT", "cannot find"];

/// What programs print when nobody listens, which on the loopback of commands may be the sandbox's doing.
const UNANSWERED: &[&str] =
    &["Connection refused", "connection refused", "ECONNREFUSED", "Couldn't connect to server"];

/// Said of connections that nobody answers.
const ALONE: &str = "\n(sandbox: commands have a loopback of their own: only what a command of this run started listens there. Start the \
                     server, or say that one of the machine is needed: people allow it by --allow-network)";

/// A note of one or two sentences, with a line end before it; empty when nothing points to the sandbox.
pub(crate) fn of(output: &str, reach: &Reach, enforced: &Enforced) -> String {
    let off = matches!(enforced.network, Network::Namespace | Network::Seccomp);
    if off && contains(output, OFFLINE) {
        return "\n(sandbox: commands have no network beyond their own loopback; trying again or otherwise changes \
                nothing. Work with what is here, or say that it is needed: people allow it by --allow-network)"
            .to_owned();
    }
    let line = output.lines().rev().find(|line| contains(line, REFUSED) && !blames_the_file(line, reach));
    let Some(line) = line else {
        let absent = output.lines().rev().filter(|line| contains(line, ABSENT));
        if let Some(path) = absent.flat_map(paths).find(|path| reach.is_hidden(path)) {
            return closed(path, reach);
        }
        let unanswered = enforced.network == Network::Namespace && contains(output, UNANSWERED);
        return if unanswered { ALONE.to_owned() } else { String::new() };
    };
    let path = paths(line).find(|path| !reach.may_write(path));
    match path {
        Some(path) if reach.is_hidden(path) => closed(path, reach),
        Some(path) => format!(
            "\n(sandbox: likely refused, since commands write only {}. Use those instead of {}, or \
             say that it is needed: people allow it by `sandbox: {{ writable: [{}] }}` in agents/builtin.yaml)",
            open_trees(reach),
            path.display(),
            allowable(path)
        ),
        None => format!(
            "\n(sandbox: perhaps refused by it. Commands write only {}, read no secrets, reach no sockets of the machine (ssh-agent, \
             docker, D-Bus), have no ptrace or io_uring, and no more rights as root than over files)",
            open_trees(reach)
        ),
    }
}

/// What is said of a place that commands do not see.
fn closed(path: &Path, reach: &Reach) -> String {
    let path_shown = path.display();
    if reach.is_secret(path) {
        return format!(
            "\n(sandbox: {path_shown} may hold secrets and is closed to commands; work without it)"
        );
    }
    format!(
        "\n(sandbox: {path_shown} is not shown to commands, which have a home, a /tmp and a /run of their own. Work without \
         it, or say that it is needed: people show it by `sandbox: {{ readable: [{}] }}` in agents/builtin.yaml)",
        allowable(path)
    )
}

/// What commands write, in words.
fn open_trees(reach: &Reach) -> String {
    if !reach.narrowed {
        return "the workspace and $TMPDIR".to_owned();
    }
    let trees: Vec<String> = reach.writable.iter().map(|path| path.display().to_string()).collect();
    format!("{} (this role is narrowed)", trees.join(", "))
}

fn contains(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// The line names paths, and all of them are open to commands: the file's own mode is the cause.
fn blames_the_file(line: &str, reach: &Reach) -> bool {
    let mut named = paths(line).peekable();
    let is_relative_script = line.contains(": ./");
    is_relative_script || (named.peek().is_some() && named.all(|path| reach.may_write(path)))
}

/// The absolute paths of two parts or more in a line, freed of quotes and punctuation.
fn paths(line: &str) -> impl Iterator<Item = &Path> {
    let words = line.split(|c: char| c.is_whitespace() || "'\"`‘’“”()[],;".contains(c));
    let paths = words.map(|word| word.trim_end_matches([':', '.'])).filter(|word| word.starts_with('/'));
    // `/bin/sh: 1: cannot create …` names the program, and it is no obstacle.
    paths.map(Path::new).filter(|path| !is_program(path))
}

fn is_program(path: &Path) -> bool {
    ["/bin", "/usr/bin", "/usr/sbin", "/sbin", "/usr/local/bin"].iter().any(|dir| path.starts_with(dir))
}

/// What people would allow: the tool's directory in a home, else the directory the file is in.
fn allowable(path: &Path) -> String {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    match parts.iter().position(|part| part.len() > 1 && part.starts_with('.')) {
        Some(at) => parts[..=at].join("/").replacen("//", "/", 1),
        None => path.parent().unwrap_or(path).display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::sandbox::Level;

    fn advice(output: &str) -> String {
        let reach = Reach {
            writable: vec![PathBuf::from("/w")],
            hidden: vec![PathBuf::from("/home/u/.ssh")],
            ..Reach::default()
        };
        let enforced = Enforced { network: Network::Namespace, ..Enforced::nothing(Level::Strict) };
        of(output, &reach, &enforced)
    }

    #[test]
    fn no_network_names_the_option() {
        assert!(advice("curl: (6) Could not resolve host: example.com").contains("--allow-network"));
        assert!(
            advice("dial tcp 127.0.0.1:5432: connect: connection refused")
                .contains("a loopback of their own")
        );
        let reach = Reach::default();
        let open = Enforced::nothing(Level::Strict);
        assert_eq!(of("Network is unreachable", &reach, &open), "");
        assert_eq!(of("Connection refused", &reach, &open), "");
    }

    #[test]
    fn a_refused_write_names_the_path_and_the_setting() {
        let text =
            advice("error: failed to create `/home/u/.cargo/registry/x`: Permission denied (os error 13)");
        assert!(text.contains("writable: [/home/u/.cargo]"), "{text}");
        let text = advice("bash: line 1: /etc/x: Permission denied");
        assert!(text.contains("instead of /etc/x,") && text.contains("writable: [/etc]"), "{text}");
        assert!(advice("cat: /home/u/.ssh/id: Permission denied").contains("may hold secrets"));
        assert!(advice("strace: PTRACE_TRACEME: Operation not permitted").contains("ptrace"));
    }

    #[test]
    fn what_is_not_the_sandbox_is_not_blamed_on_it() {
        assert_eq!(advice("bash: ./run.sh: Permission denied"), "");
        assert_eq!(advice("bash: line 1: ./run.sh: Permission denied"), "");
        assert_eq!(advice("cat: /w/closed: Permission denied"), "");
        assert_eq!(advice("error[E0308]: mismatched types"), "");
    }
}
