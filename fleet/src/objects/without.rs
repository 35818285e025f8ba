//! In place of object stores, in a build without them.

use super::{Keys, Piece};
use crate::FleetError;

/// An object store that this build cannot use.
#[derive(Debug)]
pub enum Objects {}

fn without<T>() -> Result<T, FleetError> {
    Err(FleetError::Objects {
        what: "this uwf was built without object stores".to_owned(),
        hint: Some("build it with the feature `objects`, which is there by default".to_owned()),
        passes: false,
    })
}

impl Objects {
    pub(super) fn check(_url: &str) -> Result<String, FleetError> {
        without()
    }

    pub(crate) fn open(_url: &str, _keys: &Keys) -> Result<Objects, FleetError> {
        without()
    }

    pub(super) fn probe(&self, _team: &str) -> Result<(), FleetError> {
        match *self {}
    }

    pub(crate) fn put(&self, _pieces: &[(Piece, &[u8])]) -> Result<(), FleetError> {
        match *self {}
    }

    pub(crate) fn get(&self, _pieces: &[Piece]) -> Result<Vec<Vec<u8>>, FleetError> {
        match *self {}
    }

    pub(crate) fn remove(&self, _keys: &[String]) -> Result<(), FleetError> {
        match *self {}
    }
}
