//! The conversation that the record of a step keeps, opened again as its last request sent it.

use serde_json::json;
use uwf_engine::record::{self, Detail, LEFT_OUT, Listed, Marks, SUMMED_UP, SummedUp, Turn};
use uwf_store::{Hash, Store};

use super::AskError;
use crate::conversation::Conversation;
use crate::journal::Mark;
use crate::provider::message::{Kind, Message, Native, Speaker, ToolCall};

/// The messages of a record as its last request sent them; what was said before counts as the opening.
pub(super) fn recorded(store: &Store, hash: &Hash, detail: &Detail) -> Result<Vec<Message>, AskError> {
    let foreign = |why: String| AskError::Foreign { detail: *hash, why };
    let turns = detail.messages.as_ref().ok_or_else(|| foreign("it keeps no messages".to_owned()))?;
    let mut conversation = Conversation::default();
    for turn in turns {
        let hash = match turn {
            Listed::Turn(hash) => hash,
            Listed::Other(other) => return Err(foreign(format!("{other} is no message"))),
        };
        go_on(Turn::read(store, hash)?, &mut conversation)
            .map_err(|why| foreign(format!("{hash} is no message: {why}")))?;
    }
    Ok(conversation.messages().iter().cloned().map(before).collect())
}

/// What the conversation was after a turn. One of another kind than messages have tells how requests became shorter; one
/// that cannot be read is passed over, since it is nothing that was said.
///
/// # Errors
/// What is no message, in words.
fn go_on(turn: Turn, conversation: &mut Conversation) -> Result<(), String> {
    let kind = turn.kind.clone().unwrap_or_else(|| Kind::Opening.as_str().to_owned());
    let content = turn.content.clone().unwrap_or_default();
    let message = message(turn, serde_json::from_value(json!(kind)).ok())?;
    if let Some(message) = message {
        if is_something(&message) {
            conversation.push(message);
        }
    } else if kind == LEFT_OUT {
        let marks: Marks = serde_json::from_str(&content).unwrap_or_default();
        let mark = |(call_id, text)| Mark { call_id, text };
        conversation.leave_out(&marks.into_iter().map(mark).collect::<Vec<_>>());
    } else if kind == SUMMED_UP
        && let Ok(SummedUp { summary, kept }) = serde_json::from_str(&content)
    {
        conversation.sum_up(Message::text(Speaker::User, Kind::Recap, summary), kept);
    }
    Ok(())
}

/// The turn as a message of that kind, if it is one of a message.
fn message(turn: Turn, kind: Option<Kind>) -> Result<Option<Message>, String> {
    let tool_calls =
        turn.calls().iter().map(call).collect::<Option<_>>().ok_or("a call has no id, name or args")?;
    let role = serde_json::from_value(json!(turn.role)).map_err(|error| format!("its role: {error}"))?;
    let native = serde_json::from_value(turn.native).map_err(|error| format!("its native part: {error}"))?;
    let content = turn.content.ok_or("it has no content")?;
    let (tool_call_id, reasoning) = (turn.call_id, turn.reasoning);
    Ok(kind.map(|kind| Message { role, kind, content, tool_calls, tool_call_id, reasoning, native }))
}

fn call(call: &record::ToolCall) -> Option<ToolCall> {
    let record::ToolCall { id, name, args } = call.clone();
    Some(ToolCall { id: id?, name: name?, arguments: args? })
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
    use serde_json::Value;

    use super::*;

    fn turn(role: &str, kind: &str, content: &str) -> Turn {
        Turn::of(json!({"role": role, "kind": kind, "content": content}))
    }

    fn calls(id: &str) -> Turn {
        let calls = json!([{"id": id, "name": "grep", "args": "{}"}]);
        Turn::of(json!({"role": "assistant", "kind": "turn", "content": "", "toolCalls": calls}))
    }

    fn result(id: &str, content: &str) -> Turn {
        Turn { call_id: Some(id.to_owned()), ..turn("tool", "result", content) }
    }

    fn after(turns: Vec<Turn>) -> Conversation {
        let mut conversation = Conversation::default();
        let opening = [turn("system", "opening", "rules"), turn("user", "opening", "task")];
        opening.into_iter().chain(turns).for_each(|turn| go_on(turn, &mut conversation).unwrap());
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

    #[test]
    fn a_turn_of_another_agent_is_no_message() {
        let said = |turn: Value| go_on(Turn::of(turn), &mut Conversation::default());
        assert_eq!(said(json!({"role": "user", "content": "Go."})), Ok(()));
        for (turn, why) in [
            (json!("a text"), "its role: "),
            (json!({"role": "developer", "content": "Go."}), "its role: unknown variant `developer`"),
            (json!({"role": "user"}), "it has no content"),
            (
                json!({"role": "user", "content": "", "toolCalls": [{"name": "x", "args": "{}"}]}),
                "a call has no id",
            ),
            (json!({"role": "user", "content": "", "native": "x"}), "its native part: "),
        ] {
            let told = said(turn.clone()).unwrap_err();
            assert!(told.starts_with(why), "{turn}: {told}");
        }
    }
}
