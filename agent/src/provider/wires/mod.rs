//! The wires: how a neutral request is written for an endpoint, and how what it sends is read.
//!
//! Apart because the vendors' field names stop here. Pure: a wire opens no connection, waits for nothing and knows no key.

pub(crate) mod chat;
