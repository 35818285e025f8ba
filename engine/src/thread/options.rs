//! The options that were chosen for a thread: kept beside it, so that whoever goes on with it need not type them again.
//!
//! The variable `@uwf/options/<thread>` names a node of a type of its own, which a store gets with the first of them. What is
//! kept is what agents may be told in public: no key is among it, and [`ThreadOptions::check`] refuses a base URL that holds
//! one. What comes with a thread from elsewhere is data of somebody else: [`ThreadOptions::from_elsewhere`] takes nothing
//! of it that names a program or an endpoint, weakens a sandbox or raises a limit.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_store::schema::builtin::META_SCHEMA;
use uwf_store::{Expect, Hash, Store, VarChange};

use super::{ThreadError, ThreadId, decode, links};
use crate::spawn::protocol::{AgentCommand, SANDBOX};
use crate::variables::OPTIONS;

/// The type of the node. It is part of no store before the first one.
pub const UWF_OPTIONS: Hash = Hash::from_static("7MXVMXMH16QMS");

/// The strictest sandbox, which whoever a thread comes from may ask for.
const STRICT: &str = "strict";

/// What was chosen for a thread; what is not there is as it is configured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadOptions {
    /// Who plays, where nobody else is named for a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentCommand>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// A script in the place of a model; absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mock: Option<String>,
    /// What the behaviours of the script are drawn from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mock_seed: Option<u64>,
    /// How much of a sandbox: `strict`, `best-effort` or `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// USD that a visit may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// Completions of a visit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u64>,
    /// Whether commands may use the network.
    #[serde(skip_serializing_if = "is_false")]
    pub allow_network: bool,
    /// The hosts that pages may be fetched from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_hosts: Option<Vec<String>>,
    /// How much the model is to reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The tools that are offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The MCP servers that every role has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Vec<String>>,
    /// Whether the workspace is not captured.
    #[serde(skip_serializing_if = "is_false")]
    pub no_snapshots: bool,
    /// How often one role may play.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl ThreadOptions {
    /// Whether nothing was chosen.
    pub fn is_empty(&self) -> bool {
        *self == ThreadOptions::default()
    }

    /// These options where they say something, else `kept`.
    #[must_use]
    pub fn over(self, mut kept: ThreadOptions) -> ThreadOptions {
        // A script stands for a model: whoever names one has done with the other.
        if self.model.is_some() || self.base_url.is_some() {
            (kept.mock, kept.mock_seed) = (None, None);
        } else if self.mock.is_some() {
            (kept.model, kept.base_url) = (None, None);
        }
        ThreadOptions {
            agent: self.agent.or(kept.agent),
            model: self.model.or(kept.model),
            base_url: self.base_url.or(kept.base_url),
            mock: self.mock.or(kept.mock),
            mock_seed: self.mock_seed.or(kept.mock_seed),
            sandbox: self.sandbox.or(kept.sandbox),
            max_cost: self.max_cost.or(kept.max_cost),
            max_turns: self.max_turns.or(kept.max_turns),
            allow_network: self.allow_network || kept.allow_network,
            fetch_hosts: self.fetch_hosts.or(kept.fetch_hosts),
            reasoning_effort: self.reasoning_effort.or(kept.reasoning_effort),
            temperature: self.temperature.or(kept.temperature),
            tools: self.tools.or(kept.tools),
            mcp_servers: self.mcp_servers.or(kept.mcp_servers),
            no_snapshots: self.no_snapshots || kept.no_snapshots,
            max_rounds: self.max_rounds.or(kept.max_rounds),
        }
    }

    /// Whether both name the same program and endpoint, and have the same sandbox.
    fn trusts_like(&self, other: &ThreadOptions) -> bool {
        let trusted = |of: &ThreadOptions| {
            let reached = (of.allow_network, of.fetch_hosts.clone(), of.mcp_servers.clone());
            (of.agent.clone(), of.base_url.clone(), of.mock.clone(), of.sandbox.clone(), reached)
        };
        trusted(self) == trusted(other)
    }

    /// Whether they may be kept.
    ///
    /// # Errors
    /// [`ThreadError::SecretUrl`] for a base URL with a password, or with anything behind a `?`.
    pub fn check(&self) -> Result<(), ThreadError> {
        let Some(url) = &self.base_url else { return Ok(()) };
        let authority = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        match authority.contains('@') || url.contains('?') {
            true => Err(ThreadError::SecretUrl),
            false => Ok(()),
        }
    }

    /// What of these may be taken over with a thread that somebody else has made, and the names of what may not.
    pub fn from_elsewhere(self) -> (ThreadOptions, Vec<&'static str>) {
        let weaker = self.sandbox.as_deref().is_some_and(|level| level != STRICT);
        let no_rounds = self.max_rounds == Some(0);
        let left = [
            ("agent", self.agent.is_some()),
            ("model", self.model.is_some()),
            ("baseUrl", self.base_url.is_some()),
            ("mock", self.mock.is_some()),
            ("mockSeed", self.mock_seed.is_some()),
            ("sandbox", weaker),
            ("maxCost", self.max_cost.is_some()),
            ("maxTurns", self.max_turns.is_some()),
            ("allowNetwork", self.allow_network),
            ("fetchHosts", self.fetch_hosts.is_some()),
            ("tools", self.tools.is_some()),
            ("mcpServers", self.mcp_servers.is_some()),
            ("noSnapshots", self.no_snapshots),
            ("maxRounds", no_rounds),
        ];
        let left = left.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect();
        let taken = ThreadOptions {
            sandbox: self.sandbox.filter(|_| !weaker),
            max_rounds: self.max_rounds.filter(|_| !no_rounds),
            reasoning_effort: self.reasoning_effort,
            temperature: self.temperature,
            ..ThreadOptions::default()
        };
        (taken, left)
    }

    /// The options as `uwf-builtin` takes them.
    pub fn to_builtin_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        let mut option = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                args.extend([name.to_owned(), value]);
            }
        };
        option("--model", self.model.clone());
        option("--base-url", self.base_url.clone());
        option("--mock", self.mock.clone());
        option("--mock-seed", self.mock_seed.map(|seed| seed.to_string()));
        option("--max-cost", self.max_cost.map(|usd| usd.to_string()));
        option("--max-turns", self.max_turns.map(|turns| turns.to_string()));
        option("--reasoning-effort", self.reasoning_effort.clone());
        option("--temperature", self.temperature.map(|temperature| temperature.to_string()));
        for host in self.fetch_hosts.iter().flatten() {
            option("--fetch-host", Some(host.clone()));
        }
        option("--tools", self.tools.as_ref().map(|tools| tools.join(",")));
        option("--mcp", self.mcp_servers.as_ref().map(|servers| servers.join(",")));
        let flags = [("--allow-network", self.allow_network), ("--no-snapshots", self.no_snapshots)];
        args.extend(flags.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.to_owned()));
        args
    }

    /// The options as `uwf adapt` takes them; the model where it is meant for this agent.
    pub fn to_adapter_args(&self, with_model: bool) -> Vec<String> {
        let model = self.model.as_deref().filter(|_| with_model);
        let named = [("--model", model), ("--sandbox", self.sandbox.as_deref())];
        let set = named.into_iter().filter_map(|(name, value)| Some([name, value?]));
        set.flatten().map(str::to_owned).collect()
    }

    /// The options as agents that are not `uwf-builtin` may know them.
    pub fn to_env(&self) -> Vec<(&'static str, &str)> {
        let named = [("UWF_MODEL", &self.model), ("UWF_BASE_URL", &self.base_url), (SANDBOX, &self.sandbox)];
        named.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect()
    }

    /// The names of the options that only `uwf-builtin` knows.
    pub fn of_builtin_alone(&self) -> Vec<&'static str> {
        let all = [
            ("--mock", self.mock.is_some()),
            ("--mock-seed", self.mock_seed.is_some()),
            ("--max-cost", self.max_cost.is_some()),
            ("--max-turns", self.max_turns.is_some()),
            ("--allow-network", self.allow_network),
            ("--fetch-host", self.fetch_hosts.is_some()),
            ("--reasoning-effort", self.reasoning_effort.is_some()),
            ("--temperature", self.temperature.is_some()),
            ("--tools", self.tools.is_some()),
            ("--mcp", self.mcp_servers.is_some()),
            ("--no-snapshots", self.no_snapshots),
        ];
        all.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
    }
}

