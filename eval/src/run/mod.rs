//! An evaluation is run: its cases side by side, each a thread in a workspace of its own, which is judged when it is over.
//!
//! From the bottom up: `seed` makes the seed of a case; `plan` is what is to be run; `ledger` is what the store knows of each
//! case, and `lock` keeps other programs from it; `scratch` has what is needed only while a program runs; `workspace` is where a
//! case works, and what of it is kept; `drive` runs its thread as a process and keeps it within its limits; `standing` tells how
//! it ended, and whether that was the workflow's doing; `left` whether what was left in the middle can be
//! gone on with, or the case begins anew; `case` does one from its beginning to its record; `pool` says which is next; `again` judges
//! those that are recorded once more. Whatever is killed at any moment is gone on with: a case that is recorded is not run again,
//! but for an error, and one that has begun goes on unless that could change what comes of it.

mod again;
mod case;
mod drive;
mod ledger;
mod left;
mod lock;
mod plan;
mod pool;
mod scratch;
mod seed;
mod standing;
mod workspace;

use std::path::Path;
use std::sync::mpsc;
use std::thread;

use uwf_engine::spawn::StopSignal;
use uwf_engine::thread::ThreadOptions;
use uwf_engine::{Env, Homes};
use uwf_snapshot::Options;
use uwf_store::Store;

use self::pool::Pool;
use crate::case::{Case, Outcome};
use crate::judge::Judging;
use crate::record::{Evaluation, Records};
use crate::{EvalError, load};

pub use self::again::{Again, JudgeMock, Judged, judge_again};
pub use self::lock::oldest_run;
pub use self::plan::{Plan, PlanError, Planned, Script};
pub use self::scratch::Scratch;
pub use self::seed::seed_of;
pub use self::workspace::{directory, root_of};

/// What an evaluation is run with.
pub struct Runner<'a> {
    /// The store.
    pub store: &'a Store,
    /// Where locks, journals and the store are.
    pub homes: &'a Homes,
    /// Where workspaces are: those of the store alone, see [`root_of`].
    pub root: &'a Path,
    /// The environment of threads.
    pub env: &'a Env,
    /// The program `uwf`.
    pub program: &'a str,
    /// What is chosen for every thread.
    pub options: &'a ThreadOptions,
    /// How many cases run side by side.
    pub parallel: usize,
    /// What of workspaces is kept, and what never is.
    pub snapshots: &'a Options,
    /// Whether workspaces stay where they are once their case is recorded; so they do where the evaluation was begun so.
    pub keep: bool,
    /// How often a case is tried again whose infrastructure failed.
    pub retries: u32,
    /// Whether threads of earlier evaluations are not taken; nor are they where the evaluation was begun so.
    pub fresh: bool,
    /// What all cases may cost together, in USD; those that have begun come to their end.
    pub max_cost: Option<f64>,
    /// Set when this program is to stop.
    pub stop: &'a StopSignal,
    /// What judges are run with.
    pub judging: &'a Judging<'a>,
}

/// What happens while an evaluation is run.
#[derive(Debug)]
pub enum Event {
    /// It goes on with so many cases finished.
    Began {
        /// Cases in all.
        planned: usize,
        /// Those that were finished before.
        before: Vec<Case>,
    },
    /// The infrastructure of a case failed, and it is tried again.
    Retried {
        /// The task.
        task: String,
        /// Which of its cases.
        repeat: u32,
        /// What failed.
        why: String,
    },
    /// What was begun for a case is given up, and it begins anew: going on might have changed what comes of it.
    Anew {
        /// The task.
        task: String,
        /// Which of its cases.
        repeat: u32,
        /// What might have.
        why: String,
    },
    /// A case is finished and recorded.
    Finished(Box<Case>),
}

/// How running ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All cases are finished.
    Done,
    /// A signal has stopped it.
    Stopped(i32),
    /// The cases so far have cost what all may.
    OutOfMoney,
}

/// Runs what of a plan is not finished, and tells how that ended. The evaluation has the plan's name.
///
/// # Errors
/// Another program runs it just now, or the store or the disk refuses; what was finished by then is recorded.
pub fn run(plan: &Plan, runner: &Runner<'_>, on_event: &mut dyn FnMut(Event)) -> Result<Ended, EvalError> {
    let records = Records::register(runner.store)?;
    let _lock = lock::lock(runner.homes, &plan.name)?;
    let evaluation = ledger::open(runner.store, &records, plan)?;
    let recorded = load::cases_of(runner.store, &evaluation)?;
    let waiting = plan.missing(&recorded);
    if !waiting.is_empty() && evaluation.finished_at.is_some() {
        ledger::reopen(runner.store, &records, evaluation.clone())?;
    }
    let known = load::hash_of(runner.store, &plan.name)?;
    let (fresh, keep) = (runner.fresh || evaluation.config.fresh, runner.keep || evaluation.config.keep);
    let fixtures = plan.tasks.iter().map(|planned| workspace::capture_fixture(runner, &planned.task));
    let fixtures: Vec<_> = fixtures.collect::<Result<_, _>>()?;
    let parallel = runner.parallel.clamp(1, waiting.len().max(1));
    let pool = Pool::new(parallel, recorded.iter().filter_map(Case::paid).sum());
    if !keep {
        workspace::remove_recorded(runner, &plan.name, &evaluation);
    }
    let before = recorded.into_iter().filter(|case| case.outcome != Outcome::Error).collect();
    on_event(Event::Began { planned: plan.cases().count(), before });
    let (sender, events) = mpsc::channel();
    thread::scope(|scope| {
        // Whoever records a case leaves its room to another.
        for _ in 0..2 * parallel {
            let (sender, pool, waiting, fixtures) = (sender.clone(), &pool, &waiting, &fixtures);
            scope.spawn(move || {
                while let Some((slot, room)) = pool.take(waiting, runner) {
                    let planned = &plan.tasks[slot.task];
                    let before = fixtures[slot.task];
                    let work = case::Work { plan, planned, runner, records: &records, before, fresh, keep };
                    let judged = |case: &Case| {
                        pool.judged(case, slot);
                        drop(room);
                    };
                    pool.done(work.run(slot, &sender, judged), runner, &sender);
                }
            });
        }
        drop(sender);
        for event in events {
            on_event(event);
        }
    });
    let all_begun = pool.ended(waiting.len())?;
    if let Some(signal) = runner.stop.signal() {
        return Ok(Ended::Stopped(signal));
    }
    if !all_begun {
        return Ok(Ended::OutOfMoney);
    }
    ledger::close(runner.store, &records, (load::evaluation(runner.store, &plan.name)?, known))?;
    workspace::remove_empty(&directory(runner.root, &plan.name));
    Ok(Ended::Done)
}

/// An evaluation as it is begun.
fn begun(plan: &Plan, now: u64) -> Evaluation {
    Evaluation {
        name: plan.name.clone(),
        config: plan.config.clone(),
        tasks: plan.tasks.iter().map(Planned::reference).collect(),
        cases: Vec::new(),
        started_at: now,
        finished_at: None,
        imported: false,
    }
}
