//! Mock scripts: what a scripted model says, turn by turn. One format, played in process by `mock` and over HTTP by
//! the mock server.
//!
//! ```yaml
//! turns:                         # one entry a model call; or: roles: {reviewer: [{turns: […]}, …]}, one a visit
//!   - tool_calls: [{name: read_file, arguments: {path: README.md}}]
//!     expect: {last_contains: "Review"}
//!   - error: {status: 429, retry_after: 1}
//!   - content: "---\n$status: done\n---\nFine."
//! ```
//!
//! Apart because two players share it. Reading (`read`) names every problem at once; `behaviours` draws one of several ways that
//! a visit may go; `expect` checks a request; `schema`
//! tells editors what a file may hold; `servers` are MCP servers that a script plays beside the model. Nothing here waits, talks or counts calls: where a player stands in a script is the
//! player's business.

mod behaviours;
mod expect;
mod pages;
mod read;
mod schema;
mod servers;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

pub(crate) use expect::ScriptExpectation;
pub(crate) use pages::ScriptedPage;
#[cfg(test)]
pub(crate) use servers::ScriptedResult;
pub(crate) use servers::{ScriptedServers, ScriptedTool};

use serde_json::{Map, Value, json};

use self::behaviours::{Behaviour, choose};
use super::ProviderError;
use super::api_error::{self, ApiError};
use super::attempt_error::AttemptError;
use super::message::{Completion, Request, TokenUsage, ToolCall};
use super::retry::asked_wait;
use super::wires::chat::reply;

/// A script, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The file, for errors.
    name: String,
    plan: ScriptPlan,
    /// The MCP servers that it plays.
    servers: ScriptedServers,
    /// `fetch:` the pages of the web, by their URLs.
    pages: BTreeMap<String, ScriptedPage>,
    /// What behaviours are drawn from.
    seed: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum ScriptPlan {
    /// `turns:` one entry a model call.
    Turns(Vec<ScriptEntry>),
    /// `roles:` the visits of each role; never without one.
    Roles(BTreeMap<String, Vec<ScriptVisit>>),
    /// `steps:` the answer of each step of the thread.
    Steps(Vec<ScriptStep>),
}

/// What a role may do in one visit, and one way at least.
type ScriptVisit = Vec<Behaviour>;

#[derive(Clone, Debug, PartialEq)]
struct ScriptStep {
    role: String,
    entry: ScriptEntry,
}

/// What the model does in one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ScriptEntry {
    /// Where it stands in the script, for errors: `turns[0]`.
    pub(crate) at: String,
    pub(crate) content: Option<String>,
    pub(crate) tool_calls: Vec<ScriptedCall>,
    pub(crate) reasoning: Option<String>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) usage: TokenUsage,
    pub(crate) expect: ScriptExpectation,
    /// A failure instead of an answer.
    pub(crate) error: Option<ScriptedError>,
    pub(crate) ending: BodyEnding,
    /// The connection is reset instead of a reply.
    pub(crate) reset: bool,
    /// How long the endpoint is silent before it answers.
    pub(crate) delay: Duration,
    /// The reply's body as it is, instead of a completion.
    pub(crate) body: Option<String>,
}

/// How the body of a reply ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BodyEnding {
    #[default]
    Whole,
    /// The connection is closed after this many bytes,
    Cut(u64),
    /// or stays open, and nothing more comes.
    Silence(u64),
}

/// A tool call the model makes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScriptedCall {
    /// Given, else numbered by where it stands in the script.
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// An error the endpoint answers with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScriptedError {
    /// 200: the error comes inside a reply.
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) message: String,
    pub(crate) code: Option<String>,
    /// Further headers of the reply, their names in lower case: `retry-after` as a date, `retry-after-ms` …
    pub(crate) headers: BTreeMap<String, String>,
}

/// Where a run stands in its thread: it selects the entries that are meant for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScriptPosition<'a> {
    /// The role that runs.
    pub role: &'a str,
    /// How many earlier steps of the chain are of this role.
    pub visit: usize,
    /// How many steps the chain has.
    pub step: usize,
    /// What the role is asked for, where that is known.
    pub prompt: Option<&'a str>,
}

