//! A thread as it goes: what is new of it since it was looked at last, in lines.

use std::mem;

use uwf_agent::live::{Line, LiveReader, LiveRun, ThreadEvent, ThreadWatch, recorded_lines};
use uwf_engine::thread::{self, StepNode, ThreadError};
use uwf_engine::{ThreadId, record};
use uwf_store::{Hash, Store};

use crate::shell::render;

/// How many new steps are told at once at most.
const STEPS: usize = 100;

/// Something to tell of a thread.
pub(in crate::uwf) enum News {
    /// A line of its run.
    Line(Line),
    /// A step that was made, in a line.
    Step(Box<StepNode>, String),
}

/// A thread that is followed.
pub(in crate::uwf) struct Follower {
    pub(in crate::uwf) watch: ThreadWatch,
    /// The run whose lines are told, and how many of them are.
    run: Option<(ThreadId, u64)>,
    told: u64,
    /// How many lines were told since the last step.
    since_step: u64,
}

impl Follower {
    /// From now on; what is known of the present run by now is told first if `backlog` says so.
    pub(in crate::uwf) fn of(
        store: &Store,
        reader: &mut LiveReader,
        thread: &ThreadId,
        backlog: bool,
    ) -> Result<Follower, ThreadError> {
        let watch = ThreadWatch::of(store, reader, thread)?;
        let mut follower = Follower { watch, run: None, told: 0, since_step: 0 };
        if !backlog {
            follower.lines();
        }
        Ok(follower)
    }

    /// What runs of it.
    pub(in crate::uwf) fn run(&self) -> Option<&LiveRun> {
        self.watch.run()
    }

    /// What is new, and whether anything is: there may be no line for it.
    pub(in crate::uwf) fn news(
        &mut self,
        store: &Store,
        reader: &mut LiveReader,
    ) -> Result<(Vec<News>, bool), ThreadError> {
        let from = *self.watch.head();
        let events = self.watch.look(store, reader)?;
        let mut news = Vec::new();
        for event in &events {
            if let ThreadEvent::Moved(to) = event {
                news.extend(self.steps(store, &from, to));
            }
        }
        // Of the run that goes on now.
        news.extend(self.lines().into_iter().map(News::Line));
        Ok((news, !events.is_empty()))
    }

    /// The lines of the present run that were not told yet.
    fn lines(&mut self) -> Vec<Line> {
        let Some(run) = self.watch.run() else {
            self.run = None;
            return Vec::new();
        };
        let which = Some((run.thread, run.started_at)).filter(|_| run.turn.is_some());
        if mem::replace(&mut self.run, which) != which {
            self.told = 0;
        }
        let new = run.told.saturating_sub(self.told);
        (self.told, self.since_step) = (run.told.max(self.told), self.since_step + new);
        let skipped = run.lines.len().saturating_sub(usize::try_from(new).unwrap_or(usize::MAX));
        run.lines[skipped..].to_vec()
    }

    /// The steps that were made between two heads, each after what was not told yet of its run.
    fn steps(&mut self, store: &Store, from: &Hash, to: &Hash) -> Vec<News> {
        let mut told = mem::take(&mut self.since_step);
        (self.run, self.told) = (None, 0);
        let mut news = Vec::new();
        for (hash, step) in steps_between(store, Some(from), to, STEPS) {
            let skipped = usize::try_from(mem::take(&mut told)).unwrap_or(usize::MAX);
            news.extend(recorded_lines(store, &step).into_iter().skip(skipped).map(News::Line));
            let line = step_line(store, &hash, &step);
            news.push(News::Step(Box::new(step), line));
        }
        news
    }
}

/// The steps after `from`, up to `to`, the oldest first; of many the last `most`.
pub(in crate::uwf) fn steps_between(
    store: &Store,
    from: Option<&Hash>,
    to: &Hash,
    most: usize,
) -> Vec<(Hash, StepNode)> {
    let (mut at, mut steps) = (Some(*to), Vec::new());
    while let Some(hash) = at.filter(|at| Some(at) != from && steps.len() < most) {
        let Ok(step) = thread::step_node(store, &hash) else { break };
        at = step.prev;
        steps.push((hash, step));
    }
    steps.reverse();
    steps
}

/// A step in a line: `planner → planned  1.2 s  9GDHFMG6KAC8V`.
pub(in crate::uwf) fn step_line(store: &Store, hash: &Hash, step: &StepNode) -> String {
    let output = store.get(&step.output).map(|node| node.payload).unwrap_or_default();
    let status = record::status(&output).unwrap_or("?");
    format!("{} → {status}  {}  {hash}", step.role, render::duration(step.duration_ms()))
}
