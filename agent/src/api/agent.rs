//! What an agent is: whom it asks, what it may do, what it may spend. Nothing runs here.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use uwf_engine::Homes;
use uwf_store::{Clock, Store};

use super::error::AgentError;
use super::model::Provider;
use super::tool::{self, Declared, Tool};
use super::workspace::Workspace;
use crate::additions::{Additions, OutputCheck};
use crate::budget::Limits;
use crate::own_tool::OwnTool;
use crate::provider::message::Sampling;
use crate::settings::{Endpoint, Settings};

/// An agent: a model with instructions, tools and limits. It is a value; [`Agent::run`] may be called as often as wanted,
/// also side by side.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use uwf_agent::{Agent, Limits, Script};
///
/// #[derive(Debug, Deserialize, JsonSchema)]
/// struct Invoice {
///     /// As printed
///     number: String,
///     cents: u64,
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let script = "turns: [{content: \"---\\n$status: done\\nnumber: A-7\\ncents: 1250\\n---\\nDone.\"}]";
/// let agent = Agent::new(Script::parse("demo", script)?)
///     .instructions("You read invoices.")
///     .limits(Limits { turns: 5, ..Limits::default() });
/// let run = agent.run::<Invoice>("Extract: Invoice A-7, total 12.50").await;
/// assert_eq!(run.answer?.cents, 1250);
/// assert_eq!((run.report.turns, run.text.as_str()), (1, "Done."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Agent {
    provider: Provider,
    extractor: Option<Endpoint>,
    instructions: String,
    sampling: Sampling,
    limits: Limits,
    tools: Vec<Arc<dyn OwnTool>>,
    pub(super) workspace: Option<Workspace>,
    pub(super) record: Option<(Store, Homes)>,
    pub(super) clock: Clock,
    pub(super) on_event: Option<OnEvent>,
}

/// Who is told what happens.
pub(super) type OnEvent = Arc<dyn Fn(&str) + Send + Sync>;

impl Agent {
    /// An agent without tools, under the limits of the program ([`Limits::default`]: 60 turns, one hour).
    pub fn new(provider: impl Into<Provider>) -> Agent {
        Agent {
            provider: provider.into(),
            extractor: None,
            instructions: String::new(),
            sampling: Sampling::default(),
            limits: Limits::default(),
            tools: Vec::new(),
            workspace: None,
            record: None,
            clock: system_clock,
            on_event: None,
        }
    }

    /// Who it is and what it is to achieve: a part of the system message. How to answer is said there anyway.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Agent {
        self.instructions = instructions.into();
        self
    }

    /// What a run may spend. It is told when a limit comes near, and has one turn without tools to answer once it is
    /// reached; then it fails with [`FailedAt::Budget`](crate::FailedAt::Budget).
    pub fn limits(mut self, limits: Limits) -> Agent {
        self.limits = limits;
        self
    }

    /// How the model samples; nothing is sent of what is not set.
    pub fn sampling(mut self, sampling: Sampling) -> Agent {
        self.sampling = sampling;
        self
    }

    /// The built-in tools, in a directory.
    pub fn workspace(mut self, workspace: Workspace) -> Agent {
        self.workspace = Some(workspace);
        self
    }

    /// One more tool, of the program's own.
    pub fn tool(mut self, tool: impl Tool) -> Agent {
        self.tools.push(Arc::new(Declared::new(tool)));
        self
    }

    /// Another model, which is asked for the fields when no correction led to an answer: once, for a JSON object.
    pub fn extractor(mut self, endpoint: Endpoint) -> Agent {
        self.extractor = Some(endpoint);
        self
    }

    /// Keeps every run as a thread in this store, and its journal below `homes.uwf`: `uwf thread show` and the other
    /// commands know them, and one that was cut off goes on by [`Agent::resume`]. Without it a run leaves nothing behind
    /// but its [`Report`](crate::Report).
    pub fn record(mut self, store: &Store, homes: &Homes) -> Agent {
        self.record = Some((store.clone(), homes.clone()));
        self
    }

    /// The time, in ms since the epoch, for journals and records; the system's unless it is given here.
    pub fn clock(mut self, clock: Clock) -> Agent {
        self.clock = clock;
        self
    }

    /// Is called with each line of [`events`](crate::runtime::events) while a run goes on, on the thread of the run: JSON, with its
    /// end of line.
    pub fn on_event(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Agent {
        self.on_event = Some(Arc::new(tell));
        self
    }

    /// What the loop works with.
    pub(super) fn settings(&self, check: Option<OutputCheck>) -> Result<Settings, AgentError> {
        let workspace = self.workspace.as_ref();
        let declared: Vec<_> = self.tools.iter().map(|tool| tool.declaration()).collect();
        tool::check(&declared)?;
        let added = Additions { check, tools: self.tools.clone(), placeless: workspace.is_none() };
        let Provider { settings: provider, prices } = self.provider.clone();
        let mut settings = Settings::in_code((provider, prices), self.limits, added)?;
        (settings.extract, settings.sampling) = (self.extractor.clone(), self.sampling.clone());
        if let Some(workspace) = workspace {
            settings.tools = Some(workspace.tools.clone());
            settings.sandbox = workspace.sandbox.clone();
            // Nobody could look at those of a run that leaves nothing behind.
            settings.snapshots.enabled = workspace.snapshots && self.record.is_some();
        }
        Ok(settings)
    }

    pub(super) fn words(&self) -> &str {
        &self.instructions
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("provider", &self.provider)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The default of [`Agent::clock`].
#[expect(
    clippy::disallowed_methods,
    reason = "a program that gives no clock means this one, and the docs say so"
)]
fn system_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
