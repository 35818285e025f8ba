//! What is said to one server: hello, which tools there are, a call, whether it is there.
//!
//! Apart because it is the only file, but for the address's, that knows the protocol's library.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientConfig, ClientRequest,
    Implementation, ListToolsRequest, PaginatedRequestParams, PingRequest, RequestId, ServerResult,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RunningService};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientHandler, Peer, RoleClient, ServiceError, ServiceExt};
use serde_json::{Map, Value, json};
use tokio::net::unix::pipe;
use uwf_tools::{Cancel, ServerProcess, Toolbox};

use super::bounded::{BoundedLines, Excess, LONGEST};
use super::complaints::Complaints;
use super::host::{Host, Unanswered};
use super::http;
use super::offered::ListedTool;
use super::paced::Paced;
use super::program;
use crate::settings::{McpReach, McpServer};

/// How many pages of tools are asked for.
const PAGES: usize = 20;
/// How long a server may take to hear that it is not needed any more.
const FAREWELL: Duration = Duration::from_secs(1);

/// A server that was started and has said hello.
pub(super) struct Client {
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Listener>>>,
    process: Mutex<Option<ServerProcess>>,
    changed: Arc<AtomicBool>,
    excess: Excess,
    complaints: Complaints,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// The server says that it does not do this, or nothing that could be understood.
    Refused(String),
    /// It is gone.
    Ended,
}

/// Hears what a server says unasked.
struct Listener {
    changed: Arc<AtomicBool>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("uwf-builtin", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientConfig::default().capabilities, own)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

/// A call that is not answered: where nobody waits for it any more, the server is told.
struct OpenCall {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let reason = Some("nobody waits for it any more".to_owned());
            // It may be gone.
            peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await.ok();
        });
    }
}

impl Client {
    /// Starts the server, says hello and asks for its tools.
    ///
    /// # Errors
    /// Why that is not possible, in words.
    pub(super) fn start(
        server: &McpServer,
        (host, toolbox): (&Host, &Toolbox),
        cancel: &Cancel,
    ) -> Result<(Client, Vec<ListedTool>), String> {
        let begun = Instant::now();
        let (excess, complaints) = (Excess::default(), Complaints::default());
        let changed = Arc::<AtomicBool>::default();
        let listener = Listener { changed: Arc::clone(&changed) };
        let (greeted, process) = match &server.reach {
            McpReach::Stdio { .. } => {
                let command = program::command(server, toolbox)?;
                let mut process =
                    toolbox.start_server(&command, cancel).map_err(|error| error.to_string())?;
                let pipes = pipes(&mut process, host, &complaints).map_err(|error| error.to_string())?;
                let lines = BoundedLines::new(pipes.0, LONGEST, excess.clone());
                let transport = Paced::new(AsyncRwTransport::new_client(lines, pipes.1));
                let greet = async move { listener.serve(transport).await.map_err(|error| error.to_string()) };
                (host.wait(greet, (server.start, cancel)), Some(process))
            }
            McpReach::Http { url, headers } => {
                let transport = {
                    let _runtime = host.enter();
                    Paced::new(http::transport(url, headers)?)
                };
                let greet = async move { listener.serve(transport).await.map_err(|error| http::why(&error)) };
                (host.wait(greet, (server.start, cancel)), None)
            }
        };
        let why = |said: &str| match complaints.last() {
            Some(complaint) => format!("{said}; it said: {complaint}"),
            None => said.to_owned(),
        };
        let service = match greeted {
            Ok(Ok(service)) => service,
            failed => {
                // What it has to say of it is there once it has ended.
                process.into_iter().for_each(|process| process.end(true));
                return Err(why(&unanswered(failed.map(|greeted| greeted.err()), server)));
            }
        };
        let (service, process) = (Mutex::new(Some(service)), Mutex::new(process));
        let peer =
            service.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|it| it.peer().clone());
        let peer = peer.ok_or("it is gone")?;
        let client = Client { peer, service, process, changed, excess, complaints: complaints.clone() };
        let left = server.start.saturating_sub(begun.elapsed());
        match host.wait(client.list(), (left, cancel)) {
            Ok(Ok(listed)) => Ok((client, listed)),
            failed => {
                client.end(host, true);
                let said = failed.map(|listed| listed.err().map(|error| client.words(&error)));
                Err(why(&unanswered(said, server)))
            }
        }
    }

    /// Asks for its tools.
    pub(super) fn list(&self) -> impl Future<Output = Result<Vec<ListedTool>, CallError>> + Send + use<> {
        self.changed.store(false, Ordering::Relaxed);
        let peer = self.peer.clone();
        async move {
            let (mut listed, mut cursor) = (Vec::new(), None);
            for _ in 0..PAGES {
                let page = PaginatedRequestParams::default().with_cursor(cursor);
                let page = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page));
                let page = ask(&peer, page).await?;
                listed.extend(page["tools"].as_array().into_iter().flatten().filter_map(ListedTool::of));
                cursor = page["nextCursor"].as_str().map(str::to_owned);
                if cursor.is_none() {
                    break;
                }
            }
            Ok(listed)
        }
    }

    /// Calls a tool.
    pub(super) fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> impl Future<Output = Result<Value, CallError>> + Send + use<> {
        let peer = self.peer.clone();
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        async move { ask(&peer, ClientRequest::CallToolRequest(CallToolRequest::new(params))).await }
    }

    /// Whether it is there.
    pub(super) fn ping(&self) -> impl Future<Output = bool> + Send + use<> {
        let peer = self.peer.clone();
        async move {
            let answer = ask(&peer, ClientRequest::PingRequest(PingRequest::default())).await;
            !matches!(answer, Err(CallError::Ended))
        }
    }

    /// Whether it has said that its list of tools has changed since it was asked.
    pub(super) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// Whether it has ended.
    pub(super) fn is_over(&self) -> bool {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        self.peer.is_transport_closed() || process.as_ref().is_some_and(ServerProcess::is_over)
    }

    /// Why it has ended, as far as that is known.
    pub(super) fn why_ended(&self) -> String {
        if self.excess.is_told() {
            return format!("it sent a message of more than {} MB", LONGEST >> 20);
        }
        let said = self.complaints.last().map(|said| format!("; it said: {said}"));
        format!("it has closed the connection{}", said.unwrap_or_default())
    }

    /// Ends it.
    pub(super) fn end(&self, host: &Host, hurry: bool) {
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(service) = service {
            let limit = if hurry { Duration::ZERO } else { FAREWELL };
            host.wait(async move { drop(service.cancel().await) }, (limit, &Cancel::default())).ok();
        }
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
        process.into_iter().for_each(|process| process.end(hurry));
    }

    fn words(&self, error: &CallError) -> String {
        match error {
            CallError::Refused(why) => why.clone(),
            CallError::Ended => self.why_ended(),
        }
    }
}

