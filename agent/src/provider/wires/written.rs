//! The messages of the last request, as they were written.
//!
//! Apart because all wires keep them: a long conversation differs from the last one at its end alone, and is compared
//! much faster than it is written.

use serde_json::value::RawValue;

use super::RequestTarget;
use crate::provider::dialect::Dialect;
use crate::provider::message::{Message, ModelOrigin};
use crate::provider::model_facts::ModelFacts;

/// One message as JSON texts: a chat message, some items of Responses, some blocks of Messages.
pub(in crate::provider) type WrittenParts = Vec<Box<RawValue>>;

/// The messages of the last request, written.
#[derive(Debug, Default)]
pub(in crate::provider) struct Written {
    messages: Vec<Message>,
    parts: Vec<WrittenParts>,
    /// Whom they were written for.
    target: Option<(ModelOrigin, Dialect, ModelFacts)>,
}

impl Written {
    /// These messages, each as `write` writes it for the target.
    pub(in crate::provider) fn of(
        &mut self,
        messages: &[Message],
        target: &RequestTarget<'_>,
        write: impl Fn(&Message) -> WrittenParts,
    ) -> &[WrittenParts] {
        let same = |(origin, dialect, model): &(ModelOrigin, Dialect, ModelFacts)| {
            (origin, dialect, model) == (target.origin, target.dialect, target.model)
        };
        if !self.target.as_ref().is_some_and(same) {
            *self = Written {
                target: Some((target.origin.clone(), target.dialect.clone(), *target.model)),
                ..Written::default()
            };
        }
        let kept = self.messages.iter().zip(messages).take_while(|(was, is)| was == is).count();
        self.messages.truncate(kept);
        self.parts.truncate(kept);
        for message in &messages[kept..] {
            self.parts.push(write(message));
            self.messages.push(message.clone());
        }
        &self.parts
    }
}
