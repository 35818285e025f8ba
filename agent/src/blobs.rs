//! The names of full outputs: those of the nodes they will be in the record, and the nodes of earlier runs.
//!
//! Apart because the tools know no store. Only text nodes are found: a model can name what a transcript mentioned to
//! it, and a hash cannot be guessed. What is left out of a long conversation is kept by the same names.

use std::io::{self, Cursor, Read};

use serde_json::Value;
use uwf_engine::builtin;
use uwf_store::{Hash, Store, StoreError};
use uwf_tools::Outputs;

/// The outputs in a store.
#[derive(Debug)]
pub(crate) struct BlobStore {
    /// The run's own: tools run on threads of their own, which share it.
    pub store: Store,
}

impl BlobStore {
    /// Keeps texts, durably, so that they are found by these names.
    ///
    /// # Errors
    /// The store's.
    pub(crate) fn keep<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Result<Vec<Hash>, StoreError> {
        let nodes: Vec<(Hash, Value)> = texts.map(|text| (builtin::TEXT, Value::from(text))).collect();
        self.store.put_all(&nodes)
    }
}

impl Outputs for BlobStore {
    fn name(&self, text: &mut dyn Read, length: u64) -> io::Result<String> {
        Hash::of_text_stream(&builtin::TEXT, text, length).map(|hash| hash.to_string())
    }

    fn find(&self, name: &str) -> io::Result<Option<Box<dyn Read>>> {
        let Ok(hash) = name.parse() else { return Ok(None) };
        match self.store.find(&hash).map_err(io::Error::other)? {
            Some(node) if node.type_ == builtin::TEXT => match node.payload {
                Value::String(text) => Ok(Some(Box::new(Cursor::new(text)))),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_by_the_name_it_was_given_and_nothing_else_is() {
        let store = Store::in_memory(builtin::PROFILE, || 1).unwrap();
        let blobs = BlobStore { store: store.clone() };
        let text = "the output\n";
        let name = blobs.name(&mut text.as_bytes(), text.len() as u64).unwrap();
        assert!(blobs.find(&name).unwrap().is_none());
        assert_eq!(store.put_text(text).unwrap().to_string(), name);
        let mut found = String::new();
        blobs.find(&name).unwrap().unwrap().read_to_string(&mut found).unwrap();
        assert_eq!(found, text);
        assert!(blobs.find(builtin::UWF_TURN.as_str()).unwrap().is_none(), "a schema is no output");
        assert!(blobs.find("../x").unwrap().is_none());
        let kept = blobs.keep(["one", "two"].into_iter()).unwrap();
        assert!(kept.iter().all(|name| blobs.find(name.as_str()).unwrap().is_some()));
    }
}
