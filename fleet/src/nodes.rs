//! Which nodes are at a remote, putting and getting them.
//!
//! A hash of a store is short: two texts with one hash are found in no time. So each node has a second digest at the remote,
//! which is compared whenever a node is there already, and checked whenever one comes back. So is what it refers to.
//!
//! A workspace may be larger than the memory of a machine: of the bytes of nodes, one batch is held at a time.

mod get;
mod put;

use std::collections::{BTreeSet, HashSet};

use postgres::{GenericClient, Row};
use uwf_store::{Hash, Node, Store, cbor};

use crate::FleetError;
use crate::objects::LARGE;

pub use self::get::get;
pub(crate) use self::get::get_of;
pub use self::put::put;

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

#[cfg(test)]
mod tests {
    use uwf_engine::fixture::Place;

    use super::*;
    use crate::fixture::Postgres;

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
