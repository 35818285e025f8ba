//! `task.yaml`: from its text to checked values, or everything that is wrong with it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use uwf_store::schema::pointer::escape;
use uwf_store::suggest;
use uwf_workflow::yaml::{self, Document, kind};

use super::error::Problem;
use super::judges::{self, JudgeSpec};
use super::{Limits, MOCK, place};
use crate::record::is_segment;

const TOP: &[&str] = &["name", "description", "workflow", "prompt", "limits", "judges", "mock"];
const LIMITS: &[&str] = &["maxSteps", "timeoutMinutes", "costUsd"];

/// No case makes more steps.
const MOST_STEPS: f64 = 10_000.0;
/// Or takes longer: a week, in minutes.
const LONGEST: f64 = 7.0 * 24.0 * 60.0;

/// What a task's file says.
pub(super) struct Read {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) workflow: Option<String>,
    pub(super) prompt: String,
    pub(super) limits: Limits,
    pub(super) judges: Vec<JudgeSpec>,
    pub(super) mock: Option<PathBuf>,
}

/// Reads a task's file; files that it names are looked for in `dir`.
///
/// # Errors
/// All problems, by line.
pub(super) fn task(text: &str, dir: &Path) -> Result<Read, Vec<Problem>> {
    let document =
        yaml::parse(text).map_err(|error| vec![Problem { line: error.line, message: error.message }])?;
    let mut reader = Reader { document: &document, dir, problems: Vec::new() };
    let read = reader.read();
    let mut problems = reader.problems;
    problems.sort_by_key(|problem| problem.line);
    match read {
        Some(read) if problems.is_empty() => Ok(read),
        _ => Err(problems),
    }
}

/// The document being read, and what is wrong with it.
pub(super) struct Reader<'d> {
    document: &'d Document,
    pub(super) dir: &'d Path,
    problems: Vec<Problem>,
}

/// A mapping of the document.
pub(super) struct Section<'d> {
    map: &'d Map<String, Value>,
    pub(super) pointer: String,
}

impl Section<'_> {
    pub(super) fn below(&self, key: &str) -> String {
        format!("{}/{}", self.pointer, escape(key))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }
}

impl<'d> Reader<'d> {
    fn read(&mut self) -> Option<Read> {
        let top = self.section(&self.document.value, String::new(), "a task", TOP)?;
        let name = self.name(&top, "the task");
        let prompt = self.required_text(&top, "prompt");
        let description = self.text(&top, "description").unwrap_or_default();
        let workflow = self.text(&top, "workflow").map(|named| self.workflow(&top, named));
        let limits = self.limits(&top);
        let judges = judges::read(self, &top);
        let mock = self.mock(&top);
        Some(Read { name: name?, description, workflow, prompt: prompt?, limits, judges, mock })
    }

    /// A workflow that is a file of the task, as its path; else the name it is.
    fn workflow(&mut self, top: &Section<'_>, named: String) -> String {
        let is_file = named.contains('/') || named.ends_with(".yaml") || named.ends_with(".yml");
        if !is_file {
            return named;
        }
        match place::file(self.dir, &named) {
            Ok(file) => file.display().to_string(),
            Err(why) => {
                self.problem(&top.below("workflow"), why);
                named
            }
        }
    }

    fn mock(&mut self, top: &Section<'_>) -> Option<PathBuf> {
        let Some(named) = self.text(top, "mock") else {
            return Some(self.dir.join(MOCK)).filter(|file| file.is_file());
        };
        place::file(self.dir, &named).map_err(|why| self.problem(&top.below("mock"), why)).ok()
    }

    fn limits(&mut self, top: &Section<'d>) -> Limits {
        let usual = Limits::default();
        let Some(value) = top.map.get("limits") else { return usual };
        let Some(limits) = self.section(value, top.below("limits"), "`limits`", LIMITS) else { return usual };
        let steps = self
            .number(&limits, "maxSteps", |steps| (1.0..=MOST_STEPS).contains(&steps) && steps.fract() == 0.0);
        let minutes = self.number(&limits, "timeoutMinutes", |minutes| minutes > 0.0 && minutes <= LONGEST);
        Limits {
            max_steps: steps.map_or(usual.max_steps, |steps| steps as u32),
            timeout: minutes.map_or(usual.timeout, |minutes| Duration::from_secs_f64(minutes * 60.0)),
            cost_usd: self.number(&limits, "costUsd", |usd| usd >= 0.0),
        }
    }

