//! Every word uwf says to a model: template files (`prompts/templates/*.md`) behind typed functions.
//!
//! Plain borrowed structs go in ([`SystemView`] and its siblings), text comes out. The same input gives the same
//! bytes: nothing here reads a clock, an environment, a file or a store, so a provider's prompt cache can hit.
//!
//! | when | function |
//! |---|---|
//! | the system message, the same for all turns and visits of a role | [`system`] |
//! | a directory whose own instructions are met on the way | [`project_below`] |
//! | a role's first visit, its later visits | [`opening`], [`continuation`] |
//! | a text that is no answer | [`nudge`] with a sentence of [`missing`] |
//! | a budget nearly or quite used | [`deadline`], [`grace`] |
//! | a call that an interruption cut off | [`INTERRUPTED`] |
//! | a question about work that is over | [`question`] |
//! | the same to an agent that has no part of the conversation | [`asked_anew`] |
//! | an agent of another kind, as one text a call; after an interruption | [`transcript`]; [`RESUMED`] |
//! | the same call again and again | [`repeated`] |
//! | a conversation that grows too long | [`left_out`]; when that is not enough, [`summarise`] and then [`summary`] |
//! | an answer that is none, told to another model | [`extraction`], [`extraction_of`] |
//! | what another role claims of its work, told to a model that judges it | [`CLAIMS_RULES`], [`claims`](claims()) |
//! | what a thread has done, told to a model that judges it by a rubric | [`judging_rules`], [`judging`](judging()) |
//! | an answer that was refused | [`correction`], after [`copied_placeholder`] for one that copies the example |
//!
//! Who may give orders: the person (task) and the workflow's author (role, schema, edge prompt) stand in the text as
//! they are; what other roles wrote is data and stands between fences that it cannot close. So do a project's own words, which
//! may say how to work and nothing else.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests are programs: they have an environment and a clock")
)]

mod claims;
mod correction;
mod example;
mod external;
mod extraction;
mod fields;
mod judging;
mod opening;
mod project;
mod quote;
mod run;
mod system;
mod templates;
mod views;

pub use claims::{CLAIMS_RULES, claims};
pub use correction::correction;
pub use example::{copied_placeholder, placeholders};
pub use external::{RESUMED, SaidView, asked_anew, transcript};
pub use extraction::{extraction, extraction_of};
pub use fields::{Field, SchemaForm, fields};
pub use judging::{judging, judging_rules};
pub use opening::{continuation, opening};
pub use project::project_below;
pub use run::{
    INTERRUPTED, deadline, grace, left_out, missing, nudge, question, repeated, summarise, summary,
};
pub use system::system;
pub use templates::PromptError;
pub use views::{
    ArtifactView, ClaimsView, ContinuationView, CorrectionView, DeadlineView, FinishedStepView, GraceView,
    JudgingView, LeftOutView, NudgeView, OpeningView, ProjectFileView, ProjectView, RepeatedView, RoleView,
    SaidByRole, SkillView, SystemView, ViolationView, WorkspaceView,
};

#[cfg(test)]
mod samples;
