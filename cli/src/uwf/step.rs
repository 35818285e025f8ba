//! `uwf step …`

mod ask;
mod diff;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use uwf_store::{Hash, Store, parallel};
use uwf_workflow::yaml;

use super::args::Step;
use super::thread::{fork_at, id};
use super::{hash, narrate};
use crate::shell::{Failure, Format, OK, Session, Ui, render};
use uwf_engine::record;
use uwf_engine::thread::{self, Link, ThreadId};

pub(super) fn run(session: &mut Session<'_>, command: Step) -> Result<u8, Failure> {
    match command {
        Step::List { thread } => list(session, &thread),
        Step::Show { step } => show(session, &step),
        Step::Read { step, prompt: true, .. } => prompt(session, &step),
        Step::Read { step, quota, .. } => read(session, &step, quota),
        Step::Fork { step } => fork_at(session, &hash(&step)?),
        Step::Ask(question) => ask::ask(session, &question),
        Step::Diff { step } => diff::diff(session, &step),
    }
}

/// The chain is walked one node after the other; what its steps refer to is read side by side.
pub(super) fn list(session: &mut Session<'_>, thread: &str) -> Result<u8, Failure> {
    let (thread, store) = (id(thread)?, session.store()?);
    let head = thread::entry(&store, &thread)?.head;
    let mut links = Vec::new();
    let start_hash = thread::links(&store, &head, &mut |link| links.push(link))
        .map_err(|error| error.headless(&thread))?;
    links.reverse();
    let start =
        thread::start_node(&store, &start_hash).map_err(|error| error.severed(&head, "the start of"))?;
    let entries: Result<Vec<Value>, Failure> =
        parallel::map(&links, |link| with_attempts(&store, link)).into_iter().collect();
    let entries = entries?;
    let failed = failed_since(&store, &thread, &mut session.ui)?;
    let rows = || -> Vec<_> {
        let done = links.iter().zip(&entries).enumerate();
        let done = done.map(|(at, (link, entry))| cells((at + 1).to_string(), link, entry));
        done.chain(failed.iter().map(|(link, entry)| cells("-".to_owned(), link, entry))).collect()
    };
    let rows = if session.ui.format == Format::Text { rows() } else { Vec::new() };
    let mut steps = vec![json!({
        "hash": start_hash, "workflow": start.workflow, "prompt": start.prompt,
        "timestamp": store.get(&start_hash)?.timestamp,
    })];
    steps.extend(entries);
    let mut value = json!({"thread": thread, "workflow": start.workflow, "steps": steps});
    if !failed.is_empty() {
        value["failed"] = failed.iter().map(|(_, entry)| entry.clone()).collect();
    }
    session.ui.result(&value, || {
        let headings =
            ["#", "STEP", "ROLE", "STATUS", "DURATION", "TOKENS IN", "OUT", "FAILED CALLS", "FAILED BEFORE"];
        render::table(headings, &rows)
    })?;
    Ok(OK)
}

/// One step as `step list` prints it, with the attempts before it: those are steps, too, whose own attempts stay hashes
/// (each may list all before it).
fn with_attempts(store: &Store, link: &Link) -> Result<Value, Failure> {
    let mut listed = entry(store, link)?;
    if let Some(attempts) = &link.step.previous_attempts {
        let attempts = attempts.iter().map(|hash| entry(store, &thread::link(store, hash)?));
        listed["previousAttempts"] = attempts.collect::<Result<_, Failure>>()?;
    }
    Ok(listed)
}

/// The attempts of roles that have not succeeded since, role by role: no step links them yet. What cannot be read is told
/// of and hides nothing else.
fn failed_since(store: &Store, thread: &ThreadId, ui: &mut Ui<'_>) -> Result<Vec<(Link, Value)>, Failure> {
    let mut failed = Vec::new();
    for attempts in thread::all_failures(store, Some(thread))? {
        let listed = attempts.steps.map_err(Failure::from).and_then(|steps| {
            let read = |hash: &Hash| {
                let link = thread::link(store, hash)?;
                let listed = entry(store, &link)?;
                Ok((link, listed))
            };
            steps.iter().map(read).collect::<Result<Vec<_>, Failure>>()
        });
        match listed {
            Ok(listed) => failed.extend(listed),
            Err(error) => {
                let list = attempts.variable.name;
                ui.warn(&format!("the failed attempts in {list} cannot be read: {}", error.message()));
            }
        }
    }
    Ok(failed)
}

