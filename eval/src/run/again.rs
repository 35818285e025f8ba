//! An evaluation's cases are judged once more: their threads are as they are, their workspaces as they were left.
//!
//! Each case is recorded when it is judged, beside the evaluation, as those of one that goes on are: interrupted, what was judged
//! stays judged. The evaluation is made whole at the end.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, available_parallelism};

use uwf_engine::{Homes, ThreadId};
use uwf_store::{Hash, Store};

use super::workspace::All;
use super::{ledger, lock, workspace};
use crate::case::{Case, Outcome};
use crate::judge::{self, Judging, Scored, Subject};
use crate::measure::Measured;
use crate::record::{CaseRef, EvalRun, Evaluation, Records, get};
use crate::task::Task;
use crate::{EvalError, load};

/// What an evaluation's cases are judged with once more.
pub struct Again<'a> {
    /// The store.
    pub store: &'a Store,
    /// Where locks are.
    pub homes: &'a Homes,
    /// The tasks, with the judges that they have now.
    pub tasks: &'a [Task],
    /// What judges are run with.
    pub judging: &'a Judging<'a>,
    /// Whether those are judged, too, that have a score by these very judges.
    pub all: bool,
    /// The script in the place of judges that are models.
    pub judge_mock: Option<JudgeMock>,
    /// How many cases are judged side by side; as many as there are processors where it is 0.
    pub parallel: usize,
}

/// A script in the place of judges that are models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeMock {
    /// The file, as it is found from anywhere.
    pub path: String,
    /// Its text, as a hash.
    pub hash: String,
}

/// What came of a case.
#[derive(Debug)]
pub enum Judged {
    /// It was judged.
    Case(Box<Case>),
    /// It is as it was, since it cannot be judged: why.
    Kept {
        /// The task.
        task: String,
        /// Which of its cases.
        repeat: u32,
        /// Why.
        why: String,
    },
}

