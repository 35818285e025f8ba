//! Threads at a remote: a Postgres that several machines share, beside the store that each has of its own.
//!
//! A remote keeps what a store keeps of a thread (nodes, the head, the thread's own variables) and who works on it: a lease with
//! a fence, a number that grows with each claim, so that who has lost a lease is refused whatever he writes afterwards. Pushing
//! and pulling compare heads; a head moves by compare-and-set alone.
//!
//! # Layout, from the bottom up
//!
//! | module | what it knows |
//! |---|---|
//! | [`error`] | why something at a remote did not happen, and what to do |
//! | [`address`] | a remote's URL: what of it is ours, what the driver's; never a password |
//! | [`connect`] | a connection: passwords from where libpq has them, TLS, time limits |
//! | [`schema`] | the tables, in versions |
//! | [`access`] | roles, teams and their limits |
//! | [`remote`] | the remotes that a home knows, by name |
//! | [`nodes`] | which nodes are there, putting and getting them, each checked by a second digest |
//! | [`objects`] | the contents of large nodes, in an object store |
//! | [`lease`] | the right to work on a thread |
//! | [`heads`] | where a thread stands, and its own variables |
//! | [`sync`] | a thread goes to a remote, and comes from it: fast-forward or conflict |
//! | [`queue`] | who works on what: claims, leases, attempts, budgets |
//! | [`journal`] | the lines of a step that is going on |
//! | [`workspace`] | the directory that a thread works in, on another machine |
//! | [`worker`] | the loop: claim, pull, step, push |
//! | [`garbage`] | nodes that nothing needs any more |
//! | [`retention`] | threads and events that are over and old |
//! | [`overview`] | what goes on at a remote, as rows |
//! | [`view`] | what programs are shown of a remote |
//!
//! # Invariants
//!
//! 1. Everything here is blocking code, for programs without a runtime: the driver has one of its own.
//! 2. A head at a remote moves by compare-and-set alone, after all nodes that it needs are there.
//! 3. A node is the one that its hash and its digest say, wherever it comes from; whatever else is refused.
//! 4. Every write can be done again: an answer that was lost is asked for, and what is there already is one's own.
//! 5. No password is kept, printed, or part of an error.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests are programs: they have an environment and a clock")
)]

pub mod access;
pub mod address;
pub mod connect;
pub mod error;
#[cfg(any(test, feature = "fixture"))]
#[doc(hidden)]
pub mod fixture;
pub mod garbage;
pub mod heads;
pub mod journal;
pub mod lease;
pub mod nodes;
pub mod objects;
pub mod overview;
pub mod queue;
pub mod remote;
pub mod retention;
pub mod schema;
pub mod sync;
pub mod view;
pub mod worker;
pub mod workspace;

pub use address::Address;
pub use connect::Connection;
pub use error::FleetError;
