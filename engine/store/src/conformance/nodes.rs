//! Nodes: put, got, listed, collected.

use std::io::Read;

use serde_json::json;

use super::*;
use crate::schema::builtin::{META_SCHEMA, TEXT};
use crate::{Collect, PIECE, Profile};

/// The nodes and the names that the format demands, in a store that verifies.
pub fn a_new_store_has_what_every_store_has(make: Make<'_>) -> Checked {
    let store = make();
    for hash in Profile::PLAIN.hashes() {
        assert_eq!(store.get(&hash)?.type_, META_SCHEMA);
    }
    let alias = store.vars().get("@ocas/string")?.map(|variable| (variable.schema, variable.value));
    assert_eq!(alias, Some((META_SCHEMA, TEXT)));
    assert_eq!(store.vars().list("")?.len(), 33);
    assert_sound(&store)
}

/// The same payload, under the hash that follows from it; what was never put is not there.
pub fn what_was_put_is_read_back(make: Make<'_>) -> Checked {
    let store = make();
    let any = store.put(&META_SCHEMA, &json!({}))?;
    for payload in
        [json!(""), json!("ä\u{1F600}\0"), json!({"a": [1, 2.5, null]}), json!("x".repeat(1 << 20))]
    {
        let hash = store.put(&any, &payload)?;
        assert_eq!(hash, Hash::of(&any, &payload));
        let node = store.get(&hash)?;
        assert_eq!((node.type_, node.payload), (any, payload));
        assert!(store.has(&hash));
    }
    let never = Hash::of(&any, &json!("never"));
    assert_eq!(store.find(&never)?, None);
    assert!(!store.has(&never) && matches!(store.get(&never), Err(StoreError::NotFound { .. })));
    Ok(())
}

/// With the time at which it was put first.
pub fn what_is_put_again_is_the_same_node(make: Make<'_>) -> Checked {
    let store = make();
    let hash = store.put_text("once")?;
    let first = store.get(&hash)?;
    later(|| {
        assert_eq!(store.put_text("once")?, hash);
        let twice = [(TEXT, json!("once")), (TEXT, json!("once")), (TEXT, json!("other"))];
        assert_eq!(store.put_all(&twice)?[..2], [hash, hash]);
        Ok::<_, StoreError>(())
    })?;
    assert_eq!(store.get(&hash)?, first);
    assert_eq!(store.indexed(&TEXT)?.len(), 2);
    Ok(())
}

/// Each once, and none of another type.
pub fn nodes_are_listed_by_type_in_the_order_they_were_put(make: Make<'_>) -> Checked {
    let store = make();
    let texts: Vec<Hash> = (0..20).map(|n| store.put_text(&format!("text {n}"))).collect::<Result<_, _>>()?;
    number(&store, 1)?;
    store.put_text("text 3")?;
    assert_eq!(store.indexed(&TEXT)?, texts);
    assert_eq!(store.indexed(&texts[0])?, [], "a text is no type");
    let (mut all, mut expected) = (store.all_of(&TEXT)?, texts);
    all.sort();
    expected.sort();
    assert_eq!(all, expected);
    Ok(())
}

/// Alone, and beside others that would.
pub fn a_payload_that_does_not_obey_changes_nothing(make: Make<'_>) -> Checked {
    let store = make();
    let (integer, _) = number(&store, 1)?;
    let before = store.stats()?;
    assert!(matches!(store.put(&integer, &json!("x")), Err(StoreError::Invalid { .. })));
    let unknown = Hash::from_static("0000000000000");
    assert!(matches!(store.put(&unknown, &json!(1)), Err(StoreError::UnknownType { exists: false, .. })));
    let nodes = [(TEXT, json!("good")), (integer, json!(7)), (integer, json!("bad"))];
    assert!(matches!(store.put_all(&nodes), Err(StoreError::Invalid { .. })));
    assert_eq!(store.stats()?, before);
    Ok(())
}

/// Nothing of it before it is committed, nor when it is dropped; a schema in it may be a type of nodes after it.
pub fn a_batch_is_seen_whole_or_not_at_all(make: Make<'_>) -> Checked {
    let store = make();
    let fill = || {
        let mut batch = store.batch();
        let type_ = batch.put(&META_SCHEMA, &json!({"type": "boolean", "title": "of the batch"}))?;
        let hashes = [type_, batch.put(&type_, &json!(true))?, batch.put(&TEXT, &json!("x"))?];
        assert_eq!(batch.get(&hashes[1])?.payload, json!(true), "the batch has it");
        Ok::<_, StoreError>((batch, hashes))
    };
    let before = store.stats()?;
    let (batch, hashes) = fill()?;
    assert!(!hashes.iter().any(|hash| store.has(hash)));
    drop(batch);
    assert_eq!(store.stats()?, before);
    let ((one, _), (other, _)) = (fill()?, fill()?);
    one.commit()?;
    other.commit()?;
    assert_eq!(store.indexed(&hashes[0])?, [hashes[1]], "two batches had it, and it is listed once");
    assert!(hashes.iter().all(|hash| store.has(hash)));
    assert_eq!(store.get(&hashes[1])?.payload, json!(true));
    store.batch().commit()?;
    assert_eq!(store.stats()?.nodes, before.nodes + 3);
    assert_sound(&store)
}

