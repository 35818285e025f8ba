//! Who is told what happens while steps are made, and a step in words.

use std::mem;
use std::ops::ControlFlow;
use std::path::Path;

use super::complaints::Complaints;
use crate::shell::{CliError, Format, Text, Ui, render};
use uwf_engine::exec::{Compacted, Observer, StepReport};
use uwf_engine::record;
use uwf_engine::spawn::protocol::AgentCommand;
use uwf_engine::thread::Status;
use uwf_engine::view::{PAUSED, ThreadView};

/// Passes on what happens: all of it to people, of the agent's words only complaints where nobody reads along.
pub(super) struct Watcher<'a, 'b> {
    ui: &'a mut Ui<'b>,
    complaints: Complaints,
    /// Why a step could not be told of.
    unprinted: Option<CliError>,
    telling: Telling,
}

/// How steps are told.
#[derive(Clone, Copy, Default)]
pub(super) struct Telling {
    /// On stderr, since stdout is for the last answer alone.
    pub(super) on_stderr: bool,
    /// A question is told by whoever asks the person.
    pub(super) asks_person: bool,
    /// What is in the way of the next step is told by that.
    pub(super) goes_on: bool,
}

impl<'a, 'b> Watcher<'a, 'b> {
    pub(super) fn new(ui: &'a mut Ui<'b>, telling: Telling) -> Watcher<'a, 'b> {
        Watcher { ui, complaints: Complaints::default(), unprinted: None, telling }
    }

    /// The agents have said all that they will say; why a step could not be printed.
    pub(super) fn ended(mut self) -> Option<CliError> {
        self.ends();
        self.unprinted
    }

    fn ends(&mut self) {
        let rest = mem::take(&mut self.complaints).rest();
        self.ui.pass(&rest);
    }
}

impl Observer for Watcher<'_, '_> {
    fn spawning(&mut self, role: &str, agent: &AgentCommand, cwd: &Path) {
        let words: Vec<&str> =
            std::iter::once(agent.program.as_str()).chain(agent.args.iter().map(String::as_str)).collect();
        self.ui.detail(&format!("{role}: {} in {}", words.join(" "), cwd.display()));
    }

    fn warn(&mut self, text: &str) {
        self.ui.warn(text);
    }

    fn agent_stderr(&mut self, bytes: &[u8]) {
        if self.ui.remarks {
            self.ui.pass(bytes);
        } else {
            let complaints = self.complaints.of(bytes);
            self.ui.pass(&complaints);
        }
    }

    fn stepped(&mut self, report: &StepReport) -> ControlFlow<()> {
        self.ends();
        let without = (self.telling.goes_on && report.obstacle.is_some())
            .then(|| StepReport { obstacle: None, ..report.clone() });
        let report = without.as_ref().unwrap_or(report);
        let is_asked = self.telling.asks_person
            && report.failure.is_none()
            && matches!(report.status, Status::Suspended { .. });
        match (self.telling.on_stderr, is_asked) {
            (true, _) => self.ui.note_text(&step_text(report, is_asked)),
            (false, true) if self.ui.format == Format::Text => {
                self.unprinted = self.ui.print_text(step_text(report, true)).err();
            }
            (false, _) => self.unprinted = print_step(self.ui, report).err(),
        }
        if self.unprinted.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// In text, tells a step at once; other formats have all of them at the end.
pub(in crate::uwf) fn print_step(ui: &mut Ui<'_>, report: &StepReport) -> Result<(), CliError> {
    if ui.format == Format::Text { ui.print_text(step_text(report, false)) } else { Ok(()) }
}

/// A step and where it led to, in one or two lines; not what it asks, where that `is_asked` by somebody else.
fn step_text(report: &StepReport, is_asked: bool) -> Text {
    let played = report.played.as_ref().map(|played| {
        let status = record::status(&played.output).unwrap_or("?");
        let took = render::duration(played.step.duration_ms());
        format!("{} → {status}  {took}  {}\n", played.step.role, played.hash)
    });
    let (status, next) = match (&report.failure, &report.status) {
        (Some(error), _) => {
            let hint = ThreadView::after(report).hint.unwrap_or_default();
            ("failed", format!(": {error}\n{hint}\n"))
        }
        (None, Status::Suspended { .. }) if is_asked => ("", String::new()),
        (None, Status::Suspended { role, message }) => {
            let thread = report.thread;
            let answer = format!("answer with: uwf thread resume {thread} -p TEXT");
            ("suspended", format!(": {role} asks: {message}\n{answer}\n"))
        }
        (None, status @ (Status::Ended { .. } | Status::Cancelled { .. })) => {
            (status.as_str(), "\n".to_owned())
        }
        (None, Status::Idle) => match (&report.paused, &report.current_role, &report.obstacle) {
            (Some(pause), ..) => {
                let go_on = pause.go_on(&report.thread);
                (PAUSED, format!(": {}\ngo on with: {go_on}\n", pause.reason))
            }
            (None, Some(role), _) => ("", format!("next: {role}\n")),
            (None, None, Some(obstacle)) => ("", format!("next: nobody: {obstacle}\n")),
            (None, None, None) => ("", String::new()),
        },
    };
    let compacted = report.compacted.as_ref().map(summed_up).unwrap_or_default();
    Text::from(compacted).then(played.unwrap_or_default()).then_status(status).then(next)
}

/// A summary that was made, in a line.
pub(in crate::uwf) fn summed_up(compacted: &Compacted) -> String {
    let Compacted { summary, step, compacted_by, .. } = compacted;
    format!("summed up: {summary}, before the step {step}; made by {compacted_by}\n")
}
