//! One thread: where it stands, its graph, and its steps, the last ones first to be read.

use serde::Deserialize;
use serde_json::Value;
use uwf_engine::record;
use uwf_engine::thread::{self, Head, Link, StartNode, Status, ThreadError, ThreadId, WalkBack};
use uwf_engine::view::ThreadView;
use uwf_engine::workflow;
use uwf_engine::{Workflow, lock};
use uwf_store::{Hash, Store, parallel};
use uwf_workflow::frontmatter;
use uwf_workflow::graph_export::ThreadProgress;

use crate::error::WebError;
use crate::site::Site;
use crate::sums::Sum;

/// How many steps a page has.
pub(crate) const STEPS: usize = 100;

/// Which steps of a thread are shown, as the address says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ThreadQuery {
    /// Steps up to this number.
    pub(crate) to: Option<usize>,
    /// Steps of this role alone.
    pub(crate) role: Option<String>,
    /// All of them, which no address asks for.
    #[serde(skip)]
    pub(crate) all: bool,
}

/// A step among those of its thread.
#[derive(Clone, Debug)]
pub(crate) struct StepRow {
    /// From 1; none of an attempt that failed.
    pub(crate) number: Option<usize>,
    pub(crate) hash: Hash,
    pub(crate) role: String,
    pub(crate) output: Value,
    pub(crate) asked: String,
    pub(crate) agent: String,
    pub(crate) model: Option<String>,
    pub(crate) completed_at_ms: u64,
    pub(crate) duration_ms: u64,
    pub(crate) turns: Option<u64>,
    pub(crate) tokens: Option<(u64, u64)>,
    pub(crate) cost: Option<f64>,
    pub(crate) failed_calls: u64,
    /// The attempts that failed before it.
    pub(crate) attempts: Vec<Hash>,
    /// The last step of the thread that was called for it.
    pub(crate) called: Option<Hash>,
    /// Whether a summary stands before it.
    pub(crate) summed_up: bool,
}

impl StepRow {
    pub(crate) fn of(store: &Store, number: Option<usize>, link: &Link) -> Result<StepRow, ThreadError> {
        let step = &link.step;
        let detail = thread::detail_of(store, step).unwrap_or_default();
        Ok(StepRow {
            number,
            hash: link.hash,
            role: step.role.clone(),
            output: store.get(&step.output)?.payload,
            asked: step.edge_prompt.clone(),
            agent: step.agent.clone(),
            model: detail.model,
            completed_at_ms: step.completed_at_ms,
            duration_ms: step.duration_ms(),
            turns: step.usage.as_ref().map(|usage| usage.turns),
            tokens: step
                .usage
                .as_ref()
                .map(|usage| (usage.input_tokens, usage.output_tokens))
                .filter(|used| *used != (0, 0)),
            cost: detail.cost,
            failed_calls: thread::failed_calls(store, step).unwrap_or_default(),
            attempts: step.previous_attempts.clone().unwrap_or_default(),
            called: thread::called_by(store, &step.detail)?,
            summed_up: step.links.compact.is_some(),
        })
    }

    /// Whether it failed.
    pub(crate) fn failed(&self) -> bool {
        record::status(&self.output) == Some("error")
    }
}

/// A thread as its page tells of it.
pub(crate) struct ThreadPage {
    pub(crate) view: ThreadView,
    pub(crate) workflow: Workflow,
    pub(crate) start: StartNode,
    pub(crate) updated: u64,
    pub(crate) sum: Sum,
    /// The oldest first.
    pub(crate) steps: Vec<StepRow>,
    /// What failed and has not succeeded since.
    pub(crate) failed: Vec<StepRow>,
    pub(crate) progress: ThreadProgress,
    /// The words of its last step, once it has ended.
    pub(crate) answer: Option<String>,
    pub(crate) query: ThreadQuery,
}

/// A thread with the steps that are asked for.
pub(crate) fn thread(site: &Site, id: &ThreadId, query: &ThreadQuery) -> Result<ThreadPage, WebError> {
    let store = &site.store;
    let stored = thread::head(store, id)?;
    let start = stored.start(store)?;
    let workflow = workflow::get(store, &start.workflow)?;
    let head = stored.settled(store, &workflow, site.judge());
    let view = ThreadView::stored(store, (*id, &head), (start.workflow, &workflow), site.judge())
        .linked(store, &head)?
        .running(&lock::running(&site.homes.uwf, id));
    let sum = site.sums.of(store, &head.hash)?;
    let links = links(store, &head, sum.steps, query)?;
    let read = |(number, link): &(usize, Link)| StepRow::of(store, Some(*number), link);
    let steps = parallel::map(&links, read).into_iter().collect::<Result<Vec<_>, _>>()?;
    let failed = failed(store, id)?;
    let progress = progress(&view, &head, &sum, &failed);
    let ended = head.step().filter(|_| matches!(head.status, Status::Ended { .. }));
    let answer = ended.and_then(|step| thread::answer_of(store, &step.detail).ok().flatten());
    let answer = answer.map(|answer| frontmatter::body(&answer).to_owned()).filter(|body| !body.is_empty());
    let query = query.clone();
    Ok(ThreadPage {
        view,
        workflow,
        start,
        updated: head.updated,
        sum,
        steps,
        failed,
        progress,
        answer,
        query,
    })
}

/// The node at which a thread waits for an answer; none where it asks nothing just now.
pub(crate) fn asks_at(site: &Site, id: &ThreadId) -> Result<Option<Hash>, WebError> {
    let view = ThreadView::of(&site.store, &site.homes.uwf, id, site.judge())?;
    Ok((view.status == "suspended").then_some(view.head))
}

/// The steps of the page with their numbers, the oldest first.
fn links(
    store: &Store,
    head: &Head,
    count: usize,
    query: &ThreadQuery,
) -> Result<Vec<(usize, Link)>, ThreadError> {
    let to = query.to.unwrap_or(count).min(count);
    let walk = WalkBack::from(store, &head.hash)?;
    let walk = if query.role.is_none() && !query.all { walk.at_most(count - to + STEPS) } else { walk };
    let mut links = Vec::new();
    for (number, link) in (1..=count).rev().zip(walk) {
        let link = link?;
        let wanted = query.role.as_ref().is_none_or(|role| *role == link.step.role);
        if number <= to && wanted {
            links.push((number, link));
        }
        if links.len() == STEPS && !query.all {
            break;
        }
    }
    links.reverse();
    Ok(links)
}

fn failed(store: &Store, thread: &ThreadId) -> Result<Vec<StepRow>, ThreadError> {
    let mut rows = Vec::new();
    for attempts in thread::all_failures(store, Some(thread))? {
        // A list that cannot be read hides nothing else.
        for hash in attempts.steps.unwrap_or_default() {
            if let Ok(link) = thread::link(store, &hash) {
                rows.push(StepRow::of(store, None, &link)?);
            }
        }
    }
    Ok(rows)
}

fn progress(view: &ThreadView, head: &Head, sum: &Sum, failed: &[StepRow]) -> ThreadProgress {
    let runs = view.status == "running";
    let current = view.current_role.clone().or(view.suspended_role.clone());
    let progress = ThreadProgress {
        done: sum.visits.keys().cloned().collect(),
        // What failed before is tried again just now.
        failed: failed
            .iter()
            .map(|row| row.role.clone())
            .filter(|role| !(runs && current.as_ref() == Some(role)))
            .collect(),
        current,
    };
    if matches!(head.status, Status::Ended { .. }) { progress.ended() } else { progress }
}
