//! The messages: how they open, how they grow, and the invariant every request is checked against.
//!
//! Apart so that nothing else builds message lists. The system message and all that was said stay byte-identical
//! across turns, and across visits of the same role, so that a prompt cache matches; nothing volatile (time, pid) is
//! in it. When the model's window is nearly full, room is made here, in the requests: the journal and the record keep
//! everything. Pure: it reads no store and writes no journal.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use uwf_engine::record::Artifact;
use uwf_engine::{EarlierStep, RoleContext, record};
use uwf_prompts::{
    ArtifactView, ContinuationView, FinishedStepView, OpeningView, ProjectView, PromptError, RoleView,
    SystemView, WorkspaceView,
};
use uwf_workflow::{frontmatter, yaml};

use crate::context_window::{self, Elided};
use crate::provider::message::{Message, MessageKind, Speaker};

/// A conversation with the model, as the next request will send it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    messages: Vec<Message>,
    order: Order,
}

/// What the invariant needs to know of all that was said, kept as it grows: looking at every message before every
/// request would make long runs quadratic.
#[derive(Clone, Debug, Default)]
struct Order {
    /// The calls that are not answered yet.
    open: Vec<String>,
    /// The ids of all calls.
    call_ids: BTreeSet<String>,
    /// The first message that broke the rule.
    broken: Option<BrokenInvariant>,
}

/// A request that no endpoint would take: a bug of ours, found before it is sent.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("message {index} of the conversation ({role}) {problem}")]
pub struct BrokenInvariant {
    /// Which message, from 0.
    index: usize,
    /// Its speaker.
    role: &'static str,
    /// What is wrong with it.
    problem: String,
}

impl Conversation {
    /// The opening of a role run: the role's rules, its earlier visits as they went, and the present task.
    ///
    /// # Errors
    /// A template that does not render: a bug of ours.
    pub(crate) fn open(
        context: &RoleContext,
        (workspace, project): (&WorkspaceView<'_>, &ProjectView<'_>),
    ) -> Result<Conversation, PromptError> {
        let mut conversation = Conversation::default();
        let role = &context.role;
        let rules = uwf_prompts::system(&SystemView {
            schema: &context.schema,
            role: RoleView {
                workflow: &context.workflow.name,
                name: &context.role_name,
                description: &role.description,
                goal: &role.goal,
                capabilities: &role.capabilities,
                procedure: &role.procedure,
                output: &role.output,
                artifacts: &role.artifacts,
            },
            workspace: *workspace,
            project: *project,
        })?;
        conversation.push(Message::text(Speaker::System, MessageKind::Opening, rules));
        let mut since = 0;
        let mut visit = 0;
        for (at, step) in context.steps.iter().enumerate().filter(|(_, step)| step.role == context.role_name)
        {
            let asked = VisitPrompt { edge_prompt: &step.edge_prompt, failures: step.failures, visit };
            let said = asked.prompt(context, &context.steps[since..at])?;
            conversation.push(Message::text(Speaker::User, MessageKind::Opening, said));
            conversation.push(Message::text(Speaker::Assistant, MessageKind::Opening, answer(step)));
            since = at + 1;
            visit += 1;
        }
        let (edge_prompt, failures) = (context.edge_prompt.as_str(), context.previous_attempts.len());
        let said = VisitPrompt { edge_prompt, failures, visit }.prompt(context, &context.steps[since..])?;
        conversation.push(Message::text(Speaker::User, MessageKind::Opening, said));
        Ok(conversation)
    }

    /// Everything said so far, in order.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds a message at the end. What belongs to another conversation (an extraction) is not added.
    pub(crate) fn push(&mut self, message: Message) {
        if message.kind != MessageKind::Extract {
            self.order.next(self.messages.len(), &message);
            self.messages.push(message);
        }
    }

