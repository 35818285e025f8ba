//! `uwf thread diff`: what the steps of a thread changed in the workspace, from before the first to after the last of them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use uwf_snapshot::{TreeChange, diff as compare};
use uwf_store::Store;

use crate::shell::{CliError, Session};
use crate::uwf::args::DiffShape;
use crate::uwf::changes::author::paths;
use crate::uwf::changes::{self, ShownChange};
use uwf_engine::ThreadId;
use uwf_engine::record::Detail;
use uwf_engine::thread::{self, Link};
use uwf_engine::view::{ChangedBy, ComparedSnapshots, ThreadDiff};

/// A step with the workspace before and after it.
struct CapturedStep {
    by: ChangedBy,
    cwd: String,
    trees: ComparedSnapshots,
}

pub(super) fn diff(session: &mut Session<'_>, text: &str, shape: DiffShape) -> Result<u8, CliError> {
    let (thread, store) = (session.thread_id(text)?, session.store()?);
    let (steps, without) = captured_steps(&store, &thread)?;
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        if thread::head(&store, &thread)?.step().is_none() {
            return Err(CliError::user(format!("the thread {thread} has no step yet"))
                .with_hint(format!("`uwf thread exec {thread}` runs the first")));
        }
        let error = CliError::user(format!("no step of the thread {thread} has snapshots of the workspace"));
        return Err(error.with_hint("`uwf step diff STEP` shows what the editing tools of a step changed"));
    };
    if let Some(other) = steps.iter().find(|step| step.cwd != first.cwd) {
        let error = format!("the steps of the thread {thread} worked in {} and in {}", first.cwd, other.cwd);
        return Err(CliError::user(error).with_hint("`uwf step diff STEP` shows what each of them changed"));
    }
    let snapshots = ComparedSnapshots { before: first.trees.before, after: last.trees.after };
    let mut files = files(&store, &steps, &snapshots)?;
    let views = files.iter().map(|file| file.view.clone()).collect();
    let view = ThreadDiff { thread, changes: views, snapshots };
    let exit = changes::print(session, &view, &mut files, shape)?;
    if files.is_empty() {
        session.ui.note("the steps changed no file");
    }
    if without > 0 {
        let warning = format!(
            "{without} of the steps have no snapshots: what they changed is told as nobody's, if at all"
        );
        session.ui.warn(&warning);
    }
    Ok(exit)
}

/// The steps that have snapshots, the oldest first, and how many have none though they may have changed something.
fn captured_steps(store: &Store, thread: &ThreadId) -> Result<(Vec<CapturedStep>, usize), CliError> {
    let head = thread::head(store, thread)?.hash;
    let mut links = Vec::new();
    thread::links(store, &head, &mut |link| links.push(link))?;
    links.reverse();
    let (mut steps, mut without) = (Vec::new(), 0);
    for (at, Link { hash, step, .. }) in links.into_iter().enumerate() {
        let detail = thread::detail_of(store, &step)?;
        let Some(trees) = ComparedSnapshots::of(&detail) else {
            without += usize::from(may_have_changed(store, &detail)?);
            continue;
        };
        let by = ChangedBy::Step { number: at + 1, step: hash, role: step.role };
        steps.push(CapturedStep { by, cwd: step.cwd, trees });
    }
    Ok((steps, without))
}

/// Whether a step without snapshots called anything, or keeps no record that could tell.
fn may_have_changed(store: &Store, detail: &Detail) -> Result<bool, CliError> {
    if detail.changes.is_none() {
        return Ok(true);
    }
    let is_read_only = |name: &str| uwf_tools::specs().iter().any(|tool| tool.read_only && tool.name == name);
    let turns = detail.conversation(store)?;
    let mut calls = turns.iter().flat_map(|turn| turn.calls());
    Ok(calls.any(|call| !call.name.as_deref().is_some_and(is_read_only)))
}

/// What is different, each file with the last step that changed it.
fn files(
    store: &Store,
    steps: &[CapturedStep],
    snapshots: &ComparedSnapshots,
) -> Result<Vec<ShownChange>, CliError> {
    let spans: Vec<(&ChangedBy, BTreeSet<PathBuf>)> = steps
        .iter()
        .map(|step| Ok((&step.by, paths(&compare(store, &step.trees.before, &step.trees.after)?))))
        .collect::<Result<_, CliError>>()?;
    let author = |change: &TreeChange| {
        let is_in = |paths: &BTreeSet<PathBuf>| {
            paths.contains(&change.path)
                || change.renamed_from.as_ref().is_some_and(|from| paths.contains(from))
        };
        let last = spans.iter().rev().find(|(_, paths)| is_in(paths));
        last.map_or(ChangedBy::Other { agent: None }, |(by, _)| (*by).clone())
    };
    let mut files = Vec::new();
    for change in &compare(store, &snapshots.before, &snapshots.after)? {
        files.extend(ShownChange::between(store, change, author(change))?);
    }
    Ok(files)
}
