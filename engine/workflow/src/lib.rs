//! How workflows are written and where they lead, from texts and values alone.
//!
//! Apart from the engine because whoever reads an answer or writes a file needs the same reading of them. From the
//! bottom up: [`yaml`] is the one YAML reader and [`emit`] the one writer; [`fence`] says where an answer's frontmatter
//! is; [`template`] renders the prompts of edges; [`moderator`] says for `graph[role][status]` where to go; [`nearest`]
//! which known name was probably meant.
//!
//! Opens no file, and knows no thread, no process and no clock. Of the store it knows what needs no store on a disk.

pub mod emit;
pub mod fence;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod moderator;
pub mod nearest;
pub mod template;
pub mod yaml;
