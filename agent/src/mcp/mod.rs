//! Tools of servers that speak the Model Context Protocol: `server__tool`, as the loop calls them.
//!
//! A server is started when a run opens, and talked to by a runtime in a thread of its own, so that whoever calls may block.
//! The list of its tools is that of the beginning: what it says of them later counts for nothing, and is told where such a
//! tool is called. It is somebody else's program: its names, words and answers are data, each with a limit.
//!
//! - [`ServerTools`] — all of them, as one; `server` — one server and its life; `offered` — its tools under their names
//! - `program` — which file a server is, and what it starts from
//! - `client` — what is said to it; `host` — the runtime that talks; `bounded` — no message longer than there may be; `paced` — no more of them
//! - `http` — servers at an address; `complaints` — what a program writes beside; `answer` — what a result comes to as text
//! - `error` — what can go wrong
//! - `scripted` — servers that a mock script plays

mod answer;
mod bounded;
mod client;
mod complaints;
mod error;
mod host;
mod http;
mod offered;
mod paced;
mod program;
mod scripted;
mod server;

use std::sync::Arc;

use serde_json::Value;
use uwf_store::suggest;
use uwf_tools::{Cancel, ToolOutput, Toolbox};

pub use self::error::McpError;
use self::host::Host;
use self::offered::{OfferedTool, Offers};
use self::server::Server;
use crate::provider::message::ToolDeclaration;
use crate::provider::script::ScriptedServers;
use crate::settings::McpServer;

/// The tools of all servers of a run.
#[derive(Default)]
pub(crate) struct ServerTools {
    servers: Vec<Server>,
    offers: Offers,
    // After the servers: they end in it.
    _host: Option<Arc<Host>>,
}

/// What servers are started with.
pub(crate) struct ServersSetup<'a> {
    /// Those that the role has.
    pub servers: &'a [McpServer],
    /// Those of them that a script plays.
    pub scripted: &'a ScriptedServers,
    /// Where programs are started.
    pub toolbox: &'a Arc<Toolbox>,
    /// The tools that the model was told of, of a run that goes on.
    pub told: Option<&'a [ToolDeclaration]>,
    /// Whether tools that say of themselves that they change nothing are the only ones.
    pub read_only: bool,
}

impl ServerTools {
    /// Starts the servers and asks for their tools; nothing happens where there are none.
    ///
    /// # Errors
    /// One does not start, or does not answer in time, or has not the tools that were named.
    pub(crate) fn start(setup: &ServersSetup<'_>) -> Result<ServerTools, McpError> {
        if setup.servers.is_empty() {
            return Ok(ServerTools::default());
        }
        let host = Arc::new(Host::start()?);
        let mut all = ServerTools { _host: Some(Arc::clone(&host)), ..ServerTools::default() };
        for settings in setup.servers {
            let mut server = match setup.scripted.get(&settings.name) {
                Some(scripted) => Server::scripted(settings, scripted),
                None => Server::new(settings, &host, setup.toolbox),
            };
            let listed = server.open()?;
            all.offers.add((settings, all.servers.len()), &listed, setup.read_only);
            all.servers.push(server);
            if setup.told.is_none() {
                all.check_named(settings)?;
            }
        }
        if let Some(told) = setup.told {
            all.offers.keep_told(told);
        }
        Ok(all)
    }

    /// Whether there is each tool of a server that was named.
    fn check_named(&self, settings: &McpServer) -> Result<(), McpError> {
        let is_none = |name: &&String| !name.ends_with('*') && !self.has(name);
        let Some(name) = settings.offered.iter().flatten().find(is_none) else { return Ok(()) };
        let known = suggest::sorted(name, self.offers.names_of(&settings.name));
        Err(McpError::NoSuchTool { server: settings.name.clone(), name: name.clone(), known })
    }

    /// As the model is told of them, in the order of the servers.
    pub(crate) fn declarations(&self) -> impl Iterator<Item = &ToolDeclaration> {
        self.offers.tools().map(|tool| &tool.declaration)
    }

    /// Whether there is such a tool.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.offers.find(name).is_some()
    }

    /// Whether it says of itself that it changes nothing.
    pub(crate) fn reads_only(&self, name: &str) -> Option<bool> {
        self.offers.find(name).map(|tool| tool.reads_only)
    }

    /// Whether there is a tool that may change something.
    pub(crate) fn may_change(&self) -> bool {
        self.offers.tools().any(|tool| !tool.reads_only)
    }

    /// Carries out a call; none where there is no such tool.
    pub(crate) fn call(
        &self,
        name: &str,
        arguments: &str,
        (toolbox, cancel): (&Toolbox, &Cancel),
    ) -> Option<ToolOutput> {
        let tool = self.offers.find(name)?;
        let server = &self.servers[tool.server];
        let called = match object(arguments) {
            Ok(arguments) => server.call(&tool.own_name, arguments, cancel),
            Err(wrong) => Err(McpError::Arguments { tool: name.to_owned(), wrong }),
        };
        Some(output(tool, called, server.settings(), (toolbox, cancel)))
    }

    /// Ends all servers, in a `hurry` without asking them to.
    pub(crate) fn end(&self, hurry: bool) {
        std::thread::scope(|scope| {
            for server in &self.servers {
                // Where there is no thread, they end one after the other.
                if std::thread::Builder::new().spawn_scoped(scope, || server.end(hurry)).is_err() {
                    server.end(hurry);
                }
            }
        });
    }
}

/// What came of a call, as the model and the record have it.
fn output(
    tool: &OfferedTool,
    called: Result<server::Called, McpError>,
    settings: &McpServer,
    (toolbox, cancel): (&Toolbox, &Cancel),
) -> ToolOutput {
    let (text, is_error, timed_out) = match called {
        Ok(called) => {
            let answer = answer::of(&called.result);
            let note = tool.changed(settings, &called.listed);
            (format!("{}{}", note.unwrap_or_default(), answer.text), answer.is_error, false)
        }
        Err(error) => (error.to_string(), true, matches!(error, McpError::TimedOut { .. })),
    };
    let mut output = toolbox.answered(&text);
    output.title.clone_from(&tool.declaration.name);
    output.is_error = is_error;
    output.facts.timed_out = timed_out;
    output.facts.cancelled = is_error && cancel.is_cancelled();
    output
}

/// The arguments of a call: an object, also where nothing at all was given.
fn object(text: &str) -> Result<serde_json::Map<String, Value>, String> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("its arguments must be an object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
