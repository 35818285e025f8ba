//! `uwf undo` and `uwf redo`: what a step changed in the workspace, taken back and made again.
//!
//! What is to be done is made out here, with the lock of the thread held; `operation` does it.

mod operation;
mod tell;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use uwf_snapshot::{TreeChange, diff, find, only, preview, unescaped};
use uwf_store::{Hash, Store};

use self::operation::{UndoOperation, perform, text};
use self::tell::tell;
use super::args::{Redo, Undo};
use super::changes::author::paths;
use super::step_of_thread::{StepOfThread, name};
use crate::names::{StepArgument, hashes};
use crate::shell::{CliError, Session};
use uwf_engine::ThreadId;
use uwf_engine::lock::ThreadLock;
use uwf_engine::record::{Detail, UndoKind, UndoRecord};
use uwf_engine::thread::{self, StepNode};
use uwf_engine::undo_log::{self, UndoLog};
use uwf_engine::view::ComparedSnapshots;

pub(super) fn undo(session: &mut Session<'_>, args: &Undo) -> Result<u8, CliError> {
    let named = session.step_argument(&args.step)?;
    let store = session.store()?;
    let step = named.in_thread(&store)?;
    let detail = thread::detail_of(&store, &step.node)?;
    let trees = snapshots(&step, &detail)?;
    let dir = session.directory(Some(args.how.cwd.as_deref().unwrap_or(Path::new(&step.node.cwd))))?;
    let _lock = lock(session, &store, &step.thread)?;
    let changes = diff(&store, &trees.after, &trees.before)?;
    if changes.is_empty() {
        return Err(CliError::user(format!("{} changed nothing in the workspace to be undone", step.name())));
    }
    let log = UndoLog::of(&store, &step.thread)?;
    let of_step = log.standing().into_iter().filter(|undo| log.run(undo.record) == step.node.detail);
    let undone: BTreeSet<String> = of_step.flat_map(|undo| undo.paths).map(str::to_owned).collect();
    let previewed = preview(&store, &changes, &dir)?;
    let also: BTreeSet<String> = log.redone(&step.node.detail).into_iter().map(str::to_owned).collect();
    // A redo that was cut off has left them as they shall be.
    let is_cut_off = |path: &PathBuf| also.contains(&text(path)) && !undone.contains(&text(path));
    let takes_back_redo = previewed.already.iter().any(is_cut_off);
    if previewed.todo.is_empty() && !takes_back_redo && (!undone.is_empty() || previewed.conflicts.is_empty())
    {
        return Err(already(&step, !undone.is_empty()));
    }
    if !previewed.conflicts.is_empty() && !args.how.partial {
        let conflicts = previewed.conflicts.iter().map(|conflict| conflict.path.clone()).collect();
        let hint = refused_hint(&store, &step, &conflicts)?;
        return Err(operation::refused(&format!("{} cannot be undone", step.name()), &previewed, &hint));
    }
    tell_what_is_left_out(session, &store, &detail, &trees)?;
    let operation = UndoOperation {
        kind: UndoKind::Undo,
        thread: step.thread,
        step: step.hash,
        name: step.name(),
        dir,
        trees: ComparedSnapshots { before: trees.after, after: trees.before },
        changes,
        logged: undone,
        also,
        takes_back: None,
        previous: log.last().map(|(hash, _)| *hash),
        at: store.now(),
    };
    let done = perform(&store, (&operation, previewed), &args.how)?;
    tell(session, &store, (&operation, &done), &args.how)
}

/// The snapshots of a step.
fn snapshots(step: &StepOfThread, detail: &Detail) -> Result<ComparedSnapshots, CliError> {
    ComparedSnapshots::of(detail).ok_or_else(|| {
        let hint = format!(
            "`uwf step diff {} --patch | git apply -R` takes back what its editing tools changed, where that is on record",
            step.hash
        );
        step.without_snapshots("cannot be undone", detail).with_hint(hint)
    })
}

fn already(step: &StepOfThread, is_logged: bool) -> CliError {
    match is_logged {
        true => CliError::user(format!("{} is undone already", step.name()))
            .with_hint(format!("`uwf redo {}` takes that back", step.hash)),
        false => CliError::user(format!(
            "{} needs no undoing: what it changed is as it was before it already",
            step.name()
        )),
    }
}

