use serde_json::Value;

use super::*;
use crate::schema::builtin::TEXT;
use crate::tests::Fixture;

fn put(f: &Fixture, text: &[u8], length: usize) -> Result<Hash, StoreError> {
    let mut batch = f.store.batch();
    let hash = batch.put_text(&mut &*text, length as u64)?;
    batch.commit()?;
    Ok(hash)
}

/// A reader that gives a few bytes at a time.
struct Dripping<'t>(&'t [u8], usize);

impl Read for Dripping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.1.min(buffer.len());
        self.0.read(&mut buffer[..most])
    }
}

#[test]
fn a_streamed_text_is_the_node_that_a_text_in_memory_is() {
    for text in ["", "x", "ä\u{1F600}€\n", &"a€".repeat(PIECE / 3), &"\u{1F600}".repeat(PIECE)] {
        let (f, whole) = (Fixture::new(), Fixture::new());
        let hash = put(&f, text.as_bytes(), text.len()).unwrap();
        assert_eq!(hash, whole.store.put_text(text).unwrap());
        assert_eq!(std::fs::read(f.file(&hash)).unwrap(), std::fs::read(whole.file(&hash)).unwrap());
        assert_eq!(f.index(TEXT.as_str()), whole.index(TEXT.as_str()));
    }
}

#[test]
fn characters_may_come_in_parts() {
    let f = Fixture::new();
    let text = "a\u{1F600}€ä".repeat(9);
    for most in 1..9 {
        let mut batch = f.store.batch();
        let mut reader = Dripping(text.as_bytes(), most);
        assert_eq!(
            batch.put_text(&mut reader, text.len() as u64).unwrap(),
            Hash::of(&TEXT, &Value::from(&*text))
        );
    }
}

#[test]
fn what_is_no_text_or_not_as_long_as_said_leaves_nothing_behind() {
    let f = Fixture::new();
    let before = f.names();
    for (text, length) in
        [(&b"abc"[..], 2), (b"abc", 4), (b"", 1), (b"a\xffb", 3), (b"a\xe2\x82", 3), (b"\xed\xa0\x80", 3)]
    {
        let error = put(&f, text, length).unwrap_err();
        assert!(matches!(error, StoreError::Text { .. }), "{text:?}: {error}");
        assert_eq!(f.names(), before);
    }
}

#[test]
fn what_is_there_is_not_written_again_and_what_is_damaged_is() {
    let f = Fixture::new();
    let text = "one text\n".repeat(PIECE / 4);
    let put = || put(&f, text.as_bytes(), text.len()).unwrap();
    let hash = put();
    let (file, whole) = (f.file(&hash), std::fs::read(f.file(&hash)).unwrap());
    let inode = || std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&file).unwrap());
    let first = inode();
    put();
    assert_eq!((inode(), f.index(TEXT.as_str()).lines().count()), (first, 1));
    for damaged in [&whole[..9], &whole[..whole.len() - 1], &[], &[&whole[..], b"x"].concat()] {
        std::fs::write(&file, damaged).unwrap();
        put();
        assert_eq!(std::fs::read(&file).unwrap(), whole);
    }
}

/// The keys in another order, as other programs may write them.
#[test]
fn what_another_program_encoded_is_the_same_node() {
    let f = Fixture::new();
    let hash = put(&f, b"text", 4).unwrap();
    let other = [&b"\xa3\x67payload\x64text\x64type\x6d"[..], TEXT.as_str().as_bytes(), b"\x69timestamp\x07"];
    std::fs::write(f.file(&hash), other.concat()).unwrap();
    assert_eq!(f.store.get(&hash).unwrap().timestamp, 7);
    assert_eq!(put(&f, b"text", 4).unwrap(), hash);
    assert_eq!(f.store.get(&hash).unwrap().timestamp, 7);
}