    /// A name that can stand in variables.
    pub(super) fn name(&mut self, of: &Section<'_>, what: &str) -> Option<String> {
        let name = self.required_text(of, "name")?;
        if is_segment(&name) {
            return Some(name);
        }
        let message = format!("{what} cannot be called `{name}`: letters, digits, `.`, `_` and `-` alone");
        self.problem(&of.below("name"), message);
        None
    }

    pub(super) fn items(&mut self, of: &Section<'d>, key: &str) -> Vec<(&'d Value, String)> {
        let pointer = of.below(key);
        match of.map.get(key) {
            None => {
                self.problem(&of.pointer, format!("`{key}` is missing"));
                Vec::new()
            }
            Some(Value::Array(items)) => {
                items.iter().enumerate().map(|(at, item)| (item, format!("{pointer}/{at}"))).collect()
            }
            Some(other) => {
                self.problem(&pointer, format!("`{key}` must be a list, got {}", kind(other)));
                Vec::new()
            }
        }
    }

    pub(super) fn section(
        &mut self,
        value: &'d Value,
        pointer: String,
        what: &str,
        known: &[&str],
    ) -> Option<Section<'d>> {
        let Value::Object(map) = value else {
            self.problem(&pointer, format!("{what} must be a mapping, got {}", kind(value)));
            return None;
        };
        let section = Section { map, pointer };
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let meant = match suggest::one(key, known) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("there is: {}", known.join(", ")),
            };
            self.problem_at_key(&section.below(key), format!("unknown key `{key}`: {meant}"));
        }
        Some(section)
    }

    pub(super) fn required_text(&mut self, of: &Section<'_>, key: &str) -> Option<String> {
        if !of.has(key) {
            self.problem(&of.pointer, format!("`{key}` is missing"));
            return None;
        }
        let text = self.text(of, key)?;
        if text.trim().is_empty() {
            self.problem(&of.below(key), format!("`{key}` is empty"));
            return None;
        }
        Some(text)
    }

    pub(super) fn text(&mut self, of: &Section<'_>, key: &str) -> Option<String> {
        match of.map.get(key)? {
            Value::String(text) => Some(text.clone()),
            other => {
                let quote = matches!(other, Value::Bool(_) | Value::Number(_));
                let quote = if quote { format!(": quote it: \"{other}\"") } else { String::new() };
                let message = format!("`{key}` must be text, got {}{quote}", kind(other));
                self.problem(&of.below(key), message);
                None
            }
        }
    }

    pub(super) fn flag(&mut self, of: &Section<'_>, key: &str) -> Option<bool> {
        match of.map.get(key)? {
            Value::Bool(flag) => Some(*flag),
            other => {
                let message = format!("`{key}` must be true or false, got {}", kind(other));
                self.problem(&of.below(key), message);
                None
            }
        }
    }

    /// A number that `is_good`.
    pub(super) fn number(
        &mut self,
        of: &Section<'_>,
        key: &str,
        is_good: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        let value = of.map.get(key)?;
        match value.as_f64() {
            Some(number) if number.is_finite() && is_good(number) => Some(number),
            Some(number) => {
                self.problem(&of.below(key), format!("`{key}` cannot be {number}"));
                None
            }
            None => {
                self.problem(&of.below(key), format!("`{key}` must be a number, got {}", kind(value)));
                None
            }
        }
    }

    pub(super) fn problem(&mut self, pointer: &str, message: String) {
        let line = self.document.at(pointer).line;
        self.problems.push(Problem { line, message });
    }

    pub(super) fn problem_at_key(&mut self, pointer: &str, message: String) {
        let line = self.document.at_key(pointer).line;
        self.problems.push(Problem { line, message });
    }
}
