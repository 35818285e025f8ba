//! The conversation that the record of a step keeps, opened again as its last request sent it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use uwf_store::{Hash, Store};

use super::AskError;
use crate::conversation::Conversation;
use crate::journal::Mark;
use crate::provider::message::{Kind, Message, Native, Speaker, ToolCall};

/// The messages of a record as its last request sent them; what was said before counts as the opening.
pub(super) fn recorded(store: &Store, detail: &Hash, record: &Value) -> Result<Vec<Message>, AskError> {
    let foreign = |why: String| AskError::Foreign { detail: *detail, why };
    let turns = record["messages"].as_array().ok_or_else(|| foreign("it keeps no messages".to_owned()))?;
    let mut conversation = Conversation::default();
    for turn in turns {
        let hash: Hash = turn
            .as_str()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| foreign(format!("{turn} is no message")))?;
        let turn: Turn = serde_json::from_value(store.get(&hash)?.payload)
            .map_err(|error| foreign(format!("{hash} is no message: {error}")))?;
        turn.go_on(&mut conversation);
    }
    Ok(conversation.messages().iter().cloned().map(before).collect())
}

/// A turn node, as far as a conversation needs it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Turn {
    role: Speaker,
    kind: Option<Value>,
    content: String,
    tool_calls: Option<Vec<Call>>,
    call_id: Option<String>,
    reasoning: Option<String>,
    native: Option<Native>,
}

#[derive(Deserialize)]
struct Call {
    id: String,
    name: String,
    args: String,
}

/// How the requests became shorter, in the content of a node of the kind `summed-up`.
#[derive(Deserialize)]
struct SummedUp {
    summary: String,
    kept: usize,
}

impl Turn {
    /// What the conversation was after it. A node of another kind than messages have tells how requests became shorter;
    /// one that cannot be read is passed over, since it is nothing that was said.
    fn go_on(self, conversation: &mut Conversation) {
        let kind = self.kind.clone().unwrap_or_else(|| json!(Kind::Opening));
        if let Ok(kind) = serde_json::from_value(kind.clone()) {
            let message = self.message(kind);
            if is_something(&message) {
                conversation.push(message);
            }
        } else if kind == "left-out" {
            let marks: BTreeMap<String, String> = serde_json::from_str(&self.content).unwrap_or_default();
            let mark = |(call_id, text)| Mark { call_id, text };
            conversation.leave_out(&marks.into_iter().map(mark).collect::<Vec<_>>());
        } else if kind == "summed-up"
            && let Ok(SummedUp { summary, kept }) = serde_json::from_str(&self.content)
        {
            conversation.sum_up(Message::text(Speaker::User, Kind::Recap, summary), kept);
        }
    }

    fn message(self, kind: Kind) -> Message {
        let call = |call: Call| ToolCall { id: call.id, name: call.name, arguments: call.args };
        Message {
            role: self.role,
            kind,
            content: self.content,
            tool_calls: self.tool_calls.unwrap_or_default().into_iter().map(call).collect(),
            tool_call_id: self.call_id,
            reasoning: self.reasoning,
            native: self.native,
        }
    }
}

/// A message as what was said before the question: it opens the conversation, and counts for nothing else.
pub(super) fn before(message: Message) -> Message {
    // The tools are others than when it was said, and they stand before everything.
    let native = message.native.map(|native| Native { prefix_changed: true, ..native });
    Message { kind: Kind::Opening, native, ..message }
}

/// Empty turns are on record, but no endpoint takes them back.
pub(super) fn is_something(message: &Message) -> bool {
    message.role == Speaker::Tool || !message.says_nothing()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(role: &str, kind: &str, content: &str) -> Turn {
        serde_json::from_value(json!({"role": role, "kind": kind, "content": content})).unwrap()
    }

    fn calls(id: &str) -> Turn {
        let calls = json!([{"id": id, "name": "grep", "args": "{}"}]);
        let turn = json!({"role": "assistant", "kind": "turn", "content": "", "toolCalls": calls});
        serde_json::from_value(turn).unwrap()
    }

    fn result(id: &str, content: &str) -> Turn {
        Turn { call_id: Some(id.to_owned()), ..turn("tool", "result", content) }
    }

    fn after(turns: Vec<Turn>) -> Conversation {
        let mut conversation = Conversation::default();
        let opening = [turn("system", "opening", "rules"), turn("user", "opening", "task")];
        opening.into_iter().chain(turns).for_each(|turn| turn.go_on(&mut conversation));
        conversation
    }

    fn texts(conversation: &Conversation) -> Vec<&str> {
        conversation.messages().iter().map(|message| message.content.as_str()).collect()
    }

    #[test]
    fn what_is_no_part_of_the_conversation_is_not_sent() {
        let said = after(vec![
            turn("assistant", "turn", "No."),
            turn("system", "extract", "fields"),
            turn("user", "extract", "No."),
            turn("assistant", "extract", "{}"),
            turn("user", "unheard-of", "{}"),
            turn("user", "closing", "undone"),
        ]);
        assert_eq!(texts(&said), ["rules", "task", "No.", "undone"]);
        assert_eq!(said.check(), Ok(()));
    }

    #[test]
    fn what_was_left_out_and_summed_up_stays_so() {
        let said = after(vec![
            turn("assistant", "turn", "I look."),
            calls("a"),
            result("a", "long"),
            turn("user", "left-out", "{\"a\":\"[result]\"}"),
        ]);
        assert_eq!(texts(&said), ["rules", "task", "I look.", "", "[result]"]);
        let said = after(vec![
            turn("assistant", "turn", "I look."),
            calls("a"),
            result("a", "long"),
            turn("user", "summary", "sum up"),
            turn("assistant", "summary", "I looked."),
            turn("user", "summed-up", "{\"summary\":\"recap\",\"kept\":2}"),
        ]);
        assert_eq!(texts(&said), ["rules", "task", "recap", "", "long"]);
        assert_eq!(said.check(), Ok(()));
    }
}