/// A collector that comes right after it takes none of it.
pub fn a_batch_that_took_long_is_as_young_as_its_last_node(make: Make<'_>) -> Checked {
    let store = make();
    let mut batch = store.batch();
    let first = long_ago(|| batch.put(&TEXT, &json!("first")))?;
    let last = batch.put(&TEXT, &json!("last"))?;
    batch.commit()?;
    assert_eq!(store.gc(&Collect::default())?.removed, 0);
    assert_eq!(store.indexed(&TEXT)?, [first, last]);
    Ok(())
}

/// Byte for byte, be it text or not; a piece that comes again is kept once.
pub fn a_content_of_any_length_is_read_back(make: Make<'_>) -> Checked {
    let store = make();
    let put = |bytes: &[u8]| {
        let mut batch = store.batch();
        let blob = batch.put_blob(&mut &*bytes)?;
        batch.commit()?;
        Ok::<_, StoreError>(blob)
    };
    let text = "a line of text\n".repeat(PIECE / 8);
    let bytes = [text.as_bytes(), &vec![0xff; 2 * PIECE]].concat();
    for content in [&b""[..], b"x", b"\xff", text.as_bytes(), &bytes] {
        let blob = put(content)?;
        let mut read = Vec::new();
        assert!(store.blob(&blob.hash)?.read_to_end(&mut read).is_ok_and(|length| length == content.len()));
        assert!(read == content, "{} bytes", content.len());
        let nodes = store.stats()?.nodes;
        assert_eq!((put(content)?, store.stats()?.nodes), (blob, nodes));
    }
    assert_sound(&store)
}

/// What is made of the listing, and what there is to mend in it: nothing.
pub fn everything_is_counted_and_sound(make: Make<'_>) -> Checked {
    let store = make();
    let before = store.stats()?;
    let (_, leaf) = text(&store, "leaf")?;
    let (type_, root) = link(&store, &[leaf])?;
    let stats = store.stats()?;
    assert_eq!((stats.nodes, stats.unreadable), (before.nodes + 3, 0));
    assert_eq!((stats.types[&type_].nodes, stats.types[&TEXT].nodes), (1, 1));
    assert_eq!(stats.bytes, stats.types.values().map(|of| of.bytes).sum::<u64>());
    let report = store.reindex()?;
    assert_eq!((report.nodes, report.added, report.struck), (stats.nodes, 0, 0));
    assert_eq!(store.walk(&root)?.nodes.len(), 5, "the root, the leaf, the type of each, and theirs");
    assert_sound(&store)
}

/// What a name, a past, another node or the caller leads to stays, and so does what was put of late.
pub fn what_nobody_needs_is_collected(make: Make<'_>) -> Checked {
    let store = make();
    let vars = store.vars();
    let (leaf, past, held) = (text(&store, "leaf")?, text(&store, "past")?, text(&store, "held")?);
    let root = link(&store, &[leaf.1])?;
    vars.apply(&[set_to("@t/root", root, Expect::Any), set_to("@t/past", past, Expect::Any)])?;
    vars.apply(&[set_to("@t/past", leaf, Expect::Any)])?;
    let lost = link(&store, &[store.put_text("lost leaf")?])?;
    let (_, lone) = number(&store, 1)?;
    let how = Collect { roots: vec![held.1], ..Collect::default() };
    assert_eq!(store.gc(&how)?.removed, 0, "all of it is young");
    let before = store.stats()?;
    let would = later(|| store.gc(&Collect { dry_run: true, ..how.clone() }))?;
    assert_eq!(store.stats()?, before);
    let report = later(|| store.gc(&how))?;
    assert_eq!(report, would);
    assert_eq!((report.removed, report.kept), (4, before.nodes - 4), "a link, its leaf, a number, its type");
    assert!(!store.has(&lost.1) && !store.has(&lone));
    assert_eq!(store.indexed(&TEXT)?, [leaf.1, past.1, held.1]);
    assert_eq!(store.indexed(&root.0)?, [root.1]);
    assert_eq!(store.stats()?.bytes, before.bytes - report.bytes);
    assert_sound(&store)
}

/// And is then known again in every way.
pub fn what_was_collected_may_be_put_again(make: Make<'_>) -> Checked {
    let store = make();
    let (type_, one) = number(&store, 1)?;
    later(|| store.gc(&Collect::default()))?;
    assert!(matches!(store.put(&type_, &json!(1)), Err(StoreError::UnknownType { exists: false, .. })));
    let again = set_to("@t/a", (type_, one), Expect::Any);
    assert!(matches!(store.vars().apply(&[again]), Err(StoreError::NotFound { .. })));
    assert_eq!(number(&store, 1)?, (type_, one));
    assert_eq!(store.indexed(&type_)?, [one]);
    assert_sound(&store)
}
