//! How workflows are written and where they lead, from texts and values alone.
//!
//! Apart from the engine because whoever reads an answer or writes a file needs the same reading of them. A workflow's
//! text becomes a [`CheckedWorkflow`] by [`read()`], or everything that is wrong with it; a [`Workflow`] is the stored
//! form. From the bottom up: [`yaml`] is the one YAML reader and writer; [`frontmatter`] says where an answer's fields are;
//! [`schema_analysis`] what a role's schema lets it answer; [`template`] renders the prompts of edges; [`moderator`] says
//! for `graph[role][status]` where to go, and [`condition`] evaluates what that may depend on; [`graph_export`] draws it all;
//! [`json_schema`] tells editors what a file may hold; [`artifact`] reads what a role is to leave; [`markdown`] quotes text
//! that is not ours.
//!
//! Opens no file, and knows no thread, no process and no clock. Of the store it knows what needs no store on a disk.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests are programs: they have an environment and a clock")
)]

pub mod artifact;
mod check;
pub mod condition;
mod diagnostics;
#[cfg(test)]
mod fixture;
pub mod frontmatter;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod graph_export;
mod include;
pub mod json_schema;
pub mod markdown;
pub mod moderator;
mod raw;
mod read;
pub mod schema_analysis;
mod source;
pub mod template;
mod values;
pub mod yaml;

pub use check::{KEEP, NAME_HINT, is_name};
pub use diagnostics::Diagnostic;
pub use include::WorkflowText;
pub use read::{Invalid, read};
pub use uwf_store::schema::pointer;
pub use values::{
    ARTIFACTS, CheckedRole, CheckedWorkflow, CompactRule, Condition, ContextSource, OutputField, OutputMaps,
    Role, WORKFLOW, WORKFLOW_2, Workflow,
};
