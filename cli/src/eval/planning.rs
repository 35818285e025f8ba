//! From what was typed, or what an evaluation was begun with, to what is to be run.

use std::io::Write;
use std::path::{Path, PathBuf};

use uwf_engine::config::{self, Config};
use uwf_engine::thread::ThreadOptions;
use uwf_engine::workflow;
use uwf_eval::load::names;
use uwf_eval::record::{EvalConfig, Evaluation, is_segment};
use uwf_eval::run::{Plan, Planned, Script as TaskScript};
use uwf_eval::task::{MOCK, Task};
use uwf_store::atomic_file::AtomicFile;
use uwf_store::{Hash, Store};

use super::args::{Run, Who};
use super::mock::read_script;
use super::place::Place;
use crate::shell::{CliError, Session};

/// The version of the engine that is part of this program.
const ENGINE: &str = env!("CARGO_PKG_VERSION");
/// The agent where nobody names one.
const CONFIGURED: &str = "configured";

/// What was typed for a new evaluation, or for one of that name.
pub(super) fn typed(
    session: &mut Session<'_>,
    store: &Store,
    args: &Run,
    place: &Place,
) -> Result<Plan, CliError> {
    let tasks = load(session, &args.tasks, &place.scratch())?;
    let options = options(session, &args.who)?;
    let mock = args.who.mock.as_deref().map(|file| script(session, place, file)).transpose()?;
    let judge_mock = args.who.judge_mock.as_deref().map(|file| script(session, place, file)).transpose()?;
    let is_scripted = args.who.offline || mock.is_some();
    let config = EvalConfig {
        agent: args.who.agent.clone().unwrap_or_else(|| CONFIGURED.to_owned()),
        model: args.who.model.clone(),
        engine_version: ENGINE.to_owned(),
        sandbox: options.sandbox.clone(),
        seed: args.seed,
        count: args.count,
        mock: mock.as_ref().map(|script| script.hash.clone()),
        offline: args.who.offline,
        judge_mock: args.who.judge_mock.as_deref().map(|file| absolute(session, file)),
        judge_mock_hash: judge_mock.map(|script| script.hash),
        fresh: args.fresh,
        keep: args.keep,
        settings: place.settings(&options, is_scripted)?,
        options: ThreadOptions {
            mock: args.who.mock.as_deref().map(|file| absolute(session, file)),
            ..options
        },
    };
    let mut planned = Vec::new();
    for task in tasks {
        let named = args.workflow.clone().or_else(|| task.workflow.clone());
        let named = named.ok_or_else(|| {
            CliError::user(format!("task {} names no workflow", task.name))
                .with_hint("name one with --workflow W")
        })?;
        let who = (mock.as_ref(), args.who.offline);
        planned.push(plan_task(session, (store, place), (task, &named), who)?);
    }
    let name = match &args.name {
        Some(name) => name.clone(),
        None => free_name(store, &planned[0].task.name, 1)?,
    };
    if !is_segment(&name) {
        return Err(CliError::user(format!("an evaluation cannot be called `{name}`"))
            .with_hint("letters, digits, `.`, `_` and `-` alone"));
    }
    Ok(Plan { name, is_new: args.name.is_none(), config, tasks: planned })
}

/// What an evaluation was begun with.
pub(super) fn begun(
    session: &mut Session<'_>,
    store: &Store,
    evaluation: &Evaluation,
    place: &Place,
) -> Result<Plan, CliError> {
    let config = evaluation.config.clone();
    let read = |file: &Option<String>| -> Result<Option<TaskScript>, CliError> {
        file.as_ref().map(|file| script(session, place, Path::new(file))).transpose()
    };
    let (mock, judge_mock) = (read(&config.options.mock)?, read(&config.judge_mock)?);
    let config = EvalConfig {
        engine_version: ENGINE.to_owned(),
        mock: mock.as_ref().map(|script| script.hash.clone()),
        judge_mock_hash: judge_mock.map(|script| script.hash),
        settings: place.settings(&config.options, config.offline || mock.is_some())?,
        ..config
    };
    let paths: Vec<PathBuf> = evaluation.tasks.iter().map(|task| PathBuf::from(&task.path)).collect();
    let mut planned = Vec::new();
    for (task, reference) in load(session, &paths, &place.scratch())?.into_iter().zip(&evaluation.tasks) {
        let named = reference.workflow.to_string();
        let who = (mock.as_ref(), config.offline);
        planned.push(plan_task(session, (store, place), (task, &named), who)?);
    }
    Ok(Plan { name: evaluation.name.clone(), is_new: false, config, tasks: planned })
}

