//! How workflows are written and where they lead, from texts and values alone.
//!
//! Apart from the engine because whoever reads an answer or writes a file needs the same reading of them. A workflow's
//! text becomes a [`CheckedWorkflow`] by [`read()`], or everything that is wrong with it; a [`Workflow`] is the stored
//! form. From the bottom up: [`yaml`] is the one YAML reader and [`emit`] the one writer; [`fence`] says where an answer's
//! frontmatter is; [`answers`] what a role's schema lets it answer; [`template`] renders the prompts of edges;
//! [`moderator`] says for `graph[role][status]` where to go; [`draw`] draws it all; [`editor`] tells editors what a file
//! may hold; [`nearest`] which known name was probably meant.
//!
//! Opens no file, and knows no thread, no process and no clock. Of the store it knows what needs no store on a disk.

pub mod answers;
mod check;
pub mod draw;
pub mod editor;
pub mod emit;
pub mod fence;
#[cfg(test)]
mod fixture;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod include;
pub mod moderator;
pub mod nearest;
mod problem;
mod raw;
mod read;
pub mod template;
mod values;
pub mod yaml;

pub use check::{NAME_HINT, is_name};
pub use include::WorkflowText;
pub use problem::Problem;
pub use read::{Invalid, read};
pub use values::{CheckedRole, CheckedWorkflow, Role, Workflow};