/// What to do where something is not as the step left it: undo the step that has changed it since.
fn refused_hint(
    store: &Store,
    step: &StepOfThread,
    conflicts: &BTreeSet<PathBuf>,
) -> Result<String, CliError> {
    let partial = "--partial leaves these alone and undoes the rest";
    let Some(number) = step.number else { return Ok(partial.to_owned()) };
    let undone = UndoLog::of(store, &step.thread)?.undone_runs();
    for (at, hash) in hashes(store, &step.thread)?.iter().enumerate().skip(number).rev() {
        let node = thread::step_node(store, hash)?;
        let detail = thread::detail_of(store, &node)?;
        if let Some(trees) = ComparedSnapshots::of(&detail).filter(|_| !undone.contains_key(&node.detail))
            && !paths(&diff(store, &trees.before, &trees.after)?).is_disjoint(conflicts)
        {
            let (later, thread) = (at + 1, step.thread);
            return Ok(format!(
                "step {later} changed some of these later: `uwf undo {thread}:{later}` first; {partial}"
            ));
        }
    }
    Ok(partial.to_owned())
}

/// Says what of the step's changes is in no snapshot and so is not undone.
fn tell_what_is_left_out(
    session: &mut Session<'_>,
    store: &Store,
    detail: &Detail,
    trees: &ComparedSnapshots,
) -> Result<(), CliError> {
    if let Some(partial) = detail.snapshots.as_ref().and_then(|snapshots| snapshots.failed.as_ref()) {
        session.ui.warn(partial);
    }
    let mut unseen = Vec::new();
    for change in detail.changes.iter().flatten().filter(|change| change.before != change.after) {
        let path = Path::new(&change.path);
        if find(store, &trees.before, path)?.is_none() && find(store, &trees.after, path)?.is_none() {
            unseen.push(format!("'{}'", change.path));
        }
    }
    if !unseen.is_empty() {
        let unseen = unseen.join(", ");
        session.ui.warn(&format!(
            "left as it is, since it is in no snapshot, though editing tools worked on it: {unseen}"
        ));
    }
    Ok(())
}

pub(super) fn redo(session: &mut Session<'_>, args: &Redo) -> Result<u8, CliError> {
    let what = args.what.as_deref().map(|what| RedoArgument::read(session, what)).transpose()?;
    let store = session.store()?;
    let named = args.how.cwd.as_deref().map(|dir| session.directory(Some(dir))).transpose()?;
    let (thread, step) = match what {
        Some(RedoArgument::Thread(thread)) => {
            thread::check_exists(&store, &thread)?;
            (thread, None)
        }
        Some(RedoArgument::Step(step)) => {
            let step = step.in_thread(&store)?;
            (step.thread, Some(step))
        }
        None => (last_undone_in(session, &store, named.as_deref())?, None),
    };
    let _lock = lock(session, &store, &thread)?;
    let log = UndoLog::of(&store, &thread)?;
    let run = step.as_ref().map(|step| step.node.detail);
    let operation = to_redo(&store, (&thread, &log), run, named.as_deref())?;
    let operation = operation.ok_or_else(|| {
        let what = step.map_or_else(|| format!("thread {thread}"), |step| step.name());
        let hint = "`uwf step list THREAD` marks the steps that are undone";
        CliError::user(format!("nothing of {what} is undone")).with_hint(hint)
    })?;
    let previewed = preview(&store, &operation.changes, &operation.dir)?;
    if !previewed.conflicts.is_empty() && !args.how.partial {
        let hint = "--partial leaves these alone and does the rest again";
        return Err(operation::refused(&format!("{} cannot be redone", operation.name), &previewed, hint));
    }
    let done = perform(&store, (&operation, previewed), &args.how)?;
    tell(session, &store, (&operation, &done), &args.how)
}

/// What is redone, as typed.
enum RedoArgument {
    Thread(ThreadId),
    Step(StepArgument),
}

