//! Who judges a task's cases: built in, a script of the task, or a model with a rubric.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use uwf_store::schema;

use super::place;
use super::reader::{Reader, Section};

/// A judge of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeSpec {
    /// Its name.
    pub name: String,
    /// Its part of the score; 0 is informational.
    pub weight: f64,
    /// What it is.
    pub kind: JudgeKind,
    /// What its data must be like, where that is said.
    pub schema: Option<Value>,
}

/// What judges.
#[derive(Clone, Debug, PartialEq)]
pub enum JudgeKind {
    /// One that comes with the program.
    Builtin(Builtin),
    /// A script of the task.
    Script {
        /// The file; absolute.
        entry: PathBuf,
        /// How long it may take.
        timeout: Duration,
    },
    /// A model.
    Model {
        /// Its name.
        model: String,
        /// What it goes by.
        rubric: String,
        /// How often it is asked.
        votes: u32,
        /// What its votes may cost together, in USD.
        max_cost: Option<f64>,
    },
}

/// The judges that come with the program.
#[derive(Clone, Debug, PartialEq)]
pub enum Builtin {
    /// The part of the steps whose first answer was valid.
    FrontmatterCompliance,
    /// The part of what roles were given that they used.
    UpstreamConsumption,
    /// The part of what answers claim that holds: looked up in the record, then asked of a model where one is named.
    Hallucination {
        /// Who is asked about what cannot be looked up.
        model: Option<ClaimsModel>,
    },
    /// What the steps used; informational.
    TokenStats,
    /// What the thread cost.
    Cost {
        /// In USD; what costs more scores less.
        budget: Option<f64>,
    },
    /// How many lines were changed.
    DiffSize {
        /// Lines; what changes more scores less.
        budget: Option<f64>,
    },
    /// Whether a command succeeds in the workspace.
    Tests {
        /// For a shell.
        command: String,
        /// How long it may take.
        timeout: Duration,
    },
}

/// A model that is asked about claims which the record neither confirms nor refutes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimsModel {
    /// Its name.
    pub model: String,
    /// What it may cost for a case, in USD.
    pub max_cost: Option<f64>,
}

/// The names of the judges that come with the program.
pub const BUILTINS: [&str; 7] = [
    "frontmatter-compliance",
    "upstream-consumption",
    "hallucination",
    "token-stats",
    "cost",
    "diff-size",
    "tests",
];

const KEYS: &[&str] = &[
    "name",
    "weight",
    "builtin",
    "entry",
    "schema",
    "timeoutSeconds",
    "model",
    "rubric",
    "votes",
    "maxCost",
    "budget",
    "command",
];

/// How long a script may take where it is not said.
const TIMEOUT: Duration = Duration::from_secs(300);
/// No script may take longer, in seconds.
const LONGEST: f64 = 24.0 * 3600.0;
/// The format of a text that is the hash of a node, and so an edge of the store.
const REFERENCE: &str = "ocas_ref";
/// No model is asked more often for one case.
const MOST_VOTES: f64 = 25.0;

/// Reads the judges.
pub(super) fn read<'d>(reader: &mut Reader<'d>, top: &Section<'d>) -> Vec<JudgeSpec> {
    let mut judges: Vec<JudgeSpec> = Vec::new();
    let (items, mut all_read) = (reader.items(top, "judges"), true);
    for (item, pointer) in items {
        let Some(section) = reader.section(item, pointer, "a judge", KEYS) else {
            all_read = false;
            continue;
        };
        let Some(judge) = judge(reader, &section) else {
            all_read = false;
            continue;
        };
        if judges.iter().any(|other| other.name == judge.name) {
            reader.problem(&section.below("name"), format!("there are two judges called `{}`", judge.name));
        }
        judges.push(judge);
    }
    if all_read && top.has("judges") && judges.iter().all(|judge| judge.weight == 0.0) {
        let message = "no judge has a weight: the cases would have no score".to_owned();
        reader.problem_at_key(&top.below("judges"), message);
    }
    judges
}

fn judge(reader: &mut Reader<'_>, of: &Section<'_>) -> Option<JudgeSpec> {
    let name = reader.name(of, "a judge");
    let weight =
        if of.has("weight") { reader.number(of, "weight", |weight| weight >= 0.0) } else { Some(1.0) };
    let is_builtin = reader.flag(of, "builtin").unwrap_or(false);
    // One that is built in may ask a model, too.
    let given = [is_builtin, of.has("entry"), of.has("model") && !is_builtin];
    let kind = match given {
        [true, false, false] => builtin(reader, of, name.as_deref()?),
        [false, true, false] => script(reader, of),
        [false, false, true] => model(reader, of),
        _ => {
            let message = "a judge has one of `builtin: true`, `entry` (a script) and `model`".to_owned();
            reader.problem(&of.pointer, message);
            None
        }
    };
    let schema = read_schema(reader, of);
    let (name, weight, kind) = (name?, weight?, kind?);
    let scores_nothing = match &kind {
        JudgeKind::Builtin(Builtin::TokenStats) => true,
        JudgeKind::Builtin(Builtin::Cost { budget } | Builtin::DiffSize { budget }) => budget.is_none(),
        _ => false,
    };
    if scores_nothing && weight > 0.0 {
        let budget = if name == "token-stats" { "" } else { ", or say its `budget`" };
        reader.problem(&of.below("weight"), format!("`{name}` gives no score: let its weight be 0{budget}"));
    }
    Some(JudgeSpec { name, weight, kind, schema })
}

