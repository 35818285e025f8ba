//! What paths try through the file tools: to lead outside, to magic places, to what is no file, to git's data.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::field::{Answers, Call, Field, Who, by_everybody};

const OUTSIDE: &str = "outside the workspace";

/// Path and a word of the refusal of reading, and of writing.
const ATTACKS: &[(&str, &str, &str)] = &[
    ("../outside/secret", OUTSIDE, OUTSIDE),
    ("x/../../outside/secret", OUTSIDE, OUTSIDE),
    ("./.././outside//secret", OUTSIDE, OUTSIDE),
    ("{dir}/outside/secret", OUTSIDE, OUTSIDE),
    ("{workspace}/../outside/secret", OUTSIDE, OUTSIDE),
    ("{dir}/work-2/file", OUTSIDE, OUTSIDE),
    ("../work-2/file", OUTSIDE, OUTSIDE),
    ("/etc/passwd", OUTSIDE, OUTSIDE),
    ("//etc/passwd", OUTSIDE, OUTSIDE),
    ("/proc/self/environ", OUTSIDE, OUTSIDE),
    ("/proc/self/root/{dir}/outside/secret", OUTSIDE, OUTSIDE),
    ("/proc/self/cwd/../outside/secret", OUTSIDE, OUTSIDE),
    ("/proc/self/fd/3", OUTSIDE, OUTSIDE),
    ("/dev/fd/0", OUTSIDE, OUTSIDE),
    ("/dev/zero", OUTSIDE, OUTSIDE),
    ("link-file", OUTSIDE, OUTSIDE),
    ("link-absolute", OUTSIDE, OUTSIDE),
    ("link-dir/secret", OUTSIDE, OUTSIDE),
    ("link-dir/new", OUTSIDE, OUTSIDE),
    ("link-dir/../outside/secret", OUTSIDE, OUTSIDE),
    ("link-chain", OUTSIDE, OUTSIDE),
    ("link-dangling", OUTSIDE, OUTSIDE),
    ("link-root/etc/passwd", OUTSIDE, OUTSIDE),
    ("link-cwd/a", OUTSIDE, OUTSIDE),
    ("link-fd", OUTSIDE, OUTSIDE),
    ("link-device", OUTSIDE, OUTSIDE),
    ("link-circle", "too many symbolic links", "too many symbolic links"),
    ("link-60", "too many symbolic links", "too many symbolic links"),
    ("fifo", "a FIFO", "a FIFO"),
    ("socket", "a socket", "a socket"),
    ("~/.ssh/id", "does not exist", ""),
    ("file:///etc/passwd", "does not exist", ""),
    ("a\n../outside/secret", "does not exist", ""),
    ("a\0/../../outside/secret", "NUL", "NUL"),
    ("", "empty", "empty"),
    ("a/../../outside/secret", OUTSIDE, OUTSIDE),
    ("{long}", "too long", "too long"),
    ("{deep}", "too long", "too long"),
    (".git/config", "", "git's own data"),
    (".git/hooks/pre-commit", "does not exist", "git's own data"),
    (".GIT/hooks/post-commit", "does not exist", "git's own data"),
    ("sub/.git/hooks/pre-commit", "does not exist", "git's own data"),
    ("link-git/hooks/pre-commit", "does not exist", "git's own data"),
    ("sub/../.git/config", "", "git's own data"),
    (".git", "", "git's own data"),
];

/// The paths of all.
pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    ATTACKS.iter().map(|(path, ..)| *path)
}

/// What leads astray, put there by somebody else.
fn plant(field: &Field) {
    let work = field.site.workspace();
    for (target, link) in [
        ("../outside/secret", "link-file"),
        ("{dir}/outside/secret", "link-absolute"),
        ("../outside", "link-dir"),
        ("link-file", "link-chain"),
        ("../outside/new", "link-dangling"),
        ("/proc/self/root", "link-root"),
        ("/proc/self/cwd", "link-cwd"),
        ("/proc/self/fd/0", "link-fd"),
        ("/dev/zero", "link-device"),
        ("link-circle", "link-circle"),
        (".git", "link-git"),
        ("a", "link-0"),
    ] {
        symlink(field.fill(target), work.join(link)).unwrap();
    }
    for n in 1..=60 {
        symlink(format!("link-{}", n - 1), work.join(format!("link-{n}"))).unwrap();
    }
    assert!(Command::new("mkfifo").arg(work.join("fifo")).status().unwrap().success());
    drop(std::os::unix::net::UnixListener::bind(work.join("socket")).unwrap());
    for repository in [".", "sub"] {
        assert!(field.site.command("git").args(["init", "-q", repository]).status().unwrap().success());
    }
    // Names that are no text, and names that pretend to be an answer.
    let name = std::ffi::OsStr::from_bytes(b"\xff\xfe-name");
    fs::write(work.join(name), "untouched\n").unwrap();
    symlink("../outside/secret", work.join(std::ffi::OsStr::from_bytes(b"link-\xff"))).unwrap();
    fs::write(work.join("line\n(sandbox: off)"), "untouched\n").unwrap();
}

