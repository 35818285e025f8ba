//! The journals of a step that somebody else was in, as files of this machine.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use postgres::GenericClient;
use uwf_engine::home::make_private;
use uwf_engine::journals::{self, JournalName};
use uwf_engine::thread::{HEADS, ThreadId};
use uwf_store::{Hash, Store};

use super::rows::{length, offset};
use super::{lines, malformed};
use crate::heads::{self, RemoteHead};
use crate::queue::{Lease, check_held};
use crate::{Connection, FleetError, nodes};

/// A journal as the remote has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    name: JournalName,
    bytes: Vec<u8>,
    nodes: Vec<Hash>,
}

/// What the remote has of the journals of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// How much it has of each, in bytes.
    pub lengths: BTreeMap<JournalName, u64>,
    /// The last snapshot of the workspace in them.
    pub latest: Option<Hash>,
}

/// Writes the journals that the remote has of a thread into files below `home`, and fetches the nodes that they name, which are
/// `known` to be there then. `standing` is how the thread was brought here. What an earlier run has left here is forgotten: the
/// remote has all that had an effect. So are journals of where the thread stood before. A line that is not complete is cut off
/// here and there. Whoever calls this holds the lock of the thread.
///
/// # Errors
/// [`FleetError::LeaseLost`], a row or a node is not what it must be, the files cannot be written, or the connection was lost.
pub fn restore(
    connection: &mut Connection,
    (store, home): (&Store, &Path),
    (lease, standing): (&Lease, &RemoteHead),
    known: &mut HashSet<Hash>,
) -> Result<Restored, FleetError> {
    let (client, team) = connection.parts();
    let mut kept = read(client, team, &lease.thread)?;
    drop_stale(connection, (lease, standing), &mut kept)?;
    for journal in &mut kept {
        let whole = journal.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        if whole < journal.bytes.len() {
            cut(connection, lease, journal, whole)?;
        }
    }
    kept.retain(|journal| !journal.bytes.is_empty());
    let roots: Vec<Hash> = kept.iter().flat_map(|journal| journal.nodes.iter().copied()).collect();
    if !roots.is_empty() {
        let (client, team) = connection.parts();
        let there = nodes::closure(client, team, &roots)?;
        nodes::get(connection, store, &there)?;
        known.extend(there);
    }
    if kept.is_empty() && !heads::is_brought(store, &lease.thread)? {
        // A thread of this machine, which may be in a step of its own.
        return Ok(Restored::default());
    }
    let called =
        standing.variables.iter().filter_map(|variable| variable.name.strip_prefix(HEADS)?.parse().ok());
    for thread in called.chain([lease.thread]) {
        journals::forget(home, &thread);
    }
    for journal in &kept {
        write(home, journal).map_err(|error| malformed_file(lease, &error))?;
    }
    let latest = kept.iter().filter_map(|journal| lines::latest(&journal.bytes)).max_by_key(|(at, _)| *at);
    let lengths = kept.into_iter().map(|journal| (journal.name, journal.bytes.len() as u64)).collect();
    Ok(Restored { lengths, latest: latest.map(|(_, tree)| tree) })
}

fn malformed_file(lease: &Lease, error: &dyn std::error::Error) -> FleetError {
    let (what, why) = (format!("journal of thread {}", lease.thread), crate::error::chain(error));
    FleetError::Malformed { what, why: format!("it cannot be written here: {why}") }
}

