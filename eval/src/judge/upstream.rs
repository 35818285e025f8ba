//! `upstream-consumption`: what roles were given by the step before, and whether what they said or did shows it.
//!
//! Given are the fields of that step's output that stand in what the role was asked for; where none does, all of its fields, which
//! roles see anyway. A field is used when enough of its telling words, or the value itself, stand in what the role said, the
//! tools that it called, or what it put out.

use std::collections::BTreeSet;

use serde_json::Value;

use super::seen::SeenStep;
use super::words::{has_number, squeezed, telling};
use super::{Bench, Said, Silent};
use crate::record::{StepUpstream, Upstream};

/// The part of a field's words that has to be found again.
const ENOUGH: f64 = 0.3;

pub(super) fn judge(bench: &Bench<'_>) -> Result<Said, Silent> {
    let steps = &bench.seen.steps;
    if steps.is_empty() {
        return Err(Silent::Nothing);
    }
    let per_step: Vec<StepUpstream> =
        steps.iter().zip(steps.iter().skip(1)).filter_map(|(giver, taker)| used(giver, taker)).collect();
    // Who was given nothing has missed nothing.
    let score = match per_step.len() {
        0 => 1.0,
        count => per_step.iter().map(|step| step.score).sum::<f64>() / count as f64,
    };
    Ok(Said::of(score, bench.keep(&bench.records.upstream, &Upstream { per_step })?))
}

fn used(giver: &SeenStep, taker: &SeenStep) -> Option<StepUpstream> {
    let fields = fields(&giver.output);
    let asked = squeezed(&taker.asked);
    let handed: Vec<_> = fields.iter().filter(|(_, value)| asked.contains(&squeezed(value))).collect();
    let given = if handed.is_empty() { fields.iter().collect() } else { handed };
    if given.is_empty() {
        return None;
    }
    let mut shown: String = taker.words().collect::<Vec<_>>().join("\n");
    for (_, args) in taker.calls() {
        shown.push('\n');
        shown += args;
    }
    shown.push('\n');
    shown += &taker.output.to_string();
    let words = telling(&shown);
    let (consumed, missed): (Vec<_>, Vec<_>) =
        given.iter().partition(|(_, value)| is_used(value, &shown, &words));
    let name = |(field, _): &&(String, String)| format!("{}.{field}", giver.role);
    let score = consumed.len() as f64 / given.len() as f64;
    let (consumed, missed) =
        (consumed.into_iter().map(name).collect(), missed.into_iter().map(name).collect());
    Some(StepUpstream { role: taker.role.clone(), consumed, missed, score })
}

fn is_used(value: &str, shown: &str, words: &BTreeSet<String>) -> bool {
    if value.parse::<f64>().is_ok() {
        return has_number(shown, value);
    }
    let told = telling(value);
    if told.is_empty() {
        return squeezed(shown).contains(&squeezed(value));
    }
    let found = told.iter().filter(|word| words.contains(*word)).count();
    found as f64 / told.len() as f64 >= ENOUGH
}

/// The texts and numbers of an output, by the names of its fields; its status says where the thread goes, not what is given.
fn fields(output: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let named = output.as_object().into_iter().flatten().filter(|(name, _)| *name != "$status");
    named.for_each(|(name, value)| leaves(name, value, &mut found));
    found.sort();
    found
}

fn leaves(name: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) if !text.trim().is_empty() => found.push((name.to_owned(), text.clone())),
        Value::Number(number) => found.push((name.to_owned(), number.to_string())),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| leaves(&format!("{name}.{at}"), item, found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(field, value)| leaves(&format!("{name}.{field}"), value, found));
        }
        _ => {}
    }
}
