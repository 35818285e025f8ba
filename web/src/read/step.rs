//! One step: what it was asked, what was said, what came of it and what it cost.

use uwf_engine::record::{Artifact, Detail};
use uwf_engine::thread::{self, StepNode, ThreadId};
use uwf_engine::view::StepDiff;
use uwf_engine::workflow;
use uwf_store::Hash;

use super::StepRow;
use super::turns::{Conversation, TurnsPage, conversation};
use crate::error::WebError;
use crate::site::Site;
use crate::sums::Sum;

/// A step as an address names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepPlace {
    /// From 1.
    Number(usize),
    /// A node; an attempt that failed has no number.
    Hash(Hash),
}

impl StepPlace {
    pub(crate) fn parse(text: &str) -> Result<StepPlace, WebError> {
        match (text.parse(), text.parse()) {
            (Ok(number @ 1..), _) if text.len() < 13 => Ok(StepPlace::Number(number)),
            (_, Ok(hash)) => Ok(StepPlace::Hash(hash)),
            _ => Err(WebError::missing("step of that name")),
        }
    }
}

/// A step as its page tells of it.
pub(crate) struct StepPage {
    pub(crate) thread: ThreadId,
    pub(crate) workflow: String,
    /// How many steps the thread has.
    pub(crate) sum: Sum,
    pub(crate) row: StepRow,
    pub(crate) step: StepNode,
    pub(crate) detail: Detail,
    pub(crate) conversation: Conversation,
    /// The opening messages as sent, as one text.
    pub(crate) prompt: Option<String>,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) changes: Result<StepDiff, String>,
    /// The thread that was called for it, as far as its name is known.
    pub(crate) called: Option<ThreadId>,
}

/// A step of a thread, with a page of its conversation.
pub(crate) fn step(
    site: &Site,
    id: &ThreadId,
    place: StepPlace,
    page: TurnsPage,
) -> Result<StepPage, WebError> {
    let head = thread::entry(&site.store, id)?.head;
    let sum = site.sums.of(&site.store, &head)?;
    let hash = found(site, id, (&head, sum.steps), place)?;
    let number = match place {
        StepPlace::Number(number) => Some(number),
        StepPlace::Hash(_) => number_of(site, &head, (&hash, sum.steps))?,
    };
    step_at(site, id, (&hash, number, sum), page)
}

/// The step at a node, whose number is known.
pub(crate) fn step_at(
    site: &Site,
    id: &ThreadId,
    (hash, number, sum): (&Hash, Option<usize>, Sum),
    page: TurnsPage,
) -> Result<StepPage, WebError> {
    let store = &site.store;
    let link = thread::link(store, hash)?;
    let row = StepRow::of(store, number, &link)?;
    let detail = Detail::read(store, &link.step.detail)?;
    let prompt = link.step.assembled_prompt.as_ref().map(|hash| store.get(hash)).transpose()?;
    let prompt = prompt.and_then(|node| node.payload.as_str().map(str::to_owned));
    let start = thread::start_node(store, &link.step.start)?;
    let called = thread::all_called(store, id).ok().filter(|_| row.called.is_some());
    let stands =
        |thread: &ThreadId| thread::entry(store, thread).is_ok_and(|entry| Some(entry.head) == row.called);
    Ok(StepPage {
        thread: *id,
        workflow: workflow::get(store, &start.workflow)?.name,
        conversation: conversation(store, &detail, page)?,
        artifacts: thread::artifacts_of(store, &link.step)?,
        changes: site.host.changes(store, hash),
        called: called.and_then(|threads| threads.into_iter().find(stands)),
        sum,
        row,
        detail: without_lists(detail),
        prompt,
        step: link.step,
    })
}

/// The lists are in the conversation.
fn without_lists(detail: Detail) -> Detail {
    Detail { turns: None, messages: None, ..detail }
}

/// The node that a place names.
pub(crate) fn step_hash(site: &Site, id: &ThreadId, place: StepPlace) -> Result<Hash, WebError> {
    let head = thread::entry(&site.store, id)?.head;
    let count = site.sums.of(&site.store, &head)?.steps;
    found(site, id, (&head, count), place)
}

/// The node of a step, which must be of the thread.
fn found(
    site: &Site,
    id: &ThreadId,
    (head, count): (&Hash, usize),
    place: StepPlace,
) -> Result<Hash, WebError> {
    let missing = || WebError::missing(format!("such step of thread {id}: it has {count}"));
    match place {
        StepPlace::Number(number) => {
            let back = count.checked_sub(number).ok_or_else(missing)?;
            thread::nth_back(&site.store, head, back)?.map_err(|_| missing())
        }
        StepPlace::Hash(hash) => {
            let start = |hash: &Hash| thread::step_node(&site.store, hash).map(|step| step.start);
            let own = thread::head(&site.store, id)?.start_hash();
            if start(&hash).is_ok_and(|start| start == own) { Ok(hash) } else { Err(missing()) }
        }
    }
}

fn number_of(site: &Site, head: &Hash, (hash, count): (&Hash, usize)) -> Result<Option<usize>, WebError> {
    let walk = thread::WalkBack::from(&site.store, head)?;
    for (number, link) in (1..=count).rev().zip(walk) {
        if link?.hash == *hash {
            return Ok(Some(number));
        }
    }
    Ok(None)
}
