//! The protocol: what a client asks for becomes a call, what comes of it a result, with progress while it waits.

use std::os::fd::AsFd;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe;

use super::runs::Runs;
use super::tools::{self, Call};

/// How often a client that waits hears that it does not wait in vain.
const HEARTBEAT: Duration = Duration::from_secs(5);

const INSTRUCTIONS: &str = "Workflows of agents, run in the background. Start one with uwf_start, then wait with uwf_result; a \
                            thread that is suspended asks something: answer with uwf_answer, or ask the person.";

/// Serves the client that has started this program, until it goes.
///
/// # Errors
/// It does not speak the protocol, in words.
pub(super) async fn serve(runs: Runs) -> Result<(), String> {
    let server = Workflows { runs: Arc::new(runs) };
    // By a handle of our own: the program holds the lock of stdout.
    let stdout = std::io::stdout().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
    let stdout = tokio::fs::File::from_std(stdout.into());
    let streams = (tokio::io::stdin(), stdout);
    let service = server.serve(streams).await.map_err(|error| error.to_string())?;
    // However it goes, it is gone.
    service.waiting().await.map(drop).or(Ok(()))
}

#[derive(Clone)]
struct Workflows {
    runs: Arc<Runs>,
}

impl ServerHandler for Workflows {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        config.server_info = Implementation::new("uwf", env!("CARGO_PKG_VERSION"));
        config.instructions = Some(INSTRUCTIONS.to_owned());
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let runs = Arc::clone(&self.runs);
        let workflows = blocking(move || runs.workflows()).await;
        let workflows = workflows.map_err(|error| ErrorData::internal_error(error, None))?;
        let tools = serde_json::from_value(tools::listed(&workflows));
        let tools = tools.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(ListToolsResult { tools, ..ListToolsResult::default() })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let done = match Call::read(&request.name, arguments) {
            Ok(call) => self.done(call, &context).await,
            Err(wrong) => Err(wrong),
        };
        result(done).map(Into::into).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

impl Workflows {
    async fn done(&self, call: Call, context: &RequestContext<RoleServer>) -> Result<Value, String> {
        if let Call::Result { thread, wait_seconds } = &call {
            let runs = Arc::clone(&self.runs);
            let status = Call::Status { thread: thread.clone() };
            let status = blocking(move || runs.call(&status)).await?;
            if status["status"] != "running" || *wait_seconds == 0 {
                return Ok(status);
            }
            let limit = Duration::from_secs(*wait_seconds);
            // Where it is not over then, it is told how it stands.
            tokio::time::timeout(limit, self.wait(thread, context)).await.unwrap_or(Ok(()))?;
        }
        let runs = Arc::clone(&self.runs);
        blocking(move || runs.call(&call)).await
    }

    /// Waits until nothing of the thread runs any more, and tells the client how it goes.
    async fn wait(&self, thread: &str, context: &RequestContext<RoleServer>) -> Result<(), String> {
        let mut watch = Watch(self.runs.watch(thread)?);
        let failed = |error: std::io::Error| error.to_string();
        let stdout = watch.0.stdout.take().ok_or("nothing can be heard of it")?;
        let stdout = pipe::Receiver::from_owned_fd(stdout.into()).map_err(failed)?;
        let mut lines = BufReader::new(stdout).lines();
        let (mut told, mut count) = (String::new(), 0);
        loop {
            let line = tokio::select! {
                line = tokio::time::timeout(HEARTBEAT, lines.next_line()) => line,
                () = context.ct.cancelled() => return Ok(()),
            };
            let message = match line {
                Ok(line) => match line.map_err(failed)? {
                    Some(line) => progress(&line).filter(|message| *message != told),
                    None => return Ok(()),
                },
                Err(_) => Some(told.clone()),
            };
            if let (Some(message), Some(token)) = (message, context.meta.get_progress_token()) {
                told = message;
                count += 1;
                let progress = ProgressNotificationParam::new(token, f64::from(count));
                let progress = progress.with_message(told.clone());
                // A client that has gone hears nothing.
                context.peer.notify_progress(progress).await.ok();
            }
        }
    }
}

/// A process that tells what runs; it ends with this.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A line of `uwf watch`, in words.
fn progress(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).ok()?;
    let running = &line["running"];
    let role = running["role"].as_str()?;
    let turn = running["turn"].as_u64().map(|turn| format!(", turn {turn}")).unwrap_or_default();
    let tool = running["tool"].as_str().or(running["tool"]["name"].as_str());
    Some(format!("{role}{turn}{}", tool.map(|tool| format!(", {tool}")).unwrap_or_default()))
}

/// Has this done where it may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err("internal error".to_owned()))
}

/// What came of a call, as the protocol has it: as a value, and for models as text.
fn result(done: Result<Value, String>) -> serde_json::Result<CallToolResult> {
    serde_json::from_value(match done {
        Ok(value) => json!({
            "content": [{"type": "text", "text": uwf_store::json::line(&value)}],
            "structuredContent": value,
            "isError": false,
        }),
        Err(error) => json!({"content": [{"type": "text", "text": error}], "isError": true}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_told_in_words() {
        let line = |running: Value| progress(&json!({"status": "running", "running": running}).to_string());
        assert_eq!(line(json!({"role": "a", "turn": null, "tool": null})).as_deref(), Some("a"));
        let busy = json!({"role": "a", "turn": 2, "tool": "grep"});
        assert_eq!(line(busy).as_deref(), Some("a, turn 2, grep"));
        assert_eq!((line(Value::Null), progress("no json")), (None, None));
    }

    #[test]
    fn a_result_is_a_value_and_text_and_an_error_is_one() {
        let done = serde_json::to_value(result(Ok(json!({"b": 1, "a": 2}))).unwrap()).unwrap();
        assert_eq!(done["content"][0]["text"], "{\"a\":2,\"b\":1}");
        assert_eq!((&done["structuredContent"]["b"], &done["isError"]), (&json!(1), &json!(false)));
        let failed = serde_json::to_value(result(Err("no".to_owned())).unwrap()).unwrap();
        assert_eq!((&failed["content"][0]["text"], &failed["isError"]), (&json!("no"), &json!(true)));
    }
}
