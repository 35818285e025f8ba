//! `hallucination`: what answers claim, looked up in the record: files that are or were there, commands that ran, numbers that
//! stand in what somebody was told.
//!
//! Steps of agents that keep no record of what they did are passed over: nothing could be looked up.

use std::path::Path;

use uwf_snapshot::find;

use super::claims::{Claim, claims};
use super::seen::SeenStep;
use super::words::{has_number, squeezed};
use super::{Bench, Said, Silent};
use crate::EvalError;
use crate::record::{Hallucination, StepClaims};

pub(super) fn judge(bench: &Bench<'_>) -> Result<Said, Silent> {
    let mut found = Hallucination::default();
    let mut known =
        Known { commands: Vec::new(), results: Vec::new(), texts: vec![bench.subject.prompt.to_owned()] };
    for step in &bench.seen.steps {
        known.learn(step);
        if step.turns.is_empty() {
            continue;
        }
        let claimed = claims(step.answer.as_deref().unwrap_or_default());
        if claimed.is_empty() {
            continue;
        }
        let mut hallucinations = Vec::new();
        for claim in &claimed {
            if !known.holds(bench, claim)? {
                hallucinations.push(told(claim));
            }
        }
        let score = 1.0 - hallucinations.len() as f64 / claimed.len() as f64;
        let (role, checked) = (step.role.clone(), claimed.len() as u64);
        found.per_step.push(StepClaims { role, hallucinations, score, checked });
    }
    let score = match found.per_step.len() {
        0 => 1.0,
        count => found.per_step.iter().map(|step| step.score).sum::<f64>() / count as f64,
    };
    Ok(Said::of(score, bench.keep(&bench.records.hallucination, &found)?))
}

/// What can be known at a step.
struct Known {
    /// The calls of tools, as JSON of their arguments with single blanks.
    commands: Vec<String>,
    /// What tools answered.
    results: Vec<String>,
    /// What else was told: prompts, arguments of tools.
    texts: Vec<String>,
}

impl Known {
    fn learn(&mut self, step: &SeenStep) {
        self.texts.push(step.asked.clone());
        self.results.extend(step.results().map(str::to_owned));
        for (_, args) in step.calls() {
            let command = serde_json::from_str::<serde_json::Value>(args).ok();
            let command = command.and_then(|args| Some(args.get("command")?.as_str()?.to_owned()));
            self.commands.extend(command.map(|command| squeezed(&command)));
            self.texts.push(args.to_owned());
        }
        // What a tool was told in an opening message, of earlier steps too.
        let opening = step.turns.iter().filter(|turn| turn.role.as_deref() == Some("user"));
        self.texts.extend(opening.filter_map(|turn| turn.content.clone()));
    }

    fn holds(&self, bench: &Bench<'_>, claim: &Claim) -> Result<bool, EvalError> {
        Ok(match claim {
            Claim::Command(command) => {
                let command = squeezed(command);
                self.commands.iter().any(|ran| ran.contains(&command))
            }
            // What tools said counts; where none were used, what was told.
            Claim::Count(number, _) => {
                let told = if self.results.is_empty() { &self.texts } else { &self.results };
                told.iter().any(|text| has_number(text, number))
            }
            Claim::Path(path) => {
                let trees = [bench.subject.after, bench.subject.before];
                for tree in trees {
                    if find(bench.store, &tree, Path::new(path))?.is_some() {
                        return Ok(true);
                    }
                }
                is_in(bench.subject.workspace, path)
                    || self.results.iter().chain(&self.texts).any(|text| text.contains(path))
            }
        })
    }
}

/// Whether there is such a file in a workspace, of which a snapshot has not all; never outside of it.
fn is_in(workspace: &Path, path: &str) -> bool {
    let inside = Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    inside && workspace.join(path).symlink_metadata().is_ok()
}

fn told(claim: &Claim) -> String {
    match claim {
        Claim::Path(path) => format!("no file {path}"),
        Claim::Command(command) => format!("never ran: {command}"),
        Claim::Count(number, of) => format!("nothing says {number} {of}"),
    }
}
