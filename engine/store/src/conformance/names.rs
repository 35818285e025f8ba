//! Names: set, expected to be something, listed, and what they were.

use super::*;
use crate::Variable;
use crate::schema::builtin::META_SCHEMA;

fn listed(store: &Store, prefix: &str) -> Result<Vec<String>, StoreError> {
    Ok(store.vars().list(prefix)?.into_iter().map(|variable| variable.name).collect())
}

fn value(store: &Store, name: &str) -> Result<Option<Hash>, StoreError> {
    Ok(store.vars().get(name)?.map(|variable| variable.value))
}

/// With its tags, which are replaced as a whole, and its times, of which the first stays.
pub fn a_variable_is_what_it_was_set_to(make: Make<'_>) -> Checked {
    let (store, name) = (make(), "@t/a".to_owned());
    assert_eq!(store.vars().get(&name)?, None);
    let (schema, one) = text(&store, "one")?;
    let tags = BTreeMap::from([("status".to_owned(), "a \"b\" \u{1F600}".to_owned())]);
    let expect = Expect::Absent;
    let set = VarChange::Set { name: name.clone(), schema, value: one, tags: tags.clone(), expect };
    let before = clock();
    store.vars().apply(&[set])?;
    let found = store.vars().get(&name)?;
    let created = found.as_ref().map_or(0, |found| found.created);
    assert!((before..=clock()).contains(&created));
    let expected = Variable { name, schema, value: one, created, updated: created, tags, labels: Vec::new() };
    assert_eq!(found.as_ref(), Some(&expected));
    assert_eq!(store.vars().rows("@t/")?, store.vars().list("@t/")?);
    assert_eq!(store.vars().list("@t/")?, [expected]);
    later(|| store.vars().apply(&[set_to("@t/a", number(&store, 1)?, Expect::Value(one))]))?;
    let found = store.vars().rows("@t/")?;
    assert_eq!((found.len(), found[0].created, found[0].tags.len()), (1, created, 0));
    assert!(found[0].updated > created);
    Ok(())
}

/// Which must be there, and be of the type that is said; nor is a name taken that is none.
pub fn a_variable_names_a_node_of_its_type(make: Make<'_>) -> Checked {
    let store = make();
    let (schema, one) = text(&store, "one")?;
    let apply = |change| store.vars().apply(&[change]);
    let absent = (schema, Hash::from_static("0000000000000"));
    assert!(matches!(apply(set_to("@t/a", absent, Expect::Any)), Err(StoreError::NotFound { .. })));
    let wrong = (META_SCHEMA, one);
    assert!(matches!(apply(set_to("@t/a", wrong, Expect::Any)), Err(StoreError::WrongType { .. })));
    for name in ["", "t/a", "@t", "@t/", "@t/a%", "@t/ü"] {
        let refused = apply(set_to(name, (schema, one), Expect::Any));
        assert!(matches!(refused, Err(StoreError::BadName { .. })), "{name}");
    }
    assert_eq!(listed(&store, "@t")?, [""; 0]);
    Ok(())
}

/// It says what is there instead.
pub fn what_was_not_expected_changes_nothing(make: Make<'_>) -> Checked {
    let store = make();
    let (one, two) = (text(&store, "one")?, text(&store, "two")?);
    let found = |name: &str, expect| match store.vars().apply(&[set_to(name, two, expect)]) {
        Err(StoreError::Conflict { name: told, expected, found }) => {
            assert_eq!((told.as_str(), expected), (name, expect));
            found
        }
        other => panic!("{name}: no conflict but {other:?}"),
    };
    store.vars().apply(&[set_to("@t/a", one, Expect::Absent)])?;
    assert_eq!(found("@t/a", Expect::Absent), Some(one.1));
    assert_eq!(found("@t/a", Expect::Value(two.1)), Some(one.1));
    assert_eq!(found("@t/b", Expect::Value(one.1)), None);
    assert_eq!((value(&store, "@t/a")?, value(&store, "@t/b")?), (Some(one.1), None));
    assert_eq!(store.vars().history("@t/a")?.len(), 1);
    store.vars().apply(&[set_to("@t/a", two, Expect::Value(one.1))])?;
    assert_eq!(value(&store, "@t/a")?, Some(two.1));
    Ok(())
}

/// In the order given: each finds what those before it did.
pub fn changes_are_made_together_or_not_at_all(make: Make<'_>) -> Checked {
    let store = make();
    let (one, two) = (text(&store, "one")?, text(&store, "two")?);
    let names = ["@t/a", "@t/b/c", "@t/b/d"];
    store.vars().apply(&names.map(|name| set_to(name, one, Expect::Absent)))?;
    let remove = |name: &str| VarChange::Remove { name: name.to_owned() };
    let below = VarChange::RemovePrefix { prefix: "@t/b/".to_owned() };
    let last = set_to("@t/new", two, Expect::Value(one.1));
    let refused = [below.clone(), remove("@t/a"), set_to("@t/new", two, Expect::Absent), last];
    assert!(matches!(store.vars().apply(&refused), Err(StoreError::Conflict { .. })));
    assert_eq!(listed(&store, "@t/")?, names);
    let missing = set_to("@t/x", (one.0, Hash::from_static("0000000000000")), Expect::Any);
    assert!(store.vars().apply(&[below.clone(), missing]).is_err());
    assert_eq!(listed(&store, "@t/")?, names);
    let done = [below, remove("@t/a"), set_to("@t/a", two, Expect::Absent), remove("@t/none")];
    store.vars().apply(&done)?;
    assert_eq!((listed(&store, "@t/")?, value(&store, "@t/a")?), (vec!["@t/a".to_owned()], Some(two.1)));
    store.vars().apply(&[])
}

