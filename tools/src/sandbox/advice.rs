//! What to say when a command failed and the sandbox is the likely cause: which rule, and what can be done instead.
//!
//! Pure. It judges by the words that programs print; a path that commands may write is never blamed on the sandbox. What
//! it proposes to open is as narrow as the path tells: never a home, nor what is around one.

use std::path::{Path, PathBuf};

use super::access_paths::AccessPaths;
use super::promises::Promise;
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

/// What programs print that look for a server of the machine, which commands do not reach: who it is, and what to do.
const SERVERS: &[(&str, &[&str], &str)] = &[
    (
        "ssh-agent and the user's keys",
        &[
            "Could not open a connection to your authentication agent",
            "Error connecting to agent",
            "Permission denied (publickey",
        ],
        "fetching and pushing by ssh is for people to do",
    ),
    (
        "the Docker daemon",
        &[
            "Cannot connect to the Docker daemon",
            "to connect to the Docker daemon socket",
            "to connect to the docker API",
            "Cannot connect to Podman",
            "unable to connect to Podman",
        ],
        "do without containers, or say that people must do this step",
    ),
    (
        "D-Bus",
        &[
            "Failed to connect to bus",
            "Failed to get D-Bus connection",
            "Cannot autolaunch D-Bus",
            "org.freedesktop.DBus.Error",
        ],
        "services, keyrings and desktops are out of reach: do without, or start `dbus-run-session`",
    ),
    (
        "gpg-agent and the user's keys",
        &["can't connect to the agent", "can't connect to the gpg-agent", "gpg failed to sign the data"],
        "do not sign, or say that people must",
    ),
];

/// Directories of the kernel and of devices, which commands have of their own: nothing in them can be opened.
const SYSTEM: &[&str] = &["/dev", "/proc", "/sys"];

/// Directories of a home in which each program has one of its own.
const GROUPS: &[&str] = &[".config", ".cache", ".local/share", ".local/state", ".local/lib", ".local"];

/// What programs print when they would change git's hooks, or put another file in the place of its configuration.
const OF_GIT: &[&str] =
    &["Read-only file system", "read-only file system", "EROFS", "Device or resource busy", "EBUSY"];

/// Said of that.
const GIT_KEPT: &str = "\n(sandbox: commands do not change which programs git runs: hooks are read-only, and `git config` alone changes the \
                        configuration. Say in your answer what a person should set, or that it is needed: people allow it by \
                        `sandbox: { gitPrograms: true }` in agents/builtin.yaml)";

/// Said of connections that nobody answers.
const ALONE: &str = "\n(sandbox: commands have a loopback of their own: only what a command of this run started listens there. Start the \
                     server, or say that one of the machine is needed: people allow it by --allow-network)";

/// A note of one or two sentences, with a line end before it; empty when nothing points to the sandbox.
pub(crate) fn of(output: &str, access: &AccessPaths, enforced: &Enforced) -> String {
    let off = matches!(enforced.network, Network::Namespace | Network::Seccomp);
    if off && contains(output, OFFLINE) {
        return "\n(sandbox: commands have no network beyond their own loopback; trying again or otherwise changes \
                nothing. Work with what is here, or say that it is needed: people allow it by --allow-network)"
            .to_owned();
    }
    let has_no_servers = enforced.promises().iter().any(|kept| kept.promise == Promise::Sockets && kept.held);
    let server = SERVERS.iter().find(|(_, words, _)| has_no_servers && contains(output, words));
    if let Some((name, _, instead)) = server {
        return format!(
            "\n(sandbox: commands reach no servers of the machine, such as {name}; trying again changes nothing: {instead})"
        );
    }
    if let Some(path) = socket(output, access).filter(|_| has_no_servers) {
        return format!(
            "\n(sandbox: {} is a socket of the machine's, if it is there: commands do not reach those. Start a server of \
             your own whose socket is in the workspace or in $TMPDIR, or say that people must do this step)",
            path.display()
        );
    }
    let is_of_git =
        |line: &&str| contains(line, OF_GIT) && (line.contains(".git/") || line.contains("/hooks"));
    if access.git.hooks.is_some() && output.lines().any(|line| is_of_git(&line)) {
        return GIT_KEPT.to_owned();
    }
    let line = output.lines().rev().find(|line| contains(line, REFUSED) && !blames_the_file(line, access));
    let Some(line) = line else {
        let absent = output.lines().rev().filter(|line| contains(line, ABSENT));
        if let Some(path) = absent.flat_map(paths).find(|path| access.is_hidden(path)) {
            return closed(path, access);
        }
        let unanswered = enforced.network == Network::Namespace && contains(output, UNANSWERED);
        return if unanswered { ALONE.to_owned() } else { String::new() };
    };
    match paths(line).find(|path| !access.may_write(path)) {
        Some(path) if access.is_hidden(path) => closed(path, access),
        Some(path) => refused(path, access),
        None => format!(
            "\n(sandbox: perhaps refused by it. Commands write only {}, read no secrets, reach no sockets of the machine (ssh-agent, \
             docker, D-Bus), have no ptrace or io_uring, and as root only the rights over files)",
            open_trees(access)
        ),
    }
}

