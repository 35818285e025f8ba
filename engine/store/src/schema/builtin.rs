//! The schemas that the format demands of every store: the meta-schema, the primitives and the command outputs that other
//! programs look up by name.
//!
//! Hashes are written down here so that knowing a type costs nothing; a test recomputes each. The schemas themselves
//! are data files and are only parsed for a store that lacks one. Changing a schema changes its hash, and so makes a
//! new type: nodes of the old one stay what they are.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Hash;

/// The type of schemas; its own type.
pub const META_SCHEMA: Hash = Hash::from_static("CTS5P6RD8HMCS");
/// Plain text, any string.
pub const TEXT: Hash = Hash::from_static("7VQ43ZSJTEWA7");

/// The variables of every store, and the schemas they name.
pub(crate) const ALIASES: [(&str, Hash); 33] = [
    ("@ocas/schema", META_SCHEMA),
    ("@ocas/string", TEXT),
    ("@ocas/number", Hash::from_static("BEAZQGKVXMZT8")),
    ("@ocas/integer", Hash::from_static("B26JM4PBHPAFK")),
    ("@ocas/boolean", Hash::from_static("1AVHCXEJVDCPP")),
    ("@ocas/bool", Hash::from_static("1AVHCXEJVDCPP")),
    ("@ocas/object", Hash::from_static("944RT37WX1PQ5")),
    ("@ocas/array", Hash::from_static("D45CW047XS17Y")),
    ("@ocas/null", Hash::from_static("8E33KAS0HMAZ7")),
    ("@ocas/output/put", Hash::from_static("4ZHWK21APCFZ5")),
    ("@ocas/output/get", Hash::from_static("7V5G8E2VW8B2G")),
    ("@ocas/output/has", Hash::from_static("FHXQQZMVHW924")),
    ("@ocas/output/hash", Hash::from_static("1B24CBF95Q5G6")),
    ("@ocas/output/verify", Hash::from_static("52HEFB52BD0GF")),
    ("@ocas/output/refs", Hash::from_static("2TKP4RGBJ4V43")),
    ("@ocas/output/walk", Hash::from_static("4HG6MD3XG5H5C")),
    ("@ocas/output/list", Hash::from_static("7BWZ3JKKMSH4N")),
    ("@ocas/output/list-meta", Hash::from_static("1WQ7C0EV8QGA4")),
    ("@ocas/output/list-schema", Hash::from_static("7FYGS2KQ3REM9")),
    ("@ocas/output/var-set", Hash::from_static("0Q5EMYK4SYSS9")),
    ("@ocas/output/var-get", Hash::from_static("F5RRJTXP8Z99D")),
    ("@ocas/output/var-delete", Hash::from_static("C3MYPR5RGQFZT")),
    ("@ocas/output/var-list", Hash::from_static("AF0XACGXHPMC1")),
    ("@ocas/output/var-history", Hash::from_static("EVZJS80TRFKE1")),
    ("@ocas/output/tag", Hash::from_static("CPSWA9TB2JMWP")),
    ("@ocas/output/untag", Hash::from_static("BPEQMRQNJK80Z")),
    ("@ocas/output/template-set", Hash::from_static("BJDHPAE4Q8TXM")),
    ("@ocas/output/template-get", Hash::from_static("0B0HBHZGYHR84")),
    ("@ocas/output/template-list", Hash::from_static("8917JQTD1R5JF")),
    ("@ocas/output/template-delete", Hash::from_static("BY7BGZJND3N7R")),
    ("@ocas/output/gc", Hash::from_static("7KHZTY010988K")),
    ("@ocas/output/export", Hash::from_static("3P2SFAVZXZ474")),
    ("@ocas/output/import", Hash::from_static("198WWJWDA6KDX")),
];

/// Every node that the format demands, some more than once.
pub(crate) fn hashes() -> impl Iterator<Item = Hash> {
    ALIASES.iter().map(|(_, hash)| *hash)
}

/// The schemas themselves, by the variable's name.
pub(crate) fn schemas() -> BTreeMap<String, Value> {
    serde_json::from_str(include_str!("builtin/ocas.json")).expect("the file is part of this program")
}

#[cfg(test)]
#[path = "builtin_tests.rs"]
mod tests;