    /// Puts marks in the place of old tool results; gives the bytes that this frees. Nothing else changes, so requests
    /// keep what stands before the first of them in common.
    pub(crate) fn elide(&mut self, marks: &[Elided]) -> u64 {
        let marks: BTreeMap<&str, &str> =
            marks.iter().map(|mark| (mark.call_id.as_str(), mark.text.as_str())).collect();
        let mut freed = 0;
        for message in &mut self.messages {
            let Some(mark) = message.tool_call_id.as_deref().and_then(|id| marks.get(id)) else { continue };
            freed += message.content.len().saturating_sub(mark.len()) as u64;
            message.content = (*mark).to_owned();
        }
        let is_marked =
            |message: &Message| message.tool_call_id.as_deref().is_some_and(|id| marks.contains_key(id));
        let first = self.messages.iter().position(is_marked).unwrap_or(self.messages.len());
        prefix_changed(&mut self.messages[first..]);
        freed
    }

    /// Puts `summary` in the place of all that was said between the opening and the last `kept` messages before the
    /// model was asked for it; gives the bytes that this frees. An empty one is none: the question alone goes.
    pub(crate) fn summarise(&mut self, summary: Message, kept: usize) -> u64 {
        let before: u64 = self.messages.iter().map(context_window::bytes).sum();
        let mut all = std::mem::take(self).messages;
        let asked = all.iter().rev().take_while(|message| message.kind == MessageKind::Summary).count();
        all.truncate(all.len() - asked);
        if summary.says_nothing() {
            all.into_iter().for_each(|message| self.push(message));
            return before.saturating_sub(self.messages.iter().map(context_window::bytes).sum());
        }
        let opening = all.iter().take_while(|message| message.kind == MessageKind::Opening).count();
        let mut tail = all.split_off(all.len().saturating_sub(kept).max(opening));
        prefix_changed(&mut tail);
        all.truncate(opening);
        all.into_iter().chain([summary]).chain(tail).for_each(|message| self.push(message));
        before.saturating_sub(self.messages.iter().map(context_window::bytes).sum())
    }

    /// The model has spoken. An empty turn is not repeated to the endpoint, which would refuse it.
    pub(crate) fn receive(&mut self, message: Message) {
        if !message.says_nothing() {
            self.push(message);
        }
    }

    /// The opening as text, each message under `## <role>`: what the record keeps as the assembled prompt.
    pub(crate) fn assembled(&self) -> String {
        let opening = self.messages.iter().take_while(|message| message.kind == MessageKind::Opening);
        let blocks: Vec<String> =
            opening.map(|message| format!("## {}\n\n{}", message.role.as_str(), message.content)).collect();
        blocks.join("\n\n")
    }

    /// Checks what every request must be: a system message first and only there, ids unique, each tool call
    /// answered exactly once and before anything else is said, nothing empty, the model's turn next.
    ///
    /// # Errors
    /// The first message that breaks the rule.
    pub(crate) fn check(&self) -> Result<(), BrokenInvariant> {
        if let Some(broken) = &self.order.broken {
            return Err(broken.clone());
        }
        let last = self.messages.last().map_or(Speaker::System, |message| message.role);
        let problem = match (self.order.open.first(), last) {
            (Some(call), _) => format!("leaves the tool call {call:?} unanswered"),
            (None, Speaker::User | Speaker::Tool) => return Ok(()),
            (None, _) => "is the last one: there is nothing for the model to answer".to_owned(),
        };
        Err(BrokenInvariant { index: self.messages.len().saturating_sub(1), role: last.as_str(), problem })
    }
}

/// What stands before these messages is not what it was when they were said.
fn prefix_changed(messages: &mut [Message]) {
    messages
        .iter_mut()
        .filter_map(|message| message.native.as_mut())
        .for_each(|native| native.prefix_changed = true);
}

impl Order {
    /// Takes note of a message; the first that breaks the rule is remembered.
    fn next(&mut self, index: usize, message: &Message) {
        let problem = self.problem(index, message);
        if self.broken.is_none() {
            self.broken =
                problem.map(|problem| BrokenInvariant { index, role: message.role.as_str(), problem });
        }
    }

