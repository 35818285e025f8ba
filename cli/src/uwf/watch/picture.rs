//! A thread as it is shown while it runs: its roles in a line, what the one does that plays, and its last calls.
//!
//! Pure but for the reads of a thread's beginning: the rest comes in.

use std::collections::BTreeMap;

use uwf_agent::live::{LineKind, LivePhase, LiveRun};
use uwf_engine::thread::{self, StepNode, ThreadError};
use uwf_engine::{ThreadId, Workflow, workflow};
use uwf_store::{Hash, Store};
use uwf_workflow::moderator::{END, START, SUSPEND};

use super::row::{Row, wrapped};
use crate::shell::{Paint, render};

/// How many of the last calls are shown.
const CALLS: usize = 5;

/// A line with an id needs this width at least.
const WIDE: usize = 80;

/// What is shown of a thread beside its run.
pub(super) struct Picture {
    thread: ThreadId,
    pub(super) name: String,
    task: String,
    /// Its roles, as they are reached from the beginning.
    roles: Vec<String>,
    /// How often each has played.
    visits: BTreeMap<String, u64>,
}

impl Picture {
    pub(super) fn of(store: &Store, thread: &ThreadId, head: &Hash) -> Result<Picture, ThreadError> {
        let chain = thread::chain(store, head)?;
        let workflow = workflow::get(store, &chain.start.workflow)?;
        let mut picture = Picture {
            thread: *thread,
            roles: roles(&workflow),
            task: render::name(&render::first_line(&chain.start.prompt, 200)),
            name: render::name(&workflow.name),
            visits: BTreeMap::new(),
        };
        chain.steps.iter().for_each(|(_, step)| picture.played(step));
        Ok(picture)
    }

    /// A step was made.
    pub(super) fn played(&mut self, step: &StepNode) {
        *self.visits.entry(step.role.clone()).or_default() += 1;
    }

    /// The rows that show it; of one among many without its calls. `now` is in ms since the epoch.
    pub(super) fn rows(&self, run: Option<&LiveRun>, now: u64, width: usize, is_one: bool) -> Vec<Row> {
        let mut rows = vec![self.heading(width)];
        rows.extend(self.graph(run, width));
        let Some(run) = run else { return rows };
        rows.extend(wrapped(doing(run, now), " · ", width));
        if is_one {
            let calls = run.lines.iter().filter(|line| line.kind != LineKind::Turn);
            let calls: Vec<_> = calls.collect();
            for line in &calls[calls.len().saturating_sub(CALLS)..] {
                let paint = match line.kind {
                    LineKind::Call { failed: true } => Some(Paint::Bad),
                    LineKind::Call { failed: false } => Some(Paint::Good),
                    LineKind::Turn | LineKind::Note => None,
                };
                let text = line.text.trim_start().replace('\n', " ");
                let (mark, rest) = text.split_once(' ').unwrap_or(("", &text));
                rows.push(match paint {
                    Some(_) => Row::new("  ").then(paint, mark).then(None, format!(" {rest}")),
                    None => Row::new(format!("  {text}")),
                });
            }
        }
        if let Some(tool) = &run.tool {
            let since = seconds(now.saturating_sub(tool.since));
            rows.push(
                Row::new("  ").then(Paint::Active, "●").then(None, format!(" {} · {since}", tool.title)),
            );
        }
        rows
    }

    fn heading(&self, width: usize) -> Row {
        let id = self.thread.as_str();
        let id = if width < WIDE { format!("…{}", &id[id.len() - 6..]) } else { id.to_owned() };
        Row::new(&self.name).then(None, format!(" · {}", self.task)).before(Paint::Past, format!("{id}  "))
    }

    /// `planner ✓ → developer ● → reviewer`.
    fn graph(&self, run: Option<&LiveRun>, width: usize) -> Vec<Row> {
        let way = run.and_then(|run| run.role.as_deref());
        let playing = way.map(|way| way.split('/').next().unwrap_or(way));
        let role = |role: &String| {
            let visits = self.visits.get(role).copied().unwrap_or_default();
            let plays = playing == Some(role);
            let row = Row::new(render::name(role));
            let row = match (plays, visits) {
                (true, _) => row.then(Paint::Active, " ●"),
                (false, 0) => row,
                (false, _) => row.then(Paint::Good, " ✓"),
            };
            // The visit that goes on counts.
            let visits = visits + u64::from(plays);
            if visits > 1 { row.then(None, format!(" ×{visits}")) } else { row }
        };
        let mut pieces: Vec<Row> = self.roles.iter().map(role).collect();
        // A role that the graph does not lead to: `$COMPACT`.
        if let Some(other) = playing.filter(|playing| !self.roles.iter().any(|role| role == playing)) {
            pieces.push(Row::new(render::name(other)).then(Paint::Active, " ●"));
        }
        wrapped(pieces, " → ", width)
    }
}

/// The roles in the order in which they are reached from the beginning, the nearest first.
fn roles(workflow: &Workflow) -> Vec<String> {
    let (mut order, mut at) = (vec![START], 0);
    while let Some(role) = order.get(at) {
        at += 1;
        for way in workflow.graph.get(*role).map(|edges| edges.ways()).unwrap_or_default() {
            if ![START, END, SUSPEND].contains(&way.role) && !order.contains(&way.role) {
                order.push(way.role);
            }
        }
    }
    order.into_iter().skip(1).map(str::to_owned).collect()
}

/// `developer` · `turn 3 of 60` · `thinking` · `12 s` · `14.2k tokens` · `$0.0123` · `gpt-5-mini`.
fn doing(run: &LiveRun, now: u64) -> Vec<Row> {
    let text = |text: String| Some(Row::new(text));
    let turn = run.turn.filter(|turn| *turn > 0).map(|turn| match run.max_turns {
        Some(max) => format!("turn {turn} of {max}"),
        None => format!("turn {turn}"),
    });
    let phase = match run.phase {
        LivePhase::Thinking => Some("thinking"),
        LivePhase::Tool => Some("tool"),
        LivePhase::Waiting => None,
    };
    let cost = run.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!("${cost:.4}"));
    let used = run.usage.tokens();
    let parts = [
        run.role.as_deref().map(|role| Row::default().then(Paint::Active, render::name(role))),
        turn.and_then(text),
        phase.map(Row::new),
        text(seconds(now.saturating_sub(run.started_at))),
        (used > 0).then(|| Row::new(format!("{} tokens", thousands(used)))),
        cost.and_then(text),
        run.model.as_deref().map(|model| Row::default().then(Paint::Past, render::name(model))),
    ];
    parts.into_iter().flatten().collect()
}

/// `12 s`, `3 min 20 s`: a time that is shown anew each second.
fn seconds(ms: u64) -> String {
    if ms < 60_000 { format!("{} s", ms / 1000) } else { render::duration(ms) }
}

/// `950`, `14.2k`, `1.3M`.
fn thousands(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{}.{}k", count / 1000, count % 1000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}