/// The variable of a thread's options.
pub(crate) fn variable(thread: &ThreadId) -> String {
    format!("{OPTIONS}{thread}")
}

/// What was chosen for a thread; nothing where nothing was.
///
/// # Errors
/// The variable or its node cannot be read, or the node is none of options.
pub fn options(store: &Store, thread: &ThreadId) -> Result<ThreadOptions, ThreadError> {
    match store.vars().get(&variable(thread))? {
        Some(kept) => read(store, &kept.value),
        None => Ok(ThreadOptions::default()),
    }
}

/// The options in a node.
pub(crate) fn read(store: &Store, hash: &Hash) -> Result<ThreadOptions, ThreadError> {
    decode(hash, store.get(hash)?)
}

/// Keeps what was chosen for a thread, in the place of what was before.
///
/// # Errors
/// [`ThreadError::SecretUrl`]; or the node or the variable cannot be written.
pub fn keep_options(store: &Store, thread: &ThreadId, options: &ThreadOptions) -> Result<(), ThreadError> {
    match options_change(store, thread, options)? {
        Some(change) => Ok(store.vars().apply(&[change])?),
        None => Ok(()),
    }
}

/// The change that keeps what was chosen for a thread, whose node is stored; none where it is kept so already.
///
/// # Errors
/// [`ThreadError::SecretUrl`]; or the variable cannot be read, or the node not be written.
pub fn options_change(
    store: &Store,
    thread: &ThreadId,
    options: &ThreadOptions,
) -> Result<Option<VarChange>, ThreadError> {
    let name = variable(thread);
    let kept = store.vars().get(&name)?;
    if options.is_empty() {
        return Ok(kept.map(|_| VarChange::Remove { name }));
    }
    let value = put(store, options)?;
    let change =
        VarChange::Set { name, schema: UWF_OPTIONS, value, tags: BTreeMap::new(), expect: Expect::Any };
    Ok(Some(change).filter(|_| kept.is_none_or(|kept| kept.value != value)))
}

