//! The pinned hashes, recomputed.

use super::*;
use crate::schema::check;

#[test]
fn every_alias_names_its_schema() {
    let schemas = schemas();
    for (name, hash) in ALIASES {
        let schema = &schemas[name];
        let actual = if hash == META_SCHEMA { Hash::of_self(schema) } else { Hash::of(&META_SCHEMA, schema) };
        assert_eq!(actual, hash, "{name}");
    }
    assert_eq!(schemas.len(), ALIASES.len(), "no schema without a hash");
}

#[test]
fn all_may_be_stored() {
    for (name, schema) in schemas() {
        assert_eq!(check(&schema), Ok(()), "{name}");
    }
}
