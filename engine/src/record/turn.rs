//! One message of the conversation of a run.

use std::collections::BTreeMap;
use std::io::Read;

use crate::builtin;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uwf_store::{Batch, Hash, Store, StoreError};

use super::lenient;

/// One message of a conversation, in the order in which it was said. Ours have a role, a content, a kind and a time.
/// Read it with [`Turn::of`]: plain deserialising refuses the whole for one field that is something else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Turn {
    /// Who speaks: `system`, `user`, `assistant` or `tool`.
    pub role: Option<String>,
    /// The text; `""` where nothing was said.
    pub content: Option<String>,
    /// Of a tool's turn that later requests leave out: a node with the content, and `content` is what they have in its
    /// place. [`Turn::read`] puts it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_ref: Option<Hash>,
    /// What the model wants run; none where it wants nothing.
    #[serde(deserialize_with = "lenient::records")]
    pub tool_calls: Option<Vec<RecordedCall>>,
    /// What the model thought aloud, where its endpoint tells.
    pub reasoning: Option<String>,
    /// The turn as its endpoint said it, where that is more than the fields above hold; its shape is the agent's.
    pub native: Value,
    /// Why it was said: `opening`, `turn`, `result`, `nudge` …, or how the requests became shorter here ([`LEFT_OUT`],
    /// [`SUMMED_UP`]).
    pub kind: Option<String>,
    /// Of a tool's turn: which call it answers.
    pub call_id: Option<String>,
    /// When it was complete, in milliseconds since the epoch.
    pub at: Option<u64>,
    /// How long the model or the tool took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Of a command: its exit code.
    pub exit_code: Option<i64>,
    /// Of a tool's turn: whether the call was not done, or its command did not end with exit code 0. Records of older
    /// versions have the exit code alone.
    pub failed: Option<bool>,
    /// Of a turn of the model: what it cost, where that was told.
    #[serde(deserialize_with = "lenient::record")]
    pub usage: Option<TokenUsage>,
    /// Call id → the full result, to be read by [`Store::blob`], where the content has less.
    pub outputs: BTreeMap<String, Hash>,
    /// Of a command: the workspace after it, a node of type `uwf-tree`; none where that was as before, or not captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Hash>,
}

/// A call of a tool, as the model asked for it. Read as a part of its turn, by [`Turn::of`]: plain deserialising is
/// strict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedCall {
    /// Unique within the conversation; not every agent keeps it.
    pub id: Option<String>,
    /// The tool.
    pub name: Option<String>,
    /// The arguments, as the JSON text that was sent.
    pub args: Option<String>,
}

/// Tokens of one turn of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// Sent, those read from and written to the endpoint's cache included.
    pub input_tokens: u64,
    /// Received, reasoning ones included.
    pub output_tokens: u64,
    /// Sent tokens that came from the endpoint's cache.
    pub cached_tokens: u64,
    /// Sent tokens that were written to the endpoint's cache.
    pub written_tokens: u64,
    /// Received tokens spent on reasoning.
    pub reasoning_tokens: u64,
    /// What the endpoint says that the turn cost, in USD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// What every node of a turn has, were it null; any other field only where it says something.
const REQUIRED: [&str; 6] = ["role", "content", "toolCalls", "reasoning", "kind", "at"];

/// The kind of a turn that says which results the requests leave out from here on; its content is [`Marks`] as JSON.
pub const LEFT_OUT: &str = "left-out";

/// The kind of a turn that says that the requests have a summary from here on; its content is [`SummedUp`] as JSON.
pub const SUMMED_UP: &str = "summed-up";

/// Call id → what is sent in the place of its result.
pub type Marks = BTreeMap<String, String>;

/// A summary in the place of what was said before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummedUp {
    /// The summary, as it is sent.
    pub summary: String,
    /// How many messages before the question for it were kept.
    pub kept: usize,
}

impl Turn {
    /// What a payload says as a turn, whoever wrote it.
    pub fn of(payload: Value) -> Turn {
        lenient::object(payload)
    }

    /// The turn at `hash`, as it was said.
    ///
    /// # Errors
    /// The node cannot be read, or the one that has its content.
    pub fn read(store: &Store, hash: &Hash) -> Result<Turn, StoreError> {
        let mut turn = Turn::of(store.get(hash)?.payload);
        if let Some(content) = turn.content_ref.take() {
            let mut text = String::new();
            store
                .blob(&content)?
                .read_to_string(&mut text)
                .map_err(|source| StoreError::Unread { source })?;
            turn.content = Some(text);
        }
        Ok(turn)
    }

    /// Adds it to what is to be stored.
    ///
    /// # Errors
    /// The node cannot be written, or lacks a field that a turn must have.
    pub fn put(&self, batch: &mut Batch<'_>) -> Result<Hash, StoreError> {
        let mut payload = json!(self);
        if let Value::Object(fields) = &mut payload {
            let is_said = |value: &Value| !value.is_null() && *value != json!({});
            fields.retain(|name, value| REQUIRED.contains(&name.as_str()) || is_said(value));
            let usage = fields.get_mut("usage").and_then(Value::as_object_mut);
            usage.into_iter().for_each(|usage| usage.retain(|_, tokens| *tokens != json!(0)));
        }
        batch.put(&builtin::UWF_TURN, &payload)
    }

    /// What the model wants run, if anything.
    pub fn calls(&self) -> &[RecordedCall] {
        self.tool_calls.as_deref().unwrap_or_default()
    }
}
