//! Pieces of journals as rows: each begins where the one before it ends, and none is ever changed.

use postgres::types::{ToSql, Type};
use postgres::{GenericClient, Transaction};
use uwf_engine::journals::JournalName;
use uwf_store::Hash;

use super::malformed;
use crate::heads::{self, OwnVariable};
use crate::queue::{Lease, check_held};
use crate::{Connection, FleetError};

/// Some lines of a journal.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The journal.
    pub name: &'a JournalName,
    /// Where in it they begin, in bytes.
    pub start: u64,
    /// The lines.
    pub bytes: &'a [u8],
    /// The nodes that they name, which are at the remote.
    pub nodes: &'a [Hash],
}

/// Where a thread must stand for lines of it to be taken: lines of the step before are late.
pub(super) struct Place<'a> {
    pub(super) lease: &'a Lease,
    pub(super) head: &'a Hash,
}

/// All of it or nothing: the lease is held to the end of the statement, and the piece comes where the rows so far end.
const APPEND: &str = "
    WITH held AS (
        SELECT FROM uwf.thread WHERE team = $1 AND id = $2 AND fence = $3 AND head = $4 AND state = 'leased' FOR SHARE),
    last AS (
        SELECT start + octet_length(bytes) AS past FROM uwf.journal WHERE team = $1 AND thread = $2 AND name = $5
        ORDER BY start DESC LIMIT 1)
    INSERT INTO uwf.journal (team, thread, name, start, fence, bytes, nodes)
    SELECT $1, $2, $5, $6, $3, $7, $8 FROM held WHERE coalesce((SELECT past FROM last), 0) = $6
    ON CONFLICT DO NOTHING";

/// Writes a piece of a journal of a thread that stands at `head`. What is there already as it was to be written is one's own.
///
/// # Errors
/// [`FleetError::LeaseLost`]; [`FleetError::Malformed`] where the thread stands elsewhere, lines are missing before these, or
/// others are in their place; or the connection was lost: then the same again tells.
pub fn append(
    connection: &mut Connection,
    (lease, head): (&Lease, &Hash),
    piece: &Piece<'_>,
) -> Result<(), FleetError> {
    let (client, team) = connection.parts();
    if insert(client, team, &Place { lease, head }, piece)? {
        return Ok(());
    }
    let mut transaction = client.transaction()?;
    append_to(&mut transaction, team, &Place { lease, head }, piece)?;
    Ok(transaction.commit()?)
}

/// The same for lines of a thread that this one has called, with how that stands by now: whoever goes on finds both. Journals
/// of where it stood before are not needed any more.
pub(super) fn append_below(
    connection: &mut Connection,
    place: &Place<'_>,
    piece: &Piece<'_>,
    variables: &[OwnVariable],
) -> Result<(), FleetError> {
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    check_held(&mut transaction, team, place.lease)?;
    heads::write_variables(&mut transaction, team, &place.lease.thread, variables)?;
    let (thread, name) = (place.lease.thread.as_str(), piece.name);
    transaction.execute(
        "DELETE FROM uwf.journal WHERE team = $1 AND thread = $2 AND starts_with(name, $3) AND NOT starts_with(name, $4)",
        &[&team, &thread, &format!("{}.", name.thread), &format!("{}.{}.", name.thread, name.head)],
    )?;
    append_to(&mut transaction, team, place, piece)?;
    Ok(transaction.commit()?)
}

/// Whether the piece was written; it is not where it is there, or cannot be.
fn insert(
    client: &mut impl GenericClient,
    team: &str,
    place: &Place<'_>,
    piece: &Piece<'_>,
) -> Result<bool, FleetError> {
    let (thread, head) = (place.lease.thread.as_str(), place.head.as_str());
    let (name, start) = (piece.name.to_string(), offset(piece.start));
    let nodes: Vec<&str> = piece.nodes.iter().map(Hash::as_str).collect();
    let values: [(&(dyn ToSql + Sync), Type); 8] = [
        (&team, Type::TEXT),
        (&thread, Type::TEXT),
        (&place.lease.fence, Type::INT8),
        (&head, Type::TEXT),
        (&name, Type::TEXT),
        (&start, Type::INT8),
        (&piece.bytes, Type::BYTEA),
        (&nodes, Type::TEXT_ARRAY),
    ];
    // With the types given it is one round trip.
    let returning = format!("{APPEND} RETURNING 1");
    Ok(!client.query_typed(&returning, &values)?.is_empty())
}

/// What is to be done about a piece that could not simply be written.
fn append_to(
    transaction: &mut Transaction<'_>,
    team: &str,
    place: &Place<'_>,
    piece: &Piece<'_>,
) -> Result<(), FleetError> {
    check_held(transaction, team, place.lease)?;
    let thread = place.lease.thread.as_str();
    let head: String = transaction
        .query_one("SELECT head FROM uwf.thread WHERE team = $1 AND id = $2", &[&team, &thread])?
        .get(0);
    if head != place.head.as_str() {
        return Err(malformed(piece.name, format!("its thread stands at {head}, not at {}", place.head)));
    }
    let there = transaction.query(
        "SELECT start, bytes FROM uwf.journal
         WHERE team = $1 AND thread = $2 AND name = $3 AND start + octet_length(bytes) > $4 ORDER BY start",
        &[&team, &thread, &piece.name.to_string(), &offset(piece.start)],
    )?;
    let begins = there.first().map_or(piece.start, |first| length(first.get("start")));
    let bytes: Vec<u8> = there.iter().flat_map(|row| row.get::<_, Vec<u8>>("bytes")).collect();
    let skipped = usize::try_from(piece.start.saturating_sub(begins)).unwrap_or(usize::MAX);
    let there = bytes.get(skipped..).unwrap_or_default();
    if there.starts_with(piece.bytes) {
        return Ok(());
    }
    let Some(rest) = piece.bytes.strip_prefix(there) else {
        return Err(malformed(piece.name, format!("it has other lines at {}", piece.start)));
    };
    let rest = Piece { start: piece.start + there.len() as u64, bytes: rest, ..*piece };
    match insert(transaction, team, place, &rest)? {
        true => Ok(()),
        false => Err(malformed(piece.name, format!("it does not reach to {}", piece.start))),
    }
}

/// Forgets the journals of a step that has failed and is on record so: the next attempt is another one. How many attempts there
/// were counts on from `attempts`, whatever it had come to.
///
/// # Errors
/// [`FleetError::LeaseLost`], or the connection was lost.
pub fn forget_attempt(connection: &mut Connection, lease: &Lease, attempts: i32) -> Result<(), FleetError> {
    let (client, team) = connection.parts();
    let thread = lease.thread.as_str();
    let mut transaction = client.transaction()?;
    check_held(&mut transaction, team, lease)?;
    transaction.execute("DELETE FROM uwf.journal WHERE team = $1 AND thread = $2", &[&team, &thread])?;
    transaction.execute(
        "UPDATE uwf.thread SET attempts = greatest(attempts, $3) WHERE team = $1 AND id = $2",
        &[&team, &thread, &attempts],
    )?;
    Ok(transaction.commit()?)
}

/// As the database counts.
pub(super) fn offset(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// As files count.
pub(super) fn length(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or(0)
}
