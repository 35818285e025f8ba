//! The lines of a thread's runs from their records, and from the journal of the one that goes on or was cut off.

use std::collections::VecDeque;
use std::time::Duration;

use crate::shell::{CliError, Session};
use crate::uwf::args::Logs;
use crate::uwf::watch::{Follower, News, step_line};
use uwf_agent::live::{HomeChanges, LiveReader, recorded_lines};
use uwf_engine::thread::{self, StepNode, ThreadError};
use uwf_engine::{Homes, ThreadId, record};
use uwf_store::{Hash, Store};

/// How long nobody looks by himself where the kernel tells of changes.
const TICK: Duration = Duration::from_secs(1);

pub(super) fn recorded(
    session: &mut Session<'_>,
    (homes, store): (&Homes, &Store),
    thread: &ThreadId,
    args: &Logs,
) -> Result<(), CliError> {
    let mut reader = LiveReader::new(&homes.uwf);
    let mut follower = Follower::of(store, &mut reader, thread, true)?;
    let mut lines = VecDeque::from(past(store, thread, follower.watch.head())?);
    if follower.run().is_none()
        && let Some(run) = reader.interrupted(thread, follower.watch.head(), store.now())
    {
        let reason = format!("{} of {}", run.reason(), run.role);
        lines.extend(run.lines.into_iter().map(|line| line.text).chain([reason]));
    }
    lines.extend(follower.news(store, &mut reader)?.0.into_iter().map(text));
    let skipped = args.tail.map_or(0, |tail| lines.len().saturating_sub(tail));
    for line in lines.into_iter().skip(skipped) {
        session.ui.print(&format!("{line}\n"))?;
    }
    let mut changes = HomeChanges::of(homes);
    while args.follow && follower.run().is_some() {
        changes.wait(TICK, &[]).map_err(|error| CliError::said("cannot wait", error))?;
        for news in follower.news(store, &mut reader)?.0 {
            session.ui.print(&format!("{}\n", text(news)))?;
        }
    }
    Ok(())
}

/// The lines of what is over: of every step, after the attempts at it that failed.
fn past(store: &Store, thread: &ThreadId, head: &Hash) -> Result<Vec<String>, ThreadError> {
    let mut lines = Vec::new();
    for (hash, step) in thread::chain(store, head)?.steps {
        failed(store, step.previous_attempts.iter().flatten(), &mut lines);
        lines.extend(of_step(store, &hash, &step));
    }
    for role in thread::all_failures(store, Some(thread))? {
        failed(store, role.steps.iter().flatten(), &mut lines);
    }
    Ok(lines)
}

/// Adds the lines of attempts; what is not in the store any more has none.
fn failed<'a>(store: &Store, attempts: impl Iterator<Item = &'a Hash>, lines: &mut Vec<String>) {
    for hash in attempts {
        let Ok(step) = thread::step_node(store, hash) else { continue };
        lines.extend(of_step(store, hash, &step));
        let output = store.get(&step.output).map(|node| node.payload).unwrap_or_default();
        lines.extend(record::error(&output).map(|error| format!("failed: {error}")));
    }
}

fn of_step(store: &Store, hash: &Hash, step: &StepNode) -> impl Iterator<Item = String> {
    let told = recorded_lines(store, step).into_iter().map(|line| line.text);
    told.chain([step_line(store, hash, step)])
}

fn text(news: News) -> String {
    match news {
        News::Line(line) => line.text,
        News::Step(_, line) => line,
    }
}
