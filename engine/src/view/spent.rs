//! What runs cost, added up: `uwf cost`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use uwf_store::{Hash, Store, parallel};

use super::runs::{RunRow, RunsBeside, RunsWanted, sum};
use crate::thread::{self, ThreadError, ThreadId};
use crate::workflow;

/// What rows of a report are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpentBy {
    /// A row a model.
    Model,
    /// A row a role.
    Role,
    /// A row a workflow.
    Workflow,
    /// A row a thread that nobody called.
    Thread,
    /// A row a day, in UTC.
    Day,
}

impl SpentBy {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            SpentBy::Model => "model",
            SpentBy::Role => "role",
            SpentBy::Workflow => "workflow",
            SpentBy::Thread => "thread",
            SpentBy::Day => "day",
        }
    }
}

/// What runs cost in all, and by what was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spent {
    /// The thread, where one was meant, with those that were called for it.
    pub thread: Option<ThreadId>,
    /// Only runs that were over after this time count, in milliseconds since the epoch; null where all do.
    pub since: Option<u64>,
    /// What the rows are for: `model`, `role`, `workflow`, `thread` or `day`.
    pub by: &'static str,
    /// All of them.
    pub total: SpentSum,
    /// The rows; days by date, all others with the dearest first.
    pub rows: Vec<SpentRow>,
    /// Threads that cannot be read, and why.
    #[serde(skip)]
    pub unread: Vec<(ThreadId, String)>,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpentRow {
    /// What it is for; of runs that do not tell their model, null.
    pub name: Option<String>,
    /// What it comes to.
    #[serde(flatten)]
    pub sum: SpentSum,
}

/// Runs, added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpentSum {
    /// How often an agent played, failed attempts included.
    pub runs: u64,
    /// How many of these failed.
    pub failed_runs: u64,
    /// Turns of the model.
    pub turns: u64,
    /// Tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Of these, what came from a cache.
    pub cached_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// In USD, as far as it is known; null where nothing of it is.
    pub cost: Option<f64>,
    /// How many runs used a model whose price nobody knows: they are not in `cost`.
    pub unpriced_runs: u64,
    /// How long they were worked at, in seconds, without the pauses of interrupted ones.
    #[serde(skip)]
    pub worked: f64,
}

impl SpentSum {
    fn add(&mut self, run: &RunRow) {
        self.runs += 1;
        self.failed_runs += u64::from(run.failed);
        self.turns += run.turns;
        self.input_tokens += run.input_tokens;
        self.cached_tokens += run.cached_tokens;
        self.output_tokens += run.output_tokens;
        self.cost = sum(self.cost, run.cost);
        self.unpriced_runs += u64::from(run.is_unpriced());
        self.worked += run.worked;
    }
}

/// The runs of one thread, and what they are of.
struct Read {
    thread: ThreadId,
    runs: Result<Vec<RunRow>, ThreadError>,
}

impl Spent {
    /// Of a thread and those that were called for it, or of all threads; each run counts once.
    ///
    /// # Errors
    /// The threads cannot be listed, or the one that is meant cannot be read.
    pub fn of(
        store: &Store,
        thread: Option<&ThreadId>,
        since: Option<u64>,
        by: SpentBy,
    ) -> Result<Spent, ThreadError> {
        let beside = match thread {
            Some(thread) => RunsBeside::of_thread(store, thread)?,
            None => RunsBeside::of(store)?,
        };
        let threads = match thread {
            Some(thread) => vec![thread::entry(store, thread)?.thread],
            None => all(store, &beside)?,
        };
        let wanted = RunsWanted { most: usize::MAX, cached: true };
        let read = parallel::map(&threads, |thread| {
            let runs = beside.runs(store, thread, wanted).map(|(runs, _)| runs);
            Read { thread: *thread, runs }
        });
        let (mut total, mut rows, mut unread) = (SpentSum::default(), BTreeMap::new(), Vec::new());
        let (mut met, mut names) = (HashSet::new(), HashMap::new());
        for Read { thread: of, runs } in read {
            let runs = match runs {
                Ok(runs) => runs,
                Err(error) if thread.is_some() => return Err(error),
                Err(error) => {
                    unread.push((of, error.to_string()));
                    continue;
                }
            };
            for run in runs.iter().filter(|run| since.is_none_or(|since| run.at > since)) {
                if met.insert(run.key) {
                    total.add(run);
                    let name = name(store, &mut names, (&of, run), by);
                    rows.entry(name).or_insert_with(SpentSum::default).add(run);
                }
            }
        }
        let mut rows: Vec<SpentRow> = rows.into_iter().map(|(name, sum)| SpentRow { name, sum }).collect();
        if by != SpentBy::Day {
            rows.sort_by(|one, other| dearest_first(&one.sum, &other.sum));
        }
        Ok(Spent { thread: thread.copied(), since, by: by.as_str(), total, rows, unread })
    }
}

fn dearest_first(one: &SpentSum, other: &SpentSum) -> Ordering {
    let cost = |sum: &SpentSum| sum.cost.unwrap_or(-1.0);
    let tokens = |sum: &SpentSum| sum.input_tokens + sum.output_tokens;
    cost(other).total_cmp(&cost(one)).then(tokens(other).cmp(&tokens(one)))
}

/// Every thread; those that nobody called come first, so that what was done for them is theirs.
fn all(store: &Store, beside: &RunsBeside) -> Result<Vec<ThreadId>, ThreadError> {
    let entries = thread::entries(store).map(|entry| entry.map(|entry| entry.thread));
    let entries: Vec<ThreadId> = entries.collect::<Result<_, _>>()?;
    let is_called = |thread: &ThreadId| beside.caller(thread).is_some();
    let (called, own): (Vec<ThreadId>, Vec<ThreadId>) = entries.into_iter().partition(is_called);
    Ok([own, called].concat())
}

/// Which row a run belongs to.
fn name(
    store: &Store,
    names: &mut HashMap<Hash, Option<String>>,
    (thread, run): (&ThreadId, &RunRow),
    by: SpentBy,
) -> Option<String> {
    match by {
        SpentBy::Model => run.model.clone(),
        SpentBy::Role => Some(run.role.clone()),
        SpentBy::Thread => Some(thread.to_string()),
        SpentBy::Day => Some(day(run.at)),
        SpentBy::Workflow => {
            names.entry(run.start).or_insert_with(|| workflow_name(store, &run.start)).clone()
        }
    }
}

fn workflow_name(store: &Store, start: &Hash) -> Option<String> {
    let start = thread::start_node(store, start).ok()?;
    Some(
        workflow::get(store, &start.workflow).map_or_else(|_| start.workflow.to_string(), |found| found.name),
    )
}

/// `2026-11-23`, in UTC.
fn day(ms: u64) -> String {
    // Beyond the year 9999 there is no such text.
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(ms.min(253_402_300_799_000));
    let text = humantime::format_rfc3339_seconds(at).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}
