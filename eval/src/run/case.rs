//! One case, from its beginning, or from where it was left, to its record.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread::sleep;
use std::time::{Duration, Instant};

use uwf_engine::ThreadId;
use uwf_engine::thread::{self, ThreadOptions};
use uwf_store::Hash;

use super::drive::{Drove, drive};
use super::standing::{Standing, first_line, standing};
use super::{Event, Measured, Plan, Planned, Runner, ledger, seed_of, workspace};
use crate::EvalError;
use crate::case::{Case, Outcome};
use crate::judge::{self, Scored, Subject};
use crate::record::{EvalRun, Records, RunConfig, Sample};

/// How long it is waited before infrastructure is tried again, times the number of tries.
const PAUSE: Duration = Duration::from_secs(5);

/// What is the same for all cases of a task.
pub(super) struct Work<'a> {
    pub(super) plan: &'a Plan,
    pub(super) planned: &'a Planned,
    pub(super) runner: &'a Runner<'a>,
    pub(super) records: &'a Records,
    /// The workspace as it is before the thread.
    pub(super) before: Hash,
}

/// A thread that has come to its end, one way or another.
struct Ran {
    thread: ThreadId,
    workspace: PathBuf,
    outcome: Outcome,
    reason: Option<String>,
    cached: bool,
}

