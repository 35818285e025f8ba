//! Where cases work: `<root>/<evaluation>/<task>/<repeat>`, each a copy of its task's fixture, and what of it is kept.
//!
//! The root is not below `$UWF_HOME`, which no command of a model's sees. Each store has one of its own: what has the same name in
//! two of them is not the same.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use uwf_engine::home::{make_private, remove_directory};
use uwf_snapshot::{CaptureCache, Options, Snapshot, SnapshotError, Why, capture, checkout};
use uwf_store::{Hash, Store};

use super::Runner;
use crate::EvalError;
use crate::case::Outcome;
use crate::record::{EvalRun, Evaluation, Records, get};
use crate::task::{Task, copy};

/// No workspace of more bytes is kept so that it can be made again.
const MOST_BYTES: u64 = 512 << 20;
/// Where git keeps what it knows of a workspace, which snapshots never have.
const GIT: &str = ".git";

/// A workspace in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// As changes to it are told: without what is left out of snapshots.
    pub(crate) seen: Hash,
    /// All of it, so that it can be made again; none where something of it could not be kept.
    pub(crate) all: Option<All>,
}

/// All of a workspace in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct All {
    /// What is in it, but for git's own directory.
    pub(crate) tree: Hash,
    /// That, where it has one.
    pub(crate) git: Option<Hash>,
}

/// The root of a store that lies in the directory `store`, below one that many have. It stays the same while that exists.
pub fn root_of(below: &Path, store: &Path) -> PathBuf {
    // However it was typed, and whatever links lead there.
    let store = store.canonicalize().unwrap_or_else(|_| store.to_owned());
    let id = sha1_smol::Sha1::from(store.as_os_str().as_bytes()).digest().to_string();
    below.join(&id[..12])
}

/// The directory of an evaluation.
pub fn directory(root: &Path, evaluation: &str) -> PathBuf {
    root.join(evaluation)
}

/// The workspace of a case.
pub(super) fn of_case(root: &Path, evaluation: &str, (task, repeat): (&str, u32)) -> PathBuf {
    directory(root, evaluation).join(task).join(repeat.to_string())
}

/// The state that the cases of a task begin with.
pub(super) fn capture_fixture(runner: &Runner<'_>, task: &Task) -> Result<Hash, EvalError> {
    let snapshot = |dir: &Path| Ok(captured(runner.store, dir, runner.snapshots)?.tree);
    if let Some(fixture) = task.fixture() {
        return snapshot(&fixture);
    }
    let root = runner.judging.root;
    let empty = tempfile::Builder::new().prefix(".empty-").tempdir_in(root);
    snapshot(empty.map_err(|source| EvalError::Disk { path: root.to_owned(), source })?.path())
}

/// Keeps a workspace as a thread has left it. One that is not there any more is empty.
///
/// # Errors
/// It is larger or deeper than a snapshot may be, or the store cannot be written.
pub(crate) fn keep(store: &Store, dir: &Path, options: &Options) -> Result<Kept, SnapshotError> {
    if !dir.exists() {
        make_private(dir).ok();
    }
    let seen = captured(store, dir, options)?;
    let most = options.max_bytes.min(MOST_BYTES);
    let all = Options {
        ignored: true,
        leave_out: Vec::new(),
        max_bytes: most,
        max_file_bytes: most,
        ..options.clone()
    };
    let tree = match is_whole(&seen) && seen.left_out == 0 {
        true => Some(seen.tree),
        false => whole(store, dir, &all)?,
    };
    let git = dir.join(GIT);
    let git = match git.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        true => whole(store, &git, &all)?.map(Some),
        false => Some(None),
    };
    let all = tree.zip(git).filter(|_| !has_repositories_below(dir)).map(|(tree, git)| All { tree, git });
    Ok(Kept { seen: seen.tree, all })
}

/// All that is in a directory; none where that cannot be kept.
fn whole(store: &Store, dir: &Path, options: &Options) -> Result<Option<Hash>, SnapshotError> {
    match captured(store, dir, options) {
        Ok(snapshot) => Ok(is_whole(&snapshot).then_some(snapshot.tree)),
        Err(error @ SnapshotError::Store(_)) => Err(error),
        Err(_) => Ok(None),
    }
}

fn is_whole(snapshot: &Snapshot) -> bool {
    let is_missing = |why: &Why| matches!(why, Why::Unreadable(_) | Why::TooLarge { .. } | Why::Secret);
    !snapshot.notices.iter().any(|notice| is_missing(&notice.why))
}

fn captured(store: &Store, dir: &Path, options: &Options) -> Result<Snapshot, SnapshotError> {
    capture(dir, options, &mut CaptureCache::in_memory(), store)
}

/// Whether another directory than the workspace itself has one of git's: no snapshot has these.
fn has_repositories_below(dir: &Path) -> bool {
    let mut open = vec![dir.to_owned()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(&below).into_iter().flatten().flatten() {
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_git = is_dir && entry.file_name() == GIT;
            match () {
                () if is_git && below != dir => return true,
                () if is_dir && !is_git => open.push(entry.path()),
                () => {}
            }
        }
    }
    false
}

/// Makes the workspace of a case as its task has it, in the place of whatever is there. It is whole or not there.
pub(super) fn make(task: &Task, workspace: &Path) -> Result<(), EvalError> {
    made(workspace, &mut |unfinished| match task.fixture() {
        Some(fixture) => copy(&fixture, unfinished).map_err(EvalError::from),
        None => disk(fs::create_dir(unfinished), unfinished),
    })
}