/// A socket that a line names which tells of a connection that failed.
fn socket<'a>(output: &'a str, access: &AccessPaths) -> Option<&'a Path> {
    let failed = |line: &&str| [UNANSWERED, REFUSED, ABSENT].iter().any(|words| contains(line, words));
    let is_socket = |path: &&Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.contains(".sock") || name.starts_with(".s.PGSQL.")
    };
    let paths = output.lines().rev().filter(failed).flat_map(paths);
    paths.filter(is_socket).find(|path| !access.may_write(path))
}

/// What is said of a place that commands see and do not write.
fn refused(path: &Path, access: &AccessPaths) -> String {
    let text = format!(
        "\n(sandbox: likely refused, since commands write only {}. Use those instead of {}",
        open_trees(access),
        path.display()
    );
    // What a role is narrowed to is no matter of the sandbox's settings.
    match allowable(path, access).filter(|_| !access.narrowed) {
        Some(tree) => format!(
            "{text}, or say that it is needed: people allow it by `sandbox: {{ writable: [{}] }}` in agents/builtin.yaml)",
            tree.display()
        ),
        None => format!("{text})"),
    }
}

/// What is said of a place that commands do not see.
fn closed(path: &Path, access: &AccessPaths) -> String {
    let path_shown = path.display();
    if access.is_secret(path) {
        return format!(
            "\n(sandbox: {path_shown} may hold secrets and is closed to commands; work without it)"
        );
    }
    let text = format!(
        "\n(sandbox: {path_shown} is not shown to commands, which have a home, a /tmp and a /run of their own. Work without \
         it"
    );
    match allowable(path, access) {
        Some(tree) => format!(
            "{text}, or say that it is needed: people show it by `sandbox: {{ readable: [{}] }}` in agents/builtin.yaml)",
            tree.display()
        ),
        None => format!("{text})"),
    }
}

/// What commands write, in words.
fn open_trees(access: &AccessPaths) -> String {
    if !access.narrowed {
        return "the workspace and $TMPDIR".to_owned();
    }
    let trees: Vec<String> = access.writable.iter().map(|path| path.display().to_string()).collect();
    format!("{} (this role is narrowed)", trees.join(", "))
}

