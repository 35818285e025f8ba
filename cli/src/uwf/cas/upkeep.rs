//! `uwf cas verify|gc|reindex|stats`: the store as a whole.

use uwf_store::{Collect, Finding, GcReport, Store, StoreError};

use super::schema;
use crate::shell::{CliError, OK, Session, Text, USER, render};
use uwf_engine::gc_roots::gc_roots;
use uwf_engine::journals::{self, LeftoversRemoved};
use uwf_engine::lost::{self, Lost};
use uwf_engine::view::{StoreCollected, StoreStatsView, StoreVerified, TypeStatsView};
use uwf_engine::{thread, workflow};

/// Where it is kept below `$UWF_HOME` what is known of workspaces.
const SNAPSHOT_CACHES: &str = "cache/snapshots";

pub(super) fn verify(session: &mut Session<'_>) -> Result<u8, CliError> {
    let mut findings = Vec::new();
    let store = session.store()?;
    let report = store.verify(&mut |finding| findings.push(finding))?;
    let lost = lost::find(&store)?;
    let verified = StoreVerified::of(&report, &findings, lost.as_ref());
    session.ui.result(&verified, || {
        let lines: String = verified.findings.iter().map(|found| format!("{}\n", found.message)).collect();
        let verdict = if verified.ok { "sound" } else { "damaged" };
        format!("{lines}{} nodes and {} variables checked: {verdict}\n", report.nodes, report.variables)
    })?;
    if findings.iter().any(|finding| matches!(finding, Finding::Variable { .. })) {
        session.ui.hint("`uwf var set NAME HASH --force` mends a damaged variable, `uwf var history NAME` shows what it was");
    }
    if let Some(lost) = lost {
        session.ui.warn(&lost.to_string());
        session.ui.hint(&lost.hint());
    }
    Ok(if verified.ok { OK } else { USER })
}

pub(super) fn gc(session: &mut Session<'_>, dry_run: bool, force: bool) -> Result<u8, CliError> {
    let (homes, store) = (session.homes()?, session.store()?);
    let journals = journals::survey(&store, &homes.uwf)?;
    let how = gc_roots(&store, &homes.uwf, &journals)?;
    let evaluated = uwf_eval::run::oldest_run(&homes)
        .map_err(|error| CliError::said("cannot tell which evaluations are run".to_owned(), error))?;
    let since = how.since.into_iter().chain(evaluated).min();
    let how = Collect { dry_run, force, since, ..how };
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
    if !dry_run {
        lost::forget_collected(&store)?;
    }
    // Only now: what a stale journal names may be needed by others, and they are told of first.
    let stale = journals::remove_stale(&journals, dry_run);
    let gone = uwf_snapshot::remove_gone_caches(&homes.uwf.join(SNAPSHOT_CACHES), store.now(), dry_run);
    let caches = LeftoversRemoved { removed: gone.len() as u64, bytes: gone.iter().sum() };
    let forks = journals::remove_forgotten_forks(&homes.uwf, store.now(), dry_run);
    let collected = StoreCollected { report, journals: stale, forks, caches, dry_run };
    session.ui.result(&collected, || collected_text(&collected))
}

fn collected_text(StoreCollected { report, journals, forks, caches, dry_run }: &StoreCollected) -> String {
    let GcReport { removed, kept, temporary, bytes } = report;
    let verb = if *dry_run { "would remove" } else { "removed" };
    let files = match temporary {
        0 => String::new(),
        1 => " and 1 temp file".to_owned(),
        many => format!(" and {many} temp files"),
    };
    let leftovers = |what: &str, LeftoversRemoved { removed, bytes }: &LeftoversRemoved| match removed {
        0 => String::new(),
        many => format!("{verb} {what}: {many} ({})\n", render::bytes(*bytes)),
    };
    format!(
        "{verb} {removed} nodes{files} ({}), kept {kept}\n{}{}{}",
        render::bytes(*bytes),
        leftovers("journals of runs that nobody can come back to", journals),
        leftovers("forks of sessions that nobody asked for long", forks),
        leftovers("caches of workspaces that are gone", caches)
    )
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
    let exit = session.ui.result(&report, || {
        format!(
            "{} nodes of {} types: {} lines added, {} struck out\n",
            report.nodes, report.types, report.added, report.struck
        )
    })?;
    warn_unreadable(session, report.unreadable);
    Ok(exit)
}

pub(super) fn stats(session: &mut Session<'_>) -> Result<u8, CliError> {
    let store = session.store()?;
    let found = store.stats()?;
    let count = |prefix: &str| store.vars().list(prefix).map(|found| found.len());
    let names = schema::names(&store)?;
    let name = |hash| schema::title(&store, hash).or_else(|| names.get(hash)?.first().cloned());
    let types = found.types.iter().map(|(hash, of_type)| TypeStatsView {
        type_: *hash,
        name: name(hash),
        nodes: of_type.nodes,
        bytes: of_type.bytes,
    });
    let mut stats = StoreStatsView {
        nodes: found.nodes,
        bytes: found.bytes,
        unreadable: found.unreadable,
        variables: store.vars().rows("")?.len(),
        threads: count(thread::HEADS)?,
        workflows: count(workflow::REGISTRY)?,
        types: types.collect(),
    };
    stats.types.sort_by_key(|of_type| (std::cmp::Reverse(of_type.nodes), of_type.type_));
    let exit = session.ui.result(&stats, || stats_text(&stats))?;
    warn_unreadable(session, stats.unreadable);
    Ok(exit)
}

fn stats_text(stats: &StoreStatsView) -> Text {
    let row = |of_type: &TypeStatsView| {
        let name = of_type.name.clone().unwrap_or_default();
        [of_type.type_.to_string(), name, of_type.nodes.to_string(), render::bytes(of_type.bytes)]
    };
    let StoreStatsView { nodes, variables, threads, workflows, .. } = stats;
    let text = Text::from(format!(
        "nodes      {nodes} ({})\nvariables  {variables}\nthreads    {threads}\nworkflows  {workflows}\n\n",
        render::bytes(stats.bytes),
    ));
    text.then(render::table(
        ["TYPE", "NAME", "NODES", "SIZE"],
        &stats.types.iter().map(row).collect::<Vec<_>>(),
    ))
}

fn warn_unreadable(session: &mut Session<'_>, unreadable: u64) {
    if unreadable > 0 {
        session.ui.warn(&format!("{unreadable} nodes cannot be read; `uwf cas verify` names them"));
    }
}
