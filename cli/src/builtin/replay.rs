//! `replay`, of `uwf` and of `uwf-builtin`: recorded steps of the builtin agent, played again.
//!
//! It is the same in both programs.

mod args;

use std::fs;
use std::path::PathBuf;

use similar::TextDiff;
use tempfile::TempDir;
use uwf_engine::view::{ReplayChange, ReplayedStep};
use uwf_engine::{thread, workflow};
use uwf_store::{Hash, Store};

pub(crate) use self::args::ReplayArgs;
use super::Host;
use crate::shell::{CliError, OK, Session, USER};
use uwf_agent::AGENT;
use uwf_agent::replay::{
    RecordedRun, ReplayDifference, ReplayError, Replayed, questions, replay as play, restore,
};
use uwf_agent::role_run::RunContext;

pub(crate) fn replay(session: &mut Session<'_>, args: &ReplayArgs) -> Result<u8, CliError> {
    let host = Host::open(session)?;
    let steps = steps(session, &host.store, args)?;
    let (mut views, mut is_same) = (Vec::new(), true);
    for step in steps {
        let replayed = match args.asked {
            true => asked(&host, step, session),
            false => {
                one(&host, step, args.run_tools, session).map(|replayed| vec![view(step, None, replayed)])
            }
        };
        match replayed {
            Ok(replayed) => views.extend(replayed),
            // The others can be played all the same.
            Err(error) if args.all => {
                is_same = false;
                session.ui.warn(&error.message());
            }
            Err(error) => return Err(error),
        }
    }
    is_same &= views.iter().all(|view| view.difference.is_none());
    let text: String = views.iter().map(told).collect();
    session.ui.bytes(&views, text.as_bytes(), color)?;
    Ok(if is_same { OK } else { USER })
}

/// The steps that are meant; of a thread those of the builtin agent.
fn steps(session: &Session<'_>, store: &Store, args: &ReplayArgs) -> Result<Vec<Hash>, CliError> {
    if !args.all {
        let named = session.step_argument(&args.step).map_err(|error| {
            match session.thread_id(&args.step) {
            Ok(thread) => error.with_hint(format!(
                "`uwf replay {thread}:1` plays its first step again, `uwf replay --all {thread}` every one"
            )),
            Err(_) => error,
        }
        })?;
        return played(store, named.find(store)?);
    }
    let thread = session.thread_id(&args.step)?;
    let head = thread::head(store, &thread)?;
    let (chain, workflow) =
        (thread::chain(store, &head.hash)?, workflow::get(store, &head.start(store)?.workflow)?);
    let linked = chain.steps.into_iter().flat_map(|(hash, step)| {
        let attempts = step.previous_attempts.unwrap_or_default();
        attempts.into_iter().chain(step.links.compacted_by).chain([hash])
    });
    let linked: Vec<Hash> = linked.collect();
    let mut steps = Vec::new();
    for step in linked {
        steps.extend(played(store, step)?);
    }
    for role in workflow.roles.keys().map(String::as_str).chain([thread::COMPACT]) {
        steps.extend(thread::failed_attempts(store, &thread, role)?);
    }
    let is_own = |hash: &Hash| thread::step_node(store, hash).is_ok_and(|step| step.agent == AGENT);
    Ok(steps.into_iter().filter(is_own).collect())
}

/// What was played for a step: itself, or the steps of the thread that was called for it.
fn played(store: &Store, step: Hash) -> Result<Vec<Hash>, CliError> {
    let (mut open, mut played) = (vec![step], Vec::new());
    while let Some(step) = open.pop() {
        match thread::called_steps(store, &thread::step_node(store, &step)?)? {
            called if called.is_empty() => played.push(step),
            called => open.extend(called.into_iter().rev().map(|(step, _)| step)),
        }
    }
    Ok(played)
}

/// The directories that something is played in.
struct Scratch {
    _dir: TempDir,
    home: PathBuf,
    workspace: PathBuf,
}

impl Scratch {
    fn new() -> Result<Scratch, CliError> {
        let failed = |error| CliError::said("cannot make a directory for the replay", error);
        let dir = tempfile::tempdir().map_err(failed)?;
        let [home, workspace] = ["home", "work"].map(|name| dir.path().join(name));
        [&home, &workspace].into_iter().try_for_each(fs::create_dir).map_err(failed)?;
        Ok(Scratch { _dir: dir, home, workspace })
    }
}

/// Plays one step again, in directories of its own.
fn one(host: &Host, step: Hash, run_tools: bool, session: &mut Session<'_>) -> Result<Replayed, CliError> {
    let recorded = RecordedRun::read(&host.store, step)?;
    let Scratch { home, workspace, .. } = &Scratch::new()?;
    if run_tools {
        restore(&recorded, &host.store, workspace)?;
    }
    let replayed = host.offline(workspace, run_tools, session, async |context| {
        let context = RunContext { home, env: context.env.clone(), ..*context };
        play(&recorded, &context, run_tools, &mut |_| ()).await
    })?;
    Ok(replayed?)
}

/// Plays the questions to one step again.
fn asked(host: &Host, step: Hash, session: &mut Session<'_>) -> Result<Vec<ReplayedStep>, CliError> {
    let questions = questions(&host.store, &host.homes.uwf, &step)?;
    if questions.is_empty() {
        return Err(CliError::user(format!("no question to the step {step} is remembered")).with_hint(format!(
            "`uwf step ask {step} -p TEXT` puts one, to a fork of its session, and remembers it for thirty days"
        )));
    }
    let Scratch { home, workspace, .. } = &Scratch::new()?;
    host.offline(workspace, false, session, async |context| {
        let context = RunContext { home, env: context.env.clone(), ..*context };
        let mut views = Vec::new();
        for question in questions {
            let replayed = question.replay(&context, &mut |_| ()).await?;
            views.push(view(step, Some(question.text().to_owned()), replayed));
        }
        Ok(views)
    })?
}

fn view(step: Hash, question: Option<String>, replayed: Replayed) -> ReplayedStep {
    let Replayed { requests, turns, difference } = replayed;
    let change = |ReplayDifference { turns, entry, what, recorded, found }| ReplayChange {
        turn: turns + 1,
        entry,
        what,
        recorded,
        found,
    };
    ReplayedStep { step, question, requests, turns, difference: difference.map(change) }
}

/// A step for people.
fn told(step: &ReplayedStep) -> String {
    let ReplayedStep { step, question, requests, turns, difference } = step;
    let step = match question {
        Some(question) => format!("{step}, {question:?}"),
        None => step.to_string(),
    };
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
            ReplayError::Asked(error) => error.into(),
            error => CliError::Said { error: Box::new(error), hint: None, exit: USER },
        }
    }
}
