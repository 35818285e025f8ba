//! `task.yaml`: from its text to checked values, or everything that is wrong with it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use uwf_workflow::yaml;

use super::error::Problem;
use super::judges::{self, JudgeSpec};
use super::reader::{Reader, Section};
use super::{Limits, MOCK, place};

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
}