impl Work<'_> {
    /// Does a case; none where it was stopped before its end.
    pub(super) fn run(&self, repeat: u32, events: &Sender<Event>) -> Result<Option<Case>, EvalError> {
        let sample = self.sample(repeat);
        let cached = match self.runner.fresh {
            true => None,
            false => ledger::sampled(self.runner.store, self.records, &sample)?,
        };
        let ran = match cached {
            Some((thread, after)) => Some(self.taken(repeat, thread, &after)?),
            None => self.ran(repeat, events)?,
        };
        let Some(ran) = ran else { return Ok(None) };
        let (run, can_stand) = self.judged(repeat, &ran)?;
        let sample = Some(&sample).filter(|_| can_stand);
        let hash = ledger::finish(self.runner.store, self.records, &run, sample)?;
        Ok(Some(run.case(&hash)))
    }

    fn name(&self) -> &str {
        &self.planned.task.name
    }

    fn seed(&self, repeat: u32) -> u64 {
        seed_of(self.plan.config.seed, self.name(), repeat)
    }

    fn sample(&self, repeat: u32) -> Sample {
        let (config, task) = (&self.plan.config, &self.planned.task);
        Sample {
            workflow: self.planned.workflow,
            task: task.seen.clone(),
            prompt: task.prompt.clone(),
            agent: config.agent.clone(),
            model: config.model.clone(),
            mock: self.planned.script.as_ref().map(|script| script.hash.clone()),
            sandbox: config.sandbox.clone(),
            engine_version: config.engine_version.clone(),
            seed: self.seed(repeat),
            repeat,
        }
    }

    fn workspace(&self, repeat: u32) -> PathBuf {
        workspace::of_case(self.runner.root, &self.plan.name, (self.name(), repeat))
    }

    /// A thread that another evaluation ran, with a workspace as it left its own.
    fn taken(&self, repeat: u32, thread: ThreadId, after: &Hash) -> Result<Ran, EvalError> {
        let workspace = self.workspace(repeat);
        workspace::make_like(self.runner.store, after, &workspace)?;
        let (outcome, reason) = match standing(self.runner.store, &thread)? {
            Standing::Ended => (Outcome::Scored, None),
            Standing::Failed(why) | Standing::Broken(why) => (Outcome::Failed, Some(why)),
            Standing::Idle => (Outcome::Failed, Some("it came to a limit of its task".to_owned())),
        };
        Ok(Ran { thread, workspace, outcome, reason, cached: true })
    }

    /// Runs the thread of a case to its end; none where it was stopped before.
    fn ran(&self, repeat: u32, events: &Sender<Event>) -> Result<Option<Ran>, EvalError> {
        let store = self.runner.store;
        let thread = ledger::thread_of(store, (&self.plan.name, self.name(), repeat))?;
        let workspace = self.workspace(repeat);
        self.begin(&thread, &workspace, repeat)?;
        let mut tries = 0;
        let (outcome, reason) = loop {
            let so_far = Measured::of(store, &thread)?;
            let found = standing(store, &thread)?;
            let drove = match found {
                // As it was left, when this program ended before it was recorded.
                Standing::Ended | Standing::Failed(_) => {
                    Drove::Exited { status: None, last_words: String::new() }
                }
                Standing::Broken(_) | Standing::Idle => {
                    drive(self.runner, &thread, (&self.planned.task.limits, &so_far))
                }
            };
            let why = match self.came(&thread, drove, &so_far)? {
                Came::Stopped => return Ok(None),
                Came::Over(outcome, reason) => break (outcome, reason),
                Came::Broken(why) => why,
            };
            if tries == self.runner.retries {
                break (Outcome::Error, Some(why));
            }
            tries += 1;
            let (task, repeat) = (self.name().to_owned(), repeat);
            events.send(Event::Retried { task, repeat, why }).ok();
            // A script says the same at once.
            if self.planned.script.is_none() && !self.waited(PAUSE * tries) {
                return Ok(None);
            }
        };
        Ok(Some(Ran { thread, workspace, outcome, reason, cached: false }))
    }

    /// Waits; whether nobody has stopped it meanwhile.
    fn waited(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while Instant::now() < until && self.runner.stop.signal().is_none() {
            sleep(Duration::from_millis(100));
        }
        self.runner.stop.signal().is_none()
    }

    /// Makes sure that the thread is there, with its workspace and its options.
    fn begin(&self, thread: &ThreadId, workspace: &Path, repeat: u32) -> Result<(), EvalError> {
        let (store, task) = (self.runner.store, &self.planned.task);
        if store.vars().get_now(&format!("{}{thread}", thread::HEADS))?.is_none() {
            workspace::make(task, workspace)?;
        }
        let options = self.options(repeat);
        thread::keep_options(store, thread, &options)?;
        let cwd = workspace.to_str().ok_or_else(|| EvalError::NotText { path: workspace.to_owned() })?;
        Ok(thread::start_as(store, thread, (&self.planned.workflow, &task.prompt, cwd))?)
    }

    fn options(&self, repeat: u32) -> ThreadOptions {
        let mut options = self.runner.options.clone();
        if let Some(script) = &self.planned.script {
            options.mock = Some(script.path.display().to_string());
            options.mock_seed = Some(self.seed(repeat));
        }
        options.max_cost = options.max_cost.or(self.planned.task.limits.cost_usd);
        options
    }

    /// What came of running a thread.
    fn came(&self, thread: &ThreadId, drove: Drove, before: &Measured) -> Result<Came, EvalError> {
        let found = standing(self.runner.store, thread)?;
        let (status, last_words) = match drove {
            Drove::Stopped => return Ok(Came::Stopped),
            Drove::Limit(why) => return Ok(Came::Over(Outcome::Failed, Some(why))),
            Drove::Failed(error) => return Ok(Came::Broken(error.to_string())),
            Drove::Exited { status, last_words } => (status, last_words),
        };
        Ok(match found {
            Standing::Ended => Came::Over(Outcome::Scored, None),
            Standing::Failed(why) => Came::Over(Outcome::Failed, Some(why)),
            Standing::Broken(why) => Came::Broken(why),
            Standing::Idle if status == Some(0) => {
                let steps = self.planned.task.limits.max_steps;
                let made = Measured::of(self.runner.store, thread)?.steps;
                if made > before.steps || made >= u64::from(steps) {
                    Came::Over(Outcome::Failed, Some(format!("it made {made} steps")))
                } else {
                    Came::Broken("no step was made".to_owned())
                }
            }
            Standing::Idle => Came::Broken(match first_line(&last_words) {
                words if words.is_empty() => "uwf ended without a word".to_owned(),
                words => words.trim_start_matches("error: ").to_owned(),
            }),
        })
    }

    /// The record of a case, and whether its thread may stand for others like it.
    fn judged(&self, repeat: u32, ran: &Ran) -> Result<(EvalRun, bool), EvalError> {
        let (store, task) = (self.runner.store, &self.planned.task);
        let measured = Measured::of(store, &ran.thread)?;
        let head = thread::head(store, &ran.thread)?.hash;
        let after = workspace::captured(store, &ran.workspace)?;
        let subject = Subject {
            thread: ran.thread,
            head,
            workspace: &ran.workspace,
            before: self.before,
            after,
            measured: &measured,
            prompt: &task.prompt,
            task: &task.dir,
        };
        let is_error = ran.outcome == Outcome::Error;
        let judges = match is_error {
            true => Vec::new(),
            false => judge::all(self.runner.judging, store, self.records, (&task.judges, &subject))?,
        };
        let Scored { outcome, overall, reason } = judge::overall(ran.outcome, ran.reason.clone(), &judges);
        let config = &self.plan.config;
        let run = EvalRun {
            task: task.name.clone(),
            config: RunConfig {
                agent: config.agent.clone(),
                model: config.model.clone().or(measured.model.clone()),
                engine_version: config.engine_version.clone(),
                sandbox: config.sandbox.clone(),
            },
            thread_id: Some(ran.thread.to_string()),
            judges,
            overall,
            timestamp: store.now(),
            outcome,
            reason,
            evaluation: self.plan.name.clone(),
            repeat,
            seed: self.seed(repeat),
            task_hash: task.hash.clone(),
            workflow: self.planned.workflow,
            head: Some(head),
            before: Some(self.before),
            after: Some(after),
            cost_usd: measured.cost_usd,
            seconds: measured.seconds,
            steps: measured.steps,
            usage: measured.tokens,
            cached: ran.cached,
        };
        Ok((run, !is_error && !ran.cached))
    }
}

/// What came of running a thread once.
enum Came {
    /// It is over.
    Over(Outcome, Option<String>),
    /// The infrastructure failed.
    Broken(String),
    /// This program is to stop.
    Stopped,
}
