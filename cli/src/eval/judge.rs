//! `uwf-eval judge`: the cases of an evaluation are judged again, by the judges that their tasks have now.

use std::path::PathBuf;

use uwf_eval::load::evaluation;
use uwf_eval::run::{Again, Judged, judge_again};
use uwf_eval::{EvalError, Evaluation};

use super::args::Judge;
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
    let mock = args.judge_mock.as_ref().map(|file| planning::script(session, &place, file)).transpose()?;
    let by = mock.as_ref().map_or_else(String::new, |script| script.hash.clone());
    let mock = mock.map(|script| script.path.display().to_string());
    let provider = place.provider(mock.as_deref().or(known.config.judge_mock.as_deref()))?;
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
        by: &by,
        parallel: args.parallel.map_or(0, usize::from),
    };
    let mut count = 0;
    let judged = judge_again(&args.name, &again, &mut |judged| match judged {
        Judged::Case(case) => {
            count += 1;
            let score = super::show::score(case.score);
            session.ui.note(&format!("{}/{} {} {score}", case.task, case.repeat, case.outcome.as_str()));
        }
        Judged::Kept { task, repeat, why } => {
            session.ui.warn(&format!("{task}/{repeat} stays as it was judged: {why}"));
        }
    });
    if let (Err(EvalError::Stopped), Some(signal)) = (&judged, stop.signal()) {
        let error = format!("stopped by signal {signal}").into();
        let hint = Some("what was judged stays so; the same command judges the rest".to_owned());
        return Err(CliError::Said { error, hint, exit: u8::try_from(128 + signal).unwrap_or(1) });
    }
    judged?;
    if count == 0 && !args.all {
        session.ui.note("no case was judged: all that can be have a score by these judges; --all judges all");
    }
    outcome::tell(session, &args.name, &Bounds::of(args.min, args.max_unscored))
}
