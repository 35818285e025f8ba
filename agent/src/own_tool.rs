//! A tool that is not the toolbox's: what a program that embeds the loop adds, and what needs the network.
//!
//! Below those that make such tools and the loop that calls them.

use serde_json::Value;
use uwf_tools::Cancel;

use crate::provider::message::ToolDeclaration;

/// A tool that a program adds, as the loop calls it.
pub(crate) trait OwnTool: Send + Sync {
    /// What the model is told of it.
    fn declaration(&self) -> &ToolDeclaration;

    /// Whether it changes nothing, so that calls may run side by side.
    fn reads_only(&self) -> bool;

    /// Runs it to its end, or until it is cancelled.
    fn call(&self, arguments: &str, cancel: &Cancel) -> OwnOutput;
}

/// What a call of an own tool came to.
#[derive(Debug, Default)]
pub(crate) struct OwnOutput {
    /// For the model, or what went wrong.
    pub text: String,
    /// One line for people; the tool's name where there is none.
    pub title: String,
    /// Whether it did not do what was asked.
    pub is_error: bool,
    /// What is told of it in the record.
    pub about: Option<Value>,
    /// Whether all of the text is kept where it is too long to be shown, as that of a command is.
    pub is_kept: bool,
}

impl From<Result<String, String>> for OwnOutput {
    fn from(called: Result<String, String>) -> OwnOutput {
        let is_error = called.is_err();
        OwnOutput { text: called.unwrap_or_else(|wrong| wrong), is_error, ..OwnOutput::default() }
    }
}