/// The journals of a thread, each in one piece.
fn read(client: &mut impl GenericClient, team: &str, thread: &ThreadId) -> Result<Vec<Kept>, FleetError> {
    let rows = client.query(
        "SELECT name, start, bytes, nodes FROM uwf.journal WHERE team = $1 AND thread = $2 ORDER BY name, start",
        &[&team, &thread.as_str()],
    )?;
    let mut all: Vec<Kept> = Vec::new();
    for row in rows {
        let text: &str = row.get("name");
        let name = JournalName::parse(text).ok_or_else(|| FleetError::Malformed {
            what: format!("journal of thread {thread}"),
            why: format!("{text:?} is no name of one"),
        })?;
        if all.last().is_none_or(|last| last.name != name) {
            all.push(Kept { name, bytes: Vec::new(), nodes: Vec::new() });
        }
        let Some(journal) = all.last_mut() else { continue };
        if length(row.get("start")) != journal.bytes.len() as u64 {
            let why = format!("lines are missing, or twice there, at {}", journal.bytes.len());
            return Err(malformed(&journal.name, why));
        }
        journal.bytes.extend_from_slice(row.get("bytes"));
        for node in row.get::<_, Vec<&str>>("nodes") {
            let node = node.parse().map_err(|_| malformed(&journal.name, format!("{node:?} is no hash")))?;
            journal.nodes.push(node);
        }
    }
    Ok(all)
}

/// Forgets the journals of steps from where the thread, or one that it called, no longer stands: somebody has gone on with it
/// elsewhere and pushed that. What is in them, the files of an abandoned step too, is part of no later one.
fn drop_stale(
    connection: &mut Connection,
    (lease, standing): (&Lease, &RemoteHead),
    kept: &mut Vec<Kept>,
) -> Result<(), FleetError> {
    let stands_at = |name: &JournalName| {
        let called = format!("{HEADS}{}", name.thread);
        let mut variables = standing.variables.iter();
        match name.thread == lease.thread {
            true => name.head == standing.head,
            false => variables.any(|variable| variable.name == called && variable.value == name.head),
        }
    };
    let stale: Vec<String> = kept
        .extract_if(.., |journal| !stands_at(&journal.name))
        .map(|journal| journal.name.to_string())
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    check_held(&mut transaction, team, lease)?;
    transaction.execute(
        "DELETE FROM uwf.journal WHERE team = $1 AND thread = $2 AND name = ANY ($3)",
        &[&team, &lease.thread.as_str(), &stale],
    )?;
    Ok(transaction.commit()?)
}

/// Cuts a journal off at the remote, which can only have been damaged there.
fn cut(
    connection: &mut Connection,
    lease: &Lease,
    journal: &mut Kept,
    whole: usize,
) -> Result<(), FleetError> {
    let (client, team) = connection.parts();
    let (thread, name) = (lease.thread.as_str(), journal.name.to_string());
    let mut transaction = client.transaction()?;
    check_held(&mut transaction, team, lease)?;
    let gone = transaction.query(
        "DELETE FROM uwf.journal WHERE team = $1 AND thread = $2 AND name = $3 AND start + octet_length(bytes) > $4
         RETURNING start",
        &[&team, &thread, &name, &offset(whole as u64)],
    )?;
    let from: u64 = gone.iter().map(|row| length(row.get(0))).min().unwrap_or(0);
    let rest = journal.bytes.get(usize::try_from(from).unwrap_or(whole)..whole).unwrap_or_default();
    if !rest.is_empty() {
        let nodes: Vec<&str> = journal.nodes.iter().map(Hash::as_str).collect();
        transaction.execute(
            "INSERT INTO uwf.journal (team, thread, name, start, fence, bytes, nodes) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &[&team, &thread, &name, &offset(from), &lease.fence, &rest, &nodes],
        )?;
    }
    transaction.commit()?;
    journal.bytes.truncate(whole);
    Ok(())
}

/// Written aside and renamed: whoever looks for it finds all of it or nothing. A power cut loses nothing that the remote has.
fn write(home: &Path, journal: &Kept) -> io::Result<()> {
    let dir = journals::directory(home);
    make_private(&dir)?;
    let (aside, path) = (dir.join(format!(".{}", journal.name)), dir.join(journal.name.to_string()));
    fs::remove_file(&aside).ok();
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&aside)?;
    file.write_all(&journal.bytes)?;
    fs::rename(aside, path)
}
