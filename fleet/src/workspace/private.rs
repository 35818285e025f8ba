//! A directory of this machine's own for one thread: made from a snapshot, used, and kept for the next time where it is still
//! what a snapshot says.
//!
//! Below the root, `<thread>/files` is where the thread works, `<thread>/rest.json` says which snapshot that is while nobody
//! works in it, and `<thread>.lock` whose it is. `rest.json` goes before anything is touched: a directory without one is what
//! somebody has left who was killed, and nobody begins with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};
use uwf_engine::ThreadId;
use uwf_engine::home::{make_private, remove_directory};
use uwf_snapshot::{CaptureCache, Options, Snapshot, capture, checkout, diff, restore};
use uwf_store::{Hash, Store};

use super::WorkspaceError;
use super::error::disk;
use super::hold::{Hold, LOCK};
use crate::lease::Lease;

const FILES: &str = "files";
const REST: &str = "rest.json";
const SEEN: &str = "seen";

/// See the module. One that is dropped is removed.
#[derive(Debug)]
pub(super) struct Private {
    /// None when it was let go.
    hold: Option<Hold>,
    dir: PathBuf,
    cache: CaptureCache,
}

impl Private {
    /// The directory of a claimed thread. Where a run whose lease is over has not ended yet, it is another one.
    pub(super) fn open(root: &Path, lease: &Lease) -> Result<Private, WorkspaceError> {
        make_private(root).map_err(disk("make the directory", root))?;
        let Lease { thread, fence } = lease;
        for name in [thread.to_string(), format!("{thread}.{fence}")] {
            if let Some(hold) = Hold::take(root, &name).map_err(disk("lock a directory in", root))? {
                let dir = root.join(name);
                make_private(&dir).map_err(disk("make the directory", &dir))?;
                let cache = CaptureCache::open(&dir.join(SEEN));
                return Ok(Private { hold: Some(hold), dir, cache });
            }
        }
        let what = format!(
            "the directory of thread {thread} is in use on this machine by somebody who has the same lease"
        );
        Err(WorkspaceError::NotHere {
            what,
            hint: "give each worker of a machine a name of its own".to_owned(),
        })
    }

    /// Where the thread works.
    pub(super) fn files(&self) -> PathBuf {
        self.dir.join(FILES)
    }

    /// Makes it what a snapshot says, and nothing else; answers whether only differences were to be made.
    pub(super) fn fill(
        &mut self,
        store: &Store,
        tree: &Hash,
        options: &Options,
    ) -> Result<bool, WorkspaceError> {
        let rested = self.rested();
        let rest = self.dir.join(REST);
        remove_directory(&rest).map_err(disk("remove", &rest))?;
        if let Some(before) = rested
            && self.is_just(store, &before, options)
            && self.change(store, &before, tree).is_some_and(|changed| changed)
            && self.is_just(store, tree, options)
        {
            return Ok(true);
        }
        self.make(&mut |unfinished| Ok(checkout(store, tree, unfinished).map(drop)?))?;
        Ok(false)
    }

    /// Makes its files anew; they are whole or not there.
    pub(super) fn make(
        &mut self,
        make: &mut dyn FnMut(&Path) -> Result<(), WorkspaceError>,
    ) -> Result<(), WorkspaceError> {
        let (unfinished, files) = (self.dir.join("new"), self.files());
        for path in [&unfinished, &files] {
            remove_directory(path).map_err(disk("remove", path))?;
        }
        let seen = self.dir.join(SEEN);
        remove_directory(&seen).map_err(disk("remove", &seen))?;
        self.cache = CaptureCache::open(&seen);
        make_private(&unfinished).map_err(disk("make the directory", &unfinished))?;
        make(&unfinished)?;
        fs::rename(&unfinished, &files).map_err(disk("make the directory", &files))
    }

    /// Puts its files into the store.
    pub(super) fn capture(&mut self, store: &Store, options: &Options) -> Result<Snapshot, WorkspaceError> {
        Ok(capture(&self.files(), options, &mut self.cache, store)?)
    }

