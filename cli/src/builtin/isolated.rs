//! `run --isolated`: the run works in a copy of the workspace, and gives back what it changed as a patch.
//!
//! The copy is `<TMPDIR>/uwf-isolated-<id>`; `$UWF_HOME/isolated/<id>.json` says of what it is one, so that a process that goes
//! on with the run knows it, too. The workspace itself is only read. What is written or removed when the run is over is what a
//! confined process may: a file that was opened before, the copy, and what is in `$UWF_HOME`.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uwf_agent::isolated::copy_workspace;
use uwf_agent::settings::Settings;
use uwf_agent::stand_alone::RunOutcome;
use uwf_engine::home::make_private;
use uwf_engine::record::{Detail, RunSnapshots};
use uwf_engine::{AdapterOutput, Homes, ThreadId};
use uwf_snapshot::{TreeChange, diff, patch};
use uwf_store::{Hash, Store, atomic_file};

use crate::shell::{CliError, Session};

use super::args::IsolationArgs;

/// How the name of a copy begins.
const PREFIX: &str = "uwf-isolated-";

/// What to do where there is no place for a copy.
const TMPDIR: &str = "set TMPDIR to a directory that you may write to";

/// A copy of a workspace; dropped before it is kept, it is gone.
pub(super) struct IsolatedCopy {
    dir: PathBuf,
    /// Says of what it is one.
    note: PathBuf,
    origin: Origin,
    kept: bool,
}

/// What it is a copy of.
#[derive(Serialize, Deserialize)]
struct Origin {
    workspace: String,
    tree: Hash,
}

