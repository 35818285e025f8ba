//! An evaluation is run: its cases side by side, each a thread in a workspace of its own, which is judged when it is over.
//!
//! From the bottom up: `seed` makes the seed of a case; `plan` is what is to be run; `ledger` is what the store knows of each
//! case; `workspace` where it works; `drive` runs its thread as a process and keeps it within its limits; `standing` tells how
//! it ended, and whether that was the workflow's doing; `measure` what it took; `case` does one from its beginning to its
//! record. Whatever is killed at any moment is gone on with: a case that is recorded is not run again, and one that has begun
//! has its thread.

mod again;
mod case;
mod drive;
mod ledger;
mod measure;
mod plan;
mod seed;
mod standing;
mod workspace;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use uwf_engine::spawn::StopSignal;
use uwf_engine::thread::ThreadOptions;
use uwf_engine::{Env, Homes};
use uwf_store::Store;

use crate::case::Case;
use crate::judge::Judging;
use crate::record::{CaseRef, Evaluation, Records};
use crate::{EvalError, load};

pub use self::again::judge_again;
pub(crate) use self::measure::Measured;
pub use self::plan::{Plan, PlanError, Planned, Script};
pub use self::seed::seed_of;
pub use self::workspace::directory;

/// What an evaluation is run with.
pub struct Runner<'a> {
    /// The store.
    pub store: &'a Store,
    /// Where locks and journals are.
    pub homes: &'a Homes,
    /// Where workspaces are.
    pub root: &'a Path,
    /// The environment of threads.
    pub env: &'a Env,
    /// The program `uwf`.
    pub program: &'a str,
    /// What is chosen for every thread.
    pub options: &'a ThreadOptions,
    /// How many cases run side by side.
    pub parallel: usize,
    /// How often a case is tried again whose infrastructure failed.
    pub retries: u32,
    /// Whether threads of earlier evaluations are not taken.
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
    let _lock = lock(runner, &plan.name)?;
    let evaluation = ledger::open(runner.store, &records, plan)?;
    let before = load::cases_of(runner.store, &evaluation)?;
    let spent = before.iter().filter_map(|case| case.cost_usd).sum();
    let waiting = plan.missing(&evaluation.cases);
    on_event(Event::Began { planned: plan.cases().count(), before });
    let fixtures = plan.tasks.iter().map(|planned| workspace::capture_fixture(runner, &planned.task));
    let fixtures: Vec<_> = fixtures.collect::<Result<_, _>>()?;
    let pool = Pool {
        next: AtomicUsize::new(0),
        broke: AtomicBool::new(false),
        spent: Mutex::new(spent),
        failed: Mutex::new(None),
    };
    let (sender, events) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..runner.parallel.clamp(1, waiting.len().max(1)) {
            let (sender, pool, waiting, fixtures) = (sender.clone(), &pool, &waiting, &fixtures);
            scope.spawn(move || {
                while let Some(slot) = pool.take(waiting, runner) {
                    let planned = &plan.tasks[slot.task];
                    let work =
                        case::Work { plan, planned, runner, records: &records, before: fixtures[slot.task] };
                    pool.done(work.run(slot.repeat, &sender), runner, &sender);
                }
            });
        }
        drop(sender);
        for event in events {
            on_event(event);
        }
    });
    if let Some(error) = pool.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    if let Some(signal) = runner.stop.signal() {
        return Ok(Ended::Stopped(signal));
    }
    let evaluation = load::evaluation(runner.store, &plan.name)?;
    if !plan.missing(&evaluation.cases).is_empty() {
        return Ok(Ended::OutOfMoney);
    }
    ledger::close(runner.store, &records, evaluation)?;
    Ok(Ended::Done)
}

/// What the threads of a run share.
struct Pool {
    next: AtomicUsize,
    broke: AtomicBool,
    spent: Mutex<f64>,
    /// Why nothing more is begun.
    failed: Mutex<Option<EvalError>>,
}

impl Pool {
    /// The next case that is to be run, if any is.
    fn take<'s>(&self, waiting: &'s [plan::Slot], runner: &Runner<'_>) -> Option<&'s plan::Slot> {
        let has_failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if has_failed || runner.stop.signal().is_some() || self.is_broke(runner) {
            return None;
        }
        waiting.get(self.next.fetch_add(1, Ordering::SeqCst))
    }

    fn is_broke(&self, runner: &Runner<'_>) -> bool {
        let spent = *self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if runner.max_cost.is_some_and(|most| spent >= most && spent > 0.0) {
            self.broke.store(true, Ordering::SeqCst);
        }
        self.broke.load(Ordering::SeqCst)
    }

    fn done(&self, came: Result<Option<Case>, EvalError>, runner: &Runner<'_>, events: &mpsc::Sender<Event>) {
        match came {
            Ok(Some(case)) => {
                if !case.cached {
                    *self.spent.lock().unwrap_or_else(PoisonError::into_inner) +=
                        case.cost_usd.unwrap_or(0.0);
                }
                // Whoever listens outlives the threads.
                events.send(Event::Finished(Box::new(case))).ok();
            }
            // Stopped in the middle.
            Ok(None) => {}
            Err(_) if runner.stop.signal().is_some() => {}
            Err(error) => {
                self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    }
}

/// Held while an evaluation is run: two programs would run each case twice.
fn lock(runner: &Runner<'_>, name: &str) -> Result<File, EvalError> {
    let dir = directory(runner.root, name);
    let failed = |path: PathBuf| move |source| EvalError::Disk { path, source };
    uwf_engine::home::make_private(&dir).map_err(failed(dir.clone()))?;
    let path = dir.join("lock");
    let file = File::create(&path).map_err(failed(path.clone()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(EvalError::Busy { name: name.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed(path)(source)),
    }
}

/// The cases of an evaluation that are recorded, by task and repeat.
fn is_finished(cases: &[CaseRef], task: &str, repeat: u32) -> bool {
    cases.iter().any(|case| case.task == task && case.repeat == repeat)
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
    }
}
