//! Putting nodes at a remote.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use postgres::Client;
use uwf_store::{Hash, Store};

use super::{BATCH, Outline, RemoteNode, batches, hash_in, ordered, same};
use crate::objects::{Objects, Piece};
use crate::{Connection, FleetError};

/// Puts all that can be reached from these nodes, but for what is `known` to be at the remote with all that it refers to; what
/// was put is known then. Each node comes after all that it refers to, so that whatever is there is whole. The remote is asked
/// for each of them, not for those on top alone: what it has is safe from its garbage collection when it was asked for, until a
/// head names it.
///
/// # Errors
/// A node cannot be read, the remote has another one of the same hash, or the connection was lost: the same again goes on.
pub fn put(
    connection: &mut Connection,
    store: &Store,
    (roots, known): (&[Hash], &mut HashSet<Hash>),
) -> Result<usize, FleetError> {
    let (mut nodes, mut open) = (BTreeMap::new(), roots.to_vec());
    while let Some(hash) = open.pop() {
        if known.contains(&hash) || nodes.contains_key(&hash) {
            continue;
        }
        let node = RemoteNode::of(store, &hash)?.outline;
        open.extend(&node.refs);
        nodes.insert(hash, node);
    }
    let order = ordered(nodes.keys().copied(), &|hash| nodes.get(hash).map(|node| node.refs.clone()));
    let lacking = lacks(connection.client(), &nodes)?;
    let objects = match lacking.iter().any(|hash| nodes[hash].is_large()) {
        true => {
            let team = connection.team().to_owned();
            connection.objects(&team)?
        }
        false => None,
    };
    let order_of_lacking: Vec<Hash> = order.iter().filter(|hash| lacking.contains(hash)).copied().collect();
    for hashes in batches(&order_of_lacking, |hash| nodes[hash].size) {
        let batch: Result<Vec<RemoteNode>, FleetError> =
            hashes.iter().map(|hash| RemoteNode::of(store, hash)).collect();
        put_batch(connection, objects.as_deref(), &batch?)?;
    }
    known.extend(order);
    Ok(lacking.len())
}

/// Which of these the remote lacks. Those that it has are kept for a while from now on, whoever collects garbage.
fn lacks(client: &mut Client, nodes: &BTreeMap<Hash, Outline>) -> Result<BTreeSet<Hash>, FleetError> {
    let mut lacking: BTreeSet<Hash> = nodes.keys().copied().collect();
    let names: Vec<&str> = nodes.keys().map(Hash::as_str).collect();
    for batch in names.chunks(BATCH) {
        for row in client.query("SELECT hash, digest, refs FROM uwf.have($1)", &[&batch])? {
            let hash = hash_in(row.get(0))?;
            same(&nodes[&hash], &row)?;
            lacking.remove(&hash);
        }
    }
    Ok(lacking)
}

