//! Fetching nodes from a remote.

use std::collections::HashMap;

use postgres::Client;
use uwf_store::{Hash, Store};

use super::{BATCH, RemoteNode, batches, damaged, hash_in, ordered, refs_in, same};
use crate::objects::{Piece, not_set};
use crate::{Connection, FleetError};

/// Fetches these nodes of the remote that the store lacks. All of what they refer to must be among them or in the store. Those
/// that it has must be the same ones.
///
/// # Errors
/// A node is missing or damaged, or another one than that of the store, the store refuses one, or the connection was lost. What
/// was stored until then harms nobody.
pub fn get<'h>(
    connection: &mut Connection,
    store: &Store,
    hashes: impl IntoIterator<Item = &'h Hash>,
) -> Result<usize, FleetError> {
    let team = connection.team().to_owned();
    get_of(connection, &team, store, hashes)
}

/// The same of another team, for the owner of the schema.
///
/// # Errors
/// As [`get`].
pub(crate) fn get_of<'h>(
    connection: &mut Connection,
    team: &str,
    store: &Store,
    hashes: impl IntoIterator<Item = &'h Hash>,
) -> Result<usize, FleetError> {
    let (present, lacking): (Vec<&Hash>, Vec<&Hash>) = hashes.into_iter().partition(|hash| store.has(hash));
    check_same(connection.client(), team, store, &present)?;
    let mut below: HashMap<Hash, (usize, Vec<Hash>)> = HashMap::with_capacity(lacking.len());
    for batch in lacking.chunks(BATCH) {
        let names: Vec<&str> = batch.iter().map(|hash| hash.as_str()).collect();
        let sql = "SELECT hash, size, refs FROM uwf.node WHERE team = $1 AND hash = ANY ($2)";
        for row in connection.client().query(sql, &[&team, &names])? {
            let size = usize::try_from(row.get::<_, i32>("size")).unwrap_or(0);
            below.insert(hash_in(row.get("hash"))?, (size, refs_in(&row)?));
        }
    }
    if let Some(missing) = lacking.iter().find(|hash| !below.contains_key(hash)) {
        return Err(damaged(**missing, "it is not there"));
    }
    let order =
        ordered(lacking.iter().map(|hash| **hash), &|hash| below.get(hash).map(|(_, refs)| refs.clone()));
    for hashes in batches(&order, |hash| below[hash].0) {
        get_batch(connection, team, store, hashes)?;
    }
    Ok(order.len())
}

/// Fetches these nodes, all or none.
fn get_batch(
    connection: &mut Connection,
    team: &str,
    store: &Store,
    hashes: &[Hash],
) -> Result<(), FleetError> {
    let names: Vec<&str> = hashes.iter().map(Hash::as_str).collect();
    let fetched = fetch(connection, team, &names)?;
    let fetched: HashMap<Hash, RemoteNode> =
        fetched.into_iter().map(|node| (node.outline.hash, node)).collect();
    let mut batch = store.batch();
    for hash in hashes {
        // Whoever collects garbage may have been faster.
        let node = fetched.get(hash).ok_or_else(|| damaged(*hash, "it is not there"))?;
        let stored = batch.put_node(&node.node()?)?;
        if stored != *hash {
            return Err(FleetError::Damaged {
                hash: *hash,
                why: format!("its bytes have the hash {stored}"),
            });
        }
    }
    Ok(batch.commit()?)
}

/// The nodes of these hashes, those among them that are there.
fn fetch(connection: &mut Connection, team: &str, names: &[&str]) -> Result<Vec<RemoteNode>, FleetError> {
    let sql = "SELECT hash, type, made, bytes, object, size, digest, refs FROM uwf.node
               WHERE team = $1 AND hash = ANY ($2)";
    let rows = connection.client().query(sql, &[&team, &names])?;
    let (mut nodes, mut elsewhere, mut pieces) = (Vec::new(), Vec::new(), Vec::new());
    for row in &rows {
        if let Some(bytes) = row.get("bytes") {
            nodes.push(RemoteNode::in_row(row, bytes)?);
            continue;
        }
        let hash = hash_in(row.get("hash"))?;
        let nowhere = || FleetError::Damaged { hash, why: "it has neither bytes nor an object".to_owned() };
        let key = row.get::<_, Option<String>>("object").ok_or_else(nowhere)?;
        let size = usize::try_from(row.get::<_, i32>("size")).unwrap_or(0);
        pieces.push(Piece { hash, key, size });
        elsewhere.push(row);
    }
    if pieces.is_empty() {
        return Ok(nodes);
    }
    let objects = connection.objects(team)?.ok_or_else(|| not_set(team))?;
    for (row, bytes) in elsewhere.into_iter().zip(objects.get(&pieces)?) {
        nodes.push(RemoteNode::in_row(row, bytes)?);
    }
    Ok(nodes)
}

/// Whether the nodes that both have are the same ones.
fn check_same(client: &mut Client, team: &str, store: &Store, present: &[&Hash]) -> Result<(), FleetError> {
    for batch in present.chunks(BATCH) {
        let names: Vec<&str> = batch.iter().map(|hash| hash.as_str()).collect();
        let sql = "SELECT hash, digest, refs FROM uwf.node WHERE team = $1 AND hash = ANY ($2)";
        for row in client.query(sql, &[&team, &names])? {
            same(&RemoteNode::of(store, &hash_in(row.get(0))?)?.outline, &row)?;
        }
    }
    Ok(())
}