fn builtin(reader: &mut Reader<'_>, of: &Section<'_>, name: &str) -> Option<JudgeKind> {
    let (allowed, kind): (&[&str], _) = match name {
        "frontmatter-compliance" => (&[], Builtin::FrontmatterCompliance),
        "upstream-consumption" => (&[], Builtin::UpstreamConsumption),
        "hallucination" => {
            (&["model", "maxCost"], Builtin::Hallucination { model: claims_model(reader, of) })
        }
        "token-stats" => (&[], Builtin::TokenStats),
        "cost" => (&["budget"], Builtin::Cost { budget: reader.number(of, "budget", |usd| usd > 0.0) }),
        "diff-size" => {
            (&["budget"], Builtin::DiffSize { budget: reader.number(of, "budget", |lines| lines > 0.0) })
        }
        "tests" => {
            let command = reader.required_text(of, "command")?;
            (&["command", "timeoutSeconds"], Builtin::Tests { command, timeout: timeout(reader, of) })
        }
        other => {
            let known = uwf_store::suggest::sorted(other, BUILTINS).join(", ");
            reader.problem(&of.below("name"), format!("no judge `{other}` is built in; there is: {known}"));
            return None;
        }
    };
    others(reader, of, &[&["name", "weight", "builtin"], allowed].concat());
    Some(JudgeKind::Builtin(kind))
}

fn claims_model(reader: &mut Reader<'_>, of: &Section<'_>) -> Option<ClaimsModel> {
    let max_cost = reader.number(of, "maxCost", |usd| usd >= 0.0);
    if of.has("maxCost") && !of.has("model") {
        let message = "`maxCost` says nothing without a `model`, which it is for".to_owned();
        reader.problem_at_key(&of.below("maxCost"), message);
    }
    let model = of.has("model").then(|| reader.required_text(of, "model")).flatten()?;
    Some(ClaimsModel { model, max_cost })
}

fn script(reader: &mut Reader<'_>, of: &Section<'_>) -> Option<JudgeKind> {
    others(reader, of, &["name", "weight", "builtin", "entry", "schema", "timeoutSeconds"]);
    let (named, timeout) = (reader.required_text(of, "entry")?, timeout(reader, of));
    match place::program(reader.dir, &named) {
        Ok(entry) => Some(JudgeKind::Script { entry, timeout }),
        Err(why) => {
            reader.problem(&of.below("entry"), why);
            None
        }
    }
}

fn model(reader: &mut Reader<'_>, of: &Section<'_>) -> Option<JudgeKind> {
    others(reader, of, &["name", "weight", "builtin", "model", "rubric", "schema", "votes", "maxCost"]);
    let (model, rubric) = (reader.required_text(of, "model"), reader.required_text(of, "rubric"));
    let is_count = |votes: f64| (1.0..=MOST_VOTES).contains(&votes) && votes.fract() == 0.0;
    let votes = reader.number(of, "votes", is_count).map_or(1, |votes| votes as u32);
    let max_cost = reader.number(of, "maxCost", |usd| usd >= 0.0);
    Some(JudgeKind::Model { model: model?, rubric: rubric?, votes, max_cost })
}

fn timeout(reader: &mut Reader<'_>, of: &Section<'_>) -> Duration {
    let seconds = reader.number(of, "timeoutSeconds", |seconds| seconds > 0.0 && seconds <= LONGEST);
    seconds.map_or(TIMEOUT, Duration::from_secs_f64)
}

/// Keys that other kinds of judges have.
fn others(reader: &mut Reader<'_>, of: &Section<'_>, allowed: &[&str]) {
    for key in KEYS.iter().filter(|key| of.has(key) && !allowed.contains(key)) {
        reader.problem_at_key(&of.below(key), format!("`{key}` says nothing for a judge of this kind"));
    }
}

fn read_schema(reader: &mut Reader<'_>, of: &Section<'_>) -> Option<Value> {
    let named = reader.text(of, "schema")?;
    let read = place::file(reader.dir, &named).and_then(|file| {
        let text = place::read_text(&file).map_err(|error| format!("`{named}` cannot be read: {error}"))?;
        let mut value: Value =
            serde_json::from_str(&text).map_err(|error| format!("`{named}` is no JSON: {error}"))?;
        // Which dialect it is says nothing to a store: there is one.
        if let Some(keywords) = value.as_object_mut() {
            keywords.remove("$schema");
        }
        schema::check(&value).map_err(|error| format!("`{named}` is no schema for data: {error}"))?;
        if refers(&value) {
            return Err(format!(
                "`{named}` has `format: ocas_ref`: what a judge finds cannot refer to nodes of the store"
            ));
        }
        Ok(value)
    });
    read.map_err(|why| reader.problem(&of.below("schema"), why)).ok()
}

/// Whether data of this schema may name nodes. Nobody looks whether these are there, and a store that lacks one is unsound.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(keywords) => {
            keywords.get("format").is_some_and(|format| format == REFERENCE) || keywords.values().any(refers)
        }
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}
