//! Summaries of what happened in a thread: where one stands, who makes it, and how the steps after it are stored again.
//!
//! A step that has `compact` says: a summary of everything before this step is there. Steps never change, so a summary
//! is put before the last ones of a thread by storing these again behind the same step, the first of them with it. The
//! old ones stay, and the step of the role [`COMPACT`], which made the summary, leads to them. Pure reading and writing
//! of nodes: nothing is played here, and no head moves.

use serde::Serialize;
use serde_json::{Value, json};
use uwf_store::schema::builtin::META_SCHEMA;
use uwf_store::{Hash, Store};
use uwf_workflow::template;

use super::{Link, StepNode, ThreadError, ThreadId, WalkBack, step_node};
use crate::workflow::Role;

/// The role that sums up; no workflow has one of that name.
pub const COMPACT: &str = "$COMPACT";

/// The type of its output. It is part of no store before the first summary.
pub const SUMMARY: Hash = Hash::from_static("1TQMDCRNEED37");

/// How many steps stay as they are where nobody says.
pub use uwf_workflow::KEEP;

/// How many of the last steps are looked at for a summary where only people ask.
const LOOKED_AT: usize = 256;

/// A summary that stands before a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SummaryPlace {
    /// The step.
    pub step: Hash,
    /// A text node: what happened before the step.
    pub summary: Hash,
    /// The step of [`COMPACT`] that made it.
    pub by: Option<Hash>,
}

impl SummaryPlace {
    /// The summary before a step, if one stands there.
    pub fn of(hash: &Hash, step: &StepNode) -> Option<SummaryPlace> {
        let summary = step.links.compact?;
        Some(SummaryPlace { step: *hash, summary, by: step.links.compacted_by })
    }

    /// The youngest summary among the last few hundred steps of a chain.
    ///
    /// # Errors
    /// A node on the way cannot be read.
    pub fn last(store: &Store, head: &Hash) -> Result<Option<SummaryPlace>, ThreadError> {
        for link in WalkBack::from(store, head)?.at_most(LOOKED_AT).take(LOOKED_AT) {
            let link = link?;
            // A thread that was ever summed up goes on with steps that name their ancestors.
            if link.step.links.compact.is_some() || link.step.links.ancestors.is_empty() {
                return Ok(SummaryPlace::of(&link.hash, &link.step));
            }
        }
        Ok(None)
    }
}

/// The role that sums up, as a workflow would describe it.
pub fn compact_role() -> Role {
    let text = |text: &str| text.trim_end().to_owned();
    Role {
        description: String::new(),
        goal: text(include_str!("compaction/goal.md")),
        capabilities: Vec::new(),
        procedure: text(include_str!("compaction/procedure.md")),
        output: text(include_str!("compaction/output.md")),
        frontmatter: SUMMARY,
        artifacts: Vec::new(),
        context: Vec::new(),
    }
}

/// What the role is asked where so many steps stay.
pub fn compact_prompt(keep: u32) -> String {
    let words = json!({"one": keep == 1, "keep": keep});
    let prompt = template::render(include_str!("compaction/prompt.md"), &words);
    prompt.expect("the template is part of this program").trim_end().to_owned()
}

/// Makes sure that the type of a summary is in the store.
///
/// # Errors
/// It cannot be written.
pub fn ensure_summary_type(store: &Store) -> Result<(), ThreadError> {
    store.put(&META_SCHEMA, &schema())?;
    Ok(())
}

fn schema() -> Value {
    serde_json::from_str(include_str!("compaction/schema.json")).expect("the file is part of this program")
}

/// Whether more than `after` steps have come since the last summary, or since the start; no more of them are read.
///
/// # Errors
/// A node on the way cannot be read.
pub fn is_due(store: &Store, head: &Hash, after: u32) -> Result<bool, ThreadError> {
    let most = usize::try_from(after).unwrap_or(usize::MAX).saturating_add(1);
    let mut count = 0;
    for link in WalkBack::from(store, head)?.at_most(most).take(most) {
        count += 1;
        if link?.step.links.compact.is_some() {
            break;
        }
    }
    Ok(count == most)
}

/// The last `keep` steps behind `head`, the oldest first, with at least one step before them that no summary tells of.
///
/// # Errors
/// [`ThreadError::NothingToSumUp`] where there is no such step; otherwise a node on the way cannot be read.
pub fn kept_steps(
    store: &Store,
    thread: &ThreadId,
    head: &Hash,
    keep: u32,
) -> Result<Vec<Link>, ThreadError> {
    let most = usize::try_from(keep).unwrap_or(usize::MAX);
    let mut kept = Vec::new();
    for link in WalkBack::from(store, head)?.at_most(most).take(most) {
        let link = link?;
        let ends = link.step.links.compact.is_some() || link.step.prev.is_none();
        kept.push(link);
        if ends {
            let found = kept.len();
            return Err(ThreadError::NothingToSumUp { thread: *thread, found, keep });
        }
    }
    if kept.len() < most.max(1) {
        return Err(ThreadError::NothingToSumUp { thread: *thread, found: kept.len(), keep });
    }
    kept.reverse();
    Ok(kept)
}

/// Stores steps again, the oldest first, which follow each other: the first one with a summary, each of the others behind
/// the new one before it. Gives the first and the last of the new ones.
///
/// # Errors
/// The step before the first cannot be read, or the nodes cannot be written.
///
/// # Panics
/// Where there are no steps.
pub fn stored_again(
    store: &Store,
    kept: Vec<Link>,
    (summary, by): (Hash, Hash),
) -> Result<(Hash, Hash), ThreadError> {
    let mut batch = store.batch();
    let mut first = None;
    let mut last: Option<(Hash, StepNode)> = None;
    for Link { mut step, .. } in kept {
        match &last {
            None => {
                step.links.compact = Some(summary);
                step.links.compacted_by = Some(by);
                if let Some(prev) = step.prev {
                    step.links.ancestors = step_node(store, &prev)?.ancestors_after(prev);
                }
            }
            Some((hash, before)) => {
                step.prev = Some(*hash);
                step.links.ancestors = before.ancestors_after(*hash);
            }
        }
        let hash = batch.put(&step.type_(), &json!(step))?;
        first.get_or_insert(hash);
        last = Some((hash, step));
    }
    batch.commit()?;
    let (first, last) = first.zip(last).expect("at least one step is stored again");
    Ok((first, last.0))
}

#[cfg(test)]
#[path = "compaction_tests.rs"]
mod tests;
