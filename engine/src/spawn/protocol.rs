//! The agent protocol as values: what an agent is asked on its command line, and what its last line of stdout says.
//!
//! Both sides use this file: the engine writes requests and reads replies, an agent written in Rust does the reverse.
//! It starts no process and reads no store: whether a reply is true is checked by `exec`.

use std::ffi::OsString;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use uwf_store::Hash;
use uwf_store::json::sorted;

use crate::thread_id::ThreadId;
use crate::usage::Usage;

/// The variable that tells an agent how much of a sandbox its run must have: `strict`, `best-effort` or `off`. Agents that
/// have none, or another kind, pass it over.
pub const SANDBOX: &str = "UWF_BUILTIN_SANDBOX";

/// The variable that has the edge prompt where the command line has none.
pub const EDGE_PROMPT: &str = "UWF_EDGE_PROMPT";

/// The variable that tells an agent of which thread an engine wants a step: the engine says what becomes of that thread,
/// also when the step is cut off.
pub const STEP_OF: &str = "UWF_STEP_OF";

/// The variable that tells an agent where its journal must be kept, too, before anything in it has an effect: the socket of
/// a worker (see [`sink`](crate::journals::sink)). It is for the agent alone, not for what it runs.
pub const JOURNAL_SINK: &str = "UWF_JOURNAL_SINK";

/// The variable that says how long what has it may take to end when it is told to, in milliseconds, before it is killed, where
/// that is less than usual: the time of a worker's thread may be over soon. What is run below has less of it.
pub const STOP_WITHIN: &str = "UWF_STOP_WITHIN";

/// The variable that tells an agent which step it is asked about, or whose session it is to fork.
pub const ASKED_STEP: &str = "UWF_ASKED_STEP";

/// A program that plays roles, and the arguments it always gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCommand {
    /// A name looked up in `PATH`, or a path.
    #[serde(rename = "command")]
    pub program: String,
    /// Arguments before those of the protocol.
    #[serde(default)]
    pub args: Vec<String>,
    /// In which form it is asked.
    #[serde(default, rename = "protocol", skip_serializing_if = "CallForm::is_usual")]
    pub form: CallForm,
}

impl AgentCommand {
    /// A program that is asked in the usual form.
    pub fn new(program: impl Into<String>, args: Vec<String>) -> AgentCommand {
        AgentCommand { program: program.into(), args, form: CallForm::default() }
    }
}

/// The program that plays for agents that a definition describes, and how it is called: `uwf adapt NAME`.
pub const ADAPTER: &str = "uwf";
const ADAPT: &str = "adapt";
/// What stands before each argument for the program that a definition describes.
const PASSED: &str = "--arg=";

impl AgentCommand {
    /// The agent that the definition of that name describes; its program gets these arguments, too.
    pub fn defined(name: &str, args: &[String]) -> AgentCommand {
        let passed = args.iter().map(|arg| format!("{PASSED}{arg}"));
        AgentCommand::new(ADAPTER, [ADAPT, name].map(str::to_owned).into_iter().chain(passed).collect())
    }

    /// What people call it: the name of its definition, else its program.
    pub fn called(&self) -> &str {
        self.of_definition().unwrap_or(&self.program)
    }

    /// The name of the definition that describes it, if one does.
    pub fn of_definition(&self) -> Option<&str> {
        let is_adapter = Path::new(&self.program).file_name() == Some(ADAPTER.as_ref());
        match self.args.as_slice() {
            [command, name, ..] if is_adapter && command == ADAPT => Some(name),
            _ => None,
        }
    }

    /// The words by which it is named on a command line: that of its definition with the arguments for its program, else the command.
    pub fn typed(&self) -> Vec<String> {
        match self.of_definition() {
            Some(name) => {
                let passed = self.args[2..].iter().map(|arg| arg.strip_prefix(PASSED).unwrap_or(arg));
                [name].into_iter().chain(passed).map(str::to_owned).collect()
            }
            None => [&self.program].into_iter().chain(&self.args).cloned().collect(),
        }
    }
}

