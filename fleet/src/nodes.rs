//! Which nodes are at a remote, putting and getting them.
//!
//! A hash of a store is short: two texts with one hash are found in no time. So each node has a second digest at the remote,
//! which is compared whenever a node is there already, and checked whenever one comes back. So is what it refers to.
//!
//! A workspace may be larger than the memory of a machine: of the bytes of nodes, one batch is held at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use postgres::{Client, GenericClient, Row};
use uwf_store::{Hash, Node, Store, cbor};

use crate::objects::{LARGE, Objects, Piece, not_set};
use crate::{Connection, FleetError};

/// How many nodes are sent or fetched at once, and how many bytes.
const BATCH: usize = 1_000;
const BATCH_BYTES: usize = 8 << 20;

/// A node as the remote keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RemoteNode {
    type_: Hash,
    made: i64,
    bytes: Vec<u8>,
    outline: Outline,
}

/// All that has to be known of a node to compare it, and to have it in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outline {
    hash: Hash,
    digest: [u8; 32],
    /// How many bytes its payload has.
    size: usize,
    /// What it refers to, its type among them.
    refs: Vec<Hash>,
}

/// BLAKE3 of type and payload.
fn digest(type_: &Hash, bytes: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(type_.as_str().as_bytes()).update(bytes);
    hasher.finalize().into()
}

impl RemoteNode {
    /// A node of a store.
    fn of(store: &Store, hash: &Hash) -> Result<RemoteNode, FleetError> {
        let node = store.get(hash)?;
        let mut refs = store.refs_of(&node)?;
        // The type of types is its own.
        refs.extend((node.type_ != *hash).then_some(node.type_));
        let bytes = cbor::encode(&node.payload);
        let digest = digest(&node.type_, &bytes);
        let outline = Outline { hash: *hash, digest, size: bytes.len(), refs };
        let made = i64::try_from(node.timestamp).unwrap_or(i64::MAX);
        Ok(RemoteNode { type_: node.type_, made, bytes, outline })
    }

    /// As a row has it with these bytes, if it is what its digest says.
    fn in_row(row: &Row, bytes: Vec<u8>) -> Result<RemoteNode, FleetError> {
        let hash = hash_in(row.get("hash"))?;
        let type_ = hash_in(row.get("type"))?;
        let digest = digest(&type_, &bytes);
        if row.get::<_, &[u8]>("digest") != digest {
            return Err(damaged(hash, "its bytes are not those of its digest"));
        }
        let outline = Outline { hash, digest, size: bytes.len(), refs: refs_in(row)? };
        Ok(RemoteNode { type_, made: row.get("made"), bytes, outline })
    }

    fn node(&self) -> Result<Node, FleetError> {
        let damaged = |why: String| FleetError::Damaged { hash: self.outline.hash, why };
        let payload = cbor::decode(&self.bytes).map_err(|error| damaged(error.to_string()))?;
        let timestamp = u64::try_from(self.made).map_err(|error| damaged(error.to_string()))?;
        Ok(Node { type_: self.type_, payload, timestamp })
    }
}

impl Outline {
    fn is_large(&self) -> bool {
        self.size > LARGE
    }
}

fn damaged(hash: Hash, why: &str) -> FleetError {
    FleetError::Damaged { hash, why: why.to_owned() }
}

fn refs_in(row: &Row) -> Result<Vec<Hash>, FleetError> {
    row.get::<_, Vec<&str>>("refs").into_iter().map(hash_in).collect()
}

fn hash_in(text: &str) -> Result<Hash, FleetError> {
    let malformed =
        |_| FleetError::Malformed { what: "node".to_owned(), why: format!("{text:?} is no hash") };
    text.parse().map_err(malformed)
}

