//! What the fuzz targets and the benchmark call: each check is of what must hold for any input, and panics when it
//! does not.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use uwf_engine::builtin;
use uwf_store::schema;

use crate::conversation::Conversation;
use crate::frontmatter;
use crate::provider::CompletionEvent;
use crate::provider::attempt_error::AttemptError;
use crate::provider::http::read_body;
use crate::provider::message::{Completion, Message, MessageKind, Request, Sampling, Speaker, ToolChoice};
use crate::provider::wire::Wire;

/// The client without its network, made once.
pub struct Reader {
    wire: Wire,
    runtime: Runtime,
}

impl Reader {
    /// A reader of what endpoints send on a wire: `chat`, `responses` or `messages`.
    ///
    /// # Panics
    /// When there is no such wire.
    pub fn new(wire: &str) -> Reader {
        let wire = wire.parse().expect("there is such a wire");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        Reader { wire, runtime: runtime.expect("a runtime can be made") }
    }

    fn read(&self, pieces: Vec<Bytes>) -> (Result<Completion, AttemptError>, String) {
        let messages = [Message::text(Speaker::User, MessageKind::Opening, "Look.")];
        let sampling = Sampling::default();
        let tool_choice = ToolChoice::Auto;
        let request =
            Request { messages: &messages, tools: &[], tool_choice, model: "m", sampling: &sampling };
        let mut heard = String::new();
        let mut progress = |progress: CompletionEvent<'_>| {
            if let CompletionEvent::Text(text) = progress {
                heard.push_str(text);
            }
        };
        let result = self.runtime.block_on(read_body(self.wire, pieces, &request, &mut progress));
        (result, heard)
    }

    /// The length of the text in a body that is whole: what the benchmark measures.
    ///
    /// # Panics
    /// When the body is no completion.
    pub fn length(&self, pieces: Vec<Bytes>) -> usize {
        self.read(pieces).0.expect("the body is whole").content.len()
    }

    /// Whatever a body holds, it is a completion that can stand in a conversation, or an error that says something.
    ///
    /// # Panics
    /// When it is neither.
    pub fn reply(&self, body: &[u8]) {
        let (result, heard) = self.read(vec![Bytes::copy_from_slice(body)]);
        match result {
            Err(error) => assert!(!error.to_string().trim().is_empty()),
            Ok(completion) => {
                // An item of Responses that comes whole counts for more than the pieces that were told of it.
                let is_told = heard.is_empty() || heard == completion.content;
                assert!(is_told || self.wire == Wire::Responses, "what was told is what was said");
                let native = completion.native.as_ref().map(|native| native.value.as_str());
                assert!(native.is_none_or(|value| serde_json::from_str::<Value>(value).is_ok()));
                assert!(completion.reasoning.as_deref() != Some(""));
                stands_in_a_conversation(completion);
            }
        }
    }

    /// Where the network cuts a body changes nothing.
    ///
    /// # Panics
    /// When it does.
    pub fn events(&self, pieces: &[Vec<u8>]) {
        let cut = self.read(pieces.iter().map(|piece| Bytes::copy_from_slice(piece)).collect());
        let bytes: Vec<u8> = pieces.concat();
        assert_eq!(cut, self.read(vec![Bytes::from(bytes)]));
    }
}

fn stands_in_a_conversation(completion: Completion) {
    let ids: BTreeSet<&str> = completion.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), completion.tool_calls.len());
    assert!(completion.tool_calls.iter().all(|call| !call.name.is_empty() && !call.arguments.is_empty()));
    let results: Vec<Message> =
        completion.tool_calls.iter().map(|call| Message::result(&call.id, "done")).collect();
    let Completion { content, reasoning, tool_calls, .. } = completion;
    // The loop does not repeat what is empty to the endpoint.
    if content.trim().is_empty() && tool_calls.is_empty() {
        return;
    }
    let mut conversation = Conversation::default();
    conversation.push(Message::text(Speaker::System, MessageKind::Opening, "Rules."));
    conversation.push(Message::text(Speaker::User, MessageKind::Opening, "Look."));
    conversation.push(Message {
        reasoning,
        tool_calls,
        ..Message::text(Speaker::Assistant, MessageKind::Turn, content)
    });
    results.into_iter().for_each(|result| conversation.push(result));
    conversation.push(Message::text(Speaker::User, MessageKind::Nudge, "Go on."));
    conversation.check().expect("it can be sent");
}

/// Whatever a text is, it is an answer that obeys the schema, or refused with words.
///
/// # Panics
/// When it is neither.
pub fn frontmatter(text: &str) {
    let schema = schema_of_a_role();
    // Any hash but that of SuspendOutput will do.
    match frontmatter::extract(text, &schema, builtin::START_NODE) {
        Err(error) => assert!(!error.to_string().trim().is_empty()),
        Ok(answer) if answer.schema == builtin::SUSPEND_OUTPUT => {
            assert_eq!(answer.output["$status"], "$SUSPEND");
        }
        Ok(answer) => {
            assert_eq!(schema::validate(&schema, &answer.output).expect("the schema is one"), []);
            assert!(answer.output["$status"].is_string());
        }
    }
}

fn schema_of_a_role() -> Value {
    let files = json!({"type": "array", "items": {"type": "string"}});
    json!({
        "type": "object",
        "required": ["$status"],
        "properties": {
            "$status": {"enum": ["done", "failed"]}, "files": files, "count": {"type": "integer"}, "note": {"type": "string"},
        },
    })
}