/// The tasks at these paths; all that is wrong with any of them is told.
pub(super) fn load(session: &Session<'_>, paths: &[PathBuf], scratch: &Path) -> Result<Vec<Task>, CliError> {
    let (mut tasks, mut wrong): (Vec<Task>, Vec<CliError>) = (Vec::new(), Vec::new());
    for path in paths {
        match Task::load(&session.cwd.join(path), scratch) {
            Ok(task) => tasks.push(task),
            Err(error) => wrong.push(error.into()),
        }
    }
    match wrong.len() {
        0 => {}
        1 => return Err(wrong.remove(0)),
        count => {
            let said = wrong.iter().flat_map(|error| std::iter::once(error.message()).chain(error.causes()));
            return Err(CliError::because(
                format!("{count} tasks cannot be run"),
                said.collect::<Vec<_>>().into_iter(),
            ));
        }
    }
    for (at, task) in tasks.iter().enumerate() {
        if let Some(other) = tasks[..at].iter().find(|other| other.name == task.name) {
            let (name, one, two) = (&task.name, other.path.display(), task.path.display());
            return Err(CliError::user(format!("two tasks are called {name}: {one} and {two}"))
                .with_hint("give one of them another `name` in its task.yaml"));
        }
    }
    Ok(tasks)
}

fn plan_task(
    session: &mut Session<'_>,
    (store, place): (&Store, &Place),
    (task, named): (Task, &str),
    (mock, offline): (Option<&TaskScript>, bool),
) -> Result<Planned, CliError> {
    let resolved = workflow::resolve(store, named, &session.cwd)?;
    resolved.checked.iter().for_each(|checked| session.ui.warn_of(checked));
    let workflow: Hash = resolved.ensure_stored(store)?;
    let script = match (mock, offline) {
        (Some(mock), _) => Some(mock.clone()),
        (None, true) => {
            let file = task.mock.clone().ok_or_else(|| {
                CliError::user(format!("task {} has no script that plays it without a model", task.name))
                    .with_hint(format!("write {MOCK} beside its task.yaml, or leave --offline out"))
            })?;
            Some(script(session, place, &file)?)
        }
        (None, false) => None,
    };
    Ok(Planned { task, workflow, workflow_name: resolved.name, script })
}

fn options(session: &Session<'_>, who: &Who) -> Result<ThreadOptions, CliError> {
    let config: Config = config::load(&session.homes()?.uwf)?;
    let agent = who.agent.as_deref().map(|text| config.named_agent(text, &session.cwd)).transpose()?;
    let options = ThreadOptions {
        agent,
        model: who.model.clone(),
        base_url: who.base_url.clone(),
        sandbox: who.sandbox.map(|level| level.as_str().to_owned()),
        ..ThreadOptions::default()
    };
    options.check()?;
    Ok(options)
}

/// A script that plays, read once so that it is known to be one; threads read a copy of it, whatever becomes of the file.
pub(super) fn script(session: &Session<'_>, place: &Place, file: &Path) -> Result<TaskScript, CliError> {
    let cannot = || format!("cannot read the mock script {}", file.display());
    let path = session.cwd.join(file).canonicalize().map_err(|error| CliError::said(cannot(), error))?;
    let (_, text) = read_script(&path)?;
    let hash = Hash::of(&uwf_engine::builtin::TEXT, &text.as_str().into()).to_string();
    // The same for every program that reads this text, so that a thread that is gone on with finds it again.
    let dir = place.scratch().join(&hash);
    let copy = dir.join(path.file_name().unwrap_or_default());
    let made = uwf_engine::home::make_private(&dir).and_then(|()| AtomicFile::create(&copy, 0o600));
    let written = made.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.persist()
    });
    written.map_err(|error| CliError::said(cannot(), error))?;
    Ok(TaskScript { path: copy, hash })
}

/// A file that was typed, as it is found from anywhere.
pub(super) fn absolute(session: &Session<'_>, file: &Path) -> String {
    let path = session.cwd.join(file);
    path.canonicalize().unwrap_or(path).display().to_string()
}

/// Calls what is to be run by the next name that is free: another program took the one that it has between the looking and the
/// taking.
pub(super) fn rename(store: &Store, plan: &mut Plan) -> Result<(), CliError> {
    let task = &plan.tasks[0].task.name;
    let number = plan.name.strip_prefix(&format!("{task}-")).and_then(|number| number.parse().ok());
    plan.name = free_name(store, task, number.unwrap_or(0) + 1)?;
    Ok(())
}

/// The first name of these that no evaluation has: `fix-1`, `fix-2`, …, from this number on.
fn free_name(store: &Store, task: &str, from: u64) -> Result<String, CliError> {
    let taken = names(store)?;
    let free = (from..).map(|number| format!("{task}-{number}")).find(|name| !taken.contains(name));
    Ok(free.expect("there is a number for more names than a store holds"))
}
