//! `uwf cas …`: the store as it is, for people who look under the hood and for programs that write their own nodes.

use serde::Deserialize;
use serde_json::{Value, json};

use super::args::{Cas, Values};
use super::failure::{Failure, OK, USER};
use super::{Session, hash};
use crate::emit;
use crate::schema::builtin;
use crate::store::{Finding, Hash, Store};

/// The engine's own types by name; those of the store have variables.
const OWN_TYPES: [(&str, Hash); 8] = [
    ("Workflow", builtin::WORKFLOW),
    ("StartNode", builtin::START_NODE),
    ("StepNode", builtin::STEP_NODE),
    ("ErrorOutput", builtin::ERROR_OUTPUT),
    ("SuspendOutput", builtin::SUSPEND_OUTPUT),
    ("uwf-turn", builtin::UWF_TURN),
    ("uwf-detail", builtin::UWF_DETAIL),
    ("text", builtin::TEXT),
];

pub(super) fn run(session: &mut Session<'_>, command: Cas) -> Result<u8, Failure> {
    match command {
        Cas::Get { hash } => get(session, &hash),
        Cas::Put(values) => put(session, &values),
        Cas::Has { hash } => has(session, &hash),
        Cas::Hash(values) => hash_of(session, &values),
        Cas::Refs { hash } => refs(session, &hash),
        Cas::Walk { hash } => walk(session, &hash),
        Cas::Verify => verify(session),
    }
}

fn get(session: &mut Session<'_>, text: &str) -> Result<u8, Failure> {
    let node = session.store()?.get(&hash(text)?)?;
    let value = json!({"type": node.type_, "payload": node.payload, "timestamp": node.timestamp});
    session.ui.result(&value, || emit::yaml(&value))?;
    Ok(OK)
}

fn put(session: &mut Session<'_>, values: &Values) -> Result<u8, Failure> {
    let store = session.store()?;
    let nodes = nodes(session, &store, values)?;
    let hashes = store.put_all(&nodes)?;
    print_lines(session, &hashes)
}

fn hash_of(session: &mut Session<'_>, values: &Values) -> Result<u8, Failure> {
    let store = session.store()?;
    let nodes = nodes(session, &store, values)?;
    let hashes: Vec<Hash> = nodes.iter().map(|(type_, payload)| named(type_, payload)).collect();
    print_lines(session, &hashes)
}

/// The meta-schema is its own type, so it alone is hashed without one.
fn named(type_: &Hash, payload: &Value) -> Hash {
    let own = Hash::of_self(payload);
    if *type_ == builtin::META_SCHEMA && own == *type_ { own } else { Hash::of(type_, payload) }
}

fn has(session: &mut Session<'_>, text: &str) -> Result<u8, Failure> {
    let there = session.store()?.has(&hash(text)?);
    session.ui.print(&format!("{there}\n"))?;
    Ok(if there { OK } else { USER })
}

fn refs(session: &mut Session<'_>, text: &str) -> Result<u8, Failure> {
    let refs = session.store()?.refs(&hash(text)?)?;
    session.ui.result(&json!(refs), || lines(&refs))?;
    Ok(OK)
}

fn walk(session: &mut Session<'_>, text: &str) -> Result<u8, Failure> {
    let walk = session.store()?.walk(&hash(text)?)?;
    session.ui.result(&json!(walk.nodes), || lines(&walk.nodes))?;
    for (missing, referrer) in &walk.missing {
        session.ui.warn(&format!("{missing} is missing; {referrer} refers to it"));
    }
    for (corrupt, why) in &walk.corrupt {
        session.ui.warn(&format!("{corrupt} is corrupt: {why}"));
    }
    Ok(if walk.missing.is_empty() && walk.corrupt.is_empty() { OK } else { USER })
}

fn verify(session: &mut Session<'_>) -> Result<u8, Failure> {
    let mut findings = Vec::new();
    let report = session.store()?.verify(&mut |finding| findings.push(finding))?;
    // What a killed writer left behind harms nobody.
    let harmless = |finding: &Finding| matches!(finding, Finding::Stray { .. });
    let sound = findings.iter().all(harmless);
    let value = json!({
        "ok": sound, "nodes": report.nodes, "variables": report.variables,
        "findings": findings.iter().map(finding_json).collect::<Vec<_>>(),
    });
    session.ui.result(&value, || {
        let lines: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
        let verdict = if sound { "sound" } else { "damaged" };
        format!("{lines}{} nodes and {} variables checked: {verdict}\n", report.nodes, report.variables)
    })?;
    Ok(if sound { OK } else { USER })
}

fn finding_json(finding: &Finding) -> Value {
    let names = |referrers: &[crate::Referrer]| referrers.iter().map(ToString::to_string).collect::<Vec<_>>();
    let message = finding.to_string();
    match finding {
        Finding::Corrupt { hash, referred_by, .. } => {
            json!({"kind": "corrupt", "hash": hash, "message": message, "referredBy": names(referred_by)})
        }
        Finding::Missing { hash, referred_by } => {
            json!({"kind": "missing", "hash": hash, "message": message, "referredBy": names(referred_by)})
        }
        Finding::Invalid { hash, referred_by, .. } => {
            json!({"kind": "invalid", "hash": hash, "message": message, "referredBy": names(referred_by)})
        }
        Finding::Stray { path } => json!({"kind": "stray", "path": path, "message": message}),
    }
}

/// The typed values: one with `--type`, or one a line.
fn nodes(session: &mut Session<'_>, store: &Store, values: &Values) -> Result<Vec<(Hash, Value)>, Failure> {
    let text = session.read(&values.file)?;
    match &values.type_ {
        Some(name) => {
            let type_ = type_named(store, name)?;
            let payload = serde_json::from_str(&text).map_err(|error| {
                Failure::said(format!("{} does not hold one JSON value", values.file.display()), error)
            })?;
            Ok(vec![(type_, payload)])
        }
        None => {
            let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            lines
                .map(|(at, line)| line_node(store, &format!("{}:{}", values.file.display(), at + 1), line))
                .collect()
        }
    }
}

/// One line of `--jsonl`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "type")]
    type_: String,
    payload: Value,
}

fn line_node(store: &Store, place: &str, line: &str) -> Result<(Hash, Value), Failure> {
    let Line { type_, payload } = serde_json::from_str(line)
        .map_err(|error| Failure::said(format!("{place} is not {{\"type\", \"payload\"}}"), error))?;
    Ok((type_named(store, &type_)?, payload))
}

/// A hash, a variable, the last word of an `@ocas/` variable, or one of the engine's own types.
fn type_named(store: &Store, name: &str) -> Result<Hash, Failure> {
    if let Ok(hash) = name.parse() {
        return Ok(hash);
    }
    let own = OWN_TYPES.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, hash)| *hash);
    let variable = if name.starts_with('@') { name.to_owned() } else { format!("@ocas/{name}") };
    let found = match own {
        Some(hash) => Some(hash),
        None => store.vars().get(&variable).ok().flatten().map(|variable| variable.value),
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = OWN_TYPES.iter().map(|(own, _)| *own).collect();
        Failure::user(format!("no such type: {name}")).with_hint(format!(
            "a hash, a variable, a word of @ocas/… (string, schema), or {}",
            names.join(", ")
        ))
    })
}

fn lines(hashes: &[Hash]) -> String {
    hashes.iter().map(|hash| format!("{hash}\n")).collect()
}

/// One hash a line whatever the format is: that is what shell scripts read.
fn print_lines(session: &mut Session<'_>, hashes: &[Hash]) -> Result<u8, Failure> {
    session.ui.print(&lines(hashes))?;
    Ok(OK)
}
