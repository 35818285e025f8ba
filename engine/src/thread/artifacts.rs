//! What is kept of the steps of a thread beside their outputs: the files and nodes that their roles' `artifacts` name.

use uwf_store::{Hash, Store};

use super::{StepNode, ThreadError, links};
use crate::record::{Artifact, StepContent};

/// An artifact, and the step that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadArtifact {
    /// Which step of the thread, from 1.
    pub number: usize,
    /// The StepNode.
    pub step: Hash,
    /// Who played.
    pub role: String,
    /// What is kept.
    pub artifact: Artifact,
}

/// What is kept of one step; nothing of a step that names no content.
///
/// # Errors
/// The node that says so cannot be read.
pub fn artifacts_of(store: &Store, step: &StepNode) -> Result<Vec<Artifact>, ThreadError> {
    match &step.links.content {
        None => Ok(Vec::new()),
        Some(content) => Ok(StepContent::read(store, content)?.refs),
    }
}

/// What is kept of the steps up to `head`, the oldest first.
///
/// # Errors
/// The chain, or what is kept of a step, cannot be read.
pub fn artifacts(store: &Store, head: &Hash) -> Result<Vec<ThreadArtifact>, ThreadError> {
    let mut steps = Vec::new();
    links(store, head, &mut |link| steps.push(link))?;
    let mut found = Vec::new();
    for (at, link) in steps.into_iter().rev().enumerate() {
        let (number, step, role) = (at + 1, link.hash, &link.step.role);
        let of_step = |artifact| ThreadArtifact { number, step, role: role.clone(), artifact };
        found.extend(artifacts_of(store, &link.step)?.into_iter().map(of_step));
    }
    Ok(found)
}
