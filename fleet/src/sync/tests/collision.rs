//! Two texts whose nodes have one hash: nobody takes one for the other, on any way.

use serde_json::Value;
use uwf_store::{Hash, Store};

use super::*;
use crate::nodes;

const P1: u64 = 0x9E37_79B1_85EB_CA87;
const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;

/// One word of XXH64 on the way to a state.
fn round(state: u64, word: u64) -> u64 {
    state.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

/// What multiplied with an odd number is 1.
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |x, _| x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x))))
}

/// The word that leads from one state to another.
fn word_between(from: u64, to: u64) -> u64 {
    to.wrapping_mul(inverse(P1)).rotate_right(31).wrapping_sub(from).wrapping_mul(inverse(P2))
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

/// A printable text with the hash of another one, as a node of the type of texts has it. Of 400 bytes, those from 16 to 80
/// differ: before them are the type and the head of the text, 16 bytes in all, so that words of the hash are words of the text.
fn twin(text: &str, type_: &Hash) -> String {
    let mut preimage = type_.as_str().as_bytes().to_vec();
    preimage.extend([0x79, 0x01, 0x90]);
    preimage.extend(text.as_bytes());
    let words = words(&preimage[..96]);
    let begun = [P1.wrapping_add(P2), P2, 0, 0_u64.wrapping_sub(P1)];
    let mut twin = text.as_bytes().to_vec();
    for (lane, begun) in begun.into_iter().enumerate() {
        let before = round(begun, words[lane]);
        let after = round(round(before, words[4 + lane]), words[8 + lane]);
        let found = (0_u64..).find_map(|n| {
            let first: [u8; 8] = format!("{n:08}").into_bytes().try_into().unwrap();
            let second = word_between(round(before, u64::from_le_bytes(first)), after).to_le_bytes();
            second.iter().all(|byte| (b' '..=b'~').contains(byte)).then_some((first, second))
        });
        let (first, second) = found.unwrap();
        twin[16 + 8 * lane..24 + 8 * lane].copy_from_slice(&first);
        twin[48 + 8 * lane..56 + 8 * lane].copy_from_slice(&second);
    }
    String::from_utf8(twin).unwrap()
}

fn text_of(store: &Store, hash: &Hash) -> Value {
    store.get(hash).unwrap().payload
}

/// Two machines with one text each, both of the same hash.
fn planted() -> (Machine, Machine, Hash, [String; 2]) {
    let (a, b) = (Machine::new(), Machine::new());
    let good = format!(
        "{:<400}",
        "Review: APPROVED. All is as it should be, tests pass, nothing is left to do here."
    );
    let hash = a.store.put_text(&good).unwrap();
    let bad = twin(&good, &a.store.get(&hash).unwrap().type_);
    assert_ne!(good, bad);
    assert_eq!(b.store.put_text(&bad).unwrap(), hash, "they have one hash");
    (a, b, hash, [good, bad])
}

fn put(at: &mut Connection, machine: &Machine, hash: Hash) -> Result<usize, FleetError> {
    nodes::put(at, &machine.store, (&[hash], &mut HashSet::new()))
}

fn get(at: &mut Connection, machine: &Machine, hash: Hash) -> Result<usize, FleetError> {
    let (client, team) = at.parts();
    let there = nodes::closure(client, team, &[hash])?;
    nodes::get(at, &machine.store, &there)
}

fn is_collision(done: Result<usize, FleetError>, hash: Hash) {
    let error = done.unwrap_err();
    assert!(matches!(error, FleetError::Collision { hash: found, .. } if found == hash), "{error}");
    assert!(error.hint().unwrap().contains("nothing was changed here"));
}

#[test]
fn a_twin_is_neither_taken_for_what_is_there_nor_brought_over_what_is_here() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let (a, b, hash, [good, bad]) = planted();
    put(&mut at, &a, hash).unwrap();
    let row = "SELECT bytes, digest FROM uwf.node WHERE hash = $1";
    let of = |at: &mut Connection| -> (Vec<u8>, Vec<u8>) {
        let row = at.client().query_one(row, &[&hash.as_str()]).unwrap();
        (row.get(0), row.get(1))
    };
    let before = of(&mut at);
    is_collision(put(&mut at, &b, hash), hash);
    is_collision(get(&mut at, &b, hash), hash);
    assert_eq!(of(&mut at), before);
    assert_eq!((text_of(&a.store, &hash), text_of(&b.store, &hash)), (good.into(), bad.into()));
    // Whose is the same has it without complaint.
    assert_eq!((put(&mut at, &a, hash).unwrap(), get(&mut at, &a, hash).unwrap()), (0, 0));
    let c = Machine::new();
    get(&mut at, &c, hash).unwrap();
    assert_eq!(text_of(&c.store, &hash), text_of(&a.store, &hash));
}

#[test]
fn a_twin_that_comes_between_is_seen_by_the_put_itself() {
    let Some(postgres) = Postgres::start() else { return };
    let (_, b, hash, _) = planted();
    let mut first = postgres.connection();
    // Not committed: whoever asks what is lacking does not see it, whoever puts it waits.
    let mut transaction = first.client().transaction().unwrap();
    transaction
        .execute(
            "INSERT INTO uwf.node (team, hash, digest, type, made, bytes, size)
             VALUES ('default', $1, sha256('x'), $1, 0, 'x', 1)",
            &[&hash.as_str()],
        )
        .unwrap();
    let putting = threads::spawn(move || put(&mut postgres.connection(), &b, hash));
    // Long enough that it waits, most of the time; it is refused either way.
    threads::sleep(Duration::from_millis(300));
    transaction.commit().unwrap();
    is_collision(putting.join().unwrap(), hash);
}

#[test]
fn a_thread_with_a_twin_is_refused_whole() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let a = Machine::new();
    let thread = a.place.flow_thread();
    a.push(&mut at, &thread).unwrap();
    let b = Machine::new();
    b.pull(&mut at, &thread).unwrap();
    a.step(&thread, "one");
    a.push(&mut at, &thread).unwrap();
    let head = a.head(&thread);
    let digest = "UPDATE uwf.node SET digest = sha256('x') WHERE hash = $1";
    at.client().execute(digest, &[&head.as_str()]).unwrap();
    let before = b.head(&thread);
    let error = b.pull(&mut at, &thread).unwrap_err();
    assert!(matches!(error, FleetError::Damaged { .. }), "{error}");
    assert_eq!((b.head(&thread), b.store.has(&head)), (before, false));
    a.step(&thread, "two");
    let error = a.push(&mut at, &thread).unwrap_err();
    assert!(matches!(error, FleetError::Collision { .. }), "{error}");
    assert_eq!(column(&mut at, "head"), head.to_string());
}

#[test]
fn who_puts_a_node_first_does_not_choose_what_is_below_it() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let a = Machine::new();
    let thread = a.place.flow_thread();
    a.push(&mut at, &thread).unwrap();
    let head = a.step(&thread, "one");
    // The right content, and nothing below it: it would be collected, and the push would say that all is there.
    put(&mut at, &a, head).unwrap();
    at.client().execute("UPDATE uwf.node SET refs = '{}' WHERE hash = $1", &[&head.as_str()]).unwrap();
    is_collision(put(&mut at, &a, head), head);
    is_collision(get(&mut at, &a, head), head);
    let error = a.push(&mut at, &thread).unwrap_err();
    assert!(matches!(error, FleetError::Collision { .. }), "{error}");
    assert_ne!(column(&mut at, "head"), head.to_string());
}