/// Judges the finished cases of an evaluation by the judges that tasks have now; the threads are not run. An error of a case
/// is no case that could be judged.
///
/// # Errors
/// The evaluation is not finished, another program has it just now, a task is not the one that was run, or the store cannot be
/// written; what was judged by then is recorded.
pub fn judge_again(name: &str, again: &Again<'_>, on_case: &mut dyn FnMut(Judged)) -> Result<(), EvalError> {
    let store = again.store;
    let records = Records::register(store)?;
    let _lock = lock::lock(again.homes, name)?;
    let known = load::hash_of(store, name)?;
    let evaluation = load::evaluation(store, name)?;
    if evaluation.finished_at.is_none() {
        return Err(EvalError::Unfinished { name: name.to_owned() });
    }
    again.check(&evaluation)?;
    let (next, failed, (sender, judged)) = (AtomicUsize::new(0), Mutex::new(None), mpsc::channel());
    let parallel = match again.parallel {
        0 => available_parallelism().map_or(1, usize::from),
        some => some,
    };
    thread::scope(|scope| {
        for _ in 0..parallel.clamp(1, evaluation.cases.len().max(1)) {
            let (sender, evaluation, next, failed, records) =
                (sender.clone(), &evaluation, &next, &failed, &records);
            let cases = &evaluation.cases;
            scope.spawn(move || {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if let Err(error) = again.case((evaluation, case), records, &sender) {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                        next.store(cases.len(), Ordering::SeqCst);
                    }
                }
            });
        }
        drop(sender);
        for case in judged {
            on_case(case);
        }
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut evaluation = load::evaluation(store, name)?;
    again.note_judges(&mut evaluation, &records)?;
    ledger::close(store, &records, (evaluation, known))
}

impl Again<'_> {
    fn task(&self, name: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.name == name)
    }

    /// Judges are judges of a task: of what was asked for, and of the files that it was asked of.
    fn check(&self, evaluation: &Evaluation) -> Result<(), EvalError> {
        // What follows are limits, which have nothing to do with judges.
        let fixture = |seen: &str| seen.split(' ').next().map(str::to_owned);
        for known in &evaluation.tasks {
            let Some(task) = self.task(&known.name) else { continue };
            let differs = match () {
                () if fixture(&known.seen) != fixture(&task.seen) => "fixture",
                () if known.prompt != task.prompt => "prompt",
                () => continue,
            };
            return Err(EvalError::OtherTask { task: known.name.clone(), differs });
        }
        Ok(())
    }

    /// What judges the cases of a task, as a text.
    fn by(&self, task: &Task) -> String {
        let script = self.judge_mock.as_ref().map_or("", |script| &script.hash);
        format!("{} {script}", task.hash)
    }

    /// Whether the script in the place of models is the one that the evaluation tells.
    fn is_script_of(&self, evaluation: &Evaluation) -> bool {
        // That of an imported one is not here, and no reason to judge it by another.
        if evaluation.imported && self.judge_mock.is_none() {
            return true;
        }
        self.judge_mock.as_ref().map(|script| &script.hash) == evaluation.config.judge_mock_hash.as_ref()
    }

    /// The evaluation tells by which judges its cases are judged: those of a task, and the script in the place of models, once all
    /// are judged by them.
    fn note_judges(&self, evaluation: &mut Evaluation, records: &Records) -> Result<(), EvalError> {
        let (mut others, mut is_script) = (HashSet::new(), true);
        for case in &evaluation.cases {
            let run: EvalRun = get(self.store, &records.run, &case.run)?;
            if run.outcome == Outcome::Error {
                continue;
            }
            let task = self.task(&case.task);
            let is_of_task = task.is_some_and(|task| task.hash == run.task_hash);
            if !is_of_task {
                others.insert(case.task.clone());
            }
            let done = ledger::judged_by(self.store, (&evaluation.name, &case.task, case.repeat))?;
            is_script &= match (task, done) {
                (Some(task), Some(done)) => done == self.by(task),
                _ => self.is_script_of(evaluation),
            };
        }
        for known in evaluation.tasks.iter_mut().filter(|known| !others.contains(&known.name)) {
            if let Some(task) = self.task(&known.name) {
                known.hash.clone_from(&task.hash);
            }
        }
        if is_script && !self.is_script_of(evaluation) {
            let script = self.judge_mock.clone().map(|script| (script.path, script.hash));
            (evaluation.config.judge_mock, evaluation.config.judge_mock_hash) = script.unzip();
        }
        Ok(())
    }

    /// Judges a case, if it is to be judged, and records that.
    fn case(
        &self,
        (evaluation, case): (&Evaluation, &CaseRef),
        records: &Records,
        judged: &Sender<Judged>,
    ) -> Result<(), EvalError> {
        let name = &evaluation.name;
        if self.judging.stop.signal().is_some() {
            return Err(EvalError::Stopped);
        }
        let run: EvalRun = get(self.store, &records.run, &case.run)?;
        let Some(task) = self.task(&case.task) else { return Ok(()) };
        let by = self.by(task);
        let is_open = match ledger::judged_by(self.store, (name, &case.task, case.repeat))? {
            // It was, before an interruption.
            Some(done) => done != by,
            None => self.all || run.task_hash != task.hash || !self.is_script_of(evaluation),
        };
        if run.outcome == Outcome::Error || !(is_open || run.outcome == Outcome::Unscored) {
            return Ok(());
        }
        let told = match self.whole(&run) {
            None => Judged::Kept {
                task: run.task,
                repeat: run.repeat,
                why: "its thread, or what it left, is gone or was not kept as a whole".to_owned(),
            },
            Some(whole) => {
                let run = self.again(records, (run, task), &whole)?;
                // An imported one keeps the name that it has here.
                let run = EvalRun { evaluation: name.clone(), ..run };
                let hash = ledger::note(self.store, records, &run, &by)?;
                Judged::Case(Box::new(run.case(&hash)))
            }
        };
        // Whoever listens outlives the threads.
        judged.send(told).ok();
        Ok(())
    }

    /// What a case is judged by; none where something of it is gone.
    fn whole(&self, run: &EvalRun) -> Option<Whole> {
        let whole = Whole {
            thread: run.thread_id.as_ref()?.parse().ok()?,
            head: run.head?,
            before: run.before?,
            after: run.after?,
            left: All { tree: run.left?, git: run.left_git },
        };
        let nodes =
            [whole.head, whole.before, whole.after, whole.left.tree].into_iter().chain(whole.left.git);
        let is_there = uwf_engine::thread::head(self.store, &whole.thread).is_ok();
        (is_there && nodes.into_iter().all(|node| self.store.has(&node))).then_some(whole)
    }

    fn again(
        &self,
        records: &Records,
        (run, task): (EvalRun, &Task),
        whole: &Whole,
    ) -> Result<EvalRun, EvalError> {
        let (store, root) = (self.store, self.judging.root);
        let dir = tempfile::Builder::new().prefix(".again-").tempdir_in(root);
        let dir = dir.map_err(|source| EvalError::Disk { path: root.to_owned(), source })?;
        let place = dir.path().join("workspace");
        workspace::make_like(store, &whole.left, &place)?;
        let measured = Measured {
            steps: run.steps,
            seconds: run.seconds,
            tokens: run.usage,
            cost_usd: run.cost_usd,
            model: run.config.model.clone(),
        };
        let subject = Subject {
            thread: whole.thread,
            head: whole.head,
            workspace: &place,
            before: whole.before,
            after: whole.after,
            measured: &measured,
            prompt: &task.prompt,
            task: &task.dir,
        };
        let keep = |type_: &Hash, payload: &serde_json::Value| store.put(type_, payload);
        let judges = judge::all(self.judging, store, records, (&task.judges, &subject, &keep))?;
        // What judges said is no part of how the thread ended.
        let (outcome, reason) = match &run.failure {
            Some(why) => (Outcome::Failed, Some(why.clone())),
            None => (Outcome::Scored, None),
        };
        let Scored { outcome, overall, reason } = judge::overall(outcome, reason, &judges);
        let (task_hash, timestamp) = (task.hash.clone(), store.now());
        Ok(EvalRun { judges, outcome, overall, reason, task_hash, timestamp, ..run })
    }
}

/// What a case is judged by.
struct Whole {
    thread: ThreadId,
    head: Hash,
    before: Hash,
    after: Hash,
    left: All,
}