/// The node of options that may be kept.
pub(crate) fn put(store: &Store, options: &ThreadOptions) -> Result<Hash, ThreadError> {
    options.check()?;
    store.put(&META_SCHEMA, &schema())?;
    let payload = serde_json::to_value(options).expect("options are texts, numbers and flags");
    Ok(store.put(&UWF_OPTIONS, &payload)?)
}

/// What was chosen for a node that may be of several threads, a step of their chains or their start: what the youngest of
/// them has that something was chosen for. Unless all of them name the same program and endpoint and have the same sandbox,
/// only what [`ThreadOptions::from_elsewhere`] takes.
///
/// # Errors
/// The variables cannot be listed, or the options cannot be read. A thread that cannot be read is passed over.
pub fn options_of_node(store: &Store, node: &Hash) -> Result<ThreadOptions, ThreadError> {
    let is_its = |thread: &ThreadId| has(store, thread, node).unwrap_or(false);
    let mut threads: Vec<ThreadId> = store
        .vars()
        .list(OPTIONS)?
        .iter()
        .filter_map(|found| found.name.strip_prefix(OPTIONS)?.parse().ok())
        .collect();
    threads.sort_by_key(|thread| Reverse((thread.time_ms(), *thread)));
    let Some(youngest) = threads.into_iter().find(is_its) else { return Ok(ThreadOptions::default()) };
    let chosen = options(store, &youngest)?;
    if chosen.trusts_like(&ThreadOptions::default()) {
        return Ok(chosen);
    }
    for entry in super::entries(store) {
        let other = entry?.thread;
        if is_its(&other) && !options(store, &other).is_ok_and(|other| other.trusts_like(&chosen)) {
            return Ok(chosen.from_elsewhere().0);
        }
    }
    Ok(chosen)
}

/// Whether a node is of a thread.
fn has(store: &Store, thread: &ThreadId, node: &Hash) -> Result<bool, ThreadError> {
    let head = super::head(store, thread)?;
    let start = head.start_hash();
    if start == *node {
        return Ok(true);
    }
    // A node of another start costs no walk.
    if super::step_node(store, node).map(|step| step.start).ok() != Some(start) {
        return Ok(false);
    }
    let mut found = false;
    links(store, &head.hash, &mut |link| found |= link.hash == *node)?;
    Ok(found)
}

fn schema() -> Value {
    serde_json::from_str(include_str!("options/schema.json")).expect("the file is part of this program")
}

#[cfg(test)]
#[path = "options/tests.rs"]
mod tests;