/// Sends a request; its result as the protocol has it.
async fn ask(peer: &Peer<RoleClient>, request: ClientRequest) -> Result<Value, CallError> {
    let handle = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
    let handle = handle.map_err(refused)?;
    let mut open = OpenCall { peer: peer.clone(), id: Some(handle.id.clone()) };
    let answered = handle.await_response().await;
    open.id = None;
    let result: ServerResult = answered.map_err(refused)?;
    Ok(json!(result))
}

fn refused(error: ServiceError) -> CallError {
    match error {
        ServiceError::TransportClosed => CallError::Ended,
        ServiceError::McpError(error) => CallError::Refused(error.message.into_owned()),
        ServiceError::TransportSend(error) => CallError::Refused(error.error.to_string()),
        error => CallError::Refused(error.to_string()),
    }
}

/// Why a server does not start.
fn unanswered(failed: Result<Option<String>, Unanswered>, server: &McpServer) -> String {
    match failed {
        Ok(why) => why.unwrap_or_else(|| "it is gone".to_owned()),
        Err(Unanswered::TimedOut) => format!("it does not answer within {} s", server.start.as_secs()),
        Err(Unanswered::Cancelled) => "the run is to end".to_owned(),
        Err(Unanswered::Lost) => "what talks to it panicked".to_owned(),
    }
}

/// Its output and its input; what it complains is heard from now on.
fn pipes(
    process: &mut ServerProcess,
    host: &Host,
    complaints: &Complaints,
) -> std::io::Result<(pipe::Receiver, pipe::Sender)> {
    let none = || std::io::Error::other("it has no pipes");
    let stdin = process.stdin.take().ok_or_else(none)?;
    let stdout = process.stdout.take().ok_or_else(none)?;
    let stderr = process.stderr.take().ok_or_else(none)?;
    let _runtime = host.enter();
    let pipes = (pipe::Receiver::from_owned_fd(stdout.into())?, pipe::Sender::from_owned_fd(stdin.into())?);
    host.spawn(complaints.clone().hear(pipe::Receiver::from_owned_fd(stderr.into())?));
    Ok(pipes)
}