    /// Keeps it for the next claim of the thread here: it is what a snapshot says.
    pub(super) fn rest(mut self, tree: &Hash) {
        let rest = json!({ "tree": tree.as_str() }).to_string();
        if self.cache.save().is_ok() && fs::write(self.dir.join(REST), rest).is_ok() {
            drop(self.hold.take());
        }
    }

    /// Which snapshot it was when it was left in order.
    fn rested(&self) -> Option<Hash> {
        let rest: Value = serde_json::from_slice(&fs::read(self.dir.join(REST)).ok()?).ok()?;
        rest["tree"].as_str()?.parse().ok()
    }

    /// Whether its files are these and no others, be they such as no snapshot has.
    fn is_just(&mut self, store: &Store, tree: &Hash, options: &Options) -> bool {
        let found = self.capture(store, options);
        found.is_ok_and(|found| {
            found.tree == *tree && found.notices.is_empty() && entries(&self.files()) == Some(found.entries)
        })
    }

    /// Makes files that are one snapshot another one.
    pub(super) fn become_like(
        &mut self,
        store: &Store,
        before: &Hash,
        after: &Hash,
    ) -> Result<(), WorkspaceError> {
        let restored = restore(store, &diff(store, before, after)?, &self.files(), false)?;
        match restored.conflicts.first() {
            None => Ok(()),
            Some(conflict) => {
                let source = std::io::Error::other(conflict.why.to_string());
                Err(disk("restore", &self.files().join(&conflict.path))(source))
            }
        }
    }

    /// Restores what differs; none where that cannot be told, false where something is in the way.
    fn change(&self, store: &Store, before: &Hash, after: &Hash) -> Option<bool> {
        let changes = diff(store, before, after).ok()?;
        let restored = restore(store, &changes, &self.files(), false).ok()?;
        Some(restored.conflicts.is_empty() && restored.kept.is_empty())
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        if let Some(hold) = self.hold.take()
            && remove_directory(&self.dir).is_ok()
        {
            hold.remove();
        }
    }
}

/// How many files, directories and whatever else is below a directory; none where one cannot be read.
fn entries(dir: &Path) -> Option<u64> {
    let (mut open, mut count) = (vec![dir.to_owned()], 0);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).ok()? {
            let entry = entry.ok()?;
            count += 1;
            if entry.file_type().ok()?.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Some(count)
}

/// Removes directories that nobody works in: what killed processes have left, and all but the `kept` that were left last.
pub(super) fn prune(root: &Path, kept: usize) {
    let mut all = Vec::new();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let name = name.strip_suffix(LOCK).unwrap_or(&name).to_owned();
        let is_ours = name.split('.').next().is_some_and(|id| id.parse::<ThreadId>().is_ok());
        if is_ours && !all.iter().any(|(_, other)| *other == name) {
            let rest = fs::metadata(root.join(&name).join(REST)).and_then(|rest| rest.modified());
            all.push((rest.unwrap_or(SystemTime::UNIX_EPOCH), name));
        }
    }
    all.sort_by(|one, other| other.cmp(one));
    for (at, (rested, name)) in all.into_iter().enumerate() {
        if at < kept && rested != SystemTime::UNIX_EPOCH {
            continue;
        }
        if let Ok(Some(hold)) = Hold::take(root, &name)
            && remove_directory(&root.join(&name)).is_ok()
        {
            hold.remove();
        }
    }
}

/// Where in a directory of ours a path is that another machine's worker, or this one, has told of a thread.
pub(super) fn place_in(path: &Path, thread: &ThreadId) -> Option<PathBuf> {
    let mut parts = path.components();
    let is_ours =
        |name: &str| name == thread.as_str() || name.strip_prefix(thread.as_str()).is_some_and(is_fence);
    while let Some(part) = parts.next() {
        if part.as_os_str().to_str().is_some_and(is_ours) {
            return (parts.next()?.as_os_str() == FILES).then(|| parts.as_path().to_owned());
        }
    }
    None
}

fn is_fence(text: &str) -> bool {
    text.strip_prefix('.').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}
