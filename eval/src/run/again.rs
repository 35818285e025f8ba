//! An evaluation's cases are judged once more: their threads are as they are, their workspaces as they were left.

use uwf_engine::ThreadId;
use uwf_store::Store;

use super::{Measured, workspace};
use crate::EvalError;
use crate::case::{Case, Outcome};
use crate::judge::{self, Judging, Scored, Subject};
use crate::record::{CaseRef, EvalRun, Evaluation, Records, get};
use crate::task::Task;

use super::ledger;

/// Judges every finished case of an evaluation by the judges that `tasks` have now. The threads are not run.
///
/// # Errors
/// A thread or a workspace is gone, or the store cannot be written; what was judged by then is recorded.
pub fn judge_again(
    store: &Store,
    evaluation: &Evaluation,
    (tasks, judging): (&[Task], &Judging<'_>),
    on_case: &mut dyn FnMut(&Case),
) -> Result<(), EvalError> {
    let records = Records::register(store)?;
    let mut judged: Vec<CaseRef> = Vec::with_capacity(evaluation.cases.len());
    for case in &evaluation.cases {
        if judging.stop.signal().is_some() {
            return Err(EvalError::Stopped);
        }
        let run: EvalRun = get(store, &records.run, &case.run)?;
        let task = tasks.iter().find(|task| task.name == case.task);
        let run = match task {
            Some(task) if run.outcome != Outcome::Error => again(store, &records, (run, task), judging)?,
            _ => run,
        };
        let hash = ledger::note(store, &records, &run)?;
        on_case(&run.case(&hash));
        judged.push(CaseRef { run: hash, ..case.clone() });
    }
    let tasks = evaluation.tasks.iter().cloned().map(|mut known| {
        if let Some(task) = tasks.iter().find(|task| task.name == known.name) {
            known.hash.clone_from(&task.hash);
        }
        known
    });
    let evaluation = Evaluation { tasks: tasks.collect(), cases: judged, ..evaluation.clone() };
    ledger::replace(store, &records, &evaluation)
}

fn again(
    store: &Store,
    records: &Records,
    (run, task): (EvalRun, &Task),
    judging: &Judging<'_>,
) -> Result<EvalRun, EvalError> {
    let id = run.thread_id.clone().unwrap_or_default();
    let gone = || EvalError::Gone { task: run.task.clone(), repeat: run.repeat };
    let thread: ThreadId = id.parse().map_err(|_| gone())?;
    let (Some(head), Some(before), Some(after)) = (run.head, run.before, run.after) else {
        return Err(gone());
    };
    let dir = tempfile::Builder::new().prefix(".again-").tempdir_in(judging.root);
    let dir = dir.map_err(|source| EvalError::Disk { path: judging.root.to_owned(), source })?;
    let workspace = dir.path().join("workspace");
    workspace::make_like(store, &after, &workspace)?;
    let measured = Measured {
        steps: run.steps,
        seconds: run.seconds,
        tokens: run.usage,
        cost_usd: run.cost_usd,
        model: run.config.model.clone(),
    };
    let subject = Subject {
        thread,
        head,
        workspace: &workspace,
        before,
        after,
        measured: &measured,
        prompt: &task.prompt,
        task: &task.dir,
    };
    let judges = judge::all(judging, store, records, (&task.judges, &subject))?;
    // What judges said is no part of how the thread ended.
    let (outcome, reason) = match run.outcome {
        Outcome::Failed => (Outcome::Failed, run.reason.clone()),
        _ => (Outcome::Scored, None),
    };
    let Scored { outcome, overall, reason } = judge::overall(outcome, reason, &judges);
    Ok(EvalRun {
        judges,
        outcome,
        overall,
        reason,
        task_hash: task.hash.clone(),
        timestamp: store.now(),
        ..run
    })
}