/// How a program is told what to play.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallForm {
    /// `--thread ID --role ROLE --prompt TEXT`.
    #[default]
    Flags,
    /// The older form: `ID ROLE`, and the prompt in [`EDGE_PROMPT`].
    Positional,
}

impl CallForm {
    /// The words of `protocol` in `config.yaml`.
    pub const WORDS: [&'static str; 2] = ["flags", "positional"];

    fn is_usual(&self) -> bool {
        *self == CallForm::Flags
    }
}

/// How the program of a workflow that plays roles begins: `workflow:develop`.
pub const WORKFLOW_PREFIX: &str = "workflow:";

impl AgentCommand {
    /// A workflow in the place of a program, by its hash, its file or its name.
    pub fn workflow(reference: &str) -> AgentCommand {
        AgentCommand::new(format!("{WORKFLOW_PREFIX}{reference}"), Vec::new())
    }

    /// The workflow that it is, if it is no program.
    pub fn of_workflow(&self) -> Option<&str> {
        self.program.strip_prefix(WORKFLOW_PREFIX)
    }
}

/// Where an edge prompt is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgePromptSource {
    /// `--prompt`.
    Given,
    /// `UWF_EDGE_PROMPT`, the older form.
    Environment,
    /// The moderator routes to this role from the head.
    Routed,
    /// None of these: the thread's task stands in, which deserves a warning.
    Task,
}

/// What an agent is asked to do: play one role of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRequest {
    /// The thread.
    pub thread: ThreadId,
    /// The role to play.
    pub role: String,
    /// The edge prompt, when the caller gave one.
    pub prompt: Option<String>,
    /// Where `prompt` is from; [`EdgePromptSource::Routed`] when it is yet to be found.
    pub prompt_source: EdgePromptSource,
}

impl AgentRequest {
    /// A request as a command line makes it: the flag wins over the environment, blank texts count as absent.
    pub fn new(
        thread: ThreadId,
        role: &str,
        flag: Option<String>,
        environment: Option<String>,
    ) -> AgentRequest {
        let given = |text: Option<String>, source| {
            text.filter(|text| !text.trim().is_empty()).map(|text| (Some(text), source))
        };
        let (prompt, prompt_source) = given(flag, EdgePromptSource::Given)
            .or_else(|| given(environment, EdgePromptSource::Environment))
            .unwrap_or((None, EdgePromptSource::Routed));
        AgentRequest { thread, role: role.to_owned(), prompt, prompt_source }
    }

    /// The arguments that the engine appends to the agent's command.
    pub fn to_args(&self, form: CallForm) -> Vec<OsString> {
        let thread = self.thread.to_string();
        let prompt = self.prompt.as_deref().unwrap_or_default();
        match form {
            CallForm::Flags => {
                ["--thread", &thread, "--role", &self.role, "--prompt", prompt].map(OsString::from).to_vec()
            }
            CallForm::Positional => [&thread, &self.role].map(OsString::from).to_vec(),
        }
    }

    /// What the engine sets in the agent's environment beside that.
    pub fn to_env(&self, form: CallForm) -> Option<(&'static str, &str)> {
        let prompt = self.prompt.as_deref().unwrap_or_default();
        (form == CallForm::Positional).then_some((EDGE_PROMPT, prompt))
    }
}

/// The reply of an agent: one JSON object on one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdapterOutput {
    /// The StepNode that was written.
    pub step_hash: Hash,
    /// Its detail node.
    pub detail_hash: Hash,
    /// The role that was played.
    pub role: String,
    /// The output's payload.
    pub frontmatter: Value,
    /// The answer below the frontmatter.
    pub body: String,
    /// Milliseconds since the epoch.
    pub started_at_ms: u64,
    /// Milliseconds since the epoch.
    pub completed_at_ms: u64,
    /// What the run used.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// Whether the step failed: its output is then an ErrorOutput and the head must stay.
    #[serde(default)]
    pub is_error: bool,
    /// Why it failed.
    #[serde(default)]
    pub error_message: Option<String>,
}

