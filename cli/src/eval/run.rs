//! `uwf-eval run`: the cases of tasks are run and judged, and their score is told.

use uwf_engine::config;
use uwf_eval::run::{Ended, Event, Plan, Runner, run as run_all};
use uwf_eval::{Case, EvalError, Tokens, load};
use uwf_store::Store;

use super::args::Run;
use super::outcome::{self, Bounds};
use super::place::Place;
use super::planning;
use super::progress::Progress;
use crate::shell::{CliError, Session, Ui};

pub(super) fn run(session: &mut Session<'_>, args: &Run) -> Result<u8, CliError> {
    let (place, store) = Place::of(session)?;
    config::load(&place.homes.uwf)?;
    let mut plan = plan(session, &store, args, &place)?;
    (session.catch_signals)(&session.stop);
    session.ui.remarks = !session.ui.is_quiet();
    let sandbox = place.sandbox(plan.config.sandbox.as_deref())?;
    let provider = place.provider(plan.config.judge_mock.as_deref())?;
    let options = plan.config.options.clone();
    let mut progress = Progress::new(session.terminals.err && !session.ui.is_quiet());
    let stop = session.stop.clone();
    let judging = place.judging(&stop, &sandbox, &provider);
    let snapshots = place.snapshots()?;
    let runner = Runner {
        store: &store,
        homes: &place.homes,
        root: &place.root,
        env: &place.env,
        program: &place.program,
        options: &options,
        parallel: args.parallel.map_or_else(processors, usize::from),
        snapshots: &snapshots,
        keep: args.keep,
        retries: args.retries,
        fresh: args.fresh,
        max_cost: args.max_cost,
        stop: &stop,
        judging: &judging,
    };
    let mut is_warned = args.max_cost.is_none();
    let ended = loop {
        let ended = run_all(&plan, &runner, &mut |event| {
            if let Event::Began { .. } = &event {
                session.ui.note(&format!("evaluation {}", plan.name));
            }
            progress.tell(&event, &mut session.ui);
            if let Event::Finished(case) = &event
                && !is_warned
                && is_of_unknown_cost(case, &plan)
            {
                is_warned = true;
                progress.clear(&mut session.ui);
                warn_of_unknown_cost(&mut session.ui);
            }
        });
        match ended {
            // Another program took the name between the looking and the taking.
            Err(EvalError::Busy { .. } | EvalError::Taken { .. }) if plan.is_new => {
                planning::rename(&store, &mut plan)?;
            }
            ended => break ended,
        }
    };
    progress.clear(&mut session.ui);
    let bounds = Bounds::of(args.min, args.max_unscored);
    told(session, &plan, ended, (&bounds, args))
}

/// What is to be run, as it was typed or begun.
fn plan(session: &mut Session<'_>, store: &Store, args: &Run, place: &Place) -> Result<Plan, CliError> {
    let Some(name) = &args.resume else { return planning::typed(session, store, args, place) };
    let evaluation = load::evaluation(store, name)?;
    if evaluation.imported {
        return Err(EvalError::Imported { name: name.clone() }.into());
    }
    planning::begun(session, store, &evaluation, place)
}

fn told(
    session: &mut Session<'_>,
    plan: &Plan,
    ended: Result<Ended, EvalError>,
    (bounds, args): (&Bounds, &Run),
) -> Result<u8, CliError> {
    let most = args.max_cost.map(|most| format!(" --max-cost {most}")).unwrap_or_default();
    let keep = if args.keep { " --keep" } else { "" };
    let go_on = format!("uwf-eval run --resume {}{keep}{most}", plan.name);
    let ended = ended.map_err(|error| {
        let begun =
            !matches!(error, EvalError::Busy { .. } | EvalError::Plan(_) | EvalError::Imported { .. });
        let hint =
            error.hint().or_else(|| begun.then(|| format!("what is finished is kept; go on with: {go_on}")));
        hint.into_iter().fold(CliError::from(error), CliError::with_hint)
    })?;
    match ended {
        Ended::Done => {}
        Ended::Stopped(signal) => {
            let error = format!("stopped by signal {signal}").into();
            let exit = u8::try_from(128 + signal).unwrap_or(1);
            return Err(CliError::Said {
                error,
                hint: Some(format!("nothing is lost; go on with: {go_on}")),
                exit,
            });
        }
        Ended::OutOfMoney => {
            session.ui.warn("not all cases were run: those that were have cost what all may");
            session.ui.hint(&format!("go on with: uwf-eval run --resume {}{keep} --max-cost USD", plan.name));
        }
    }
    outcome::tell(session, &plan.name, bounds)
}

fn warn_of_unknown_cost(ui: &mut Ui<'_>) {
    ui.warn("nobody knows what cases cost: --max-cost ends nothing");
    ui.hint(
        "say it in $UWF_HOME/agents/builtin.yaml, in USD per million tokens: prices: { MODEL: { input: 0.25, output: 2 } }",
    );
}

/// Whether a model was paid for a case that nobody knows the cost of. A script costs nothing.
fn is_of_unknown_cost(case: &Case, plan: &Plan) -> bool {
    let is_scripted =
        || plan.tasks.iter().any(|planned| planned.task.name == case.task && planned.script.is_some());
    let Tokens { input, output, turns } = case.tokens;
    case.cost_usd.is_none() && !case.cached && input + output + turns > 0 && !is_scripted()
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
