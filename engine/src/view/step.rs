//! The steps of a thread: its chain from the start, and what failed since the last success.

use serde::Serialize;
use serde_json::Value;
use uwf_store::{Hash, Store, parallel};

use crate::thread::{self, Link, ThreadError, ThreadId, Usage, WalkBack};
use crate::undo_log::UndoLog;
use crate::variables::UNDOS;

/// A thread's steps, as `step list` prints them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadSteps {
    /// The thread.
    pub thread: ThreadId,
    /// Its Workflow node.
    pub workflow: Hash,
    /// The start, then the steps, oldest first; of a page that does not reach back to it, without the start.
    pub steps: Vec<ListedNode>,
    /// The step before which the steps are that this page leaves out; absent where it begins with the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Hash>,
    /// The attempts of roles that have not succeeded since, role by role; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<StepView>,
}

/// Which of a thread's steps are listed; by default all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepsPage {
    /// Only those before this step; failed attempts, which come after all steps, are left out then.
    pub before: Option<Hash>,
    /// At most so many, the last ones.
    pub take: Option<usize>,
}

/// A node of a thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ListedNode {
    /// The first.
    Start(StartView),
    /// One of the others.
    Step(Box<StepView>),
}

/// How a thread began.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartView {
    /// The StartNode.
    pub hash: Hash,
    /// The Workflow node.
    pub workflow: Hash,
    /// The task.
    pub prompt: String,
    /// When the node was put, in milliseconds since the epoch.
    pub timestamp: u64,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// The StepNode.
    pub hash: Hash,
    /// Who played.
    pub role: String,
    /// The output's payload.
    pub output: Value,
    /// The record of the run.
    pub detail: Hash,
    /// Who made it.
    pub agent: String,
    /// When the node was put, in milliseconds since the epoch.
    pub timestamp: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// What the run used, when the agent tells.
    pub usage: Option<Usage>,
    /// The model, where the record tells; of a step that another thread made, its last one.
    pub model: Option<String>,
    /// In USD, as far as it is known.
    pub cost: Option<f64>,
    /// How many calls of tools failed, where the record counts them.
    pub failed_calls: Option<u64>,
    /// The failed attempts before it.
    pub previous_attempts: Option<Vec<AttemptView>>,
    /// How much of what it changed in the workspace is undone: `whole` or `part`; absent where nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone: Option<&'static str>,
    /// A text node: the summary of everything before it; absent where none stands here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact: Option<Hash>,
    /// The step that made the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compacted_by: Option<Hash>,
}

/// A failed attempt at a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AttemptView {
    /// Named only: each attempt may list all before it.
    Named(Hash),
    /// In full.
    Read(Box<StepView>),
}

/// Something beside the chain that cannot be read.
#[derive(Debug)]
pub struct Unread {
    /// What it is, in words.
    pub what: &'static str,
    /// The variable that holds it.
    pub list: String,
    /// What cannot be read of it.
    pub error: ThreadError,
}

