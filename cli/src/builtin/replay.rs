//! `replay`, of `uwf` and of `uwf-builtin`: recorded steps of the builtin agent, played again.
//!
//! It is the same in both programs.

mod args;

use similar::TextDiff;
use uwf_engine::view::{ReplayChange, ReplayedStep};
use uwf_engine::{ThreadId, thread, workflow};
use uwf_store::{Hash, Store};

pub(crate) use self::args::ReplayArgs;
use super::Host;
use crate::shell::{CliError, OK, Session, USER};
use crate::step_argument::StepArgument;
use uwf_agent::AGENT;
use uwf_agent::replay::{RecordedRun, ReplayDifference, ReplayError, Replayed, replay as play, restore};
use uwf_agent::role_run::RunContext;

pub(crate) fn replay(session: &mut Session<'_>, args: &ReplayArgs) -> Result<u8, CliError> {
    let host = Host::open(session)?;
    let steps = steps(&host.store, args)?;
    let (mut views, mut is_same) = (Vec::new(), true);
    for step in steps {
        match one(&host, step, args.run_tools, session) {
            Ok(replayed) => {
                is_same &= replayed.difference.is_none();
                views.push(view(step, replayed));
            }
            // The others can be played all the same.
            Err(error) if args.all => {
                is_same = false;
                session.ui.warn(&error.message());
            }
            Err(error) => return Err(error),
        }
    }
    let text: String = views.iter().map(told).collect();
    session.ui.bytes(&views, text.as_bytes(), color)?;
    Ok(if is_same { OK } else { USER })
}

/// The steps that are meant; of a thread those of the builtin agent.
fn steps(store: &Store, args: &ReplayArgs) -> Result<Vec<Hash>, CliError> {
    if !args.all {
        let named = StepArgument::parse(&args.step).map_err(|error| match args.step.parse::<ThreadId>() {
            Ok(thread) => error.with_hint(format!(
                "`uwf replay {thread}:1` plays its first step again, `uwf replay --all {thread}` every one"
            )),
            Err(_) => error,
        })?;
        return Ok(vec![named.find(store)?]);
    }
    let thread: ThreadId = args.step.parse()?;
    let head = thread::head(store, &thread)?;
    let (chain, workflow) =
        (thread::chain(store, &head.hash)?, workflow::get(store, &head.start(store)?.workflow)?);
    let linked = chain
        .steps
        .into_iter()
        .flat_map(|(hash, step)| step.previous_attempts.unwrap_or_default().into_iter().chain([hash]));
    let mut steps: Vec<Hash> = linked.collect();
    for role in workflow.roles.keys() {
        steps.extend(thread::failed_attempts(store, &thread, role)?);
    }
    let is_own = |hash: &Hash| thread::step_node(store, hash).is_ok_and(|step| step.agent == AGENT);
    Ok(steps.into_iter().filter(is_own).collect())
}

/// Plays one step again, in directories of its own.
fn one(host: &Host, step: Hash, run_tools: bool, session: &mut Session<'_>) -> Result<Replayed, CliError> {
    let recorded = RecordedRun::read(&host.store, step)?;
    let failed = |error| CliError::said("cannot make a directory for the replay", error);
    let scratch = tempfile::tempdir().map_err(failed)?;
    let (home, workspace) = (scratch.path().join("home"), scratch.path().join("work"));
    for dir in [&home, &workspace] {
        std::fs::create_dir(dir).map_err(failed)?;
    }
    if run_tools {
        restore(&recorded, &host.store, &workspace)?;
    }
    let replayed = host.offline(&workspace, run_tools, session, async |context| {
        let context = RunContext { home: &home, env: context.env.clone(), ..*context };
        play(&recorded, &context, run_tools, &mut |_| ()).await
    })?;
    Ok(replayed?)
}

fn view(step: Hash, replayed: Replayed) -> ReplayedStep {
    let Replayed { requests, turns, difference } = replayed;
    let change = |ReplayDifference { turns, entry, what, recorded, found }| ReplayChange {
        turn: turns + 1,
        entry,
        what,
        recorded,
        found,
    };
    ReplayedStep { step, requests, turns, difference: difference.map(change) }
}

/// A step for people.
fn told(step: &ReplayedStep) -> String {
    let ReplayedStep { step, requests, turns, difference } = step;
    let same = match requests {
        1 => "1 request is the same".to_owned(),
        requests => format!("{requests} requests are the same"),
    };
    let Some(ReplayChange { turn, what, recorded, found, .. }) = difference else {
        return format!("{step}: {same}, byte for byte ({turns} turns)\n");
    };
    let diff = TextDiff::from_lines(recorded.as_str(), found.as_str());
    let lines = diff.unified_diff().context_radius(2).header("recorded", "now").to_string();
    format!("{step}: {same}, and in turn {turn} {what}\n{lines}\n")
}

fn color(line: &str) -> Option<&'static str> {
    match line.as_bytes().first()? {
        b'+' => Some("32"),
        b'-' => Some("31"),
        b'@' => Some("36"),
        _ => None,
    }
}

impl From<ReplayError> for CliError {
    fn from(error: ReplayError) -> CliError {
        match error {
            ReplayError::Run(error) => error.into(),
            ReplayError::Settings(error) => error.into(),
            ReplayError::Store(error) => error.into(),
            ReplayError::Thread(error) => error.into(),
            error => CliError::Said { error: Box::new(error), hint: None, exit: USER },
        }
    }
}
