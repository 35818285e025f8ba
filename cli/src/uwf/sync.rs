//! `uwf push|fetch|pull|clone`: threads go to a remote, and come from it.

use std::path::Path;

use uwf_engine::ThreadId;
use uwf_engine::conditions::process::judge;
use uwf_engine::thread::{self, ThreadError};
use uwf_engine::view::ThreadView;
use uwf_engine::workflow;
use uwf_fleet::remote::Remote;
use uwf_fleet::schema::Access;
use uwf_fleet::view::SyncedThread;
use uwf_fleet::{Connection, FleetError, sync};
use uwf_store::Store;

use super::args::{Clone, Sync};
use crate::remote::{at, known, named, open, thread_at};
use crate::shell::{CliError, OK, Session, USER, render};

/// What is done with each thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Push,
    Fetch,
    Pull,
}

pub(super) fn push(session: &mut Session<'_>, what: &Sync) -> Result<u8, CliError> {
    some(session, what, Way::Push)
}

pub(super) fn fetch(session: &mut Session<'_>, what: &Sync) -> Result<u8, CliError> {
    some(session, what, Way::Fetch)
}

pub(super) fn pull(session: &mut Session<'_>, what: &Sync) -> Result<u8, CliError> {
    some(session, what, Way::Pull)
}

pub(super) fn clone(session: &mut Session<'_>, what: &Clone) -> Result<u8, CliError> {
    let remote = named(session, Some(&what.remote))?;
    let mut connection = open(session, &remote, Access::Read)?;
    let thread = thread_at(session, (&mut connection, &remote.name), &what.thread)?;
    let (store, home) = (session.store()?, session.homes()?.uwf);
    let row = one(session, (&mut connection, &store, &home), &thread, Way::Pull).map_err(at(&remote.name))?;
    let text = text(&row, Way::Pull, &remote.name);
    session.ui.result(&row, || text)
}

/// The remote and the threads that were typed; a thread in the place of the remote is said to be one.
fn remote_of(session: &Session<'_>, what: &Sync) -> Result<Remote, CliError> {
    let name = what.remote.as_deref();
    named(session, name).map_err(|error| match name {
        Some(name) if looks_like_a_thread(name) => {
            let only = known(session).and_then(|remotes| Ok(remotes.pick(None)?));
            let only = only.map_or_else(|_| "REMOTE".to_owned(), |remote| remote.name);
            CliError::user(format!("there is no remote `{}`", render::name(name)))
                .with_hint(format!("the remote comes first: `{only} {}`", render::name(name)))
        }
        _ => error,
    })
}

fn looks_like_a_thread(name: &str) -> bool {
    name.starts_with('@') || name.to_ascii_uppercase().parse::<ThreadId>().is_ok()
}

fn some(session: &mut Session<'_>, what: &Sync, way: Way) -> Result<u8, CliError> {
    let remote = remote_of(session, what)?;
    let access = if way == Way::Push { Access::Write } else { Access::Read };
    let mut connection = open(session, &remote, access)?;
    let (store, home) = (session.store()?, session.homes()?.uwf);
    let (threads, same) = threads(session, (&mut connection, &store, &remote.name), (what, way))?;
    let mut rows = Vec::new();
    for thread in &threads {
        match one(session, (&mut connection, &store, &home), thread, way) {
            Ok(row) => rows.push(row),
            // Of a single one, and of what is true of all of them, the error is the answer.
            Err(error) if what.thread.len() == 1 || error.is_passing() => {
                return Err(at(&remote.name)(error));
            }
            Err(error) => rows.push(SyncedThread::failed(*thread, &error, &remote.name)),
        }
    }
    let lines: String = rows.iter().map(|row| text(row, way, &remote.name)).collect();
    session.ui.result(&rows, || lines)?;
    for row in &rows {
        if let Some(error) = &row.error {
            session.ui.warn(error);
            row.hint.iter().for_each(|hint| session.ui.hint(hint));
        }
    }
    if what.thread.is_empty() && rows.is_empty() {
        session.ui.note(&match same {
            0 => format!("no thread is both here and at {}; name one", remote.name),
            same => format!("{} stand here as at {}", render::count(same as u64, "thread"), remote.name),
        });
    }
    Ok(if rows.iter().any(|row| row.error.is_some()) { USER } else { OK })
}

/// The threads that are meant; of those that both have, these that differ, and how many both have.
fn threads(
    session: &Session<'_>,
    (connection, store, remote): (&mut Connection, &Store, &str),
    (what, way): (&Sync, Way),
) -> Result<(Vec<ThreadId>, usize), CliError> {
    let named = what.thread.iter().map(|text| match way {
        Way::Push => session.thread_id(text),
        Way::Fetch | Way::Pull => thread_at(session, (&mut *connection, remote), text),
    });
    let named = named.collect::<Result<Vec<_>, _>>()?;
    if !named.is_empty() {
        return Ok((named, 0));
    }
    let here =
        thread::entries(store).map(|entry| Ok(entry?.thread)).collect::<Result<Vec<_>, ThreadError>>()?;
    let (both, differing) = sync::differing(connection, store, &here).map_err(at(remote))?;
    Ok((differing, both))
}

fn one(
    session: &Session<'_>,
    (connection, store, home): (&mut Connection, &Store, &Path),
    thread: &ThreadId,
    way: Way,
) -> Result<SyncedThread, FleetError> {
    Ok(match way {
        Way::Push => {
            let role = next_role(session, store, thread)?;
            SyncedThread::pushed(*thread, sync::push(connection, store, thread, role.as_deref())?)
        }
        Way::Fetch => SyncedThread::fetched(*thread, sync::fetch_nodes(connection, store, thread)?.relation),
        Way::Pull => SyncedThread::pulled(*thread, sync::pull(connection, (store, home), thread)?.0),
    })
}

/// Who plays next in a thread of this machine, as far as that can be told.
pub(super) fn next_role(
    session: &Session<'_>,
    store: &Store,
    thread: &ThreadId,
) -> Result<Option<String>, ThreadError> {
    let head = thread::head(store, thread)?;
    let hash = head.start(store)?.workflow;
    let workflow = workflow::get(store, &hash)?;
    let conditions = session.conditions();
    let judge = judge(conditions.as_ref());
    let head = head.settled(store, &workflow, judge);
    Ok(ThreadView::stored(store, (*thread, &head), (hash, &workflow), judge).current_role)
}

/// A line for people.
fn text(row: &SyncedThread, way: Way, remote: &str) -> String {
    let steps = render::count(row.steps, "step");
    let told = match (row.outcome, way) {
        ("new", Way::Push) => format!("new at {remote}"),
        ("new", Way::Pull) => "new here".to_owned(),
        ("new", Way::Fetch) => format!("not here yet: `uwf clone {remote} {}`", row.thread),
        ("moved", Way::Push) => format!("pushed, {steps}"),
        ("held", _) => format!(
            "pushed, {steps}, without their files: `uwf thread resume {} --remote {remote}` has it go on with those of before",
            row.thread
        ),
        ("moved", _) => format!("pulled, {steps}"),
        ("same", _) => "the same".to_owned(),
        ("ahead", _) => format!("{steps} ahead of {remote}"),
        ("behind", _) => format!("{steps} behind {remote}"),
        (other, _) => other.to_owned(),
    };
    format!("{}: {told}\n", row.thread)
}
