//! Contents of any size, and what is kept of them.

use std::cell::Cell;

use proptest::prelude::*;

use super::*;
use crate::Collect;
use crate::schema;
use crate::tests::{Fixture, NOW, PROFILE, clock};

/// Stores a content, under the name that it has before.
fn put(store: &Store, bytes: &[u8]) -> Blob {
    let mut batch = store.batch();
    let blob = batch.put_blob(&mut &*bytes).unwrap();
    batch.commit().unwrap();
    assert_eq!(Blob::of(&mut &*bytes).unwrap(), blob);
    blob
}

fn read(store: &Store, hash: &Hash) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.blob(hash).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// Bytes that are no text and no two pieces alike.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = std::iter::repeat_with(&mut next).take(length / 8 + 1).flatten().collect();
    bytes.truncate(length);
    bytes
}

#[test]
fn the_types_are_pinned() {
    for (hash, schema) in [(BYTES, bytes_schema()), (BLOB, blob_schema())] {
        assert_eq!(schema::check(&schema), Ok(()));
        assert_eq!(Hash::of(&META_SCHEMA, &schema), hash, "{}", schema["title"]);
    }
}

#[test]
fn small_contents_are_one_node_and_texts_are_texts() {
    let f = Fixture::new();
    for text in ["", "x", "ä\u{1F600}\n", "a line\r\nwithout an end"] {
        let blob = put(&f.store, text.as_bytes());
        assert_eq!(blob, Blob { hash: f.store.put_text(text).unwrap(), size: text.len() as u64 });
        assert_eq!(read(&f.store, &blob.hash), text.as_bytes());
    }
    let blob = put(&f.store, b"\xff\0\x80");
    assert_eq!(f.store.get(&blob.hash).unwrap().payload, "/wCA");
    assert_eq!(f.store.get(&blob.hash).unwrap().type_, BYTES);
    assert_eq!(read(&f.store, &blob.hash), b"\xff\0\x80");
}

#[test]
fn contents_of_every_length_about_a_piece_come_back() {
    let f = Fixture::new();
    let (noise, text) = (noise(2 * PIECE + 1), "a€".repeat(PIECE));
    for length in [PIECE - 1, PIECE, PIECE + 1, 2 * PIECE - 1, 2 * PIECE, 2 * PIECE + 1] {
        for bytes in [&noise[..length], &text.as_bytes()[..length], &text.as_bytes()[1..=length]] {
            let blob = put(&f.store, bytes);
            assert_eq!(blob.size, length as u64);
            assert_eq!(f.store.blob(&blob.hash).unwrap().size(), length as u64);
            assert!(read(&f.store, &blob.hash) == bytes, "{length} bytes");
            assert_eq!(f.store.get(&blob.hash).unwrap().type_ == BLOB, length > PIECE, "{length} bytes");
        }
    }
    f.store.verify(&mut |finding| panic!("{finding}")).unwrap();
}

#[test]
fn equal_pieces_are_kept_once_and_listed_as_often_as_they_come() {
    let f = Fixture::new();
    let before = f.names().len();
    let bytes = vec![0xff; 40 * PIECE];
    let blob = put(&f.store, &bytes);
    let kept = f.names().len() - before;
    assert_eq!(kept, 4, "two schemas, a piece and a list");
    assert_eq!(f.store.get(&blob.hash).unwrap().payload["pieces"].as_array().unwrap().len(), 40);
    assert!(read(&f.store, &blob.hash) == bytes);
    assert_eq!(put(&f.store, &bytes), blob);
    assert_eq!(f.names().len() - before, kept);
}

/// A reader that counts what it was asked for and gives a few bytes at a time.
struct Watched<'c> {
    left: usize,
    most: &'c Cell<usize>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.most.set(self.most.get().max(buffer.len()));
        let read = buffer.len().min(self.left).min(77_777);
        buffer[..read].fill(0xfe);
        self.left -= read;
        Ok(read)
    }
}