/// Makes it as it once was.
pub(super) fn make_like(store: &Store, all: &All, workspace: &Path) -> Result<(), EvalError> {
    made(workspace, &mut |unfinished| {
        disk(fs::create_dir(unfinished), unfinished)?;
        checkout(store, &all.tree, unfinished)?;
        if let Some(git) = &all.git {
            let below = unfinished.join(GIT);
            disk(fs::create_dir(&below), &below)?;
            checkout(store, git, &below)?;
        }
        Ok(())
    })
}

fn made(workspace: &Path, make: &mut dyn FnMut(&Path) -> Result<(), EvalError>) -> Result<(), EvalError> {
    let parent = workspace.parent().unwrap_or(workspace);
    disk(make_private(parent), parent)?;
    let unfinished = workspace.with_extension("new");
    for path in [&unfinished, &workspace.to_owned()] {
        remove(path)?;
    }
    make(&unfinished)?;
    disk(fs::rename(&unfinished, workspace), workspace)
}

/// Removes a directory with all that is in it, if it is there, be it closed against its owner.
pub(crate) fn remove(dir: &Path) -> Result<(), EvalError> {
    disk(remove_directory(dir), dir)
}

/// Removes the workspaces of cases that were recorded before, where a program was killed between the two. What cannot be read or
/// removed stays.
pub(super) fn remove_recorded(runner: &Runner<'_>, name: &str, evaluation: &Evaluation) {
    let type_ = Records::known().run;
    for case in &evaluation.cases {
        let dir = of_case(runner.root, name, (&case.task, case.repeat));
        let run = || get::<EvalRun>(runner.store, &type_, &case.run).ok();
        let is_kept = |run: &EvalRun| run.left.is_some() && run.outcome != Outcome::Error;
        if dir.is_dir() && run().as_ref().is_some_and(is_kept) {
            remove(&dir).ok();
        }
    }
}

/// Removes the directories of an evaluation that have nothing in them.
pub(super) fn remove_empty(dir: &Path) {
    for task in fs::read_dir(dir).into_iter().flatten().flatten() {
        // What has something in it stays.
        fs::remove_dir(task.path()).ok();
    }
    fs::remove_dir(dir).ok();
}

fn disk<T>(done: io::Result<T>, path: &Path) -> Result<T, EvalError> {
    done.map_err(|source| EvalError::Disk { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use uwf_engine::builtin::PROFILE;
    use uwf_snapshot::Withheld;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn two_stores_have_nothing_in_common() {
        let dir = tempfile::tempdir().unwrap();
        let [one, other, link] = ["one", "other", "link"].map(|name| dir.path().join(name));
        [&one, &other].into_iter().for_each(|store| fs::create_dir(store).unwrap());
        symlink(&one, &link).unwrap();
        let root = |store: &Path| root_of(Path::new("/eval"), store);
        assert_eq!(root(&one), root(&link));
        assert_ne!(of_case(&root(&one), "e", ("t", 1)), of_case(&root(&other), "e", ("t", 1)));
        assert!(root(&one).starts_with("/eval"));
    }

    /// A workspace as programs leave them: what is made, what git knows, links to anywhere, a socket.
    fn left() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let workspace = dir.path().join("left");
        write(&workspace.join("a.txt"), "a");
        write(&workspace.join(".gitignore"), "made\n");
        write(&workspace.join("made/out"), "ignored");
        write(&workspace.join("node_modules/m/x.js"), "module");
        write(&workspace.join(".git/HEAD"), "ref: refs/heads/main\n");
        fs::create_dir_all(workspace.join(".git/refs/tags")).unwrap();
        symlink("/usr/bin/env", workspace.join("python")).unwrap();
        UnixListener::bind(workspace.join("socket")).unwrap();
        (dir, workspace)
    }

    #[test]
    fn a_workspace_is_made_again_as_it_was_left() {
        let store = Store::in_memory(PROFILE, || 1_800_000_000_000).unwrap();
        let (dir, workspace) = left();
        let kept = keep(&store, &workspace, &Options::default()).unwrap();
        let again = dir.path().join("again");
        make_like(&store, &kept.all.unwrap(), &again).unwrap();
        for file in ["a.txt", "made/out", "node_modules/m/x.js", ".git/HEAD"] {
            assert_eq!(
                fs::read(again.join(file)).unwrap(),
                fs::read(workspace.join(file)).unwrap(),
                "{file}"
            );
        }
        assert!(again.join(".git/refs/tags").is_dir());
        assert_eq!(fs::read_link(again.join("python")).unwrap(), Path::new("/usr/bin/env"));
        // Changes are told without what is made.
        let seen = uwf_snapshot::find(&store, &kept.seen, Path::new("made/out")).unwrap();
        assert!(seen.is_none());
        assert_eq!(keep(&store, &again, &Options::default()).unwrap(), kept);
    }

    #[test]
    fn what_is_not_kept_as_a_whole_is_not_made_again() {
        let store = Store::in_memory(PROFILE, || 1_800_000_000_000).unwrap();
        let (_dir, workspace) = left();
        let secret = Options { withheld: Withheld::new(["sk-12345"]), ..Options::default() };
        assert!(keep(&store, &workspace, &secret).unwrap().all.is_some());
        write(&workspace.join("made/key"), "it is sk-12345.");
        assert_eq!(keep(&store, &workspace, &secret).unwrap().all, None);
        fs::remove_file(workspace.join("made/key")).unwrap();
        write(&workspace.join("module/.git/HEAD"), "");
        assert_eq!(keep(&store, &workspace, &secret).unwrap().all, None);
        // One that is gone is empty.
        let gone = workspace.join("none");
        assert_eq!(
            keep(&store, &gone, &secret).unwrap().all.unwrap().git,
            None,
            "it is made again as an empty one"
        );
    }
}
