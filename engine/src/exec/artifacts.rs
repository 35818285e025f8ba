//! What is kept of a step that has succeeded: the files and nodes that its role's `artifacts` name.
//!
//! Apart from the reply because nothing here is the agent's word: files are read by the engine, from the directory that
//! it chose, before the head moves. So a step that is the head has all that it names. Whatever is wrong leaves the head
//! where it was, and nothing but unnamed nodes behind: the same command, once the file is there, takes the answer that was
//! given.

mod directory;
mod fault;
mod glob;

use std::io::Read;
use std::path::Path;

use serde_json::Value;
use uwf_store::{BLOB, BYTES, Batch, Hash, Store, StoreError, kind};
use uwf_workflow::artifact::{ArtifactGlob, ArtifactPointer, DeclaredArtifact};
use uwf_workflow::moderator::SUSPEND;

use self::directory::{FoundFile, StepDirectory};
pub use self::fault::{ArtifactError, ArtifactFault};
use super::{ExecError, LockedThread, StepResult};
use crate::builtin::TEXT;
use crate::record::{self, Artifact, StepContent};
use crate::thread::{ThreadError, answer_of, role_played};

/// How many artifacts a step can have.
pub const MAX_ARTIFACTS: usize = 1_000;
/// How many bytes the artifacts of a step can have together.
pub const MAX_ARTIFACT_BYTES: u64 = 256 << 20;

/// Stores what the role's `artifacts` name, files from the directory `cwd`; none where they name nothing, or the role asks a person.
pub(super) fn kept(
    locked: &LockedThread<'_>,
    cwd: &Path,
    played: &StepResult,
) -> Result<Option<Hash>, ExecError> {
    let role = role_played(&locked.workflow, &played.step.role)?;
    if role.artifacts.is_empty() || record::status(&played.output) == Some(SUSPEND) {
        return Ok(None);
    }
    let (store, homes) = (locked.engine.store, locked.engine.homes);
    let failed = |declared: &str, fault: Misnamed| {
        let Misnamed { named, fault } = fault;
        let (role, declared) = (played.step.role.clone(), declared.to_owned());
        ExecError::Artifact(Box::new(ArtifactError { role, declared, named, fault }))
    };
    let dir = StepDirectory::open(cwd, &[&homes.uwf, &homes.ocas])
        .map_err(|fault| failed(&role.artifacts[0], fault.into()))?;
    let mut keeper = Keeper { store, dir, batch: store.batch(), refs: Vec::new(), bytes: 0 };
    for declared in &role.artifacts {
        keeper.keep(declared, &played.output).map_err(|fault| failed(declared, fault))?;
    }
    keeper.finish(&played.step.detail)
}

/// What is wrong with which of the things that an entry names.
struct Misnamed {
    named: Option<String>,
    fault: ArtifactFault,
}

impl From<ArtifactFault> for Misnamed {
    fn from(fault: ArtifactFault) -> Misnamed {
        Misnamed { named: None, fault }
    }
}

/// What is kept so far.
struct Keeper<'s> {
    store: &'s Store,
    dir: StepDirectory,
    batch: Batch<'s>,
    refs: Vec<Artifact>,
    bytes: u64,
}

