//! Walks of the workspace that heed `.gitignore` and its like, and that none of these files can stop.
//!
//! What reads them opens whatever is there: a FIFO would block a tool for ever, and a link to `/dev/zero` would fill the
//! memory of the agent. So each directory is looked at before it is entered. Only the walk is made here; what it finds is
//! opened beneath the workspace's handle by the tools.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

use crate::pattern::is_modest;

/// No file of rules that people wrote is longer.
const MAX_BYTES: u64 = 1 << 20;

/// Completes `walk`, which starts at `real`, relative to the workspace's directory `top`: it enters what is `wanted`, but no directory
/// whose rules cannot be read. Where they cannot be read at its start or above, it heeds none.
pub(crate) fn guard(
    walk: &mut WalkBuilder,
    (top, real): (&Path, &Path),
    wanted: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) {
    let start = top.join(real);
    if !start.ancestors().take_while(|dir| dir.starts_with(top)).all(are_rules_sound) {
        walk.parents(false).ignore(false).git_ignore(false).git_exclude(false);
    }
    walk.filter_entry(move |entry| {
        let is_dir = entry.depth() > 0 && entry.file_type().is_some_and(|kind| kind.is_dir());
        wanted(entry) && (!is_dir || are_rules_sound(entry.path()))
    });
}

/// Whether all that is read as rules of `dir` is short files of modest rules, as far as it is there.
fn are_rules_sound(dir: &Path) -> bool {
    let git = dir.join(".git");
    are_modest(&dir.join(".gitignore"))
        && are_modest(&dir.join(".ignore"))
        && match fs::metadata(&git) {
            Ok(metadata) if metadata.is_file() => is_short(&git) && is_pointer_sound(&git),
            Ok(_) => are_modest(&git.join("info/exclude")),
            Err(_) => true,
        }
}

/// Whether the rules are short and simple enough of the git directory that `git`, a file, names, and of the common one that
/// is named there.
fn is_pointer_sound(git: &Path) -> bool {
    let line = |file: &Path| {
        let mut text = Vec::new();
        File::open(file).ok()?.take(MAX_BYTES).read_to_end(&mut text).ok()?;
        text.split(|byte| *byte == b'\n').next().map(|line| line.trim_ascii_end().to_owned())
    };
    let Some(own) = line(git).and_then(|line| line.strip_prefix(b"gitdir: ").map(<[u8]>::to_owned)) else {
        return true;
    };
    // As the reader of the rules does it: from the directory that the program is in.
    let own = Path::new(OsStr::from_bytes(&own));
    let commondir = own.join("commondir");
    is_short(&commondir)
        && line(&commondir)
            .is_none_or(|common| are_modest(&own.join(OsStr::from_bytes(&common)).join("info/exclude")))
}

/// Rules in a short file, none of which is a danger to whoever compiles it; or no rules.
fn are_modest(path: &Path) -> bool {
    let mut text = Vec::new();
    // What cannot be read is no danger: nobody else can read it either.
    is_short(path)
        && (!File::open(path).is_ok_and(|file| file.take(MAX_BYTES).read_to_end(&mut text).is_ok())
            || text.split(|byte| *byte == b'\n').all(|line| is_modest(line).is_ok()))
}

/// A short regular file, symlinks followed, or nothing.
fn is_short(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(metadata) => metadata.is_file() && metadata.len() <= MAX_BYTES,
        Err(error) => error.kind() != ErrorKind::PermissionDenied || fs::symlink_metadata(path).is_err(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use serde_json::json;

    use crate::scratch::Scratch;

    /// Each would block, or grow without end; ended by the time limit of the test runner else.
    #[test]
    fn rules_that_are_no_files_stop_no_walk() {
        for (rules, dir) in [
            (".gitignore", "d"),
            (".ignore", "d"),
            (".gitignore", "."),
            ("d/.git/info/exclude", "."),
            (".git/info/exclude", "."),
        ] {
            for zero in [false, true] {
                let scratch = Scratch::new();
                scratch.put("d/e/found", "needle\n");
                scratch.put("found", "needle\n");
                let path = scratch.root().join(dir).join(rules);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                match zero {
                    true => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
                    false => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
                }
                for path in [".", "d", "d/e"] {
                    scratch.call("list_dir", json!({"path": path, "depth": 5}));
                    scratch.call("glob", json!({"path": path, "pattern": "found"}));
                    let text = scratch.call("grep", json!({"path": path, "pattern": "needle"})).text;
                    let is_left_out = path == "d" && dir == "." && rules.starts_with("d/");
                    assert!(text.contains("found") || is_left_out, "{dir}/{rules} {path}: {text}");
                }
                scratch.call("read_file", json!({"path": "nothing"}));
            }
        }
    }

    #[test]
    fn a_pointer_to_endless_rules_stops_no_walk() {
        let scratch = Scratch::new();
        scratch.put("found", "needle\n");
        let own = scratch.root().join("own");
        scratch.put(".git", format!("gitdir: {}\n", own.display()));
        std::fs::create_dir(&own).unwrap();
        std::os::unix::fs::symlink("/dev/zero", own.join("commondir")).unwrap();
        let text = scratch.call("grep", json!({"pattern": "needle"})).text;
        assert!(text.contains("found"), "{text}");
    }

    /// Compiling it would end the program: its stack is too small for that.
    #[test]
    fn rules_of_any_depth_end_no_walk() {
        let deep = format!("{}a{}\n", "{".repeat(200_000), "}".repeat(200_000));
        for dir in [".", "d"] {
            let scratch = Scratch::new();
            scratch.put("found", "needle\n");
            scratch.put(&format!("{dir}/.gitignore"), &deep);
            for (tool, arguments) in [
                ("list_dir", json!({})),
                ("glob", json!({"pattern": "*"})),
                ("grep", json!({"pattern": "needle"})),
            ] {
                let text = scratch.call(tool, arguments).text;
                assert!(text.contains("found"), "{tool}: {text}");
            }
        }
    }

    #[test]
    fn rules_are_heeded() {
        let scratch = Scratch::new();
        scratch.put(".gitignore", "hidden\n");
        scratch.put("d/hidden", "");
        scratch.put("d/seen", "");
        let text = scratch.call("list_dir", json!({})).text;
        assert!(text.contains("seen") && !text.contains("hidden"), "{text}");
    }
}