/// Puts the contents of large ones into the object store, if there is one, and then all rows.
fn put_batch(
    connection: &mut Connection,
    objects: Option<&Objects>,
    nodes: &[RemoteNode],
) -> Result<(), FleetError> {
    let (client, team) = connection.parts();
    let large = nodes.iter().filter(|node| node.outline.is_large());
    let (Some(objects), true) = (objects, large.clone().next().is_some()) else {
        return insert(client, team, nodes, &BTreeMap::new()).map(|_| ());
    };
    // Whoever collects garbage removes a key after its row: one that is put again is another one.
    let suffix: String = client.query_one("SELECT replace(gen_random_uuid()::text, '-', '')", &[])?.get(0);
    let piece = |Outline { hash, digest, size, .. }: &Outline| Piece {
        hash: *hash,
        key: format!("{team}/{}-{suffix}", hex(digest)),
        size: *size,
    };
    let pieces: Vec<(Piece, &[u8])> =
        large.map(|node| (piece(&node.outline), node.bytes.as_slice())).collect();
    let keys = pieces.iter().map(|(piece, _)| (piece.hash, piece.key.clone())).collect();
    let put = objects.put(&pieces).and_then(|()| insert(client, team, nodes, &keys));
    let unused: Vec<String> = match &put {
        // Somebody else was faster with some of them.
        Ok(written) => {
            keys.into_iter().filter(|(hash, _)| !written.contains(hash)).map(|(_, key)| key).collect()
        }
        // The rows may be there.
        Err(FleetError::Lost { .. }) => Vec::new(),
        Err(_) => keys.into_values().collect(),
    };
    // What stays there takes room, and nothing else: the error of the put says more.
    objects.remove(&unused).ok();
    put.map(|_| ())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Puts rows, all or none; those of `keys` with a key in place of bytes. Gives which were not there before.
fn insert(
    client: &mut Client,
    team: &str,
    nodes: &[RemoteNode],
    keys: &BTreeMap<Hash, String>,
) -> Result<HashSet<Hash>, FleetError> {
    if nodes.is_empty() {
        return Ok(HashSet::new());
    }
    // Whoever puts the same nodes at the same time does so in the same order: nobody waits for the other for ever.
    let mut nodes: Vec<&RemoteNode> = nodes.iter().collect();
    nodes.sort_by_key(|node| node.outline.hash);
    let types: Vec<&str> = nodes.iter().map(|node| node.type_.as_str()).collect();
    let made: Vec<i64> = nodes.iter().map(|node| node.made).collect();
    let in_row = |node: &&RemoteNode| !keys.contains_key(&node.outline.hash);
    let bytes: Vec<Option<&[u8]>> =
        nodes.iter().map(|node| in_row(node).then_some(node.bytes.as_slice())).collect();
    let nodes: Vec<&Outline> = nodes.iter().map(|node| &node.outline).collect();
    let hashes: Vec<&str> = nodes.iter().map(|node| node.hash.as_str()).collect();
    let objects: Vec<Option<&str>> =
        nodes.iter().map(|node| keys.get(&node.hash).map(String::as_str)).collect();
    let sizes: Vec<i32> = nodes.iter().map(|node| i32::try_from(node.size).unwrap_or(i32::MAX)).collect();
    let digests: Vec<&[u8]> = nodes.iter().map(|node| node.digest.as_slice()).collect();
    // Lists of lists are no arrays of the database.
    let refs = |node: &&Outline| node.refs.iter().map(Hash::as_str).collect::<Vec<_>>().join(" ");
    let refs: Vec<String> = nodes.iter().map(refs).collect();
    // Whoever is told that it failed may remove the objects that the rows name.
    let mut transaction = client.transaction()?;
    let written = transaction.query(
        "INSERT INTO uwf.node (team, hash, type, made, bytes, digest, refs, object, size)
         SELECT $1, hash, type, made, bytes, digest, string_to_array(refs, ' '), object, size
         FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bytea[], $6::bytea[], $7::text[], $8::text[], $9::int[])
              AS n (hash, type, made, bytes, digest, refs, object, size)
         ON CONFLICT (team, hash) DO NOTHING RETURNING hash",
        &[&team, &hashes, &types, &made, &bytes, &digests, &refs, &objects, &sizes],
    )?;
    let written: HashSet<Hash> = written.iter().map(|row| hash_in(row.get(0))).collect::<Result<_, _>>()?;
    if written.len() < nodes.len() {
        // Somebody else has put some of them meanwhile.
        let sql = "SELECT hash, digest, refs FROM uwf.node WHERE team = $1 AND hash = ANY ($2)";
        for row in transaction.query(sql, &[&team, &hashes])? {
            let hash = hash_in(row.get(0))?;
            nodes.iter().filter(|node| node.hash == hash).try_for_each(|node| same(node, &row))?;
        }
    }
    transaction.commit()?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use uwf_engine::fixture::Place;

    use super::*;
    use crate::fixture::Postgres;

    #[test]
    fn of_a_batch_with_another_node_of_the_same_hash_nothing_is_put() {
        let Some(postgres) = Postgres::start() else { return };
        let mut at = postgres.connection();
        let place = Place::in_memory();
        let store = place.store();
        let nodes = ["new", "there already"].map(|text| {
            let hash = store.put_text(text).unwrap();
            RemoteNode::of(&store, &hash).unwrap()
        });
        let mut twin = nodes[1].clone();
        twin.outline.digest = [7; 32];
        insert(at.client(), "default", &[twin], &BTreeMap::new()).unwrap();
        let [new, there] = [0, 1].map(|at: usize| nodes[at].outline.hash);
        let keys = [(new, "default/key".to_owned())].into();
        let error = insert(at.client(), "default", &nodes, &keys).unwrap_err();
        assert!(matches!(error, FleetError::Collision { hash, .. } if hash == there), "{error}");
        let count = "SELECT count(*) FROM uwf.node WHERE object IS NOT NULL";
        assert_eq!(at.client().query_one(count, &[]).unwrap().get::<_, i64>(0), 0);
    }
}
