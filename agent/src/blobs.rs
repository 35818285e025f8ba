//! The names of full outputs: those of the nodes they will be in the record, and the nodes of earlier runs.
//!
//! Apart because the tools know no store. Only contents are found, and read piece by piece: a model can name what a
//! transcript mentioned to it, and a hash cannot be guessed. What is left out of a long conversation is kept by the same
//! names.

use std::io::{self, Read};

use uwf_store::{Blob, Hash, Store, StoreError};
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
        let mut batch = self.store.batch();
        let mut keep = |text: &str| Ok(batch.put_blob(&mut text.as_bytes())?.hash);
        let names = texts.map(&mut keep).collect::<Result<_, StoreError>>()?;
        batch.commit()?;
        Ok(names)
    }
}

impl Outputs for BlobStore {
    fn name(&self, output: &mut dyn Read) -> io::Result<String> {
        match Blob::of(output) {
            Ok(output) => Ok(output.hash.to_string()),
            Err(StoreError::Unread { source }) => Err(source),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn find(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        let Ok(hash) = name.parse() else { return Ok(None) };
        match self.store.blob(&hash) {
            Ok(output) => Ok(Some(Box::new(output))),
            Err(StoreError::NotFound { .. } | StoreError::NotContent { .. }) => Ok(None),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use uwf_engine::builtin;

    use super::*;

    #[test]
    fn a_text_is_found_by_the_name_it_was_given_and_nothing_else_is() {
        let store = Store::in_memory(builtin::PROFILE, || 1).unwrap();
        let blobs = BlobStore { store: store.clone() };
        let text = "the output\n";
        let name = blobs.name(&mut text.as_bytes()).unwrap();
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

    /// What a store may hold of one: a list of pieces, and of older versions one text, however long.
    #[test]
    fn long_outputs_are_found_by_the_name_they_have_in_the_record() {
        let store = Store::in_memory(builtin::PROFILE, || 1).unwrap();
        let blobs = BlobStore { store: store.clone() };
        let text = "a line of output\n".repeat(uwf_store::PIECE / 8);
        let mut bytes = text.clone().into_bytes();
        bytes[uwf_store::PIECE] = 0xff;
        let older = store.put_text(&text).unwrap();
        let mut batch = store.batch();
        let listed = batch.put_blob(&mut text.as_bytes()).unwrap().hash;
        let no_text = batch.put_blob(&mut &*bytes).unwrap().hash;
        batch.commit().unwrap();
        assert_eq!(blobs.name(&mut text.as_bytes()).unwrap(), listed.to_string());
        assert_eq!(blobs.name(&mut &*bytes).unwrap(), no_text.to_string());
        for (name, content) in [(older, text.as_bytes()), (listed, text.as_bytes()), (no_text, &*bytes)] {
            let mut found = Vec::new();
            blobs.find(name.as_str()).unwrap().unwrap().read_to_end(&mut found).unwrap();
            assert!(found == content, "{name}");
        }
    }
}