fn entry(store: &Store, Link { hash, step, timestamp }: &Link) -> Result<Value, Failure> {
    Ok(json!({
        "hash": hash, "role": step.role, "output": store.get(&step.output)?.payload, "detail": step.detail,
        "agent": step.agent, "timestamp": timestamp, "durationMs": step.duration_ms(),
        "usage": step.usage, "failedCalls": thread::failed_calls(store, step),
        "previousAttempts": step.previous_attempts,
    }))
}

fn cells(number: String, Link { hash, step, .. }: &Link, entry: &Value) -> [String; 9] {
    let tokens =
        |pick: fn(&uwf_engine::Usage) -> u64| step.usage.as_ref().map(pick).unwrap_or_default().to_string();
    let failed = step.previous_attempts.as_ref().map_or(0, Vec::len) as u64;
    let some = |count: u64| if count == 0 { String::new() } else { count.to_string() };
    [
        number,
        hash.to_string(),
        step.role.clone(),
        record::status(&entry["output"]).unwrap_or("?").to_owned(),
        render::duration(step.duration_ms()),
        tokens(|usage| usage.input_tokens),
        tokens(|usage| usage.output_tokens),
        some(entry["failedCalls"].as_u64().unwrap_or_default()),
        some(failed),
    ]
}

pub(super) fn show(session: &mut Session<'_>, text: &str) -> Result<u8, Failure> {
    let (hash, store) = (hash(text)?, session.store()?);
    let step = thread::step_node(&store, &hash)?;
    let detail = expanded(&store, &step.detail)?;
    session.ui.result(&detail, || {
        let took = render::duration(step.duration_ms());
        format!(
            "# step {hash}: {} by {}, {took}; detail {}\n{}",
            step.role,
            step.agent,
            step.detail,
            yaml::write(&detail)
        )
    })?;
    Ok(OK)
}

/// A node's payload with the nodes it refers to in their places; what those refer to stays a hash.
fn expanded(store: &Store, hash: &Hash) -> Result<Value, Failure> {
    let refs: BTreeSet<Hash> = store.refs(hash)?.into_iter().collect();
    let mut payload = store.get(hash)?.payload;
    expand(store, &refs, &mut payload)?;
    Ok(payload)
}

fn expand(store: &Store, refs: &BTreeSet<Hash>, value: &mut Value) -> Result<(), Failure> {
    match value {
        Value::String(text) => {
            if let Some(hash) = text.parse().ok().filter(|hash| refs.contains(hash)) {
                *value = store.get(&hash)?.payload;
            }
        }
        Value::Array(items) => {
            for item in items {
                expand(store, refs, item)?;
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                expand(store, refs, field)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn read(session: &mut Session<'_>, text: &str, quota: Option<usize>) -> Result<u8, Failure> {
    let (hash, store) = (hash(text)?, session.store()?);
    let text = narrate::step(&store, &hash, quota)?;
    session.ui.document(|| json!({"step": hash, "markdown": text}), &text)?;
    Ok(OK)
}

fn prompt(session: &mut Session<'_>, text: &str) -> Result<u8, Failure> {
    let (hash, store) = (hash(text)?, session.store()?);
    let step = thread::step_node(&store, &hash)?;
    let Some(prompt) = step.assembled_prompt else {
        let none = format!("step {hash} has no record of its prompt: {} kept none", step.agent);
        session.ui.document(|| json!({"step": hash, "prompt": null, "hint": none}), &format!("{none}\n"))?;
        return Ok(OK);
    };
    let payload = store.get(&prompt)?.payload;
    let text = format!("{}\n", payload.as_str().unwrap_or_default().trim_end());
    session.ui.document(|| json!({"step": hash, "prompt": payload}), &text)?;
    Ok(OK)
}