#[test]
fn no_more_than_a_piece_is_asked_for() {
    let f = Fixture::new();
    let most = Cell::new(0);
    let mut batch = f.store.batch();
    let blob = batch.put_blob(&mut Watched { left: 9 * PIECE, most: &most }).unwrap();
    batch.commit().unwrap();
    assert_eq!(blob.size, 9 * PIECE as u64);
    assert!(most.get() <= PIECE);
    let mut reader = f.store.blob(&blob.hash).unwrap();
    let mut size = 0;
    loop {
        let bytes = reader.read_next().unwrap().len();
        assert!(bytes <= PIECE);
        size += bytes;
        if bytes == 0 {
            break;
        }
    }
    assert_eq!(size, 9 * PIECE);
}

#[test]
fn a_reader_that_fails_stores_nothing() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
    let f = Fixture::new();
    let before = f.names();
    let mut batch = f.store.batch();
    let error = batch.put_blob(&mut (&*noise(3 * PIECE)).chain(Broken)).unwrap_err();
    assert!(matches!(error, StoreError::Unread { .. }), "{error}");
    drop(batch);
    assert_eq!(f.names(), before);
}

#[test]
fn what_is_no_content_is_refused_and_damage_is_told() {
    let f = Fixture::new();
    let error = f.store.blob(&META_SCHEMA).map(|_| ()).unwrap_err();
    assert!(matches!(error, StoreError::NotContent { .. }), "{error}");
    let mut batch = f.store.batch();
    let blob = batch.put_blob(&mut &*noise(PIECE + 1)).unwrap();
    let pieces = batch.get(&blob.hash).unwrap().payload["pieces"].clone();
    for size in [PIECE, PIECE + 2] {
        let list = batch.put(&BLOB, &json!({"size": size, "pieces": pieces})).unwrap();
        let wrong = list;
        let base64 = batch.put(&BYTES, &Value::from("no base64")).unwrap();
        batch.commit().unwrap();
        batch = f.store.batch();
        let error = f.store.blob(&wrong).unwrap().read_to_end(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("not as long as it says"), "{error}");
        assert!(matches!(f.store.blob(&base64).map(|_| ()), Err(StoreError::Corrupt { .. })));
    }
}

#[test]
fn gc_follows_the_list() {
    let store = Store::in_memory(PROFILE, clock).unwrap();
    let (kept, lost) = (put(&store, &noise(3 * PIECE)), put(&store, &vec![0xfd; 3 * PIECE]));
    let pieces = store.refs(&kept.hash).unwrap();
    assert_eq!(pieces.len(), 3);
    let later = Store { clock: || NOW + 7_200_000, ..store.clone() };
    later.gc(&Collect { roots: vec![kept.hash], ..Collect::default() }).unwrap();
    assert!(read(&later, &kept.hash) == noise(3 * PIECE));
    assert!(!later.has(&lost.hash));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Texts, bytes and mixtures of both come back, and are cut by what they are, not by how they were read.
    #[test]
    fn any_content_comes_back(
        parts in prop::collection::vec((0..3usize, 0..PIECE), 0..4),
        step in 1..PIECE,
    ) {
        struct Steps<'b>(&'b [u8], usize);
        impl Read for Steps<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let most = self.1.min(buffer.len());
                self.0.read(&mut buffer[..most])
            }
        }
        let kinds = [noise(PIECE), "€ä\u{1F600}".repeat(PIECE / 8).into_bytes(), vec![b'a'; PIECE]];
        let bytes: Vec<u8> =
            parts.iter().flat_map(|(kind, length)| kinds[*kind].iter().take(*length).copied()).collect();
        let store = Store::in_memory(PROFILE, clock).unwrap();
        let blob = put(&store, &bytes);
        prop_assert!(read(&store, &blob.hash) == bytes);
        let mut batch = store.batch();
        prop_assert_eq!(batch.put_blob(&mut Steps(&bytes, step)).unwrap(), blob);
    }
}