impl RedoArgument {
    fn read(session: &Session<'_>, text: &str) -> Result<RedoArgument, CliError> {
        match text.contains(':') || text.parse::<Hash>().is_ok() {
            true => Ok(RedoArgument::Step(session.step_argument(text)?)),
            false => Ok(RedoArgument::Thread(session.thread_id(text)?)),
        }
    }
}

/// The thread that was undone in last among those that work in a directory.
fn last_undone_in(session: &Session<'_>, store: &Store, named: Option<&Path>) -> Result<ThreadId, CliError> {
    let dir = session.directory(named)?;
    let mut last: Option<(u64, ThreadId)> = None;
    for thread in undo_log::threads(store)? {
        let log = UndoLog::of(store, &thread)?;
        if let Some(operation) = to_redo(store, (&thread, &log), None, None)?
            && operation.dir == dir
            && last.is_none_or(|(at, _)| at <= operation.at)
        {
            last = Some((operation.at, thread));
        }
    }
    let none = || {
        CliError::user(format!("nothing is undone in {}", dir.display()))
            .with_hint("name the step, the thread, or the directory with --cwd DIR")
    };
    Ok(last.ok_or_else(none)?.1)
}

/// What takes back the last undo of a thread, or of a step of it; or goes on with the last redo, where that was cut off.
fn to_redo(
    store: &Store,
    (thread, log): (&ThreadId, &UndoLog),
    run: Option<Hash>,
    named: Option<&Path>,
) -> Result<Option<UndoOperation>, CliError> {
    let is_wanted = |record: &UndoRecord| run.is_none_or(|run| run == log.run(record));
    let operation = |record: &UndoRecord, trees: ComparedSnapshots, paths: BTreeSet<String>| {
        let also = paths.clone();
        let paths: BTreeSet<PathBuf> =
            paths.iter().filter_map(|path| unescaped(path)).map(PathBuf::from).collect();
        let all = diff(store, &trees.before, &trees.after)?;
        let head = thread::head(store, thread)?.hash;
        let steps = thread::chain(store, &head)?.steps;
        let is_it = |(hash, step): &(Hash, StepNode)| *hash == record.step || step.detail == log.run(record);
        let number = steps.iter().position(is_it).map(|at| at + 1);
        Ok::<_, CliError>(UndoOperation {
            kind: UndoKind::Redo,
            thread: *thread,
            step: record.step,
            name: name(thread, number, &record.step),
            dir: named.map_or_else(|| record.dir.clone().into(), Path::to_owned),
            trees,
            changes: only(&all, |path| paths.contains(path)),
            logged: BTreeSet::new(),
            also,
            takes_back: None,
            previous: log.last().map(|(hash, _)| *hash),
            at: store.now(),
        })
    };
    if let Some((_, last)) = log.last().filter(|(_, last)| last.kind == UndoKind::Redo && is_wanted(last)) {
        let trees = ComparedSnapshots { before: last.before, after: last.after };
        let logged: BTreeSet<String> = last.paths.iter().cloned().collect();
        let cut_off =
            UndoOperation { at: last.at, logged: logged.clone(), ..operation(last, trees, logged)? };
        if is_unfinished(store, &cut_off.changes, &cut_off.dir) {
            return Ok(Some(cut_off));
        }
    }
    let Some(undo) = log.standing().into_iter().find(|undo| is_wanted(undo.record)) else { return Ok(None) };
    let trees = ComparedSnapshots { before: undo.record.after, after: undo.record.before };
    let paths = undo.paths.iter().copied().map(str::to_owned).collect();
    let redo = operation(undo.record, trees, paths)?;
    Ok(Some(UndoOperation { takes_back: Some(undo.hash), at: undo.record.at, ..redo }))
}

/// Whether some of it is still as it was before.
fn is_unfinished(store: &Store, changes: &[TreeChange], dir: &Path) -> bool {
    preview(store, changes, dir).is_ok_and(|previewed| !previewed.todo.is_empty())
}

/// The lock of a thread whose workspace is changed: no step of it runs meanwhile.
fn lock(session: &Session<'_>, store: &Store, thread: &ThreadId) -> Result<ThreadLock, CliError> {
    let workflow = thread::head(store, thread)?.start(store)?.workflow;
    Ok(ThreadLock::acquire(&session.homes()?.uwf, thread, &workflow, store.now())?)
}