/// At most ten values; one that is set again does not count twice.
pub fn what_was_is_told_newest_first(make: Make<'_>) -> Checked {
    let store = make();
    let nodes: Vec<_> = (0..13).map(|n| number(&store, n)).collect::<Result<_, _>>()?;
    for node in &nodes {
        store.vars().apply(&[set_to("@t/a", *node, Expect::Any)])?;
        store.vars().apply(&[set_to("@t/a", *node, Expect::Any)])?;
    }
    let (values, times): (Vec<_>, Vec<_>) = store.vars().history("@t/a")?.into_iter().unzip();
    assert_eq!(values, nodes[3..].iter().rev().map(|node| node.1).collect::<Vec<_>>());
    assert!(times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
    let remembered = store.vars().remembered()?;
    assert!(!remembered.contains(&nodes[2].1));
    assert!(
        nodes[3..].iter().all(|(schema, value)| remembered.contains(schema) && remembered.contains(value))
    );
    assert_eq!(store.vars().history("@t/none")?, []);
    Ok(())
}

/// It begins anew.
pub fn the_past_goes_with_the_name_and_with_the_type(make: Make<'_>) -> Checked {
    let store = make();
    let (one, two, text) = (number(&store, 1)?, number(&store, 2)?, text(&store, "text")?);
    let past = |changes: &[VarChange]| -> Result<Vec<Hash>, StoreError> {
        store.vars().apply(changes)?;
        Ok(store.vars().history("@t/a")?.into_iter().map(|(value, _)| value).collect())
    };
    assert_eq!(past(&[one, two].map(|node| set_to("@t/a", node, Expect::Any)))?, [two.1, one.1]);
    assert_eq!(past(&[set_to("@t/a", text, Expect::Any)])?, [text.1]);
    assert_eq!(past(&[set_to("@t/a", one, Expect::Any)])?, [one.1]);
    assert_eq!(past(&[VarChange::Remove { name: "@t/a".to_owned() }])?, []);
    assert_eq!(past(&[set_to("@t/a", two, Expect::Absent)])?, [two.1]);
    Ok(())
}

/// Neither `_` nor `%` nor `*` stands for anything else, letters are not alike in both cases, and a prefix may be what no
/// name begins with.
pub fn a_prefix_is_a_text_and_no_pattern(make: Make<'_>) -> Checked {
    let store = make();
    let node = text(&store, "x")?;
    let names = ["@T/a_b", "@t/A", "@t/a", "@t/a.b", "@t/a/b", "@t/a_b", "@t/axb"];
    store.vars().apply(&names.map(|name| set_to(name, node, Expect::Any)))?;
    for (prefix, expected) in [
        ("@t/a_", &["@t/a_b"][..]),
        ("@t/a", &["@t/a", "@t/a.b", "@t/a/b", "@t/a_b", "@t/axb"]),
        ("@T", &["@T/a_b"]),
        ("@t/a%", &[]),
        ("@t/*", &[]),
        ("@t/a\\_", &[]),
        ("@t/ü\u{1F600}", &[]),
        ("'", &[]),
    ] {
        assert_eq!(listed(&store, prefix)?, expected, "{prefix}");
    }
    assert_eq!(listed(&store, "")?.len(), 33 + names.len());
    store.vars().apply(&[VarChange::RemovePrefix { prefix: "@t/a_".to_owned() }])?;
    assert_eq!(listed(&store, "@")?.len(), 33 + names.len() - 1);
    for prefix in ["", "@", "@t", "t/"] {
        let refused = store.vars().apply(&[VarChange::RemovePrefix { prefix: prefix.to_owned() }]);
        assert!(matches!(refused, Err(StoreError::BadName { .. })), "{prefix}");
    }
    Ok(())
}

/// That of their bytes, whatever the order in which they came.
pub fn names_are_listed_in_order(make: Make<'_>) -> Checked {
    let store = make();
    let node = text(&store, "x")?;
    let names = ["@t/b", "@t/Z", "@t/a/b", "@t/a", "@t/10", "@t/9", "@t/a-b"];
    store.vars().apply(&names.map(|name| set_to(name, node, Expect::Any)))?;
    assert_eq!(listed(&store, "@t/")?, ["@t/10", "@t/9", "@t/Z", "@t/a", "@t/a-b", "@t/a/b", "@t/b"]);
    Ok(())
}

/// Each page ends with the name before which the next one goes on.
pub fn names_can_be_read_backwards_in_pages(make: Make<'_>) -> Checked {
    let store = make();
    let node = text(&store, "x")?;
    let names: Vec<String> = (10..17).map(|n| format!("@t/{n}")).collect();
    let changes: Vec<_> = ["@s/a".to_owned(), "@u/a".to_owned()]
        .into_iter()
        .chain(names.clone())
        .map(|name| set_to(&name, node, Expect::Any))
        .collect();
    store.vars().apply(&changes)?;
    let (mut read, mut below) = (Vec::new(), Some("@t0".to_owned()));
    while let Some(end) = below {
        let (page, next) = store.vars().backwards("@t/", &end, 3)?;
        assert!(page.len() <= 3);
        read.extend(page.into_iter().map(|variable| variable.name));
        below = next;
    }
    assert_eq!(read, names.into_iter().rev().collect::<Vec<_>>());
    assert_eq!(store.vars().backwards("@t/", "@t/", 3)?, (Vec::new(), None));
    Ok(())
}