/// Everything that can be reached from these nodes at the remote.
///
/// # Errors
/// The connection was lost, or something on the way is not there.
pub fn closure(
    client: &mut impl GenericClient,
    team: &str,
    roots: &[Hash],
) -> Result<HashSet<Hash>, FleetError> {
    let roots: Vec<&str> = roots.iter().map(Hash::as_str).collect();
    let rows = client.query(
        "WITH RECURSIVE reached (hash) AS (
             SELECT unnest($2::text[]) COLLATE \"C\"
             UNION
             SELECT unnest(node.refs) COLLATE \"C\" FROM reached JOIN uwf.node ON node.team = $1 AND node.hash = reached.hash)
         SELECT hash FROM reached",
        &[&team, &roots],
    )?;
    rows.iter().map(|row| hash_in(row.get(0))).collect()
}

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

/// Cuts a list into batches, each of at most so many nodes and bytes; a node that has more bytes is alone.
fn batches(hashes: &[Hash], size: impl Fn(&Hash) -> usize) -> Vec<&[Hash]> {
    let (mut cut, mut from, mut bytes) = (Vec::new(), 0, 0);
    for (at, hash) in hashes.iter().enumerate() {
        let size = size(hash);
        if at > from && (at - from == BATCH || bytes + size > BATCH_BYTES) {
            cut.push(&hashes[from..at]);
            (from, bytes) = (at, 0);
        }
        bytes += size;
    }
    cut.extend((from < hashes.len()).then(|| &hashes[from..]));
    cut
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

/// Each after all that it refers to.
fn ordered(all: impl Iterator<Item = Hash>, refs: &dyn Fn(&Hash) -> Option<Vec<Hash>>) -> Vec<Hash> {
    let (mut order, mut seen) = (Vec::new(), HashSet::new());
    for root in all {
        // A node comes twice: to look below it, and when all below it is in order.
        let mut open = vec![(root, false)];
        while let Some((hash, is_done)) = open.pop() {
            if is_done {
                order.push(hash);
            } else if seen.insert(hash)
                && let Some(refs) = refs(&hash)
            {
                open.push((hash, true));
                open.extend(refs.into_iter().map(|to| (to, false)));
            }
        }
    }
    order
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

/// Whether a row, with `hash`, `digest` and `refs`, is of this node. What it refers to is in no digest, but what is below a node
/// at the remote is told by that alone: for whoever fetches it, and for whoever collects garbage.
fn same(node: &Outline, row: &Row) -> Result<(), FleetError> {
    let collides = |why: &str| Err(FleetError::Collision { hash: node.hash, why: why.to_owned() });
    if row.get::<_, &[u8]>("digest") != node.digest {
        return collides("the same hash, another digest");
    }
    let there: BTreeSet<&str> = row.get::<_, Vec<&str>>("refs").into_iter().collect();
    match node.refs.iter().map(Hash::as_str).collect::<BTreeSet<_>>() == there {
        true => Ok(()),
        false => collides("the same hash, but it is to refer to other nodes"),
    }
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

    #[test]
    fn more_than_a_batch_holds_comes_over_and_back() {
        let Some(postgres) = Postgres::start() else { return };
        let mut at = postgres.connection();
        let (place, other) = (Place::in_memory(), Place::in_memory());
        let (store, there) = (place.store(), other.store());
        let texts = ["a", "b", "c"].map(|text| text.repeat(BATCH_BYTES / 2));
        let roots = texts.each_ref().map(|text| store.put_text(text).unwrap());
        assert_eq!(batches(&roots, |_| BATCH_BYTES / 2), [&roots[..2], &roots[2..]]);
        assert_eq!(batches(&roots, |_| BATCH_BYTES + 1).len(), 3);
        assert!(batches(&[], |_| 1).is_empty());

        put(&mut at, &store, (&roots, &mut HashSet::new())).unwrap();
        let team = at.team().to_owned();
        let all = closure(at.client(), &team, &roots).unwrap();
        get(&mut at, &there, &all).unwrap();
        for (hash, text) in roots.iter().zip(&texts) {
            assert!(there.get(hash).unwrap() == store.get(hash).unwrap(), "{}", &text[..1]);
        }
        assert_eq!(get(&mut at, &there, &all).unwrap(), 0);
        let missing = store.put_text("never put").unwrap();
        let error = get(&mut at, &there, &[missing]).unwrap_err();
        assert!(matches!(error, FleetError::Damaged { hash, .. } if hash == missing), "{error}");
    }
}