impl AdapterOutput {
    /// The reply as the line an agent prints, with its line end.
    pub fn to_line(&self) -> String {
        let sorted = AdapterOutput { frontmatter: sorted(self.frontmatter.clone()), ..self.clone() };
        let mut line = serde_json::to_string(&sorted).expect("strings, numbers and JSON always serialise");
        line.push('\n');
        line
    }
}

/// What the last line of an agent's stdout said.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentReply {
    /// The JSON form.
    Output(Box<AdapterOutput>),
    /// The older form: the step's hash and nothing else.
    Bare(Hash),
}

/// A stdout that holds no reply.
#[derive(Debug, Error)]
pub enum ProtocolError {
    /// Nothing but blanks.
    #[error("the agent printed nothing on stdout")]
    NoOutput,
    /// The last line begins like JSON and is no reply.
    #[error("the agent's last line of stdout is not a reply: {line}")]
    BadJson {
        /// The line, shortened.
        line: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The last line is neither JSON nor a hash.
    #[error("the agent's last line of stdout is neither JSON nor a step hash: {line}")]
    NotAReply {
        /// The line, shortened.
        line: String,
    },
}

/// Reads the last non-blank line of an agent's stdout. Bytes that are no UTF-8 before that line do not matter.
///
/// # Errors
/// There is no line, or the last one is neither a reply in JSON nor a step's hash.
pub fn parse_reply(stdout: &[u8]) -> Result<AgentReply, ProtocolError> {
    let last = stdout.rsplit(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    let line = String::from_utf8_lossy(last.ok_or(ProtocolError::NoOutput)?.trim_ascii());
    if line.starts_with('{') {
        return serde_json::from_str(&line)
            .map(|output| AgentReply::Output(Box::new(output)))
            .map_err(|source| ProtocolError::BadJson { line: shortened(&line), source });
    }
    line.parse().map(AgentReply::Bare).map_err(|_| ProtocolError::NotAReply { line: shortened(&line) })
}

/// At most 200 characters of a line that goes into an error.
fn shortened(line: &str) -> String {
    uwf_store::excerpt(line, 200).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output() -> AdapterOutput {
        AdapterOutput {
            step_hash: "0123456789ABC".parse().unwrap(),
            detail_hash: "CBA9876543210".parse().unwrap(),
            role: "finder".into(),
            frontmatter: json!({"$status": "found"}),
            body: "Two\nlines.".into(),
            started_at_ms: 1,
            completed_at_ms: 2,
            usage: None,
            is_error: false,
            error_message: None,
        }
    }

    #[test]
    fn a_reply_is_one_line_with_the_protocols_names() {
        let line = output().to_line();
        assert_eq!((line.matches('\n').count(), line.ends_with('\n')), (1, true));
        let value: Value = serde_json::from_str(&line).unwrap();
        let expected = json!({
            "stepHash": "0123456789ABC", "detailHash": "CBA9876543210", "role": "finder",
            "frontmatter": {"$status": "found"}, "body": "Two\nlines.", "startedAtMs": 1, "completedAtMs": 2,
            "usage": null, "isError": false, "errorMessage": null,
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn the_last_line_counts_whatever_stands_before() {
        let mut stdout = b"log \xff line\n{\"not\": \"it\"}\n".to_vec();
        stdout.extend_from_slice(output().to_line().as_bytes());
        stdout.extend_from_slice(b"\n  \r\n");
        assert_eq!(parse_reply(&stdout).unwrap(), AgentReply::Output(Box::new(output())));
    }

    #[test]
    fn an_older_agent_prints_the_bare_hash() {
        let bare = AgentReply::Bare("0123456789ABC".parse().unwrap());
        assert_eq!(parse_reply(b"working\n0123456789ABC\r\n").unwrap(), bare);
        assert_eq!(parse_reply(b"0123456789ABC").unwrap(), bare);
    }

    #[test]
    fn what_is_no_reply_is_quoted_shortened() {
        assert!(matches!(parse_reply(b" \n\n"), Err(ProtocolError::NoOutput)));
        let error = parse_reply(b"{\"stepHash\": 3}").unwrap_err();
        assert!(error.to_string().ends_with("not a reply: {\"stepHash\": 3}"), "{error}");
        let error = parse_reply("é".repeat(300).as_bytes()).unwrap_err().to_string();
        assert!(error.ends_with(&format!("{}…", "é".repeat(200))), "{error}");
    }

    #[test]
    fn the_flag_wins_and_blank_is_absent() {
        let thread = ThreadId::new(0);
        let ask = |flag: Option<&str>, environment: Option<&str>| {
            let request = AgentRequest::new(thread, "r", flag.map(Into::into), environment.map(Into::into));
            (request.prompt, request.prompt_source)
        };
        assert_eq!(ask(Some("- fix"), Some("e")), (Some("- fix".into()), EdgePromptSource::Given));
        assert_eq!(ask(Some(" "), Some("e")), (Some("e".into()), EdgePromptSource::Environment));
        assert_eq!(ask(None, Some("")), (None, EdgePromptSource::Routed));
    }

    #[test]
    fn a_request_is_two_arguments_and_a_variable_in_the_older_form() {
        let thread = ThreadId::new(0);
        let request = AgentRequest::new(thread, "fixer", Some("--- a\nb".into()), None);
        let form = CallForm::Positional;
        assert_eq!(request.to_args(form), [thread.as_str(), "fixer"].map(OsString::from));
        assert_eq!(request.to_env(form), Some(("UWF_EDGE_PROMPT", "--- a\nb")));
    }

    #[test]
    fn the_usual_form_of_a_command_is_not_written() {
        let usual = AgentCommand::new("a", vec![]);
        assert_eq!(json!(usual), json!({"command": "a", "args": []}));
        let older = AgentCommand { form: CallForm::Positional, ..usual };
        assert_eq!(json!(older), json!({"command": "a", "args": [], "protocol": "positional"}));
        for word in CallForm::WORDS {
            let read: AgentCommand =
                serde_json::from_value(json!({"command": "a", "protocol": word})).unwrap();
            assert_eq!(json!(read.form), json!(word));
        }
    }

    #[test]
    fn an_agent_that_is_described_is_played_by_the_adapter() {
        let agent = AgentCommand::defined("codex", &["-m".into(), "x y".into()]);
        assert_eq!(agent.args, ["adapt", "codex", "--arg=-m", "--arg=x y"]);
        assert_eq!((agent.of_definition(), agent.called()), (Some("codex"), "codex"));
        assert_eq!(agent.typed(), ["codex", "-m", "x y"]);
        assert_eq!(AgentCommand::new("a", vec!["b".into()]).typed(), ["a", "b"]);
        let elsewhere = AgentCommand { program: "/opt/uwf".into(), ..agent };
        assert_eq!(elsewhere.called(), "codex");
        let other = AgentCommand::new("uwf", vec!["as-agent".into(), "codex".into()]);
        assert_eq!((other.of_definition(), other.called()), (None, "uwf"));
    }

    #[test]
    fn a_request_is_six_arguments() {
        let thread = ThreadId::new(0);
        let request = AgentRequest::new(thread, "fixer", Some("--- a\nb".into()), None);
        let expected = ["--thread", thread.as_str(), "--role", "fixer", "--prompt", "--- a\nb"];
        assert_eq!(request.to_args(CallForm::Flags), expected.map(OsString::from));
        assert_eq!(request.to_env(CallForm::Flags), None);
    }
}
