//! `hallucination`: what answers claim, looked up in the record: files that are or were there, commands that ran, numbers that
//! stand in what somebody was told. What cannot be looked up is asked of a model, where the task names one.
//!
//! Steps of agents that keep no record of what they did are passed over: nothing could be looked up.

mod asked;

use std::path::Path;

use uwf_snapshot::find;

use self::asked::Asked;
use super::claims::{Claim, claims, statements};
use super::seen::SeenStep;
use super::words::{has_number, squeezed};
use super::{Bench, Said, Silent};
use crate::EvalError;
use crate::record::{ClaimByModel, Hallucination, StepClaims};
use crate::task::ClaimsModel;

pub(super) fn judge(bench: &Bench<'_>, model: Option<&ClaimsModel>) -> Result<Said, Silent> {
    if bench.seen.steps.is_empty() {
        return Err(Silent::Nothing);
    }
    let mut asked = model.map(|model| Asked::new(bench, model)).transpose()?;
    let mut found = Hallucination::default();
    let mut known =
        Known { commands: Vec::new(), results: Vec::new(), texts: vec![bench.subject.prompt.to_owned()] };
    for step in &bench.seen.steps {
        known.learn(step);
        if step.turns.is_empty() {
            continue;
        }
        let answer = step.answer.as_deref().unwrap_or_default();
        let mut checked = Checked::default();
        for claim in &claims(answer) {
            checked.look_up(claim, known.holds(bench, claim)?);
        }
        if let Some(asked) = &mut asked {
            checked.ask(asked, step, answer)?;
        }
        found.per_step.extend(checked.told(step));
    }
    // Of a step where nobody could tell nothing is known.
    let scores: Vec<f64> =
        found.per_step.iter().filter(|step| step.checked > 0).map(|step| step.score).collect();
    let score = if scores.is_empty() { 1.0 } else { scores.iter().sum::<f64>() / scores.len() as f64 };
    let cost_usd = asked.and_then(|asked| asked.cost);
    let data = bench.keep(&bench.records.hallucination, &found).map_err(|silent| silent.paid(cost_usd))?;
    Ok(Said { cost_usd, ..Said::of(score, data) })
}

/// What became of the claims of a step.
#[derive(Default)]
struct Checked {
    /// How many were looked up, or judged by a model that could tell.
    count: u64,
    hallucinations: Vec<String>,
    /// Files that are not there, by the words for them.
    missing: Vec<String>,
    /// What the record does not have, though it might come to that: counts.
    open: Vec<String>,
    by_model: Vec<ClaimByModel>,
}

impl Checked {
    fn look_up(&mut self, claim: &Claim, holds: bool) {
        self.count += 1;
        if holds {
            return;
        }
        match claim {
            Claim::Path(path) => self.missing.push(path.clone()),
            Claim::Count(number, of) => self.open.push(format!("{number} {of}")),
            Claim::Command(_) => {}
        }
        self.hallucinations.push(told(claim));
    }

    /// Asks about what the record neither confirms nor refutes. A count that a model finds in it, as a sum perhaps, holds.
    fn ask(&mut self, asked: &mut Asked<'_>, step: &SeenStep, answer: &str) -> Result<(), Silent> {
        let is_refuted = |text: &String| self.missing.iter().any(|path| text.contains(path.as_str()));
        let stated = statements(answer).into_iter().filter(|text| !is_refuted(text));
        let questions: Vec<String> = self.open.iter().cloned().chain(stated).collect();
        if questions.is_empty() {
            return Ok(());
        }
        self.by_model = asked.judge(step, &questions)?;
        for (at, verdict) in self.by_model.iter().enumerate() {
            match (self.open.get(at), verdict.holds.as_str()) {
                (Some(count), "yes") => {
                    let words = nothing_says(count);
                    self.hallucinations.retain(|told| *told != words);
                }
                (None, "yes") => self.count += 1,
                (None, "no") => {
                    self.count += 1;
                    self.hallucinations.push(format!("not so: {}", verdict.claim));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn told(self, step: &SeenStep) -> Option<StepClaims> {
        let Checked { count, hallucinations, by_model, .. } = self;
        if count == 0 && by_model.is_empty() {
            return None;
        }
        let score = if count == 0 { 1.0 } else { 1.0 - hallucinations.len() as f64 / count as f64 };
        Some(StepClaims { role: step.role.clone(), hallucinations, score, checked: count, by_model })
    }
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
        Claim::Count(number, of) => nothing_says(&format!("{number} {of}")),
    }
}

fn nothing_says(count: &str) -> String {
    format!("nothing says {count}")
}
