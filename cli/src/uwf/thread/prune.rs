//! `uwf thread prune`: threads that are over and old are forgotten, once it is said which they are.

use uwf_store::Store;

use super::change::forget;
use crate::shell::{CliError, Format, OK, Session, render};
use crate::uwf::args::{Prune, StatusWord};
use crate::uwf::time_argument::time_argument;
use uwf_engine::lock::{self, ThreadLock};
use uwf_engine::thread::{self, Status, ThreadEntry};
use uwf_engine::view::{RunsBeside, ThreadsPruned};
use uwf_engine::workflow;

/// How many of them are named before somebody is asked.
const NAMED: usize = 20;

pub(super) fn prune(session: &mut Session<'_>, which: &Prune) -> Result<u8, CliError> {
    if let Some(word) =
        which.status.iter().find(|word| matches!(word, StatusWord::Running | StatusWord::Active))
    {
        let word = if *word == StatusWord::Running { "running" } else { "active" };
        return Err(CliError::user(format!("threads of status {word} are not pruned: what runs stays"))
            .with_hint("name end, cancelled, suspended or idle"));
    }
    let (homes, store) = (session.homes()?, session.store()?);
    let older = time_argument(&which.older, store.now())?;
    let running = lock::all_running(&homes.uwf).map_err(|error| {
        CliError::said("what runs cannot be told", error).with_hint("`uwf doctor` checks the directory")
    })?;
    let beside = RunsBeside::of(&store)?;
    let mut old: Vec<ThreadEntry> = Vec::new();
    for entry in thread::entries(&store) {
        let entry = entry?;
        let stays = entry.updated >= older || running.contains(&entry.thread);
        // One whose caller is there goes with that, or stays with it.
        let caller = beside.caller(&entry.thread).filter(|caller| thread::entry(&store, caller).is_ok());
        if !stays && caller.is_none() && entry.status().is_ok_and(|status| is_of(status, &which.status)) {
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

fn is_of(status: &Status, wanted: &[StatusWord]) -> bool {
    StatusWord::of(status.as_str()).is_some_and(|word| wanted.contains(&word))
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