fn contains(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// The line names paths, and all of them are open to commands: the file's own mode is the cause.
fn blames_the_file(line: &str, access: &AccessPaths) -> bool {
    let mut named = paths(line).peekable();
    let is_relative_script = line.contains(": ./");
    is_relative_script || (named.peek().is_some() && named.all(|path| access.may_write(path)))
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

/// What people would open for the sake of `path`: of a home the directory of one tool, else the directory that the file is
/// in. `None` where that would be too much, or of no use.
fn allowable(path: &Path, access: &AccessPaths) -> Option<PathBuf> {
    let is_around_home =
        |tree: &Path| access.homes.iter().any(|home| home.starts_with(tree)) || tree.parent().is_none();
    if SYSTEM.iter().any(|dir| path.starts_with(dir)) || is_around_home(path) {
        return None;
    }
    let home = access.homes.iter().find(|home| path.starts_with(home));
    let tree = match home {
        Some(home) => of_a_tool(path, home, access),
        // Of a directory in which everybody writes, or of all homes, what is right below it.
        None => match access.shared.iter().chain(&access.closed).find(|dir| path.starts_with(dir)) {
            Some(dir) => dir.join(path.strip_prefix(dir).ok()?.iter().next()?),
            None => path.parent()?.to_owned(),
        },
    };
    (!is_around_home(&tree) && !access.closed.contains(&tree)).then_some(tree)
}

/// The narrowest directory of a home that is one tool's: a place that is shown, else the first below the home or a group;
/// of a group itself none, which is to say the home.
fn of_a_tool(path: &Path, home: &Path, access: &AccessPaths) -> PathBuf {
    let places = access.shown.iter().chain(&access.caches).map(|(at, _)| at);
    let place = places.filter(|at| at.starts_with(home) && at != &home && path.starts_with(at));
    if let Some(place) = place.max_by_key(|at| at.as_os_str().len()) {
        return place.clone();
    }
    let group = GROUPS.iter().map(|group| home.join(group)).find(|group| path.starts_with(group));
    let above = group.unwrap_or_else(|| home.to_owned());
    let name = path.strip_prefix(&above).ok().and_then(|below| below.iter().next());
    name.map_or_else(|| home.to_owned(), |name| above.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git_guard::repositories::GitPrograms;
    use crate::sandbox::Level;

    fn advice(output: &str) -> String {
        let access = AccessPaths {
            writable: vec![PathBuf::from("/w")],
            hidden: vec![PathBuf::from("/home/u/.ssh"), PathBuf::from("/srv/app/app.sock")],
            homes: vec![PathBuf::from("/home/u"), PathBuf::from("/root")],
            closed: ["/run", "/var/run", "/home", "/root"].map(PathBuf::from).to_vec(),
            shared: vec![PathBuf::from("/tmp")],
            shown: vec![(PathBuf::from("/home/u/.cargo/bin"), PathBuf::from("/home/u/.cargo/bin"))],
            git: GitPrograms { hooks: Some(PathBuf::from("/w/.git/hooks")), configs: Vec::new() },
            ..AccessPaths::default()
        };
        let enforced = Enforced {
            network: Network::Namespace,
            mounts: true,
            seccomp: true,
            ..Enforced::nothing(Level::Strict)
        };
        of(output, &access, &enforced)
    }

    #[test]
    fn git_s_hooks_and_configuration_name_their_setting() {
        for line in [
            "bash: line 1: .git/hooks/pre-commit: Read-only file system",
            "sed: cannot rename .git/sedUhbl5f: Device or resource busy",
        ] {
            assert!(advice(line).contains("gitPrograms: true"), "{line}");
        }
        assert!(!advice("rm: cannot remove '/mnt/x': Device or resource busy").contains("gitPrograms"));
    }

    #[test]
    fn no_network_names_the_option() {
        assert!(advice("curl: (6) Could not resolve host: example.com").contains("--allow-network"));
        assert!(
            advice("dial tcp 127.0.0.1:5432: connect: connection refused")
                .contains("a loopback of their own")
        );
        let access = AccessPaths::default();
        let open = Enforced::nothing(Level::Strict);
        assert_eq!(of("Network is unreachable", &access, &open), "");
        assert_eq!(of("Connection refused", &access, &open), "");
    }

    #[test]
    fn a_refused_write_names_the_path_and_the_setting() {
        let text =
            advice("error: failed to create `/home/u/.cargo/bin/x`: Read-only file system (os error 30)");
        assert!(text.contains("writable: [/home/u/.cargo/bin]"), "{text}");
        let text = advice("bash: line 1: /etc/x: Permission denied");
        assert!(text.contains("instead of /etc/x,") && text.contains("writable: [/etc]"), "{text}");
        assert!(advice("cat: /home/u/.ssh/id: Permission denied").contains("may hold secrets"));
        assert!(advice("strace: PTRACE_TRACEME: Operation not permitted").contains("ptrace"));
    }

    #[test]
    fn what_is_proposed_is_as_narrow_as_it_can_be() {
        for (output, expected) in [
            ("cat: /home/u/.cargo/config.d/x: No such file or directory", Some("readable: [/home/u/.cargo]")),
            (
                "cat: /home/u/.config/foo/bar/x: No such file or directory",
                Some("readable: [/home/u/.config/foo]"),
            ),
            (
                "cat: /home/u/.local/share/foo/x: No such file or directory",
                Some("readable: [/home/u/.local/share/foo]"),
            ),
            ("cat: /home/u/.local/foo/x: No such file or directory", Some("readable: [/home/u/.local/foo]")),
            (
                "cat: /home/u/projects/other/x: No such file or directory",
                Some("readable: [/home/u/projects]"),
            ),
            ("cat: /home/u/notes: No such file or directory", Some("readable: [/home/u/notes]")),
            ("cat: /home/other/x: No such file or directory", Some("readable: [/home/other]")),
            ("cat: /tmp/build-1/x: No such file or directory", Some("readable: [/tmp/build-1]")),
            ("cat: /run/app/pid: No such file or directory", Some("readable: [/run/app]")),
            ("touch: cannot touch '/opt/app/x': Read-only file system", Some("writable: [/opt/app]")),
            ("touch: cannot touch '/home/u': Permission denied", None),
            ("ls: cannot open directory '/home/u/.': Permission denied", None),
            ("mkdir: cannot create directory '/home/u/.config': Permission denied", None),
            ("mkdir: /data: Read-only file system", None),
            ("mkdir: '/data/x': Read-only file system", Some("writable: [/data]")),
            ("touch: cannot touch '/root/': Permission denied", None),
            ("touch: cannot touch '/dev/shm/x': Permission denied", None),
            ("cat: /proc/1/environ: Permission denied", None),
        ] {
            let text = advice(output);
            match expected {
                Some(proposed) => assert!(text.contains(proposed), "{output}: {text}"),
                None => assert!(!text.contains("able: ["), "{output}: {text}"),
            }
        }
    }

    #[test]
    fn a_narrowed_role_is_told_no_setting_that_would_not_widen_it() {
        let access = AccessPaths {
            narrowed: true,
            writable: vec![PathBuf::from("/w/docs")],
            ..AccessPaths::default()
        };
        let text = of("touch: '/w/new': Read-only file system", &access, &Enforced::nothing(Level::Strict));
        assert!(text.contains("/w/docs (this role is narrowed)") && !text.contains("able: ["), "{text}");
    }

    #[test]
    fn servers_of_the_machine_are_told_as_such() {
        for (output, expected) in [
            ("Could not open a connection to your authentication agent.", "ssh-agent"),
            ("git@example.org: Permission denied (publickey).", "ssh-agent"),
            (
                "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?",
                "the Docker daemon",
            ),
            ("permission denied while trying to connect to the Docker daemon socket", "the Docker daemon"),
            ("Failed to connect to bus: No such file or directory", "D-Bus"),
            ("gpg: can't connect to the gpg-agent: No such file or directory", "gpg-agent"),
            ("error: gpg failed to sign the data", "do not sign"),
            (
                "connection to server on socket \"/var/run/postgresql/.s.PGSQL.5432\" failed: No such file or directory",
                ".s.PGSQL.5432 is a socket of the machine's",
            ),
            ("curl: /srv/app/app.sock: Connection refused", "/srv/app/app.sock is a socket of the machine's"),
        ] {
            let text = advice(output);
            assert!(text.contains(expected) && !text.contains("able: ["), "{output}: {text}");
        }
        assert_eq!(advice("connect /w/app.sock: No such file or directory"), "");
        // Where sockets are open it is something else.
        let (access, open) = (AccessPaths::default(), Enforced::nothing(Level::BestEffort));
        assert_eq!(of("Cannot connect to the Docker daemon", &access, &open), "");
    }

    #[test]
    fn what_is_not_the_sandbox_is_not_blamed_on_it() {
        assert_eq!(advice("bash: ./run.sh: Permission denied"), "");
        assert_eq!(advice("bash: line 1: ./run.sh: Permission denied"), "");
        assert_eq!(advice("cat: /w/closed: Permission denied"), "");
        assert_eq!(advice("error[E0308]: mismatched types"), "");
    }
}