/// What a script has for one run of a role.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ScriptPart<'s> {
    /// The behaviour that was drawn, where there are several.
    pub behaviour: Option<&'s str>,
    /// The entries, in order.
    pub entries: &'s [ScriptEntry],
}

impl Script {
    /// Reads the script at `path`, JSON or YAML.
    ///
    /// # Errors
    /// [`ProviderError::Script`] names everything that is wrong, each with its place in the script.
    pub fn load(path: &Path) -> Result<Script, ProviderError> {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Script::parse(&name, &text),
            Err(error) => {
                Err(ProviderError::Script { script: name, reason: format!("cannot be read: {error}") })
            }
        }
    }

    /// Reads a script from its text; `name` is what errors call it.
    ///
    /// # Errors
    /// As [`Script::load`].
    pub fn parse(name: &str, text: &str) -> Result<Script, ProviderError> {
        let read = read::script(text);
        let (plan, pages, servers) =
            read.map_err(|reason| ProviderError::Script { script: name.to_owned(), reason })?;
        Ok(Script { name: name.to_owned(), plan, pages, servers, seed: 0 })
    }

    /// The same script with another seed than 0, which behaviours are drawn from.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Script {
        Script { seed, ..self }
    }

    /// What its behaviours are drawn from.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// What `fetch_url` finds, by URL.
    pub(crate) fn pages(&self) -> &BTreeMap<String, ScriptedPage> {
        &self.pages
    }

    /// The MCP servers that it plays.
    pub(crate) fn servers(&self) -> &ScriptedServers {
        &self.servers
    }

    /// What errors call it: the file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What is for one run of a role.
    pub(crate) fn visit(&self, position: &ScriptPosition<'_>) -> Result<ScriptPart<'_>, ProviderError> {
        let entries = match &self.plan {
            ScriptPlan::Turns(turns) => turns.as_slice(),
            ScriptPlan::Roles(roles) => {
                let visits = roles.get(position.role).ok_or_else(|| self.no_role(position.role))?;
                return self.drawn(visits, (position.role, position.visit), position.prompt);
            }
            ScriptPlan::Steps(steps) => {
                let step = steps.get(position.step).ok_or_else(|| self.past_end(steps.len(), "step"))?;
                self.same_role(step, position.role)?;
                std::slice::from_ref(&step.entry)
            }
        };
        Ok(ScriptPart { behaviour: None, entries })
    }

    /// What a role does in that visit of it.
    fn drawn<'s>(
        &self,
        visits: &'s [ScriptVisit],
        (role, visit): (&str, usize),
        prompt: Option<&str>,
    ) -> Result<ScriptPart<'s>, ProviderError> {
        let behaviours = &visits[visit.min(visits.len() - 1)];
        let drawn = choose(behaviours, (self.seed, role, visit), prompt).ok_or_else(|| {
            let prompt = prompt.unwrap_or_default();
            self.error(format!("has no behaviour for role {role} whose `when` is in its prompt: {prompt:?}"))
        })?;
        Ok(ScriptPart { behaviour: drawn.name.as_deref(), entries: &drawn.turns })
    }

    /// The entry for the request that arrives as number `index` (from 0): of all requests, or under `roles:` of
    /// those of `role`, whose visits follow one another and whose last visit repeats.
    pub(crate) fn arrival(&self, role: Option<&str>, index: usize) -> Result<&ScriptEntry, ProviderError> {
        match &self.plan {
            ScriptPlan::Turns(turns) => turns.get(index).ok_or_else(|| self.past_end(turns.len(), "call")),
            ScriptPlan::Roles(roles) => {
                let role =
                    role.ok_or_else(|| self.error("has `roles:`, and the request names no role".into()))?;
                let visits = roles.get(role).ok_or_else(|| self.no_role(role))?;
                self.arrival_of(visits, role, index)
            }
            ScriptPlan::Steps(steps) => {
                let step = steps.get(index).ok_or_else(|| self.past_end(steps.len(), "step"))?;
                role.map_or(Ok(()), |role| self.same_role(step, role))?;
                Ok(&step.entry)
            }
        }
    }

    /// The same of the requests of one role. Who draws a behaviour by what a role was asked for must know where a visit begins.
    fn arrival_of<'s>(
        &self,
        visits: &'s [ScriptVisit],
        role: &str,
        mut index: usize,
    ) -> Result<&'s ScriptEntry, ProviderError> {
        if visits.iter().flatten().any(|behaviour| !behaviour.when.is_empty()) {
            return Err(self.error(format!(
                "has behaviours of role {role} with `when`, and a request does not tell what its visit is asked for"
            )));
        }
        let mut visit = 0;
        loop {
            let entries = self.drawn(visits, (role, visit), None)?.entries;
            if let Some(entry) = entries.get(index) {
                return Ok(entry);
            }
            (index, visit) = (index - entries.len(), visit + 1);
        }
    }

    /// Whether requests are counted role by role.
    pub(crate) fn counts_by_role(&self) -> bool {
        matches!(self.plan, ScriptPlan::Roles(_))
    }

    /// Whether an entry is all that its run has to say: whoever sends its answer back gets it again.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self.plan, ScriptPlan::Steps(_))
    }

    /// A [`ProviderError::Script`] of this script.
    pub(crate) fn error(&self, reason: String) -> ProviderError {
        ProviderError::Script { script: self.name.clone(), reason }
    }

    /// The script ended: it has only so many entries.
    pub(crate) fn past_end(&self, entries: usize, asked: &str) -> ProviderError {
        let noun = if entries == 1 { "entry" } else { "entries" };
        self.error(format!("has {entries} {noun}, and one more {asked} came"))
    }

    fn no_role(&self, role: &str) -> ProviderError {
        let ScriptPlan::Roles(roles) = &self.plan else {
            return self.error(format!("has nothing for role {role}"));
        };
        let known: Vec<&str> = roles.keys().map(String::as_str).collect();
        self.error(format!("has nothing for role {role}, only for {}", known.join(", ")))
    }

    fn same_role(&self, step: &ScriptStep, role: &str) -> Result<(), ProviderError> {
        if step.role == role {
            return Ok(());
        }
        Err(self.error(format!("{} is for role {}, and {role} came", step.entry.at, step.role)))
    }
}

