//! `uwf thread prune`: threads that are over and old are forgotten, once it is said which they are.

use std::collections::HashMap;
use std::path::Path;

use uwf_store::{Store, Variable};

use super::change::forget;
use super::list::standing;
use crate::shell::{CliError, Format, OK, Session, render};
use crate::uwf::args::{Prune, StatusWord};
use crate::uwf::time_argument::time_argument;
use uwf_engine::lock::{self, ThreadLock};
use uwf_engine::thread::{self, MAX_LEVELS, ThreadEntry};
use uwf_engine::view::{RunsBeside, ThreadsPruned, Workflows};
use uwf_engine::{ThreadId, journals, workflow};

/// How many of them are named before somebody is asked.
const NAMED: usize = 20;

pub(super) fn prune(session: &mut Session<'_>, which: &Prune) -> Result<u8, CliError> {
    if let Some(word) =
        which.status.iter().find(|word| matches!(word, StatusWord::Running | StatusWord::Active))
    {
        let word = if *word == StatusWord::Running { "running" } else { "active" };
        return Err(CliError::user(format!("threads of status {word} are not pruned: what runs stays"))
            .with_hint("name end, cancelled, suspended, paused or idle"));
    }
    let (homes, store) = (session.homes()?, session.store()?);
    let older = time_argument(&which.older, store.now())?;
    let running = lock::all_running(&homes.uwf).map_err(|error| {
        CliError::said("what runs cannot be told", error).with_hint("`uwf doctor` checks the directory")
    })?;
    let (beside, paused, known) =
        (RunsBeside::of(&store)?, thread::all_paused(&store)?, Workflows::default());
    let entries = thread::entries(&store).collect::<Result<Vec<_>, _>>()?;
    let active = last_active(&homes.uwf, &store, (&entries, &beside))?;
    let mut old: Vec<ThreadEntry> = Vec::new();
    for entry in entries {
        let thread = &entry.thread;
        let stays = active.get(thread).is_some_and(|at| *at >= older) || running.contains(thread);
        // One whose caller is there goes with that, or stays with it.
        let is_called = beside.caller(thread).is_some_and(|caller| active.contains_key(&caller));
        let is_wanted = || {
            standing((&store, &known), &entry, paused.contains_key(thread))
                .is_ok_and(|word| which.status.contains(&word))
        };
        if !stays && !is_called && is_wanted() {
            old.push(entry);
        }
    }
    if old.is_empty() {
        return none(session, which);
    }
    if !which.dry_run {
        confirm(session, &store, &old, which)?;
    }
    let mut removed = Vec::new();
    for entry in &old {
        if which.dry_run || take_away(session, &store, entry)? {
            removed.push(entry.thread);
        }
    }
    told(session, &store, &old, ThreadsPruned { removed, dry_run: which.dry_run })
}

/// When something was last done in each thread, or in one that was called for it: its head moved, an attempt failed, or a
/// run wrote its journal.
fn last_active(
    home: &Path,
    store: &Store,
    (entries, beside): (&[ThreadEntry], &RunsBeside),
) -> Result<HashMap<ThreadId, u64>, CliError> {
    let mut active: HashMap<ThreadId, u64> = entries.iter().map(|entry| (entry.thread, 0)).collect();
    let heads = entries.iter().map(|entry| (entry.thread, entry.updated));
    let failed = thread::all_failures(store, None)?.into_iter().filter_map(|attempts| {
        let Variable { name, updated, .. } = attempts.variable;
        Some((name.strip_prefix(thread::FAILED)?.split('/').next()?.parse().ok()?, updated))
    });
    for (thread, at) in heads.chain(failed).chain(journals::written(home)?) {
        let callers = std::iter::successors(Some(thread), |called| beside.caller(called));
        for thread in callers.take(MAX_LEVELS) {
            active.entry(thread).and_modify(|last| *last = at.max(*last));
        }
    }
    Ok(active)
}

fn none(session: &mut Session<'_>, which: &Prune) -> Result<u8, CliError> {
    let nothing = ThreadsPruned { removed: Vec::new(), dry_run: which.dry_run };
    session.ui.result(&nothing, || "no thread is that old\n".to_owned())
}

/// Forgets a thread unless it has begun to run, or has moved on, since it was looked at.
fn take_away(session: &mut Session<'_>, store: &Store, entry: &ThreadEntry) -> Result<bool, CliError> {
    let home = session.homes()?.uwf;
    let lock = match ThreadLock::unannounced(&home, &entry.thread) {
        Ok(lock) => lock,
        Err(error) => {
            session.ui.warn(&format!("thread {} stays: {error}", entry.thread));
            return Ok(false);
        }
    };
    if thread::stands_at(store, &entry.thread)? != Some(entry.head) {
        session.ui.warn(&format!("thread {} stays: it has moved on meanwhile", entry.thread));
        return Ok(false);
    }
    forget(session, store, &entry.thread)?;
    drop(lock);
    Ok(true)
}

/// Says which threads go, and asks; where nobody can be asked, that must be typed.
fn confirm(
    session: &mut Session<'_>,
    store: &Store,
    old: &[ThreadEntry],
    which: &Prune,
) -> Result<(), CliError> {
    if which.yes {
        return Ok(());
    }
    let count = render::count(old.len() as u64, "thread");
    if !session.has_person() {
        return Err(CliError::user(format!("{count} would be removed, and there is no terminal to ask on"))
            .with_hint("--dry-run names them; --yes removes them"));
    }
    session.ui.note(&lines(store, old, NAMED));
    let answer = session.ask(&format!("Remove {count}? (yes or no)"), "no")?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CliError::user("nothing was removed")),
    }
}

/// Threads, a line each.
fn lines(store: &Store, old: &[ThreadEntry], most: usize) -> String {
    let line = |entry: &ThreadEntry| {
        let about = entry.read(store).and_then(|head| head.start(store)).map(|start| {
            let name =
                workflow::get(store, &start.workflow).map(|workflow| workflow.name).unwrap_or_default();
            format!("  {name}: {}", render::first_line(&start.prompt, 60))
        });
        let status = entry.status().map_or("?", |status| status.as_str());
        let age = render::age(store.now().saturating_sub(entry.updated));
        format!("{}  {status}, {age}{}", entry.thread, about.unwrap_or_default())
    };
    let more = old.len().saturating_sub(most);
    let more = if more > 0 { format!("\n… and {more} more") } else { String::new() };
    old.iter().take(most).map(line).collect::<Vec<_>>().join("\n") + &more
}

fn told(
    session: &mut Session<'_>,
    store: &Store,
    old: &[ThreadEntry],
    pruned: ThreadsPruned,
) -> Result<u8, CliError> {
    let count = render::count(pruned.removed.len() as u64, "thread");
    session.ui.result(&pruned, || match pruned.dry_run {
        true => format!("{}\n{count} would be removed\n", lines(store, old, usize::MAX)),
        false => format!("removed {count}\n"),
    })?;
    if !pruned.dry_run && session.ui.format == Format::Text {
        session.ui.note("their nodes stay until `uwf cas gc`");
    }
    Ok(OK)
}
