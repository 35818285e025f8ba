//! Threads and evaluations as pages: a server on loopback, the same as one file, and the picture of a workflow's graph.
//!
//! # Layout, from the bottom up
//!
//! | module | what it knows |
//! |---|---|
//! | `text` | text of others as a page may show it; times, sums and sizes in words |
//! | `chart` | scores with intervals, scores against costs |
//! | `graph` | the picture of a graph ([`svg`]) |
//! | `error` | why there is no page |
//! | `sums` | what the steps up to a node come to |
//! | `remote` | what goes on at a remote, asked no more often than pages need ([`Remote`]) |
//! | `site` | what pages are made from, and the [`Host`] that does what they ask for |
//! | `read` | what a page tells, as a value |
//! | `page` | markup of that |
//! | `file` | a thread as one page in a file ([`page_of`]) |
//! | `evaluation` | an evaluation as one page in a file, and two side by side ([`report_page`], [`difference_page`]) |
//! | `server` | addresses, who may ask for them, the stream of events |
//!
//! # Invariants
//!
//! 1. It has no state of its own: a page is made from the store when it is asked for.
//! 2. What is not ours is escaped where it becomes markup, and no page has a script or a style inside of it.
//! 3. It starts no process and changes no thread: its [`Host`] does, asked by a form of a page of this server.
//! 4. Nobody without the token sees anything, and nothing is asked of any other server.

mod assets;
mod chart;
mod error;
mod evaluation;
mod file;
mod graph;
mod live;
mod page;
mod read;
mod remote;
mod server;
mod site;
mod sums;
mod text;

pub use error::WebError;
pub use evaluation::{difference_page, report_page};
pub use file::page_of;
pub use graph::svg;
pub use remote::Remote;
pub use server::{Access, Server};
pub use site::{Host, Site};
