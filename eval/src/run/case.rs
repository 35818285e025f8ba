//! One case, from its beginning, or from where it was left, to its record.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use uwf_agent::runtime::live::OpenVisits;
use uwf_engine::ThreadId;
use uwf_engine::lock::running;
use uwf_engine::thread::{self, ThreadOptions};
use uwf_snapshot::SnapshotError;
use uwf_store::Hash;

use super::drive::{Drove, Spent, drive};
use super::ledger::{Begun, Sampled};
use super::plan::Slot;
use super::standing::{Standing, first_line, standing};
use super::workspace::{self, Kept};
use super::{Event, Plan, Planned, Runner, ledger, seed_of};
use crate::EvalError;
use crate::case::{Case, GivenUp, Outcome};
use crate::judge::{self, Scored, Subject};
use crate::measure::Measured;
use crate::record::{EvalRun, Records, RunConfig, Sample, payload};

/// How long it is waited before infrastructure is tried again, times the number of tries.
const PAUSE: Duration = Duration::from_secs(5);
/// How often it is looked whether what is waited for is there.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// What is the same for all cases of a task.
pub(super) struct Work<'a> {
    pub(super) plan: &'a Plan,
    pub(super) planned: &'a Planned,
    pub(super) runner: &'a Runner<'a>,
    pub(super) records: &'a Records,
    /// The workspace as it is before the thread.
    pub(super) before: Hash,
    /// Whether no thread of another evaluation is taken.
    pub(super) fresh: bool,
    /// Whether the workspace stays where it is.
    pub(super) keep: bool,
}

/// A thread that has come to its end, one way or another.
struct Ran {
    thread: ThreadId,
    workspace: PathBuf,
    end: End,
    cached: bool,
    given_up: GivenUp,
    /// What had begun there and was ended: it was paid, and is in no step.
    cut_off: OpenVisits,
}

/// How a thread came to its end.
struct End {
    outcome: Outcome,
    reason: Option<String>,
    /// Whether another thread like it would end so, as far as anybody can say.
    can_stand: bool,
}

impl End {
    fn ended() -> End {
        End { outcome: Outcome::Scored, reason: None, can_stand: true }
    }

    fn failed(why: String) -> End {
        End { outcome: Outcome::Failed, reason: Some(why), can_stand: true }
    }

    fn error(why: String) -> End {
        End { outcome: Outcome::Error, reason: Some(why), can_stand: false }
    }
}