impl ScriptEntry {
    /// Whether the request is what the entry expects; `Err` names the entry and what it misses.
    pub(crate) fn check(&self, request: &Request<'_>) -> Result<(), String> {
        self.expect.check(request).map_err(|reason| format!("{} {reason}", self.at))
    }

    /// The completion of an entry without faults, played as number `index` (from 0).
    pub(crate) fn completion(&self, index: usize, model: &str) -> Completion {
        let named = |(n, call): (usize, &ScriptedCall)| ToolCall {
            // Nine alphanumeric characters: the strictest rule among endpoints.
            id: call.id.clone().unwrap_or_else(|| format!("m{index:04}{n:04}")),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        };
        let stop = if self.tool_calls.is_empty() { "stop" } else { "tool_calls" };
        let mut completion = Completion {
            content: self.content.clone().unwrap_or_default(),
            reasoning: self.reasoning.clone(),
            tool_calls: self.tool_calls.iter().enumerate().map(named).collect(),
            finish_reason: Some(self.finish_reason.clone().unwrap_or_else(|| stop.to_owned())),
            usage: Some(self.usage),
            ..Completion::default()
        };
        completion.raw = reply::body(head(index, model), &completion);
        completion
    }
}

/// The fields of a scripted reply as a whole; nothing in them changes from run to run.
pub(crate) fn head(index: usize, model: &str) -> Map<String, Value> {
    let fields = [("id", json!(format!("mock-{index}"))), ("created", json!(0)), ("model", json!(model))];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

impl ScriptedError {
    /// The same failure as an endpoint's; its words are those of `body`, where there is one.
    pub(crate) fn attempt_error(&self, body: Option<&str>) -> AttemptError {
        let scripted = || ApiError { code: self.code.clone(), ..ApiError::words(self.message.clone()) };
        let api_error = body.map_or_else(scripted, api_error::of_body);
        let header = |name: &str| self.headers.get(name).map(String::as_str);
        let asked = || asked_wait(header);
        match self.status {
            200 => AttemptError::in_band(api_error),
            status => {
                let retry_after = self.retry_after.or_else(asked);
                AttemptError::Status { status, api_error: Box::new(api_error), retry_after }
            }
        }
    }
}

#[cfg(test)]
mod tests;