impl ThreadSteps {
    /// The steps of a thread. The chain is walked one node after the other, no farther than to the first step of the
    /// page; what its steps refer to is read side by side. Lists of failed attempts and a log of what was undone that
    /// cannot be read hide nothing else, and are given beside it.
    ///
    /// # Errors
    /// What the chain cannot be read for, or [`ThreadError::NotOfThread`] for a page before a step of another thread.
    pub fn of(
        store: &Store,
        thread: &ThreadId,
        page: &StepsPage,
    ) -> Result<(ThreadSteps, Vec<Unread>), ThreadError> {
        let head = thread::entry(store, thread)?.head;
        let mut back = WalkBack::from(store, &head).map_err(|error| error.headless(thread))?;
        if let Some(step) = page.before {
            let of = back.start();
            back = WalkBack::from(store, &step)?;
            // The steps of a fork share their start: whether they are of this thread, its whole chain alone would tell.
            if back.start() != of || back.next().transpose()?.is_none() {
                return Err(ThreadError::NotOfThread { step, thread: *thread });
            }
        }
        let take = page.take.unwrap_or(usize::MAX);
        let mut back = back.at_most(take);
        let links: Result<Vec<Link>, ThreadError> = back.by_ref().take(take).collect();
        let mut links = links?;
        links.reverse();
        let read: Result<Vec<StepView>, ThreadError> =
            parallel::map(&links, |link| StepView::of(store, link)).into_iter().collect();
        let mut read = read?;
        let (mut failed, mut unread) = match page.before {
            Some(_) => Default::default(),
            None => failed_since(store, thread)?,
        };
        let log = UndoLog::of(store, thread).unwrap_or_else(|error| {
            unread.push(Unread { what: "what was undone", list: format!("{UNDOS}{thread}"), error });
            UndoLog::default()
        });
        let undone = log.undone_runs();
        for step in read.iter_mut().chain(&mut failed) {
            step.undone = undone.get(&step.detail).map(|undone| undone.word());
        }
        let start = StartView::of(store, (&back.start(), &head))?;
        let (workflow, begins) = (start.workflow, back.peek().is_none());
        let earlier = links.first().map(|link| link.hash).filter(|_| !begins);
        let steps = read.into_iter().map(|step| ListedNode::Step(Box::new(step)));
        let steps = begins.then_some(ListedNode::Start(start)).into_iter().chain(steps).collect();
        Ok((ThreadSteps { thread: *thread, workflow, steps, earlier, failed }, unread))
    }
}

impl StartView {
    fn of(store: &Store, (hash, head): (&Hash, &Hash)) -> Result<StartView, ThreadError> {
        let start = thread::start_node(store, hash).map_err(|error| error.severed(head, "the start of"))?;
        let timestamp = store.get(hash)?.timestamp;
        Ok(StartView { hash: *hash, workflow: start.workflow, prompt: start.prompt, timestamp })
    }
}

/// The attempts of roles that have not succeeded since, role by role: no step links them yet.
fn failed_since(store: &Store, thread: &ThreadId) -> Result<(Vec<StepView>, Vec<Unread>), ThreadError> {
    let (mut failed, mut unread) = (Vec::new(), Vec::new());
    for attempts in thread::all_failures(store, Some(thread))? {
        let read = attempts.steps.and_then(|steps| {
            steps
                .iter()
                .map(|hash| StepView::alone(store, &thread::link(store, hash)?))
                .collect::<Result<Vec<_>, _>>()
        });
        match read {
            Ok(read) => failed.extend(read),
            Err(error) => {
                unread.push(Unread { what: "the failed attempts", list: attempts.variable.name, error })
            }
        }
    }
    Ok((failed, unread))
}

impl StepView {
    /// One step with the attempts before it.
    ///
    /// # Errors
    /// When its output, or one of the attempts, cannot be read.
    pub fn of(store: &Store, link: &Link) -> Result<StepView, ThreadError> {
        let mut step = StepView::alone(store, link)?;
        if let Some(attempts) = &link.step.previous_attempts {
            let read = |hash: &Hash| {
                let attempt = StepView::alone(store, &thread::link(store, hash)?)?;
                Ok(AttemptView::Read(Box::new(attempt)))
            };
            step.previous_attempts = Some(attempts.iter().map(read).collect::<Result<_, ThreadError>>()?);
        }
        Ok(step)
    }

    /// The step with the attempts before it named only.
    fn alone(store: &Store, Link { hash, step, timestamp }: &Link) -> Result<StepView, ThreadError> {
        let named = |attempts: &Vec<Hash>| attempts.iter().copied().map(AttemptView::Named).collect();
        // A record that cannot be read tells nothing.
        let detail = thread::detail_of(store, step).unwrap_or_default();
        Ok(StepView {
            hash: *hash,
            role: step.role.clone(),
            output: store.get(&step.output)?.payload,
            detail: step.detail,
            agent: step.agent.clone(),
            timestamp: *timestamp,
            duration_ms: step.duration_ms(),
            usage: step.usage.clone(),
            model: detail.model.filter(|model| !model.is_empty()),
            cost: detail.cost,
            failed_calls: detail.failed_calls,
            previous_attempts: step.previous_attempts.as_ref().map(named),
            undone: None,
            compact: step.links.compact,
            compacted_by: step.links.compacted_by,
        })
    }
}
