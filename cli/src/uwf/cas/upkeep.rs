//! `uwf cas verify|gc|reindex|stats`: the store as a whole.

use serde_json::{Value, json};
use uwf_store::{Collect, Finding, GcReport, Referrer, Store, StoreError};

use super::schema;
use crate::shell::{CliError, OK, Session, USER, render};
use uwf_engine::gc_roots::gc_roots;
use uwf_engine::lost::{self, Lost};
use uwf_engine::{thread, workflow};

pub(super) fn verify(session: &mut Session<'_>) -> Result<u8, CliError> {
    let mut findings = Vec::new();
    let store = session.store()?;
    let report = store.verify(&mut |finding| findings.push(finding))?;
    let lost = lost::find(&store)?;
    // What a killed writer left behind harms nobody.
    let harmless = |finding: &Finding| matches!(finding, Finding::Stray { .. });
    let sound = findings.iter().all(harmless) && lost.is_none();
    let (lost_words, lost_values): (Vec<_>, Vec<_>) = lost.iter().flat_map(Lost::findings).unzip();
    let value = json!({
        "ok": sound, "nodes": report.nodes, "variables": report.variables,
        "findings": findings.iter().map(finding_json).chain(lost_values).collect::<Vec<_>>(),
    });
    session.ui.result(&value, || {
        let lines = findings.iter().map(ToString::to_string).chain(lost_words);
        let lines: String = lines.map(|line| line + "\n").collect();
        let verdict = if sound { "sound" } else { "damaged" };
        format!("{lines}{} nodes and {} variables checked: {verdict}\n", report.nodes, report.variables)
    })?;
    if findings.iter().any(|finding| matches!(finding, Finding::Variable { .. })) {
        session.ui.hint("`uwf var set NAME HASH --force` mends a damaged variable, `uwf var history NAME` shows what it was");
    }
    if let Some(lost) = lost {
        session.ui.warn(&lost.to_string());
        session.ui.hint(&lost.hint());
    }
    Ok(if sound { OK } else { USER })
}

fn finding_json(finding: &Finding) -> Value {
    let names = |referrers: &[Referrer]| referrers.iter().map(ToString::to_string).collect::<Vec<_>>();
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
        Finding::Variable { name, .. } => {
            json!({"kind": "variable", "name": name, "message": message, "referredBy": []})
        }
        Finding::Stray { path } => json!({"kind": "stray", "path": path, "message": message}),
    }
}

pub(super) fn gc(session: &mut Session<'_>, dry_run: bool, force: bool) -> Result<u8, CliError> {
    let (homes, store) = (session.homes()?, session.store()?);
    let how = Collect { dry_run, force, ..gc_roots(&store, &homes.uwf)? };
    if let Some(lost) = lost::find(&store)?.filter(|_| !force) {
        return Err(refusal(&store, how, &lost));
    }
    let report = store.gc(&how);
    let report = report.map_err(|error| match error {
        StoreError::Unsound { .. } => CliError::from(error).with_hint(
            "nothing was removed, since what such nodes refer to would be lost with them: `uwf cas verify` tells all \
             that is wrong; --force collects all the same",
        ),
        error => error.into(),
    })?;
    let GcReport { removed, kept, temporary, bytes } = report;
    if !dry_run {
        lost::forget_collected(&store)?;
    }
    let value = json!({
        "removed": removed, "kept": kept, "bytes": bytes, "temporary": temporary, "dryRun": dry_run,
    });
    session.ui.result(&value, || {
        let verb = if dry_run { "would remove" } else { "removed" };
        let files = match temporary {
            0 => String::new(),
            1 => " and 1 temp file".to_owned(),
            many => format!(" and {many} temp files"),
        };
        format!("{verb} {removed} nodes{files} ({}), kept {kept}\n", render::bytes(bytes))
    })?;
    Ok(OK)
}

/// Why nothing is collected, and what would have been.
fn refusal(store: &Store, how: Collect, lost: &Lost) -> CliError {
    let would = store.gc(&Collect { dry_run: true, force: true, ..how });
    let would = would.map(|would| format!("; {} nodes would have been removed", would.removed));
    let hint = format!("nothing was removed. {}. --force collects all the same", lost.hint());
    CliError::user(format!("{lost}{}", would.unwrap_or_default())).with_hint(hint)
}

pub(super) fn reindex(session: &mut Session<'_>) -> Result<u8, CliError> {
    let report = session.store()?.reindex()?;
    let value = json!({
        "nodes": report.nodes, "types": report.types, "added": report.added, "struck": report.struck,
        "unreadable": report.unreadable,
    });
    session.ui.result(&value, || {
        format!(
            "{} nodes of {} types: {} lines added, {} struck out\n",
            report.nodes, report.types, report.added, report.struck
        )
    })?;
    warn_unreadable(session, report.unreadable);
    Ok(OK)
}

pub(super) fn stats(session: &mut Session<'_>) -> Result<u8, CliError> {
    let store = session.store()?;
    let census = store.census()?;
    let variables = store.vars().rows("")?;
    let count = |prefix: &str| store.vars().list(prefix).map(|found| found.len());
    let (threads, workflows) = (count(thread::HEADS)?, count(workflow::REGISTRY)?);
    let names = schema::names(&store)?;
    let name = |hash| schema::title(&store, hash).or_else(|| names.get(hash)?.first().cloned());
    let mut types: Vec<_> = census.types.iter().collect();
    types.sort_by_key(|(hash, of_type)| (std::cmp::Reverse(of_type.nodes), **hash));
    let value = json!({
        "nodes": census.nodes, "bytes": census.bytes, "unreadable": census.unreadable,
        "variables": variables.len(), "threads": threads, "workflows": workflows,
        "types": types.iter().map(|(hash, of_type)| json!({
            "type": hash, "name": name(hash), "nodes": of_type.nodes, "bytes": of_type.bytes,
        })).collect::<Vec<_>>(),
    });
    let rows: Vec<_> = types
        .iter()
        .map(|(hash, of_type)| {
            let name = name(hash).unwrap_or_default();
            [hash.to_string(), name, of_type.nodes.to_string(), render::bytes(of_type.bytes)]
        })
        .collect();
    session.ui.result(&value, || {
        format!(
            "nodes      {} ({})\nvariables  {}\nthreads    {threads}\nworkflows  {workflows}\n\n{}",
            census.nodes,
            render::bytes(census.bytes),
            variables.len(),
            render::table(["TYPE", "NAME", "NODES", "SIZE"], &rows)
        )
    })?;
    warn_unreadable(session, census.unreadable);
    Ok(OK)
}

fn warn_unreadable(session: &mut Session<'_>, unreadable: u64) {
    if unreadable > 0 {
        session.ui.warn(&format!("{unreadable} nodes cannot be read; `uwf cas verify` names them"));
    }
}
