//! The conversation that the record of a step keeps, opened again as its last request sent it: its nodes are read as the
//! entries that they were made of, and those are applied as they were when the run was live.

use serde_json::Value;
use uwf_engine::record::{Detail, Listed, Turn};
use uwf_store::{Hash, Store};

use super::AnswerError;
use crate::journal::{Entry, ToolFacts};
use crate::provider::message::{Message, MessageKind, Native, Speaker};
use crate::record::turns::{Elision, message_of};
use crate::run_state::RunState;

/// The messages of a record as its last request sent them; what was said before counts as the opening.
pub(super) fn messages(store: &Store, hash: &Hash, detail: &Detail) -> Result<Vec<Message>, AnswerError> {
    let foreign = |why: String| AnswerError::Foreign { detail: *hash, why };
    let turns = detail.messages.as_ref().ok_or_else(|| foreign("it keeps no messages".to_owned()))?;
    let mut state = RunState::default();
    for turn in turns {
        let hash = match turn {
            Listed::Turn(hash) => hash,
            Listed::Other(other) => return Err(foreign(format!("{other} is no message"))),
        };
        let entry =
            entry(Turn::read(store, hash)?).map_err(|why| foreign(format!("{hash} is no message: {why}")))?;
        let Some(entry) = entry else { continue };
        state.apply(&entry).map_err(|why| foreign(format!("{hash} cannot be where it is: {why}")))?;
    }
    Ok(state.conversation.messages().iter().cloned().map(before).collect())
}

/// The entry that a turn was made of, as far as a conversation needs it. One of another kind than messages have tells how
/// requests became shorter; one that cannot be read is passed over, since it is nothing that was said.
///
/// # Errors
/// What is no message, in words.
fn entry(turn: Turn) -> Result<Option<Entry>, String> {
    let (elision, at) = (Elision::of(&turn), 0);
    let message = message_of(turn)?;
    Ok(match elision {
        Some(Elision::LeftOut(marks)) => Some(Entry::Elided { marks, at }),
        Some(Elision::SummedUp { message, kept }) => Some(Entry::Summarised { message, kept, at }),
        None => message.and_then(|message| said(message, at)),
    })
}

/// The entry of a message; none where there is nothing in it.
fn said(message: Message, at: u64) -> Option<Entry> {
    match message.kind {
        MessageKind::Turn | MessageKind::Summary | MessageKind::Extract
            if message.role == Speaker::Assistant =>
        {
            let (duration_ms, usage, finish_reason, raw) = (0, None, None, Value::Null);
            Some(Entry::Answered { message, at, duration_ms, usage, finish_reason, raw })
        }
        // Whatever its kind, what a tool said answers its call.
        _ if message.role == Speaker::Tool && message.tool_call_id.is_some() => {
            Some(Entry::Finished { message, at, duration_ms: 0, facts: ToolFacts::default() })
        }
        _ => is_something(&message).then_some(Entry::Said { message, near: None, at }),
    }
}

/// A message as what was said before the question: it opens the conversation, and counts for nothing else.
pub(super) fn before(message: Message) -> Message {
    // The tools are others than when it was said, and they stand before everything.
    let native = message.native.map(|native| Native { prefix_changed: true, ..native });
    Message { kind: MessageKind::Opening, native, ..message }
}

/// Empty turns are on record, but no endpoint takes them back.
pub(super) fn is_something(message: &Message) -> bool {
    message.role == Speaker::Tool || !message.says_nothing()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conversation::Conversation;
    use crate::provider::any_order::RunFixture;
    use crate::react::{Notice, tests::scripts};

    #[test]
    fn what_is_opened_again_is_what_the_run_would_have_sent_next() {
        for (name, change, turns) in scripts() {
            let (fixture, mut live) = (RunFixture::new(), Vec::new());
            let mut on_notice = |notice: Notice<'_>| {
                if let Notice::Entry(_, state) = notice {
                    live = state.conversation.messages().iter().cloned().map(before).collect();
                }
            };
            let detail = fixture.run_with(&turns, &change, &mut on_notice).unwrap().detail_hash;
            let record = Detail::read(&fixture.store, &detail).unwrap();
            assert_eq!(messages(&fixture.store, &detail, &record).unwrap(), live, "{name}");
        }
    }

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
        let opening = [turn("system", "opening", "rules"), turn("user", "opening", "task")];
        let entries = opening.into_iter().chain(turns).filter_map(|turn| entry(turn).unwrap());
        RunState::default().after(&entries.collect::<Vec<_>>()).unwrap().conversation
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
        let said = |turn: Value| entry(Turn::of(turn)).map(|_| ());
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
