//! One server and its life: started, called, started once more when it has ended, and then given up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use uwf_tools::{Cancel, Toolbox};

use super::McpError;
use super::client::{CallError, Client};
use super::host::{Host, Unanswered};
use super::offered::ListedTool;
use super::scripted::Scripted;
use crate::provider::script::ScriptedTool;
use crate::settings::{McpReach, McpServer};

/// How often a server that has ended is started again.
const RESTARTS: u32 = 1;
/// How long a server that did not answer a call in time may take to say that it is there.
const ALIVE: Duration = Duration::from_secs(2);

/// A server.
pub(super) struct Server {
    settings: McpServer,
    how: How,
}

/// Who answers.
enum How {
    /// A process, or an address.
    Real { host: Arc<Host>, toolbox: Arc<Toolbox>, state: Mutex<State> },
    /// A script.
    Scripted(Scripted),
}

#[derive(Default)]
struct State {
    client: Option<Arc<Client>>,
    /// What it lists now.
    listed: Arc<Vec<ListedTool>>,
    restarts: u32,
    /// Why it has ended.
    ended: String,
}

/// What came of a call.
pub(super) struct Called {
    /// The result, as the protocol has it.
    pub(super) result: Value,
    /// What the server lists by now.
    pub(super) listed: Arc<Vec<ListedTool>>,
}

impl Server {
    /// A server that is not started yet.
    pub(super) fn new(settings: &McpServer, host: &Arc<Host>, toolbox: &Arc<Toolbox>) -> Server {
        let (host, toolbox) = (Arc::clone(host), Arc::clone(toolbox));
        Server { settings: settings.clone(), how: How::Real { host, toolbox, state: Mutex::default() } }
    }

    /// One that a script plays.
    pub(super) fn scripted(settings: &McpServer, tools: &[ScriptedTool]) -> Server {
        Server { settings: settings.clone(), how: How::Scripted(Scripted::new(tools)) }
    }

    pub(super) fn settings(&self) -> &McpServer {
        &self.settings
    }

    /// Starts it; what it lists.
    ///
    /// # Errors
    /// [`McpError::NotStarted`].
    pub(super) fn open(&mut self) -> Result<Arc<Vec<ListedTool>>, McpError> {
        let How::Real { host, toolbox, state } = &self.how else { return Ok(self.listed()) };
        let client = Client::start(&self.settings, (host, toolbox), &Cancel::default());
        let (client, listed) = client.map_err(|why| self.not_started(why))?;
        let mut state = lock(state);
        (state.client, state.listed) = (Some(Arc::new(client)), Arc::new(listed));
        Ok(Arc::clone(&state.listed))
    }

    /// Has a tool called.
    ///
    /// # Errors
    /// There is no result.
    pub(super) fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        cancel: &Cancel,
    ) -> Result<Called, McpError> {
        let How::Real { host, .. } = &self.how else {
            let How::Scripted(script) = &self.how else { unreachable!("a server is real or scripted") };
            return Ok(Called { result: script.next(tool), listed: self.listed() });
        };
        let client = self.running(cancel)?;
        let asked = client.call(tool, arguments);
        let answer = match host.wait(asked, (self.settings.call, cancel)) {
            Ok(answer) => answer,
            Err(unanswered) => return Err(self.unanswered(unanswered, (host, &client))),
        };
        match answer {
            Ok(result) => Ok(Called { result, listed: self.relisted((host, &client), cancel) }),
            Err(CallError::Refused(why)) => Err(McpError::Refused { server: self.name(), why }),
            Err(CallError::Ended) => Err(self.ended(&client, client.why_ended())),
        }
    }

    /// Ends it.
    pub(super) fn end(&self, hurry: bool) {
        if let How::Real { host, state, .. } = &self.how {
            let client = lock(state).client.take();
            client.into_iter().for_each(|client| client.end(host, hurry));
        }
    }

    /// The client, of a server that is started again where it has ended.
    fn running(&self, cancel: &Cancel) -> Result<Arc<Client>, McpError> {
        let How::Real { host, toolbox, state } = &self.how else { unreachable!("only real servers run") };
        let mut state = lock(state);
        if let Some(client) = &state.client {
            if !client.is_over() {
                return Ok(Arc::clone(client));
            }
            state.ended = client.why_ended();
            state.client.take().into_iter().for_each(|client| client.end(host, true));
        }
        if state.restarts >= RESTARTS {
            return Err(McpError::Gone { server: self.name(), why: state.ended.clone() });
        }
        state.restarts += 1;
        match Client::start(&self.settings, (host, toolbox), cancel) {
            Ok((client, listed)) => {
                let client = Arc::new(client);
                (state.client, state.listed) = (Some(Arc::clone(&client)), Arc::new(listed));
                Ok(client)
            }
            Err(why) => {
                let why = format!("{}; started again, {why}", state.ended);
                state.ended.clone_from(&why);
                Err(McpError::Gone { server: self.name(), why })
            }
        }
    }

    /// Nobody waits any more. Whether the server is still there is found out, unless the run is to end.
    fn unanswered(&self, unanswered: Unanswered, (host, client): (&Host, &Arc<Client>)) -> McpError {
        match unanswered {
            Unanswered::Cancelled => McpError::Cancelled,
            Unanswered::Lost => self.ended(client, "what talks to it panicked".to_owned()),
            Unanswered::TimedOut => {
                let alive = host.wait(client.ping(), (ALIVE, &Cancel::default()));
                if !matches!(alive, Ok(true)) {
                    self.ended(client, "it did not answer any more, and was ended".to_owned());
                }
                McpError::TimedOut { server: self.name(), limit: self.settings.call }
            }
        }
    }

    /// It has ended, or is ended now.
    fn ended(&self, client: &Arc<Client>, why: String) -> McpError {
        let How::Real { host, state, .. } = &self.how else { unreachable!("only real servers end") };
        let mut state = lock(state);
        // Calls that run side by side learn of the same end.
        if state.client.as_ref().is_some_and(|present| Arc::ptr_eq(present, client)) {
            state.client = None;
            state.ended.clone_from(&why);
            client.end(host, true);
        }
        McpError::Ended { server: self.name(), why, again: state.restarts < RESTARTS }
    }

    /// What it lists, asked again where it has said that this has changed.
    fn relisted(&self, (host, client): (&Host, &Arc<Client>), cancel: &Cancel) -> Arc<Vec<ListedTool>> {
        if client.has_changed() {
            // One that does not say stays with what it said.
            if let Ok(Ok(listed)) = host.wait(client.list(), (self.settings.start, cancel)) {
                let How::Real { state, .. } = &self.how else { unreachable!("only real servers change") };
                lock(state).listed = Arc::new(listed);
            }
        }
        self.listed()
    }

    fn listed(&self) -> Arc<Vec<ListedTool>> {
        match &self.how {
            How::Real { state, .. } => Arc::clone(&lock(state).listed),
            How::Scripted(script) => Arc::clone(&script.listed),
        }
    }

    fn name(&self) -> String {
        self.settings.name.clone()
    }

    fn not_started(&self, why: String) -> McpError {
        let remote = matches!(self.settings.reach, McpReach::Http { .. });
        McpError::NotStarted { server: self.name(), remote, why }
    }
}

/// What is in it, also after a panic elsewhere: it is changed whole.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
