//! From the turn nodes of a record back to what they were made of: messages, and how the requests became shorter.

use serde_json::json;
use uwf_engine::record::{LEFT_OUT, Marks, RecordedCall, SUMMED_UP, SummedUp, Turn};

use crate::context_window::Elided;
use crate::provider::message::{Message, MessageKind, Speaker, ToolCall};

/// How the requests became shorter at a turn that is no message.
pub(crate) enum Elision {
    /// Results were left out.
    LeftOut(Vec<Elided>),
    /// What was said was summed up.
    SummedUp {
        /// The summary, as it is sent.
        message: Message,
        /// How many messages before the question for it stayed.
        kept: usize,
    },
}

impl Elision {
    /// What the turn tells, if it is of that kind and can be read.
    pub(crate) fn of(turn: &Turn) -> Option<Elision> {
        let content = turn.content.as_deref().unwrap_or_default();
        match turn.kind.as_deref()? {
            LEFT_OUT => {
                let marks: Marks = serde_json::from_str(content).unwrap_or_default();
                let mark = |(call_id, text)| Elided { call_id, text };
                Some(Elision::LeftOut(marks.into_iter().map(mark).collect()))
            }
            SUMMED_UP => {
                let SummedUp { summary, kept } = serde_json::from_str(content).ok()?;
                let message = Message::text(Speaker::User, MessageKind::Recap, summary);
                Some(Elision::SummedUp { message, kept })
            }
            _ => None,
        }
    }
}

/// The turn as a message; none where it is of a kind that messages have not. One without a kind opened a conversation.
///
/// # Errors
/// What is no message, in words.
pub(crate) fn message_of(turn: Turn) -> Result<Option<Message>, String> {
    let kind = turn.kind.clone().unwrap_or_else(|| MessageKind::Opening.as_str().to_owned());
    let kind: Option<MessageKind> = serde_json::from_value(json!(kind)).ok();
    let tool_calls =
        turn.calls().iter().map(call).collect::<Option<_>>().ok_or("a call has no id, name or args")?;
    let role = serde_json::from_value(json!(turn.role)).map_err(|error| format!("its role: {error}"))?;
    let native = serde_json::from_value(turn.native).map_err(|error| format!("its native part: {error}"))?;
    let content = turn.content.ok_or("it has no content")?;
    let (tool_call_id, reasoning) = (turn.call_id, turn.reasoning);
    Ok(kind.map(|kind| Message { role, kind, content, tool_calls, tool_call_id, reasoning, native }))
}

fn call(call: &RecordedCall) -> Option<ToolCall> {
    let RecordedCall { id, name, args } = call.clone();
    Some(ToolCall { id: id?, name: name?, arguments: args? })
}