impl Keeper<'_> {
    fn keep(&mut self, declared: &str, output: &Value) -> Result<(), Misnamed> {
        match DeclaredArtifact::parse(declared).map_err(ArtifactFault::Syntax)? {
            DeclaredArtifact::Pointer(pointer) => self.pointed(&pointer, output),
            DeclaredArtifact::Files(glob) => self.matching(&glob),
        }
    }

    /// What the output names there; what it does not have is for its schema to ask for.
    fn pointed(&mut self, pointer: &ArtifactPointer, output: &Value) -> Result<(), Misnamed> {
        let name = pointer.keys.join("/");
        match output.pointer(&pointer.text) {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Array(items)) => items
                .iter()
                .enumerate()
                .filter(|(_, item)| !item.is_null())
                .try_for_each(|(at, item)| self.named(item, || format!("{name}/{at}"))),
            Some(value) => self.named(value, || name),
        }
    }

    /// What a text of the output names: the node of that hash, else a file.
    fn named(&mut self, value: &Value, name: impl FnOnce() -> String) -> Result<(), Misnamed> {
        let Value::String(text) = value else {
            return Err(ArtifactFault::NoText { kind: kind(value) }.into());
        };
        let kept = match text.parse::<Hash>() {
            Ok(hash) => self.node(hash, name()),
            Err(_) => self.file(text),
        };
        kept.map_err(|fault| Misnamed { named: Some(text.clone()), fault })
    }

    fn matching(&mut self, glob: &ArtifactGlob) -> Result<(), Misnamed> {
        let paths = glob::files(&self.dir, &glob.parts)?;
        if paths.is_empty() && !glob.optional {
            return Err(ArtifactFault::NoMatch { dir: self.dir.path.clone() }.into());
        }
        paths
            .into_iter()
            .try_for_each(|path| self.file(&path).map_err(|fault| Misnamed { named: Some(path), fault }))
    }

    /// A node that is there already.
    fn node(&mut self, hash: Hash, name: String) -> Result<(), ArtifactFault> {
        let size = match self.store.find(&hash)?.map(|node| node.type_) {
            None => return Err(ArtifactFault::NoNode),
            Some(TEXT | BYTES | BLOB) => Some(self.store.blob(&hash)?.size()),
            Some(_) => None,
        };
        self.grow(size.unwrap_or_default())?;
        self.add(Artifact { name, path: None, content: hash, size })
    }

    /// A file below the directory of the step, read as it is now.
    fn file(&mut self, named: &str) -> Result<(), ArtifactFault> {
        let FoundFile { path, file, size } = self.dir.file(named)?;
        if self.refs.iter().any(|known| known.path.as_deref() == Some(&path)) {
            return Ok(());
        }
        // Told before it is read; what grows meanwhile is cut off and told after.
        self.fits(size)?;
        let most = MAX_ARTIFACT_BYTES - self.bytes;
        let blob = self.batch.put_blob(&mut file.take(most + 1)).map_err(|error| match error {
            StoreError::Unread { source } => ArtifactFault::Unreadable { source },
            error => error.into(),
        })?;
        self.grow(blob.size)?;
        self.add(Artifact { name: path.clone(), path: Some(path), content: blob.hash, size: Some(blob.size) })
    }

    fn fits(&self, size: u64) -> Result<(), ArtifactFault> {
        let bytes = self.bytes.saturating_add(size);
        if bytes > MAX_ARTIFACT_BYTES { Err(ArtifactFault::TooLarge { bytes }) } else { Ok(()) }
    }

    fn grow(&mut self, size: u64) -> Result<(), ArtifactFault> {
        self.fits(size)?;
        self.bytes += size;
        Ok(())
    }

    fn add(&mut self, artifact: Artifact) -> Result<(), ArtifactFault> {
        match self.refs.iter().find(|known| known.name == artifact.name) {
            Some(known) if *known == artifact => return Ok(()),
            Some(_) => return Err(ArtifactFault::SameName { name: artifact.name }),
            None if self.refs.len() == MAX_ARTIFACTS => return Err(ArtifactFault::TooMany),
            None => self.refs.push(artifact),
        }
        Ok(())
    }

    /// Stores what was kept beside the text of the answer.
    fn finish(mut self, detail: &Hash) -> Result<Option<Hash>, ExecError> {
        if self.refs.is_empty() {
            return Ok(None);
        }
        let put = |batch: &mut Batch<'_>, text: String| batch.put(&TEXT, &Value::from(text));
        let answer = answer_of(self.store, detail)?;
        let text = answer.map(|text| put(&mut self.batch, text)).transpose().map_err(ThreadError::from)?;
        let content = StepContent { text, refs: self.refs };
        let content = content.put(&mut self.batch).map_err(ThreadError::from)?;
        self.batch.commit().map_err(ThreadError::from)?;
        Ok(Some(content))
    }
}

#[cfg(test)]
mod tests;
