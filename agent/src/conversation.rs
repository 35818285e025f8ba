//! The messages: how they open, how they grow, and the invariant every request is checked against.
//!
//! Apart so that nothing else builds message lists. The system message and all that was said stay byte-identical
//! across turns, and across visits of the same role, so that a prompt cache matches; nothing volatile (time, pid) is
//! in it. Pure: it reads no store and writes no journal.

use std::collections::BTreeSet;

use thiserror::Error;
use uwf_engine::{EarlierStep, RoleContext, emit, fence};
use uwf_prompts::{
    ContinuationView, OpeningView, PromptError, RoleView, StepView, SystemView, WorkspaceView,
};

use crate::provider::message::{Kind, Message, Speaker};

/// A conversation with the model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    messages: Vec<Message>,
}

/// A request that no endpoint would take: a bug of ours, found before it is sent.
#[derive(Debug, Error, PartialEq, Eq)]
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
        workspace: &WorkspaceView<'_>,
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
            },
            workspace: *workspace,
        })?;
        conversation.push(Message::text(Speaker::System, Kind::Opening, rules));
        let mut since = 0;
        let mut visit = 0;
        for (at, step) in context.steps.iter().enumerate().filter(|(_, step)| step.role == context.role_name)
        {
            let asked = Asked { edge_prompt: &step.edge_prompt, failures: step.failures, visit };
            let said = asked.prompt(context, &context.steps[since..at])?;
            conversation.push(Message::text(Speaker::User, Kind::Opening, said));
            conversation.push(Message::text(Speaker::Assistant, Kind::Opening, answer(step)));
            since = at + 1;
            visit += 1;
        }
        let (edge_prompt, failures) = (context.edge_prompt.as_str(), context.previous_attempts.len());
        let said = Asked { edge_prompt, failures, visit }.prompt(context, &context.steps[since..])?;
        conversation.push(Message::text(Speaker::User, Kind::Opening, said));
        Ok(conversation)
    }

    /// Everything said so far, in order.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds a message at the end; nothing is ever changed or removed.
    pub(crate) fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// The model has spoken. An empty turn is not repeated to the endpoint, which would refuse it.
    pub(crate) fn hear(&mut self, message: Message) {
        if !message.says_nothing() {
            self.push(message);
        }
    }

    /// The opening as text, each message under `## <role>`: what the record keeps as the assembled prompt.
    pub(crate) fn assembled(&self) -> String {
        let opening = self.messages.iter().take_while(|message| message.kind == Kind::Opening);
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
        let mut open: Vec<&str> = Vec::new();
        let mut seen = BTreeSet::new();
        for (index, message) in self.messages.iter().enumerate() {
            let broken = |problem: String| BrokenInvariant { index, role: message.role.as_str(), problem };
            if (message.role == Speaker::System) != (index == 0) {
                return Err(broken(
                    "is a system message elsewhere than at the start, or none stands there".into(),
                ));
            }
            if message.role == Speaker::Tool {
                let id = message.tool_call_id.as_deref().unwrap_or_default();
                let at = open.iter().position(|call| *call == id);
                open.remove(at.ok_or_else(|| broken(format!("answers the call {id:?}, which is not open")))?);
            } else if let Some(call) = open.first() {
                return Err(broken(format!("comes before the tool call {call:?} was answered")));
            }
            if message.says_nothing() && message.role != Speaker::Tool {
                return Err(broken("is empty".into()));
            }
            for call in &message.tool_calls {
                if !seen.insert(call.id.as_str()) {
                    return Err(broken(format!("repeats the call id {:?}", call.id)));
                }
                open.push(&call.id);
            }
        }
        self.check_end(&open)
    }

    fn check_end(&self, open: &[&str]) -> Result<(), BrokenInvariant> {
        let last = self.messages.last().map_or(Speaker::System, |message| message.role);
        let problem = match (open.first(), last) {
            (Some(call), _) => format!("leaves the tool call {call:?} unanswered"),
            (None, Speaker::User | Speaker::Tool) => return Ok(()),
            (None, _) => "is the last one: there is nothing for the model to answer".to_owned(),
        };
        Err(BrokenInvariant { index: self.messages.len().saturating_sub(1), role: last.as_str(), problem })
    }
}

/// One visit, as far as it decides what the role is told.
struct Asked<'a> {
    edge_prompt: &'a str,
    /// How often this very visit had failed before.
    failures: usize,
    /// How often the role had answered before.
    visit: usize,
}

impl Asked<'_> {
    /// What the role is told: on its first visit always the thread's task, and what happened since its last.
    fn prompt(&self, context: &RoleContext, since: &[EarlierStep]) -> Result<String, PromptError> {
        let bodies: Vec<String> =
            since.iter().map(|step| fence::body(step.answer.as_deref().unwrap_or_default())).collect();
        let steps: Vec<StepView<'_>> =
            since.iter().zip(&bodies).map(|(step, body)| step_view(step, body)).collect();
        let (edge_prompt, happened, previous_failures) = (self.edge_prompt, steps.as_slice(), self.failures);
        if self.visit == 0 {
            let task = &context.start.prompt;
            uwf_prompts::opening(&OpeningView { task, edge_prompt, happened, previous_failures })
        } else {
            let visit = self.visit;
            uwf_prompts::continuation(&ContinuationView { edge_prompt, happened, visit, previous_failures })
        }
    }
}

fn step_view<'a>(step: &'a EarlierStep, body: &'a str) -> StepView<'a> {
    StepView {
        role: &step.role,
        status: step.output["$status"].as_str().unwrap_or("?"),
        output: &step.output,
        answer_body: Some(body).filter(|body| !body.is_empty()),
    }
}

/// A role's own earlier answer: word for word where the record has it, else rebuilt from its output.
fn answer(step: &EarlierStep) -> String {
    if let Some(answer) = step.answer.as_deref().filter(|answer| !answer.trim().is_empty()) {
        return answer.to_owned();
    }
    format!("---\n{}---\n", emit::yaml(&step.output))
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
            Message::text(Speaker::System, Kind::Opening, "rules"),
            Message::text(Speaker::User, Kind::Opening, "task"),
        ];
        all.extend(messages);
        Conversation { messages: all }
    }

    fn turn(calls: &[&str]) -> Message {
        let tool_calls = calls.iter().map(|id| call(id)).collect();
        Message { tool_calls, ..Message::text(Speaker::Assistant, Kind::Turn, "") }
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
                vec![turn(&["a"]), Message::text(Speaker::User, Kind::Nudge, "go on")],
                "comes before the tool call \"a\" was answered",
            ),
            (vec![Message::text(Speaker::Assistant, Kind::Turn, "hi")], "nothing for the model to answer"),
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
}
