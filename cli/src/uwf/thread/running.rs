//! What `thread show` says of a thread that runs just now.

use serde::Serialize;

use crate::shell::render;
use uwf_agent::live::{LivePhase, LiveReader, LiveRun};
use uwf_engine::Homes;
use uwf_engine::view::{ThreadOutcome, ThreadView};
use uwf_store::Store;

/// A thread, and what of it runs.
#[derive(Serialize)]
pub(super) struct ShownThread {
    #[serde(flatten)]
    pub(super) view: ThreadView,
    /// Absent where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) running: Option<LiveRun>,
    /// What it came to; absent where its steps cannot be read.
    #[serde(flatten)]
    pub(super) outcome: Option<ThreadOutcome>,
}

impl ShownThread {
    pub(super) fn of(view: ThreadView, homes: &Homes, store: &Store) -> ShownThread {
        let running = LiveReader::new(&homes.uwf).run(store, &view.thread);
        ShownThread { view, running, outcome: None }
    }

    /// With what the thread came to.
    pub(super) fn with(self, outcome: Option<ThreadOutcome>) -> ShownThread {
        ShownThread { outcome, ..self }
    }

    /// What it came to, line by line.
    pub(super) fn outcome_lines(&self) -> Vec<(&'static str, String)> {
        let Some(ThreadOutcome { directory, result, facts }) = &self.outcome else { return Vec::new() };
        let mut lines = vec![("directory", directory.clone())];
        if let Some(result) = result {
            let (status, text) = result.in_short();
            let text = render::first_line(text, 90);
            let text = if text.is_empty() { text } else { format!(": {text}") };
            lines.push(("result", format!("{} → {status}{text}", result.role)));
        }
        let failed = match facts.failed_runs {
            0 => String::new(),
            count => format!(", {}", render::count(count, "failed attempt")),
        };
        let took = render::duration(facts.worked_ms);
        if facts.steps > 0 || facts.failed_runs > 0 {
            let (steps, turns) =
                (render::count(facts.steps as u64, "step"), render::count(facts.turns, "turn"));
            lines.push(("took", format!("{steps}{failed}, {turns}, {took} of work")));
        }
        if facts.input_tokens + facts.output_tokens > 0 {
            let models = if facts.models.is_empty() {
                String::new()
            } else {
                format!(" ({})", facts.models.join(", "))
            };
            let [sent, received] = [facts.input_tokens, facts.output_tokens].map(render::thousands);
            let cost = render::cost(facts.cost, facts.unpriced);
            lines.push(("cost", format!("{cost}, {sent} tokens in, {received} out{models}")));
        }
        lines
    }

    /// What to type next, where nothing else says so; `resumes` is whether an ended thread can begin again.
    pub(super) fn next(&self, resumes: bool) -> Option<String> {
        let ThreadView { thread, status, hint, .. } = &self.view;
        let command = match *status {
            "running" => format!("uwf watch {thread}"),
            _ if hint.is_some() => return None,
            "idle" => format!("uwf thread exec {thread} --until-end"),
            "end" if resumes => {
                format!("uwf thread read {thread}, or uwf thread resume {thread} -p TEXT to take it up again")
            }
            _ => format!("uwf thread read {thread}"),
        };
        Some(command)
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
