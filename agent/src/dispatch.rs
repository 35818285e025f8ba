//! The tools of a run: those of the toolbox, those that a program adds, and those of servers. One way of a call to any.
//!
//! Apart so that the loop knows one list of tools. It journals nothing and cuts nothing but what own tools say.

use std::sync::Arc;

use uwf_tools::{Cancel, Closed, ReadState, ToolOutput, ToolSpec, Toolbox};

use crate::mcp::ServerTools;
use crate::own_tool::{OwnOutput, OwnTool};
use crate::provider::message::{ToolCall, ToolDeclaration};

/// The longest text that an own tool gives the model, in bytes, as that of a command.
const MAX_TEXT: usize = 50_000;

/// All tools of a run.
pub(crate) struct Dispatch {
    // Before the toolbox: servers end with their run.
    servers: ServerTools,
    toolbox: Arc<Toolbox>,
    own: Vec<Arc<dyn OwnTool>>,
}

impl Dispatch {
    pub(crate) fn new(toolbox: Arc<Toolbox>, own: Vec<Arc<dyn OwnTool>>, servers: ServerTools) -> Dispatch {
        Dispatch { servers, toolbox, own }
    }

    /// Those of the workspace.
    pub(crate) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// With one more.
    pub(crate) fn with(mut self, tool: Arc<dyn OwnTool>) -> Dispatch {
        self.own.push(tool);
        self
    }

    /// As the model is told of them: the toolbox's first, always in the same order.
    pub(crate) fn declarations(&self) -> Vec<ToolDeclaration> {
        let built_in = self.toolbox.specs().iter().map(|spec| ToolDeclaration {
            name: spec.name.to_owned(),
            description: spec.description.to_owned(),
            parameters: spec.parameters.clone(),
        });
        let own = self.own.iter().map(|tool| tool.declaration());
        built_in.chain(own.chain(self.servers.declarations()).cloned()).collect()
    }

    /// Whether calls of this tool may run side by side.
    pub(crate) fn reads_only(&self, name: &str) -> bool {
        let built_in = self.toolbox.specs().iter().any(|tool| tool.read_only && tool.name == name);
        built_in
            || self.own(name).is_some_and(OwnTool::reads_only)
            || self.servers.reads_only(name) == Some(true)
    }

    /// Whether there is such a tool.
    pub(crate) fn has(&self, name: &str) -> bool {
        let built_in = self.toolbox.specs().iter().any(|tool| tool.name == name);
        built_in || self.own(name).is_some() || self.servers.has(name)
    }

    /// Whether a tool may change the workspace without saying what.
    pub(crate) fn changes_unseen(&self, name: &str) -> bool {
        let runs_commands = |tool: &ToolSpec| tool.name == "run_command" && tool.name == name;
        let own = || self.own(name).is_some_and(|tool| !tool.reads_only());
        let of_server = || self.servers.reads_only(name) == Some(false);
        self.toolbox.specs().iter().any(runs_commands) || own() || of_server()
    }

    /// Whether there is a tool that may change the workspace.
    pub(crate) fn may_change(&self) -> bool {
        let built_in = self.toolbox.specs().iter().any(|tool| !tool.read_only);
        built_in || self.own.iter().any(|tool| !tool.reads_only()) || self.servers.may_change()
    }

    /// Carries out one call; see [`Toolbox::call`].
    pub(crate) fn call(&self, name: &str, arguments: &str, cancel: &Cancel) -> ToolOutput {
        if let Some(output) = self.servers.call(name, arguments, (&self.toolbox, cancel)) {
            return output;
        }
        let Some(tool) = self.own(name) else {
            let output = self.toolbox.call(name, arguments, cancel);
            let is_known = self.toolbox.specs().iter().any(|tool| tool.name == name);
            return if is_known { output } else { self.with_own_names(output) };
        };
        let OwnOutput { text, title, is_error, about, is_kept } = tool.call(arguments, cancel);
        let mut output = match is_kept {
            true => self.toolbox.shown(&text),
            false => ToolOutput { text: cut(text), ..ToolOutput::default() },
        };
        output.title = if title.is_empty() { name.to_owned() } else { title };
        output.is_error = is_error;
        output.facts.cancelled = is_error && cancel.is_cancelled();
        output.facts.about = about;
        output
    }

    /// See [`Toolbox::close_unless`]; servers are ended before.
    pub(crate) fn close_unless(&self, cancel: &Cancel) -> Closed {
        self.servers.end(cancel.is_cancelled());
        self.toolbox.close_unless(cancel)
    }

    /// See [`Toolbox::tidy_after`].
    pub(crate) fn tidy_after(&self, call: &ToolCall) {
        self.toolbox.tidy_after(&call.name, &call.arguments);
    }

    /// See [`Toolbox::remember`].
    pub(crate) fn remember(&self, state: &ReadState) {
        self.toolbox.remember(state);
    }

    fn own(&self, name: &str) -> Option<&dyn OwnTool> {
        self.own.iter().map(Arc::as_ref).find(|tool| tool.declaration().name == name)
    }

    /// The toolbox knows only its own names.
    fn with_own_names(&self, mut output: ToolOutput) -> ToolOutput {
        let own = self.own.iter().map(|tool| tool.declaration());
        let names: Vec<&str> =
            own.chain(self.servers.declarations()).map(|tool| tool.name.as_str()).collect();
        if !names.is_empty() {
            let comma = if self.toolbox.specs().is_empty() { "" } else { ", " };
            output.text = format!("{}{comma}{}", output.text, names.join(", "));
        }
        output
    }
}

/// The text, without what is too long for the model.
fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let (whole, end) = (text.len(), text.floor_char_boundary(MAX_TEXT));
        text.truncate(end);
        text.push_str(&format!("\n[… {} of {whole} bytes omitted]", whole - end));
    }
    text
}