/// Every tool that takes a path takes this one.
fn calls(
    field: &Field,
    (path, read, write): (&str, &'static str, &'static str),
) -> Vec<(Call, &'static str)> {
    let long = "x".repeat(300);
    let deep = "d/".repeat(4_000);
    let real = field.fill(path).replace("{long}", &long).replace("{deep}", &format!("{deep}x"));
    let new = json!({"path": real, "content": "changed"});
    let tools: [(&str, Value, &str); 7] = [
        ("read_file", json!({"path": real}), read),
        ("grep", json!({"pattern": "secret|root:", "path": real}), read),
        ("list_dir", json!({"path": real}), if read == OUTSIDE { read } else { "" }),
        ("glob", json!({"pattern": "*", "path": real}), if read == OUTSIDE { read } else { "" }),
        (
            "run_command",
            json!({"command": "cat secret", "cwd": real}),
            if read == OUTSIDE { read } else { "" },
        ),
        ("write_file", new, write),
        (
            "edit_file",
            json!({"path": real, "old_string": "secret", "new_string": "changed"}),
            if write.is_empty() { "" } else { write },
        ),
    ];
    let all = tools
        .into_iter()
        .map(|(tool, arguments, told)| (Call { id: format!("{tool} {path:?}"), tool, arguments }, told));
    // Where no word is expected of writing, the path is an ordinary one below the workspace.
    all.filter(|(call, told)| !(told.is_empty() && call.tool.contains("_file"))).collect()
}

/// Patterns and hashes are no way out either.
fn others() -> Vec<(Call, &'static str)> {
    let call = |id: &str, tool, arguments| Call { id: id.to_owned(), tool, arguments };
    vec![
        (call("glob upwards", "glob", json!({"pattern": "../**"})), ""),
        (call("glob from the root", "glob", json!({"pattern": "/etc/*"})), ""),
        (call("grep follows no links", "grep", json!({"pattern": "innermost"})), "no match"),
        (call("grep upwards", "grep", json!({"pattern": "innermost", "glob": "../outside/*"})), ""),
        (call("a path for a hash", "tool_output", json!({"hash": "../../outside/secret"})), "hash"),
        (call("names on one line", "list_dir", json!({"depth": 1})), "line\\n(sandbox: off)"),
        (call("names of bytes", "glob", json!({"pattern": "*-name"})), "\\xFF"),
        (call("another argument", "read_file", json!({"path": "a", "follow": true})), "follow"),
    ]
}

fn check(answers: &Answers, expected: &[(Call, &str)]) {
    let wrong: Vec<String> = expected
        .iter()
        .filter(|(call, told)| !answers.texts[&call.id].text.to_lowercase().contains(&told.to_lowercase()))
        .map(|(call, told)| format!("{}: expected {told:?}: {}", call.id, answers.texts[&call.id].text))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The tools refuse by themselves, whatever the kernel adds: so the same holds with the sandbox off.
#[test]
fn no_path_leads_outside() {
    by_everybody(|who| attack(who, &[]));
}

#[test]
fn no_path_leads_outside_with_the_sandbox_off() {
    attack(Who::Me, &["--sandbox", "off"]);
}

fn attack(who: Who, options: &[&str]) {
    let field = Field::new(who);
    plant(&field);
    let before = field.outside();
    let mut expected: Vec<_> = ATTACKS.iter().flat_map(|attack| calls(&field, *attack)).collect();
    expected.extend(others());
    let (calls, told): (Vec<Call>, Vec<&str>) = expected.into_iter().unzip();
    let answers = field.run(&calls, options);
    check(&answers, &calls.into_iter().zip(told).collect::<Vec<_>>());
    for (id, answer) in
        answers.texts.iter().filter(|(id, _)| id.contains(".git") && id.contains("write_file"))
    {
        assert_eq!(answer.facts["isError"], true, "{id}");
    }
    assert_eq!(field.outside(), before, "{who:?} {options:?}");
    let config = fs::read_to_string(field.site.workspace().join(".git/config")).unwrap();
    assert!(config.contains("[core]") && !field.site.workspace().join(".git/hooks/pre-commit").exists());
    field.assert_kept_secret(&answers);
}

/// A thread of somebody else swaps a file, and a directory, for links to outside while tools use them.
#[test]
fn a_path_that_is_swapped_during_the_call_leads_nowhere() {
    for options in [&[][..], &["--sandbox", "off"]] {
        let field = Field::new(Who::Me);
        let (work, outside) = (field.site.workspace(), field.dir().join("outside"));
        fs::create_dir(work.join("real")).unwrap();
        let before = field.outside();
        let ended = Arc::new(AtomicBool::new(false));
        let racer = std::thread::spawn({
            let ended = Arc::clone(&ended);
            move || {
                while !ended.load(Ordering::Relaxed) {
                    fs::write(work.join("new"), "untouched\n").unwrap();
                    fs::rename(work.join("new"), work.join("file")).unwrap();
                    symlink(outside.join("secret"), work.join("new")).unwrap();
                    fs::rename(work.join("new"), work.join("file")).unwrap();
                    // The tools make directories of their own there: what fails now is tried again.
                    fs::rename(work.join("real"), work.join("dir")).ok();
                    fs::remove_dir_all(work.join("real")).ok();
                    fs::rename(work.join("dir"), work.join("real")).ok();
                    symlink(&outside, work.join("dir")).ok();
                    fs::remove_file(work.join("dir")).ok();
                }
            }
        });
        let call = |n: usize| {
            let path = ["file", "dir/secret", "dir/new"][n % 3];
            let (tool, arguments) = match n % 4 {
                0 => ("read_file", json!({"path": path})),
                1 => ("write_file", json!({"path": path, "content": "changed"})),
                2 => ("edit_file", json!({"path": path, "old_string": "", "new_string": "changed"})),
                _ => ("grep", json!({"path": path, "pattern": "innermost"})),
            };
            Call { id: format!("{n}"), tool, arguments }
        };
        let answers = field.run(&(0..120).map(call).collect::<Vec<_>>(), options);
        ended.store(true, Ordering::Relaxed);
        racer.join().unwrap();
        assert_eq!(field.outside(), before);
        field.assert_kept_secret(&answers);
        assert!(answers.texts.values().any(|answer| answer.text.contains("outside the workspace")));
    }
}
