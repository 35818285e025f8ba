//! One crate of uwf; see the map in the README.
