//! `uwf-eval judge`: the cases of an evaluation are judged again, by the judges that their tasks have now.

use std::path::{Path, PathBuf};

use uwf_eval::load::evaluation;
use uwf_eval::run::{Again, JudgeMock, Judged, judge_again};
use uwf_eval::task::Task;
use uwf_eval::{EvalError, Evaluation};

use super::args::Judge;
use super::error::NO_RESULT;
use super::outcome::{self, Bounds};
use super::place::Place;
use super::planning;
use crate::shell::{CliError, Session};

/// Where the tasks are that have the judges.
fn tasks(args: &Judge, known: &Evaluation) -> Result<Vec<PathBuf>, CliError> {
    if !args.tasks.is_empty() {
        return Ok(args.tasks.clone());
    }
    if known.imported {
        // Whoever wrote the file does not say which scripts run here.
        return Err(CliError::user(format!("evaluation {} was imported, without its tasks", args.name))
            .with_hint("say where they are, with their judges: --task DIR"));
    }
    Ok(known.tasks.iter().map(|task| PathBuf::from(&task.path)).collect())
}

pub(super) fn judge(session: &mut Session<'_>, args: &Judge) -> Result<u8, CliError> {
    let (place, store) = Place::of(session)?;
    let known = evaluation(&store, &args.name)?;
    if known.finished_at.is_none() {
        return Err(CliError::user(format!("evaluation {} is not finished", args.name))
            .with_hint(format!("go on with: uwf-eval run --resume {}", args.name)));
    }
    let tasks = planning::load(session, &tasks(args, &known)?, &place.scratch())?;
    if let Some(other) = tasks.iter().find(|task| !known.tasks.iter().any(|known| known.name == task.name)) {
        let names: Vec<&str> = known.tasks.iter().map(|task| task.name.as_str()).collect();
        return Err(CliError::user(format!("evaluation {} has no task {}", args.name, other.name))
            .with_hint(format!("there is: {}", names.join(", "))));
    }
    let typed = args.judge_mock.as_deref().map(|file| planning::absolute(session, file));
    let mock = typed.or_else(|| known.config.judge_mock.clone());
    let script =
        mock.as_deref().map(|file| planning::script(session, &place, Path::new(file))).transpose()?;
    let copy = script.as_ref().map(|script| script.path.display().to_string());
    let judge_mock = mock.zip(script).map(|(path, script)| JudgeMock { path, hash: script.hash });
    let provider = place.provider(copy.as_deref())?;
    (session.catch_signals)(&session.stop);
    let sandbox = place.sandbox(known.config.sandbox.as_deref())?;
    let stop = session.stop.clone();
    let judging = place.judging(&stop, &sandbox, &provider);
    let again = Again {
        store: &store,
        homes: &place.homes,
        tasks: &tasks,
        judging: &judging,
        all: args.all,
        judge_mock,
        parallel: args.parallel.map_or(0, usize::from),
    };
    let (mut count, mut kept) = (0, 0);
    let judged = judge_again(&args.name, &again, &mut |judged| match judged {
        Judged::Case(case) => {
            count += 1;
            let score = super::show::score(case.score);
            session.ui.note(&format!("{}/{} {} {score}", case.task, case.repeat, case.outcome.as_str()));
        }
        Judged::Kept { task, repeat, why } => {
            kept += 1;
            session.ui.warn(&format!("{task}/{repeat} stays as it was judged: {why}"));
        }
    });
    if let (Err(EvalError::Stopped), Some(signal)) = (&judged, stop.signal()) {
        let error = format!("stopped by signal {signal}").into();
        let hint = Some("what was judged stays so; the same command judges the rest".to_owned());
        return Err(CliError::Said { error, hint, exit: u8::try_from(128 + signal).unwrap_or(1) });
    }
    judged?;
    if count == 0 && kept == 0 && !args.all {
        session.ui.note("no case was judged: all that can be have a score by these judges; --all judges all");
    }
    let exit = outcome::tell(session, &args.name, &Bounds::of(args.min, args.max_unscored))?;
    if kept == 0 {
        return Ok(exit);
    }
    Err(not_all((kept, known.cases.len()), &tasks))
}

/// So many of these cases stay as they were judged.
fn not_all((kept, all): (usize, usize), tasks: &[Task]) -> CliError {
    let error = format!("no result: {kept} of {all} cases cannot be judged again").into();
    let paths: Vec<String> = tasks.iter().map(|task| task.path.display().to_string()).collect();
    let hint = Some(format!("run them anew, by another name: uwf-eval run {} --fresh", paths.join(" ")));
    CliError::Said { error, hint, exit: NO_RESULT }
}