impl IsolatedCopy {
    /// Copies the workspace.
    pub(super) fn make(
        (settings, homes): (&Settings, &Homes),
        store: &Store,
        workspace: &Path,
        session: &mut Session<'_>,
    ) -> Result<IsolatedCopy, CliError> {
        let parent = session.env.get("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let id = ThreadId::new(store.now());
        let parent = session.directory(Some(&parent)).map_err(|error| error.with_hint(TMPDIR))?;
        let dir = parent.join(format!("{PREFIX}{id}"));
        DirBuilder::new().mode(0o700).create(&dir).map_err(|error| {
            CliError::said(format!("cannot make the directory {}", dir.display()), error).with_hint(TMPDIR)
        })?;
        let origin = Origin { workspace: workspace.to_string_lossy().into_owned(), tree: uwf_snapshot::TREE };
        let mut copy = IsolatedCopy { note: note(homes, &id), dir, origin, kept: false };
        let copied = copy_workspace((settings, homes), store, workspace, &copy.dir);
        let copied = copied.map_err(|why| {
            CliError::user(format!("the workspace {} cannot be copied: {why}", workspace.display()))
        })?;
        copy.origin.tree = copied.tree;
        copy.write_note().map_err(|error| {
            CliError::said(format!("cannot write {}", copy.note.display()), error)
                .with_hint("free space there, or set UWF_HOME to a directory that you may write to")
        })?;
        copied.partial.iter().for_each(|partial| session.ui.warn(partial));
        if copied.left_out > 0 {
            session.ui.detail(&format!(
                "not in the copy: what snapshots leave out ({} in {}), such as what git ignores",
                copied.left_out,
                workspace.display()
            ));
        }
        Ok(copy)
    }

    /// The copy that a run worked in, if it was one.
    pub(super) fn of(workspace: &Path, homes: &Homes) -> Option<IsolatedCopy> {
        let id = workspace.file_name()?.to_str()?.strip_prefix(PREFIX)?.parse::<ThreadId>().ok()?;
        let note = note(homes, &id);
        let origin = serde_json::from_slice(&fs::read(&note).ok()?).ok()?;
        Some(IsolatedCopy { dir: workspace.to_owned(), note, origin, kept: true })
    }

    fn write_note(&self) -> io::Result<()> {
        self.note.parent().map_or(Ok(()), make_private)?;
        let origin = serde_json::to_vec(&self.origin).expect("a path and a hash are JSON");
        atomic_file::replace(&self.note, &origin)
    }

    /// Where the run works.
    pub(super) fn workspace(&self) -> PathBuf {
        self.dir.clone()
    }

    /// From now on it stays until its run is over.
    pub(super) fn keep(&mut self) {
        self.kept = true;
    }

    /// Says where it is.
    pub(super) fn tell(&self, session: &mut Session<'_>) {
        let (workspace, dir) = (&self.origin.workspace, self.dir.display());
        session.ui.note(&format!("the copy of {workspace} stays in {dir}"));
    }

    /// The run is over: gives back what it changed, and removes the copy where that is all there is to do.
    pub(super) fn end(
        mut self,
        (store, reply, outcome): (&Store, &AdapterOutput, RunOutcome),
        (how, patch_file): (&IsolationArgs, Option<PatchFile>),
        session: &mut Session<'_>,
    ) -> Result<(), CliError> {
        if outcome != RunOutcome::Ended {
            self.tell(session);
            return Ok(());
        }
        let changes = match self.changes(store, &reply.detail_hash) {
            Ok(changes) => changes,
            Err(error) => {
                self.tell(session);
                return Err(error);
            }
        };
        let workspace = &self.origin.workspace;
        let (number, step) = (changes.len(), reply.step_hash);
        let what = match (number, &how.patch) {
            (0, _) => format!("the run changed nothing; {workspace} is as it was"),
            (_, Some(file)) => {
                format!("to make the same changes in {workspace}, apply {} there", file.display())
            }
            (_, None) => {
                format!("to make the same changes in {workspace}: uwf step diff {step} --patch | git apply")
            }
        };
        if let Some(Err(error)) = patch_file.map(|file| file.write(store, &changes)) {
            self.tell(session);
            return Err(error.with_hint(format!("`uwf step diff {step} --patch` prints the same patch")));
        }
        session.ui.note(&what);
        if how.keep || self.remove().is_err() {
            self.tell(session);
        }
        Ok(())
    }

    fn remove(&mut self) -> io::Result<()> {
        self.kept = true;
        fs::remove_dir_all(&self.dir)?;
        fs::remove_file(&self.note)
    }

    /// What is different in the copy after the run.
    fn changes(&self, store: &Store, detail: &Hash) -> Result<Vec<TreeChange>, CliError> {
        match Detail::read(store, detail)?.snapshots {
            // No tool of the role changes anything.
            None => Ok(Vec::new()),
            Some(RunSnapshots { after: Some(after), .. }) => Ok(diff(store, &self.origin.tree, &after.tree)?),
            Some(RunSnapshots { failed, .. }) => {
                let why = failed.unwrap_or_else(|| "its end was not captured".to_owned());
                Err(CliError::user(format!("there is no patch of what the run changed: {why}")))
            }
        }
    }
}

/// Where the patch goes, opened before the process is confined.
pub(super) struct PatchFile {
    path: PathBuf,
    file: File,
}

impl PatchFile {
    /// Opens it; what is in it stays until there is a patch.
    pub(super) fn open(how: &IsolationArgs, cwd: &Path) -> Result<Option<PatchFile>, CliError> {
        let Some(path) = how.patch.as_deref().map(|file| cwd.join(file)) else { return Ok(None) };
        let opened = File::options().create(true).truncate(false).write(true).open(&path);
        let file = opened.map_err(|error| {
            CliError::said(format!("cannot write the patch to {}", path.display()), error)
                .with_hint("name a file that you may write with --patch FILE")
        })?;
        Ok(Some(PatchFile { path, file }))
    }

    fn write(mut self, store: &Store, changes: &[TreeChange]) -> Result<(), CliError> {
        let mut text = Vec::new();
        patch(store, changes, &mut text)?;
        let written = self.file.set_len(0).and_then(|()| self.file.write_all(&text));
        written.map_err(|error| CliError::said(format!("cannot write {}", self.path.display()), error))
    }
}

fn note(homes: &Homes, id: &ThreadId) -> PathBuf {
    homes.uwf.join("isolated").join(format!("{id}.json"))
}

impl Drop for IsolatedCopy {
    fn drop(&mut self) {
        if !self.kept {
            // What cannot be removed lies where temporary files do.
            self.remove().ok();
        }
    }
}
