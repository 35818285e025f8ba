//! What `thread show` says of a thread that runs just now.

use serde::Serialize;

use crate::shell::render;
use uwf_agent::live::{LivePhase, LiveReader, LiveRun};
use uwf_engine::Homes;
use uwf_engine::view::ThreadView;
use uwf_store::Store;

/// A thread, and what of it runs.
#[derive(Serialize)]
pub(super) struct ShownThread {
    #[serde(flatten)]
    pub(super) view: ThreadView,
    /// Absent where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) running: Option<LiveRun>,
}

impl ShownThread {
    pub(super) fn of(view: ThreadView, homes: &Homes, store: &Store) -> ShownThread {
        let running = LiveReader::new(&homes.uwf).run(store, &view.thread);
        ShownThread { view, running }
    }

    /// What runs, line by line.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let Some(run) = &self.running else { return Vec::new() };
        let mut lines = vec![("plays", playing(run))];
        if run.thread != self.view.thread {
            lines.push(("in", format!("the called thread {}", run.thread)));
        }
        if let Some(tool) = &run.tool {
            let since = (run.started_at + run.elapsed_ms).saturating_sub(tool.since);
            lines.push(("tool", format!("{}, {}", tool.title, render::duration(since))));
        }
        if let Some(cost) = cost(run) {
            lines.push(("used", cost));
        }
        if let Some(pid) = run.pid {
            let background = if run.background == Some(true) { ", in the background" } else { "" };
            lines.push(("process", format!("{pid}{background}")));
        }
        if let Some(log) = &run.log {
            lines.push(("log", render::path(log)));
        }
        lines
    }
}

/// `developer, turn 3 of 60, gpt-5-mini, thinking, 12.0 s`.
fn playing(run: &LiveRun) -> String {
    let turn = run.turn.filter(|turn| *turn > 0).map(|turn| match run.max_turns {
        Some(max) => format!("turn {turn} of {max}"),
        None => format!("turn {turn}"),
    });
    let thinks = (run.phase == LivePhase::Thinking).then(|| "thinking".to_owned());
    let parts = [run.role.clone(), turn, run.model.clone(), thinks, Some(render::duration(run.elapsed_ms))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `5000 tokens in, 80 out, $0.0123`; nothing where nothing was used.
fn cost(run: &LiveRun) -> Option<String> {
    let usage = &run.usage;
    let cost =
        run.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
    (usage.tokens() > 0)
        .then(|| format!("{} tokens in, {} out{cost}", usage.input_tokens, usage.output_tokens))
}
