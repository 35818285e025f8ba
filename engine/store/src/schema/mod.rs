//! JSON Schema as the store knows it: which schemas it takes, what a payload does wrong, and the schemas that are
//! always there.
//!
//! Three questions, three files: [`check`] whether a schema may be stored, [`validate`] what is wrong with a
//! payload, [`builtin`] which node schemas every store has. Never reads a store: schemas come in as values.

pub mod builtin;
mod keywords;
mod listed;
pub mod pointer;
mod shown;
mod variants;
mod violation;

mod validate;

pub use keywords::{SchemaError, check};
pub use listed::listed;
pub(crate) use validate::Schema;
pub use validate::validate;
pub use violation::{Violation, sentence};