    fn problem(&mut self, index: usize, message: &Message) -> Option<String> {
        if (message.role == Speaker::System) != (index == 0) {
            return Some("is a system message elsewhere than at the start, or none stands there".into());
        }
        if message.role == Speaker::Tool {
            let id = message.tool_call_id.as_deref().unwrap_or_default();
            let Some(at) = self.open.iter().position(|call| call == id) else {
                return Some(format!("answers the call {id:?}, which is not open"));
            };
            self.open.remove(at);
            return None;
        }
        if let Some(call) = self.open.first() {
            return Some(format!("comes before the tool call {call:?} was answered"));
        }
        if message.says_nothing() {
            return Some("is empty".into());
        }
        for call in &message.tool_calls {
            if !self.call_ids.insert(call.id.clone()) {
                return Some(format!("repeats the call id {:?}", call.id));
            }
            self.open.push(call.id.clone());
        }
        None
    }
}

/// One visit, as far as it decides what the role is told.
struct VisitPrompt<'a> {
    edge_prompt: &'a str,
    /// How often this very visit had failed before.
    failures: usize,
    /// How often the role had answered before.
    visit: usize,
}

impl VisitPrompt<'_> {
    /// What the role is told: on its first visit always the thread's task, and what happened since its last.
    fn prompt(&self, context: &RoleContext, since: &[EarlierStep]) -> Result<String, PromptError> {
        let bodies: Vec<String> =
            since.iter().map(|step| frontmatter::body(step.answer.as_deref().unwrap_or_default())).collect();
        let artifacts: Vec<Vec<ArtifactView<'_>>> =
            since.iter().map(|step| step.artifacts.iter().map(artifact_view).collect()).collect();
        let told = bodies.iter().zip(&artifacts);
        let steps: Vec<FinishedStepView<'_>> = since
            .iter()
            .zip(told)
            .map(|(step, (body, artifacts))| step_view(step, body, artifacts))
            .collect();
        let (edge_prompt, happened, previous_failures) = (self.edge_prompt, steps.as_slice(), self.failures);
        if self.visit == 0 {
            let (task, summary) = (&context.start.prompt, context.summary.as_deref());
            uwf_prompts::opening(&OpeningView { task, edge_prompt, summary, happened, previous_failures })
        } else {
            let (visit, summarised) = (self.visit, context.summary.is_some());
            uwf_prompts::continuation(&ContinuationView {
                edge_prompt,
                happened,
                visit,
                summarised,
                previous_failures,
            })
        }
    }
}

fn artifact_view(artifact: &Artifact) -> ArtifactView<'_> {
    let Artifact { name, path, content, size } = artifact;
    ArtifactView { name, path: path.as_deref(), content: content.as_str(), size: *size }
}

fn step_view<'a>(
    step: &'a EarlierStep,
    body: &'a str,
    artifacts: &'a [ArtifactView<'a>],
) -> FinishedStepView<'a> {
    FinishedStepView {
        role: &step.role,
        status: record::status(&step.output).unwrap_or_default(),
        output: &step.output,
        answer_body: Some(body).filter(|body| !body.is_empty()),
        artifacts,
    }
}

