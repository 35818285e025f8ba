//! The observers of a run: the event stream, the person at the terminal, and the collector of spans.
//!
//! Apart so that a run tells of itself once. It hands on and decides nothing.

use crate::shell::Ui;

use super::events::EventLog;
use super::progress::Show;
#[cfg(feature = "otel")]
use super::traces::Traces;
use uwf_agent::react::Notice;

/// Who is told of a run.
pub(crate) struct Observers {
    events: EventLog,
    /// Nobody where the events take stderr.
    show: Option<Show>,
    #[cfg(feature = "otel")]
    traces: Option<Traces>,
}

impl Observers {
    /// The event stream, and people, who may have a terminal.
    pub(crate) fn new(events: EventLog, terminal: bool) -> Observers {
        let show = (!events.is_stderr()).then(|| Show::new(terminal));
        Observers {
            events,
            show,
            #[cfg(feature = "otel")]
            traces: None,
        }
    }

    /// A collector of spans, too.
    #[cfg(feature = "otel")]
    pub(super) fn add(&mut self, traces: Option<Traces>) {
        self.traces = traces;
    }

    /// Whether a person has read on the terminal what the model said last.
    pub(super) fn has_read(&self) -> bool {
        self.show.as_ref().is_some_and(Show::spoke)
    }

    /// What happens.
    pub(crate) fn tell(&mut self, event: &Notice<'_>, ui: &mut Ui<'_>) {
        #[cfg(feature = "otel")]
        self.traces.iter_mut().for_each(|traces| traces.tell(event));
        self.events.tell(event, ui);
        self.show.iter_mut().for_each(|show| show.tell(event, ui));
    }

    /// The run is over.
    #[cfg(feature = "otel")]
    pub(super) fn end(self, runtime: &tokio::runtime::Runtime, ui: &mut Ui<'_>) {
        self.traces.into_iter().for_each(|traces| traces.send(runtime, ui));
    }
}
