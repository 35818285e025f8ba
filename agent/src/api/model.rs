//! Who completes: an endpoint, a script, or code of the program.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;
use serde_json::{Map, Value};
use uwf_engine::catalogue::Prices;

use crate::additions::{OwnModel, OwnProvider, Replying};
use crate::provider::dialect::DialectSettings;
use crate::provider::message::{Completion, Request, TokenUsage, ToolCall};
use crate::provider::{EchoReasoning, IDLE, ProviderError, RetryPolicy, Script};
use crate::settings::{Endpoint, ProviderSettings};
use crate::usd::Usd;

/// Whoever completes for an [`Agent`](crate::Agent): made from an [`Endpoint`], a [`Script`], or by [`Provider::own`]
/// from a [`Model`].
#[derive(Clone, Debug)]
pub struct Provider {
    pub(crate) settings: ProviderSettings,
    pub(crate) prices: Option<Prices>,
}

impl Provider {
    /// A model that is code of this program.
    pub fn own(model: impl Model) -> Provider {
        Provider::of(ProviderSettings::Own(OwnProvider::Model(Arc::new(model))))
    }

    /// What its tokens cost, where that is known better than by the catalogue: a limit in money needs it.
    pub fn prices(self, prices: Option<Prices>) -> Provider {
        Provider { prices, ..self }
    }

    fn of(settings: ProviderSettings) -> Provider {
        Provider { settings, prices: None }
    }
}

impl From<Endpoint> for Provider {
    fn from(endpoint: Endpoint) -> Provider {
        Provider::of(ProviderSettings::Http(Box::new(endpoint)))
    }
}

impl From<Script> for Provider {
    /// Under `turns:` each run begins at the first entry; under `roles:` the role is called `agent`.
    fn from(script: Script) -> Provider {
        Provider::of(ProviderSettings::Own(OwnProvider::Script(script)))
    }
}

impl Endpoint {
    /// A model at an endpoint, with the defaults of the program: it streams, 120 s of silence end a stream, and what fails
    /// is tried five times within three minutes. `base_url` usually ends in `/v1`; which of the three wires (chat
    /// completions, responses, messages) is spoken follows from it, or from the endpoint's refusal of another.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Endpoint {
        Endpoint {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            key_from: None,
            wire: None,
            dialect: DialectSettings::default(),
            request_body: Map::new(),
            context_window: None,
            headers: std::collections::BTreeMap::new(),
            stream: true,
            echo_reasoning: EchoReasoning::Auto,
            idle: IDLE,
            retry: RetryPolicy::default(),
        }
    }

    /// The key, sent to the host of the base URL alone. It is in no record, and is taken out of what tools print.
    pub fn key(mut self, key: impl Into<String>) -> Endpoint {
        self.api_key = Some(SecretString::from(key.into().trim().to_owned()));
        self.key_from = Some("the program".to_owned());
        self
    }

    /// One more header of every request.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Endpoint {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// One more field of every request's body, put over those that are there.
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Endpoint {
        self.request_body.insert(name.into(), value.into());
        self
    }
}

/// A model that is code: a client that this crate has not, a cache before another model, a test's own words.
///
/// It runs on the thread of the run, in a tokio runtime of its own: its future need not be `Send`, and blocking in it
/// stops nobody else. What is over (the time, or the future of the run dropped) drops its future.
///
/// ```
/// use uwf_agent::{Agent, BoxError, Model, Provider, Reply, Request};
///
/// struct Echo;
///
/// impl Model for Echo {
///     async fn complete(&self, request: Request<'_>) -> Result<Reply, BoxError> {
///         let asked = &request.messages.last().ok_or("an empty conversation")?.content;
///         Ok(Reply::text(format!("---\n$status: done\nanswer: {}\n---\n", asked.len())))
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let run = Agent::new(Provider::own(Echo)).run::<usize>("How long is this?").await;
/// assert!(run.answer.unwrap() > 17);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait Model: Send + Sync + 'static {
    /// What reports and records call it.
    fn name(&self) -> &str {
        "own"
    }

    /// Says what comes next in a conversation.
    ///
    /// # Errors
    /// Why there is no reply, in words: it ends the run with [`FailedAt::Provider`](crate::FailedAt::Provider). What is worth
    /// another try is tried in here.
    fn complete(&self, request: Request<'_>) -> impl Future<Output = Result<Reply, BoxError>>;
}

/// Why own code failed, in its own words.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A turn of a [`Model`]: a text, or calls of tools, or both.
#[derive(Clone, Default)]
pub struct Reply {
    text: String,
    calls: Vec<ToolCall>,
    usage: Option<TokenUsage>,
}

impl Reply {
    /// A text: the answer, when no tool is called.
    pub fn text(text: impl Into<String>) -> Reply {
        Reply { text: text.into(), ..Reply::default() }
    }

    /// One more call of a tool; calls that only read run side by side.
    pub fn call(mut self, tool: &str, arguments: &Value) -> Reply {
        let (name, arguments) = (tool.to_owned(), arguments.to_string());
        self.calls.push(ToolCall { id: String::new(), name, arguments });
        self
    }

    /// The tokens it took, and what it cost where that is known: without a cost a limit in money cannot be kept.
    pub fn usage(mut self, usage: TokenUsage) -> Reply {
        // To the billionth, as what endpoints tell; what is no amount is none.
        let cost_usd = usage.cost_usd.filter(|dollars| dollars.is_finite() && *dollars >= 0.0);
        let cost_usd = cost_usd.map(|dollars| Usd::dollars(dollars).in_dollars());
        self.usage = Some(TokenUsage { cost_usd, ..usage });
        self
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("text", &self.text).field("calls", &self.calls).finish_non_exhaustive()
    }
}

impl<M: Model> OwnModel for M {
    fn name(&self) -> &str {
        Model::name(self)
    }

    fn complete<'a>(&'a self, request: Request<'a>) -> Replying<'a> {
        Box::pin(async move {
            let failed = |error: BoxError| ProviderError::Model {
                name: Model::name(self).to_owned(),
                reason: error.to_string(),
            };
            let Reply { text, calls, usage } = Model::complete(self, request).await.map_err(failed)?;
            Ok(Completion {
                content: text,
                reasoning: None,
                tool_calls: calls,
                finish_reason: None,
                usage,
                native: None,
                raw: Value::Null,
            })
        })
    }
}