/// A role's own earlier answer: word for word where the record has it, else rebuilt from its output.
fn answer(step: &EarlierStep) -> String {
    if let Some(answer) = step.answer.as_deref().filter(|answer| !answer.trim().is_empty()) {
        return answer.to_owned();
    }
    format!("---\n{}---\n", yaml::write(&step.output))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::message::ToolCall;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "grep".into(), arguments: "{}".into() }
    }

    fn conversation(messages: Vec<Message>) -> Conversation {
        let mut all = vec![
            Message::text(Speaker::System, MessageKind::Opening, "rules"),
            Message::text(Speaker::User, MessageKind::Opening, "task"),
        ];
        all.extend(messages);
        let mut conversation = Conversation::default();
        all.into_iter().for_each(|message| conversation.push(message));
        conversation
    }

    fn turn(calls: &[&str]) -> Message {
        let tool_calls = calls.iter().map(|id| call(id)).collect();
        Message { tool_calls, ..Message::text(Speaker::Assistant, MessageKind::Turn, "") }
    }

    #[test]
    fn answered_calls_pass() {
        let messages = vec![turn(&["a", "b"]), Message::result("a", ""), Message::result("b", "2")];
        assert_eq!(conversation(messages).check(), Ok(()));
        assert_eq!(conversation(vec![]).check(), Ok(()));
    }

    #[test]
    fn every_breach_is_named() {
        let cases: [(Vec<Message>, &str); 7] = [
            (vec![turn(&["a"])], "leaves the tool call \"a\" unanswered"),
            (vec![turn(&["a"]), Message::result("b", "x")], "answers the call \"b\", which is not open"),
            (
                vec![turn(&["a"]), Message::result("a", "x"), Message::result("a", "x")],
                "answers the call \"a\", which is not open",
            ),
            (vec![turn(&["a", "a"])], "repeats the call id \"a\""),
            (vec![turn(&[])], "is empty"),
            (
                vec![turn(&["a"]), Message::text(Speaker::User, MessageKind::Nudge, "go on")],
                "comes before the tool call \"a\" was answered",
            ),
            (
                vec![Message::text(Speaker::Assistant, MessageKind::Turn, "hi")],
                "nothing for the model to answer",
            ),
        ];
        for (messages, expected) in cases {
            let error = conversation(messages).check().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(Conversation::default().check().is_err());
    }

    #[test]
    fn the_assembled_prompt_is_the_opening_alone() {
        let text = conversation(vec![turn(&["a"]), Message::result("a", "x")]).assembled();
        assert_eq!(text, "## system\n\nrules\n\n## user\n\ntask");
    }

    #[test]
    fn marks_take_the_place_of_results_and_nothing_else_changes() {
        let long = |id: &str| Message::result(id, "y".repeat(1000));
        let mut said = conversation(vec![turn(&["a", "b"]), long("a"), long("b"), turn(&["c"]), long("c")]);
        let before = said.messages().to_vec();
        let mark = Elided { call_id: "b".into(), text: "[result]".into() };
        assert_eq!(said.elide(&[mark]), 992);
        for (index, (was, is)) in before.iter().zip(said.messages()).enumerate() {
            assert_eq!(was == is, index != 4, "message {index}");
        }
        assert_eq!(said.messages()[4].content, "[result]");
        assert_eq!(said.check(), Ok(()));
    }

    #[test]
    fn a_summary_takes_the_place_of_the_middle() {
        let result = |id: &str| Message::result(id, "y".repeat(500));
        let mut said = conversation(vec![turn(&["a"]), result("a"), turn(&["b"]), result("b")]);
        for (role, text) in [(Speaker::User, "sum up"), (Speaker::Assistant, "I read a.")] {
            said.push(Message::text(role, MessageKind::Summary, text));
        }
        let freed = said.summarise(Message::text(Speaker::User, MessageKind::Recap, "summary: I read a."), 2);
        let texts: Vec<&str> =
            said.messages().iter().map(|message| &message.content[..1.min(message.content.len())]).collect();
        assert_eq!(texts, ["r", "t", "s", "", "y"]);
        assert!(freed > 500, "{freed}");
        assert_eq!(said.check(), Ok(()));
        said.push(turn(&["a"]));
        assert!(said.check().is_err(), "its call is open");
    }

    #[test]
    fn where_no_summary_was_written_the_question_goes_and_all_else_stays() {
        let mut said = conversation(vec![turn(&["a"]), Message::result("a", "y")]);
        let before = said.messages().to_vec();
        said.push(Message::text(Speaker::User, MessageKind::Summary, "sum up"));
        assert!(said.summarise(Message::text(Speaker::User, MessageKind::Recap, ""), 0) > 6);
        assert_eq!(said.messages(), before);
        assert_eq!(said.check(), Ok(()));
    }

    #[test]
    fn an_extraction_is_no_part_of_it() {
        let mut said = conversation(vec![]);
        said.push(Message::text(Speaker::User, MessageKind::Extract, "x"));
        assert_eq!(said.messages().len(), 2);
    }
}
