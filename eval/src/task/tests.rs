//! Tasks that are right, and what is said of those that are not.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use super::*;

const GOOD: &str = "\
name: fix
workflow: solve-issue
prompt: Mend it.
limits: { maxSteps: 15, timeoutMinutes: 0.5, costUsd: 1 }
judges:
  - { name: hallucination, weight: 0.5, builtin: true }
  - { name: script, weight: 0.5, entry: judges/a.sh, schema: schemas/a.json, timeoutSeconds: 5 }
  - { name: asked, model: m, rubric: Is it good?, votes: 3, maxCost: 0.1 }
";

/// A task of these files, and a directory to unpack archives in.
fn made(text: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let task = dir.path().join("task");
    for below in ["fixture", "judges", "schemas"] {
        fs::create_dir_all(task.join(below)).unwrap();
    }
    fs::write(task.join(FILE), text).unwrap();
    fs::write(task.join("fixture/a.txt"), "a\n").unwrap();
    fs::write(task.join("schemas/a.json"), r#"{"$schema": "x", "type": "object"}"#).unwrap();
    let refers = r#"{"type": "object", "properties": {"seen": {"type": "array", "items": {"type": "string", "format": "ocas_ref"}}}}"#;
    fs::write(task.join("schemas/ref.json"), refers).unwrap();
    fs::write(task.join("judges/a.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(task.join("judges/a.sh"), Permissions::from_mode(0o755)).unwrap();
    dir
}

fn load(dir: &TempDir) -> Result<Task, TaskError> {
    Task::load(&dir.path().join("task"), &dir.path().join("scratch"))
}

/// What is said of a task, with the reasons below it.
fn said(error: &TaskError) -> String {
    let chain = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[test]
fn a_task_is_what_it_says() {
    let dir = made(GOOD);
    let task = load(&dir).unwrap();
    assert_eq!((task.name.as_str(), task.workflow.as_deref()), ("fix", Some("solve-issue")));
    assert_eq!((task.limits.max_steps, task.limits.timeout.as_secs()), (15, 30));
    assert_eq!((task.judges.len(), task.judges[2].weight), (3, 1.0));
    assert!(task.fixture().is_some() && !task.is_archive() && task.mock.is_none());
    let (hash, seen) = (task.hash, task.seen);
    fs::write(dir.path().join("task/judges/a.sh"), "#!/bin/sh\nexit 1\n").unwrap();
    let changed = load(&dir).unwrap();
    assert!(changed.hash != hash && changed.seen == seen, "who judges is nothing that a thread sees");
    fs::write(dir.path().join("task/fixture/a.txt"), "b\n").unwrap();
    assert_ne!(load(&dir).unwrap().seen, seen);
}

#[test]
fn every_mistake_is_told_by_its_line() {
    let judges = "judges: [{ name: hallucination, builtin: true }]\n";
    let with = |line: &str| format!("name: fix\nprompt: p\n{line}\n{judges}");
    let judge = |judge: &str| format!("name: fix\nprompt: p\njudges:\n  - {judge}\n");
    let mut others = Vec::new();
    for (text, expected) in [
        ("[1]".to_owned(), "line 1: a task must be a mapping, got a list"),
        ("a: [".to_owned(), "line 2: "),
        (format!("prompt: p\n{judges}"), "line 1: `name` is missing"),
        (format!("name: a/b\nprompt: p\n{judges}"), "line 1: the task cannot be called `a/b`"),
        (format!("name: fix\n{judges}"), "line 1: `prompt` is missing"),
        (format!("name: fix\nprompt: ''\n{judges}"), "line 2: `prompt` is empty"),
        (format!("name: fix\nprompt: 7\n{judges}"), "line 2: `prompt` must be text, got 7: quote it: \"7\""),
        (with("promt: x"), "line 3: unknown key `promt`: did you mean `prompt`?"),
        (with("workflow: ../w.yaml"), "line 3: `../w.yaml` leads out of the task"),
        (with("workflow: w.yaml"), "line 3: there is no file `w.yaml` in the task"),
        (with("mock: /etc/passwd"), "line 3: `/etc/passwd` leads out of the task"),
        (with("limits: 3"), "line 3: `limits` must be a mapping, got 3"),
        (with("limits: { maxSteps: 0 }"), "line 3: `maxSteps` cannot be 0"),
        (with("limits: { maxSteps: 1.5 }"), "line 3: `maxSteps` cannot be 1.5"),
        (with("limits: { timeoutMinutes: -1 }"), "line 3: `timeoutMinutes` cannot be -1"),
        (with("limits: { costUsd: much }"), "line 3: `costUsd` must be a number, got text"),
        ("name: fix\nprompt: p\n".to_owned(), "line 1: `judges` is missing"),
        ("name: fix\nprompt: p\njudges: all\n".to_owned(), "line 3: `judges` must be a list"),
        (judge("{ name: x, builtin: true }"), "line 4: no judge `x` is built in; there is: "),
        (
            judge("{ name: cost, builtin: true }"),
            "`cost` gives no score: let its weight be 0, or say its `budget`",
        ),
        (judge("{ name: token-stats, builtin: true, weight: 0 }"), "line 3: no judge has a weight"),
        (judge("{ name: tests, builtin: true }"), "line 4: `command` is missing"),
        (judge("{ name: x }"), "line 4: a judge has one of `builtin: true`, `entry` (a script) and `model`"),
        (judge("{ name: x, entry: judges/a.sh, model: m }"), "line 4: a judge has one of"),
        (
            judge("{ name: x, entry: judges/none.sh }"),
            "line 4: there is no file `judges/none.sh` in the task",
        ),
        (judge("{ name: x, entry: judges }"), "line 4: `judges` is no file"),
        (judge("{ name: x, entry: schemas/a.json }"), "cannot be run: make it executable with chmod +x"),
        (
            judge("{ name: x, entry: judges/a.sh, votes: 3 }"),
            "line 4: `votes` says nothing for a judge of this kind",
        ),
        (judge("{ name: x, entry: judges/a.sh, weight: -1 }"), "line 4: `weight` cannot be -1"),
        (judge("{ name: x, entry: judges/a.sh, schema: fixture/a.txt }"), "`fixture/a.txt` is no JSON"),
        (
            judge("{ name: x, entry: judges/a.sh, schema: schemas/ref.json }"),
            "`schemas/ref.json` has `format: ocas_ref`",
        ),
        (judge("{ name: x, model: m }"), "line 4: `rubric` is missing"),
        (judge("{ name: x, model: m, rubric: r, votes: 100 }"), "line 4: `votes` cannot be 100"),
    ] {
        let dir = made(&text);
        let error = said(&load(&dir).expect_err(&text));
        if !error.contains(expected) {
            others.push(format!("{text}\n{error}\nexpected: {expected}"));
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n\n"));
    let twice = "name: fix\nprompt: p\njudges:\n  - { name: x, entry: judges/a.sh }\n  - { name: x, entry: judges/a.sh }\n";
    assert!(said(&load(&made(twice)).unwrap_err()).contains("line 5: there are two judges called `x`"));
}

#[test]
fn files_that_lead_elsewhere_are_refused() {
    let refused = |make: &dyn Fn(&Path), expected: &str| {
        let dir = made(GOOD);
        make(&dir.path().join("task"));
        let error = said(&load(&dir).unwrap_err());
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
    };
    refused(&|task| symlink("/etc/passwd", task.join("fixture/key")).unwrap(), "leads out of its directory");
    refused(&|task| symlink("../../..", task.join("fixture/up")).unwrap(), "leads out of its directory");
    refused(
        &|task| {
            fs::remove_dir_all(task.join("fixture")).unwrap();
            symlink("/etc", task.join("fixture")).unwrap();
        },
        "is no file, directory or link",
    );
    refused(
        &|task| {
            fs::remove_file(task.join("judges/a.sh")).unwrap();
            symlink("/bin/sh", task.join("judges/a.sh")).unwrap();
        },
        "`judges/a.sh` leads out of the task: it is a link to",
    );
    refused(&|task| fs::remove_file(task.join(FILE)).unwrap(), "is no task: task.yaml cannot be read");
    let dir = tempfile::tempdir().unwrap();
    assert!(said(&load(&dir).unwrap_err()).starts_with("there is no task"));
    let dir = made(GOOD);
    symlink("a.txt", dir.path().join("task/fixture/same")).unwrap();
    let to = dir.path().join("copy");
    copy(&load(&dir).unwrap().fixture().unwrap(), &to).unwrap();
    assert_eq!(fs::read_to_string(to.join("same")).unwrap(), "a\n");
}

/// An archive with these entries: path, kind, content.
fn archive(dir: &TempDir, entries: &[(&str, tar::EntryType, &str)]) -> PathBuf {
    let path = dir.path().join("task.tgz");
    let mut archive = tar::Builder::new(GzEncoder::new(File::create(&path).unwrap(), Compression::fast()));
    for (name, kind, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o755);
        header.set_size(content.len() as u64);
        if kind.is_symlink() || kind.is_hard_link() {
            header.set_size(0);
            header.set_link_name("/etc/passwd").unwrap();
        }
        // As nobody's archiver writes it.
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        let content = if header.size().unwrap() == 0 { "" } else { content };
        archive.append(&header, content.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap().flush().unwrap();
    path
}

#[test]
fn an_archive_is_unpacked_where_it_belongs_and_nowhere_else() {
    use tar::EntryType::{Block, Char, Fifo, Link, Regular, Symlink};
    let dir = tempfile::tempdir().unwrap();
    let scratch = dir.path().join("scratch");
    let text = "name: fix\nprompt: p\njudges: [{ name: x, entry: a.sh }]\n";
    let path = archive(&dir, &[("fix/task.yaml", Regular, text), ("fix/a.sh", Regular, "#!/bin/sh\n")]);
    let task = Task::load(&path, &scratch).unwrap();
    assert!(task.is_archive() && task.dir.starts_with(scratch.canonicalize().unwrap()));
    drop(task);
    for (entry, expected) in [
        (("../evil", Regular, "x"), "../evil leads out of it"),
        (("/tmp/evil", Regular, "x"), "/tmp/evil leads out of it"),
        (("link", Symlink, ""), "link is neither a directory nor a plain file"),
        (("link", Link, ""), "link is neither a directory nor a plain file"),
        (("fifo", Fifo, ""), "fifo is neither a directory nor a plain file"),
        (("null", Char, ""), "null is neither a directory nor a plain file"),
        (("disk", Block, ""), "disk is neither a directory nor a plain file"),
        (("task.yaml", Regular, "x"), "File exists"),
    ] {
        let path = archive(&dir, &[("task.yaml", Regular, text), entry]);
        let error = said(&Task::load(&path, &scratch).unwrap_err());
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
        assert!(!dir.path().join("evil").exists());
    }
    fs::write(&path, "no archive").unwrap();
    assert!(said(&Task::load(&path, &scratch).unwrap_err()).contains("cannot be unpacked"));
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn an_archive_that_swells_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bomb.tgz");
    let mut archive = tar::Builder::new(GzEncoder::new(File::create(&path).unwrap(), Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_mode(0o644);
    // It says so before it is read.
    header.set_size(2 << 30);
    header.set_cksum();
    archive.append(&header, std::io::empty()).unwrap();
    drop(archive);
    let error = said(&Task::load(&path, &dir.path().join("scratch")).unwrap_err());
    assert!(error.contains("more than 1 GiB"), "{error}");
}

#[test]
fn what_becomes_of_a_task_while_it_is_used_does_not_change_it() {
    let dir = made(GOOD);
    fs::write(dir.path().join("task/mock.yaml"), "turns: []\n").unwrap();
    let task = load(&dir).unwrap();
    for file in ["fixture/a.txt", "judges/a.sh", "mock.yaml"] {
        fs::write(dir.path().join("task").join(file), "changed").unwrap();
    }
    let JudgeKind::Script { entry, .. } = &task.judges[1].kind else { panic!("it is a script") };
    let fixture = task.fixture().unwrap().join("a.txt");
    let (script, mock) = (fs::read_to_string(entry).unwrap(), task.mock.clone().unwrap());
    assert_eq!((fs::read_to_string(fixture).unwrap().as_str(), script.as_str()), ("a\n", "#!/bin/sh\n"));
    assert_eq!(fs::read_to_string(&mock).unwrap(), "turns: []\n");
    // What was found is what is named, and nothing of it stays.
    assert_eq!(task.path, dir.path().join("task").canonicalize().unwrap());
    drop(task);
    assert!(!mock.exists());
}

/// Makes a file that is none: `mkfifo PATH`, `mknod PATH c 1 3`; whether it could.
fn special(program: &str, path: &Path, more: &[&str]) -> bool {
    let mut command = std::process::Command::new(program);
    command.arg(path).args(more).stderr(std::process::Stdio::null()).status().unwrap().success()
}

/// What is said of a task by which this was made.
fn refusal(make: impl Fn(&Path)) -> String {
    let dir = made(GOOD);
    make(&dir.path().join("task"));
    let error = said(&load(&dir).unwrap_err());
    let held = fs::read_dir(dir.path().join("scratch")).into_iter().flatten().count();
    assert_eq!(held, 0, "nothing is left behind: {error}");
    error
}

#[test]
fn what_is_no_file_is_refused_and_opened_by_nobody() {
    let is_none = "is no file, directory or link";
    let fifo = |path: PathBuf| {
        fs::remove_file(&path).ok();
        assert!(special("mkfifo", &path, &[]));
    };
    // Each of these would be waited for, were it opened.
    for (file, expected) in [
        ("fixture/pipe", is_none),
        ("judges/other", is_none),
        ("mock.yaml", is_none),
        ("judges/a.sh", "`judges/a.sh` is no file"),
        ("schemas/a.json", "`schemas/a.json` is no file"),
        ("task.yaml", "is no task: task.yaml cannot be read: it is no regular file"),
    ] {
        let error = refusal(|task| fifo(task.join(file)));
        assert!(error.contains(expected), "{file}: {error}");
    }
    let error = refusal(|task| {
        fs::remove_dir_all(task.join("fixture")).unwrap();
        fifo(task.join("fixture"));
    });
    assert!(error.contains(is_none), "{error}");
    let error = refusal(|task| {
        // Its name outlives it.
        drop(std::os::unix::net::UnixListener::bind(task.join("fixture/socket")).unwrap());
    });
    assert!(error.contains("fixture/socket is no file"), "{error}");
    let dir = tempfile::tempdir().unwrap();
    // Only some may make one.
    if special("mknod", &dir.path().join("null"), &["c", "1", "3"]) {
        for kind in ["c", "b"] {
            let error =
                refusal(|task| assert!(special("mknod", &task.join("fixture/null"), &[kind, "1", "3"])));
            assert!(error.contains("fixture/null is no file"), "{error}");
        }
    }
    // The task itself.
    fifo(dir.path().join("task.tgz"));
    let error = said(&Task::load(&dir.path().join("task.tgz"), &dir.path().join("scratch")).unwrap_err());
    assert!(error.contains("it is no regular file"), "{error}");
}

#[test]
fn links_that_lead_in_circles_are_followed_by_nobody() {
    let circle = |path: PathBuf| {
        fs::remove_file(&path).ok();
        symlink(path.file_name().unwrap(), &path).unwrap();
    };
    for (file, expected) in [
        ("fixture/circle", "Too many levels of symbolic links"),
        ("judges/a.sh", "there is no file `judges/a.sh` in the task"),
        ("schemas/a.json", "there is no file `schemas/a.json` in the task"),
        ("task.yaml", "is no task: task.yaml cannot be read"),
    ] {
        let error = refusal(|task| circle(task.join(file)));
        assert!(error.contains(expected), "{file}: {error}");
    }
    let error = refusal(|task| {
        symlink("b", task.join("fixture/a")).unwrap();
        symlink("a", task.join("fixture/b")).unwrap();
    });
    assert!(error.contains("Too many levels of symbolic links"), "{error}");
    let dir = tempfile::tempdir().unwrap();
    circle(dir.path().join("task"));
    let error = said(&load(&dir).unwrap_err());
    assert!(error.starts_with("there is no task"), "{error}");
    // One to the directory that it is in is no circle of links: it is copied, and not walked.
    let dir = made(GOOD);
    symlink(".", dir.path().join("task/fixture/here")).unwrap();
    let to = dir.path().join("copy");
    copy(&load(&dir).unwrap().fixture().unwrap(), &to).unwrap();
    assert_eq!(fs::read_link(to.join("here")).unwrap(), Path::new("."));
}

#[test]
fn aliases_that_swell_are_refused() {
    let level = |at: u32| {
        let names = vec![format!("*a{}", at - 1); 10].join(", ");
        format!("&a{at} [{names}]")
    };
    let swollen: Vec<String> = (1..12).map(level).collect();
    let bomb = format!(
        "name: fix\nprompt: [&a0 [x, x, x, x, x, x, x, x, x, x], {}]\njudges: []\n",
        swollen.join(", ")
    );
    let itself = "name: fix\nprompt: &a [*a]\njudges: []\n";
    let deep = format!("name: fix\nprompt: {}\njudges: []\n", "[".repeat(100_000));
    for (text, expected) in [(bomb.as_str(), "alias"), (itself, "alias"), (deep.as_str(), "nested")] {
        let error = said(&load(&made(text)).unwrap_err());
        assert!(error.contains(expected), "{}", &error[..error.len().min(300)]);
    }
}
