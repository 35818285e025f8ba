//! How a run goes, told on stderr: one plain line a turn and a tool call.

use std::time::Duration;

use uwf_engine::cli::Ui;

use crate::provider;
use crate::provider::message::Kind;
use crate::react::Event;

/// One event, if it is worth a line.
pub(super) fn tell(event: Event<'_>, ui: &mut Ui<'_>) {
    match event {
        Event::NoEdgePrompt => ui.warn("no edge prompt was given and none is due: the thread's task is used"),
        event => {
            if let Some(line) = line(event) {
                ui.note(&line);
            }
        }
    }
}

fn line(event: Event<'_>) -> Option<String> {
    Some(match event {
        Event::Continued { turns } => {
            format!(
                "continues the interrupted run, after {turns} {}",
                if turns == 1 { "turn" } else { "turns" }
            )
        }
        Event::Turn { number, took, calls: 0 } => format!("turn {number}: text ({})", seconds(took)),
        Event::Turn { number, took, calls } => format!("turn {number}: {calls} calls ({})", seconds(took)),
        Event::Tool { title, failed, took } => {
            // A name may hold line ends, and a line of its own would look like one of ours.
            let title = title.replace(['\n', '\r'], " ");
            format!("  {} {title} ({})", if failed { "✗" } else { "✓" }, seconds(took))
        }
        Event::Progress(provider::Progress::Retry { attempt, wait, reason }) => {
            format!("attempt {attempt} failed: {reason}; again in {}", seconds(wait))
        }
        Event::Said(kind) if kind != Kind::Opening => format!("told the model: {}", kind.as_str()),
        Event::Progress(_) | Event::Said(_) | Event::NoEdgePrompt => return None,
    })
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_what_matters_and_none_for_the_rest() {
        let took = Duration::from_millis(1260);
        let of = |event| line(event).unwrap_or_default();
        assert_eq!(of(Event::Turn { number: 3, took, calls: 2 }), "turn 3: 2 calls (1.3 s)");
        assert_eq!(of(Event::Tool { title: "read\na", failed: true, took }), "  ✗ read a (1.3 s)");
        assert_eq!(of(Event::Said(Kind::Correction)), "told the model: correction");
        assert_eq!(line(Event::Progress(provider::Progress::Text("x"))), None);
    }
}
