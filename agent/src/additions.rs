//! What a program adds to a run that the command lines have not: a model, tools and a check of its own.
//!
//! Apart because settings, loop and answer each take one of these, and none of them needs to know whose it is. All of it
//! may go to the thread of a run.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

use crate::own_tool::OwnTool;
use crate::provider::message::{Completion, Request};
use crate::provider::sent::LastSent;
use crate::provider::{ChatProvider, Completing, CompletionEvent, EventSink, ProviderError, Script};

/// What is added; nothing by default.
#[derive(Clone, Default)]
pub(crate) struct Additions {
    /// Looks at an answer that obeys its schema; what it finds wrong goes back to the model.
    pub check: Option<OutputCheck>,
    /// Tools beside the built-in ones.
    pub tools: Vec<Arc<dyn OwnTool>>,
    /// Whether there is no directory that the run is about.
    pub placeless: bool,
}

/// What is wrong with an output that obeys its schema.
pub(crate) type OutputCheck = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

impl fmt::Debug for Additions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checks = self.check.is_some();
        f.debug_struct("Additions").field("checks", &checks).field("placeless", &self.placeless).finish()
    }
}

/// A provider that no file names.
#[derive(Clone)]
pub enum OwnProvider {
    /// A script that is already read.
    Script(Script),
    /// Code of the program.
    Model(Arc<dyn OwnModel>),
}

/// The completion to come, of a model that is code.
pub(crate) type Replying<'a> = Pin<Box<dyn Future<Output = Result<Completion, ProviderError>> + 'a>>;

/// A model that is code.
pub trait OwnModel: Send + Sync {
    /// What records call it.
    fn name(&self) -> &str;

    /// Asks for the next turn.
    fn complete<'a>(&'a self, request: Request<'a>) -> Replying<'a>;
}

impl OwnProvider {
    /// What records and errors call it.
    pub(crate) fn name(&self) -> &str {
        match self {
            OwnProvider::Script(script) => script.name(),
            OwnProvider::Model(model) => model.name(),
        }
    }
}

impl fmt::Debug for OwnProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnProvider").field(&self.name()).finish()
    }
}

/// A model that is code, as the loop asks one.
pub(crate) struct OwnModelProvider {
    model: Arc<dyn OwnModel>,
    last_sent: LastSent,
}

impl OwnModelProvider {
    pub(crate) fn new(model: Arc<dyn OwnModel>) -> OwnModelProvider {
        OwnModelProvider { model, last_sent: LastSent::default() }
    }
}

impl ChatProvider for OwnModelProvider {
    fn complete<'a>(&'a mut self, request: Request<'a>, on_event: EventSink<'a>) -> Completing<'a> {
        Box::pin(async move {
            on_event(CompletionEvent::Sent(&self.last_sent.next_neutral(&request)));
            let mut completion = self.model.complete(request).await?;
            crate::provider::message::make_ids_unique(&mut completion.tool_calls, request.messages);
            if !completion.content.is_empty() {
                on_event(CompletionEvent::Text(&completion.content));
            }
            Ok(completion)
        })
    }
}
