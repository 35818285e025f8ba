//! The artifacts of a thread: what `thread artifacts` lists and writes.

use serde::Serialize;
use uwf_store::Hash;

use crate::record::Artifact;
use crate::thread::{ThreadArtifact, ThreadId};

/// An artifact among those of its thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArtifactRow {
    /// Which step of the thread, from 1.
    pub number: usize,
    /// The StepNode.
    pub step: Hash,
    /// Who played.
    pub role: String,
    /// What is kept: `name`, `path`, `content` and `size`.
    #[serde(flatten)]
    pub artifact: Artifact,
}

impl From<ThreadArtifact> for ArtifactRow {
    fn from(ThreadArtifact { number, step, role, artifact }: ThreadArtifact) -> ArtifactRow {
        ArtifactRow { number, step, role, artifact }
    }
}

/// An artifact was written to a file: `thread artifacts get`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArtifactWritten {
    /// The thread.
    pub thread: ThreadId,
    /// The StepNode.
    pub step: Hash,
    /// What the artifact is called.
    pub name: String,
    /// The node.
    pub content: Hash,
    /// How many bytes were written.
    pub size: u64,
    /// The file, as it was named.
    pub file: String,
}
