//! How an evaluation goes, told on stderr: a status line on a terminal, elsewhere a plain line a case.

use std::time::Instant;

use uwf_eval::report::{ReportOptions, passes};
use uwf_eval::run::Event;
use uwf_eval::{Case, Outcome};

use super::show::score;
use crate::shell::{Ui, render};

/// Clears the line that the cursor is in, and turns off wrapping so that a status line stays one line.
const STATUS: &str = "\r\x1b[2K\x1b[?7l";
const STATUS_END: &str = "\x1b[?7h";
const CLEAR: &str = "\r\x1b[2K";

/// What is told of.
pub(super) struct Progress {
    terminal: bool,
    begun: Instant,
    planned: usize,
    before: usize,
    done: usize,
    passed: usize,
    cost: Option<f64>,
}

impl Progress {
    pub(super) fn new(terminal: bool) -> Progress {
        Progress { terminal, begun: Instant::now(), planned: 0, before: 0, done: 0, passed: 0, cost: None }
    }

    pub(super) fn tell(&mut self, event: &Event, ui: &mut Ui<'_>) {
        match event {
            Event::Began { planned, before } => {
                (self.planned, self.before) = (*planned, before.len());
                before.iter().for_each(|case| self.count(case));
                if self.before > 0 {
                    let (before, planned) = (self.before, self.planned);
                    ui.note(&format!("{before} of {planned} cases were finished before"));
                }
            }
            Event::Retried { task, repeat, why } => {
                self.clear(ui);
                ui.note(&format!("{task}/{repeat} is tried again: {why}"));
            }
            Event::Anew { task, repeat, why } => {
                self.clear(ui);
                ui.note(&format!("{task}/{repeat} begins anew: {why}"));
            }
            Event::Finished(case) => {
                self.count(case);
                if !self.terminal || case.outcome != Outcome::Scored {
                    self.clear(ui);
                    ui.note(&self.line(case));
                }
            }
        }
        if self.terminal {
            ui.pass(format!("{STATUS}{}{STATUS_END}", self.status()).as_bytes());
        }
    }

    /// Leaves the terminal as it was.
    pub(super) fn clear(&self, ui: &mut Ui<'_>) {
        if self.terminal {
            ui.pass(CLEAR.as_bytes());
        }
    }

    fn count(&mut self, case: &Case) {
        self.done += 1;
        let pass = ReportOptions::default().pass;
        self.passed += usize::from(case.score.is_some_and(|score| passes(score, pass)));
        if let Some(cost) = case.paid() {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost);
        }
    }

    fn line(&self, case: &Case) -> String {
        let reason = case.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let cached = if case.cached { ", taken" } else { "" };
        let (outcome, score) = (case.outcome.as_str(), score(case.score));
        let (done, planned) = (self.done, self.planned);
        format!("[{done}/{planned}] {}/{} {outcome} {score}{cached}{reason}", case.task, case.repeat)
    }

    fn status(&self) -> String {
        let percent = (100 * self.passed).checked_div(self.done);
        let passed = percent.map(|percent| format!(", {percent} % passed")).unwrap_or_default();
        let cost = self.cost.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
        let left = self.left().map(|left| format!(", {left} left")).unwrap_or_default();
        format!("{}/{} cases{passed}{cost}{left}", self.done, self.planned)
    }

    /// How long it may still take, as far as this run tells.
    fn left(&self) -> Option<String> {
        let new = self.done.saturating_sub(self.before);
        let (waiting, ran) = (self.planned.saturating_sub(self.done), self.begun.elapsed().as_millis());
        let each = ran.checked_div(new as u128)?;
        Some(render::duration(u64::try_from(each * waiting as u128).unwrap_or(u64::MAX)))
    }
}