impl Work<'_> {
    /// Does a case; none where it was stopped before its end. `judged` is told when all is done but to record it.
    pub(super) fn run(
        &self,
        slot: &Slot,
        events: &Sender<Event>,
        judged: impl FnOnce(&Case),
    ) -> Result<Option<Case>, EvalError> {
        let sample = self.sample(slot.repeat);
        let has_begun = ledger::begun_thread(self.runner.store, self.place(slot.repeat))?.is_some();
        let sampled = match self.fresh || has_begun {
            true => None,
            false => ledger::sampled(self.runner.store, self.records, &sample)?,
        };
        let taken = sampled.map(|sampled| self.taken(slot, &sampled)).transpose()?.flatten();
        let ran = if taken.is_some() { taken } else { self.ran(slot, events)? };
        let Some(ran) = ran else { return Ok(None) };
        let found = RefCell::new(self.runner.store.batch());
        let keep = |type_: &Hash, payload: &Value| found.borrow_mut().put(type_, payload);
        let (run, can_stand) = self.judged(slot.repeat, &ran, &keep)?;
        let sample = Some(&sample).filter(|_| can_stand);
        let mut found = found.into_inner();
        let hash = found.put(&self.records.run, &payload(&run))?;
        let case = run.clone().case(&hash);
        judged(&case);
        ledger::finish(self.runner.store, self.records, (&run, hash, found), sample)?;
        // What cannot be made again is all that there is of it, and an error may be gone on with.
        if !self.keep && run.left.is_some() && run.outcome != Outcome::Error {
            workspace::remove(&ran.workspace).ok();
        }
        Ok(Some(case))
    }

    pub(super) fn name(&self) -> &str {
        &self.planned.task.name
    }

    pub(super) fn place(&self, repeat: u32) -> ledger::Place<'_> {
        (&self.plan.name, self.name(), repeat)
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
            options: ThreadOptions { mock: None, mock_seed: None, ..config.options.clone() },
            settings: config.settings.clone(),
            engine_version: config.engine_version.clone(),
            seed: self.seed(repeat),
            repeat,
        }
    }

    fn workspace(&self, repeat: u32) -> PathBuf {
        workspace::of_case(self.runner.root, &self.plan.name, (self.name(), repeat))
    }

    /// A thread that another evaluation ran, with a workspace as it left its own; none where it says nothing of the workflow.
    fn taken(&self, slot: &Slot, sampled: &Sampled) -> Result<Option<Ran>, EvalError> {
        let thread = sampled.thread;
        let end = match standing(self.runner.store, &thread)? {
            Standing::Ended => End::ended(),
            Standing::Failed(why) => End::failed(why),
            Standing::Idle => End::failed("it came to a limit of its task".to_owned()),
            Standing::Broken(_) | Standing::Halted(_) => return Ok(None),
        };
        let workspace = self.workspace(slot.repeat);
        workspace::make_like(self.runner.store, &sampled.left, &workspace)?;
        let given_up = slot.earlier.map_or_else(GivenUp::default, |earlier| {
            earlier.given_up.replaced(earlier.thread.is_some(), earlier.paid)
        });
        let cut_off = OpenVisits::default();
        Ok(Some(Ran { thread, workspace, end, cached: true, given_up, cut_off }))
    }

    /// Runs the thread of a case to its end; none where it was stopped before.
    fn ran(&self, slot: &Slot, events: &Sender<Event>) -> Result<Option<Ran>, EvalError> {
        let (repeat, workspace) = (slot.repeat, self.workspace(slot.repeat));
        let (mut begun, mut is_left) = self.begun(slot, &workspace)?;
        let mut tries = 0;
        let end = loop {
            if !self.is_free(&begun.thread) {
                return Ok(None);
            }
            let open = match is_left {
                true => self.go_on(&mut begun, (repeat, &workspace), events)?,
                false => OpenVisits::default(),
            };
            let is_new = !std::mem::replace(&mut is_left, true);
            self.begin(&begun, &workspace, repeat)?;
            let why = match self.tried((&begun, is_new), &open)? {
                Came::Stopped => return Ok(None),
                Came::Over(end) => break end,
                Came::Broken(why) => why,
            };
            if tries == self.runner.retries {
                break End::error(why);
            }
            tries += 1;
            events.send(Event::Retried { task: self.name().to_owned(), repeat, why }).ok();
            // A script says the same at once.
            if self.planned.script.is_none() && !self.waited(PAUSE * tries, &|| false) {
                return Ok(None);
            }
        };
        let Begun { thread, given_up, .. } = begun;
        let cut_off = match end.outcome {
            Outcome::Failed | Outcome::Error => {
                let head = thread::head(self.runner.store, &thread)?.hash;
                self.visits(&thread, head)?
            }
            _ => OpenVisits::default(),
        };
        Ok(Some(Ran { thread, workspace, end, cached: false, given_up, cut_off }))
    }

    /// Runs a thread on from where it stands, with what is open there; of a new one there is nothing to be read.
    fn tried(&self, (begun, is_new): (&Begun, bool), open: &OpenVisits) -> Result<Came, EvalError> {
        let (store, thread) = (self.runner.store, &begun.thread);
        let (mut so_far, found) = match is_new {
            true => (Measured::default(), Standing::Idle),
            false => (Measured::of(store, thread)?, standing(store, thread)?),
        };
        let drove = match found {
            // As it was left, when this program ended before it was recorded.
            Standing::Ended | Standing::Failed(_) | Standing::Halted(_) => {
                Drove::Exited { status: None, last_words: String::new() }
            }
            Standing::Broken(_) | Standing::Idle => {
                so_far.seconds += open.seconds;
                let cost = so_far.cost_usd.unwrap_or(0.0) + open.cost_usd.unwrap_or(0.0);
                let spent = Spent { thread: cost, given_up: begun.given_up.cost_usd.unwrap_or(0.0) };
                drive(self.runner, thread, (&self.planned.task.limits, &so_far, spent))
            }
        };
        self.came(thread, drove, &so_far)
    }

    /// Waits while another process runs the thread: what a program has started that was killed ends by itself. Whether nobody has
    /// stopped this one meanwhile.
    fn is_free(&self, thread: &ThreadId) -> bool {
        let home = &self.runner.homes.uwf;
        self.waited(self.planned.task.limits.timeout, &|| !running(home, thread).is_running())
    }

    /// Waits until the time is over, or what is waited for is there; whether nobody has stopped it meanwhile.
    pub(super) fn waited(&self, time: Duration, is_there: &dyn Fn() -> bool) -> bool {
        let begun = Instant::now();
        while self.runner.stop.signal().is_none() && begun.elapsed() < time && !is_there() {
            sleep(LOOK);
        }
        self.runner.stop.signal().is_none()
    }

    /// Makes sure that the thread is there, with its workspace and its options, and that it is noted as the case's: all of it in
    /// one write, as a write is what a small case waits for.
    fn begin(&self, begun: &Begun, workspace: &Path, repeat: u32) -> Result<(), EvalError> {
        let (store, task, thread) = (self.runner.store, &self.planned.task, &begun.thread);
        let mut changes = Vec::new();
        if store.vars().get_now(&format!("{}{thread}", thread::HEADS))?.is_none() {
            workspace::make(task, workspace)?;
            changes.push(ledger::begun_change(store, self.place(repeat), begun)?);
        }
        changes.extend(thread::options_change(store, thread, &self.options(repeat))?);
        let cwd = workspace.to_str().ok_or_else(|| EvalError::NotText { path: workspace.to_owned() })?;
        Ok(thread::start_as(store, thread, (&self.planned.workflow, &task.prompt, cwd), changes)?)
    }

    fn options(&self, repeat: u32) -> ThreadOptions {
        let mut options = self.runner.options.clone();
        if let Some(script) = &self.planned.script {
            options.mock = Some(script.path.display().to_string());
            options.mock_seed = Some(self.seed(repeat));
        }
        // Of each visit. What was given up does not count here: a role is told of its budget, and of nothing that was before.
        options.max_cost = options.max_cost.or(self.planned.task.limits.cost_usd);
        options
    }

    /// What came of running a thread.
    fn came(&self, thread: &ThreadId, drove: Drove, before: &Measured) -> Result<Came, EvalError> {
        let found = standing(self.runner.store, thread)?;
        let (status, last_words) = match (drove, &found) {
            (Drove::Stopped, _) => return Ok(Came::Stopped),
            (_, Standing::Halted(why)) => return Ok(Came::Over(End::error(why.clone()))),
            (Drove::Paid { why }, Standing::Idle | Standing::Broken(_)) => {
                return Ok(Came::Over(End::error(why)));
            }
            // It came to its end all the same.
            (Drove::Paid { .. }, _) => (None, String::new()),
            // It went into what failed below the workflow.
            (Drove::Limit { why, .. }, Standing::Broken(broke)) => {
                return Ok(Came::Over(End::error(format!("{why}; {broke}"))));
            }
            (Drove::Limit { why, is_certain: false }, _) if self.is_unanswered(thread)? => {
                return Ok(Came::Over(End::error(format!("the model never answered; {why}"))));
            }
            (Drove::Limit { why, is_certain }, _) => {
                return Ok(Came::Over(End { can_stand: is_certain, ..End::failed(why) }));
            }
            (Drove::Failed(error), _) => return Ok(Came::Broken(error.to_string())),
            (Drove::Exited { status, last_words }, _) => (status, last_words),
        };
        Ok(match found {
            Standing::Ended => Came::Over(End::ended()),
            Standing::Failed(why) => Came::Over(End::failed(why)),
            Standing::Broken(why) | Standing::Halted(why) => Came::Broken(why),
            Standing::Idle if status == Some(0) => {
                let steps = self.planned.task.limits.max_steps;
                let made = Measured::of(self.runner.store, thread)?.steps;
                if made > before.steps || made >= u64::from(steps) {
                    Came::Over(End::failed(format!("it made {made} steps")))
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
    fn judged(&self, repeat: u32, ran: &Ran, keep: &judge::Keep<'_>) -> Result<(EvalRun, bool), EvalError> {
        let (store, task) = (self.runner.store, &self.planned.task);
        let measured = Measured::of(store, &ran.thread)?;
        let head = thread::head(store, &ran.thread)?.hash;
        let (kept, end) = match workspace::keep(store, &ran.workspace, self.runner.snapshots) {
            Err(error @ SnapshotError::Store(_)) => return Err(error.into()),
            Err(error) => {
                let why = format!("the workspace cannot be kept: {}", first_line(&error.to_string()));
                (None, &End::error(why))
            }
            Ok(kept) => (Some(kept), &ran.end),
        };
        // What a limit cuts off is the workflow's doing. An error may be gone on with, and says nothing of the workflow.
        let (measured, given_up) = match end.outcome {
            Outcome::Error => (measured, ran.given_up.and_costs(ran.cut_off.cost_usd)),
            _ => (measured.with(&ran.cut_off), ran.given_up),
        };
        let judges = match kept.filter(|_| end.outcome != Outcome::Error) {
            None => Vec::new(),
            Some(Kept { seen, .. }) => {
                let subject = Subject {
                    thread: ran.thread,
                    head,
                    workspace: &ran.workspace,
                    before: self.before,
                    after: seen,
                    measured: &measured,
                    prompt: &task.prompt,
                    task: &task.dir,
                };
                judge::all(self.runner.judging, store, self.records, (&task.judges, &subject, keep))?
            }
        };
        let Scored { outcome, overall, reason } = judge::overall(end.outcome, end.reason.clone(), &judges);
        let left = kept.and_then(|kept| kept.all);
        let run = EvalRun {
            judges,
            overall,
            outcome,
            reason,
            failure: end.reason.clone().filter(|_| end.outcome == Outcome::Failed),
            head: Some(head),
            before: Some(self.before),
            after: kept.map(|kept| kept.seen),
            left: left.map(|left| left.tree),
            left_git: left.and_then(|left| left.git),
            cached: ran.cached,
            given_up,
            ..self.blank((repeat, &ran.thread), measured)
        };
        Ok((run, end.can_stand && !ran.cached))
    }

    /// What is known of a case before anybody judges it.
    fn blank(&self, (repeat, thread): (u32, &ThreadId), measured: Measured) -> EvalRun {
        let config = &self.plan.config;
        EvalRun {
            task: self.planned.task.name.clone(),
            config: RunConfig {
                agent: config.agent.clone(),
                model: config.model.clone().or(measured.model),
                engine_version: config.engine_version.clone(),
                sandbox: config.sandbox.clone(),
            },
            thread_id: Some(thread.to_string()),
            judges: Vec::new(),
            overall: None,
            timestamp: self.runner.store.now(),
            outcome: Outcome::Error,
            reason: None,
            failure: None,
            evaluation: self.plan.name.clone(),
            repeat,
            seed: self.seed(repeat),
            task_hash: self.planned.task.hash.clone(),
            workflow: self.planned.workflow,
            head: None,
            before: None,
            after: None,
            left: None,
            left_git: None,
            cost_usd: measured.cost_usd,
            seconds: measured.seconds,
            steps: measured.steps,
            usage: measured.tokens,
            cached: false,
            given_up: GivenUp::default(),
        }
    }
}

/// What came of running a thread once.
enum Came {
    /// It is over.
    Over(End),
    /// The infrastructure failed.
    Broken(String),
    /// This program is to stop.
    Stopped,
}
