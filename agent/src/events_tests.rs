//! The lines, pinned whole: programs read them.

use std::time::Duration;

use serde_json::{Value, json};
use uwf_engine::catalogue::Prices;

use super::*;
use crate::budget::{Budget, Limits, Spent};
use crate::context_window::ContextWindow;
use crate::context_window::Elided;
use crate::journal::{Concern, ToolFacts};
use crate::provider::message::{Message, Speaker, ToolCall};

const AT: u64 = 1_700_000_000_000;

/// A run, and the lines that were told of it.
#[derive(Default)]
struct Run {
    state: RunState,
    events: Events,
    lines: String,
}

impl Run {
    fn notice(&mut self, notice: &Notice<'_>) {
        self.lines.extend(self.events.lines(notice, AT));
    }

    fn progress(&mut self, progress: Progress<'_>) {
        self.notice(&Notice::Progress(progress));
    }

    fn entry(&mut self, entry: &Entry) {
        self.state.apply(entry).unwrap();
        self.lines.extend(self.events.lines(&Notice::Entry(entry, &self.state), 0));
    }

    fn said(&mut self, kind: MessageKind, near: Option<Use>) {
        let role =
            if self.state.conversation.messages().is_empty() { Speaker::System } else { Speaker::User };
        self.entry(&Entry::Said { message: Message::text(role, kind, "x"), near, at: AT });
    }
}

/// A run of a model whose price is known.
fn priced() -> RunState {
    let (cached_input, cache_write) = (Some(1.0), None);
    let prices = Prices { input: 3.5, output: 5.0, cached_input, cache_write, tiers: Vec::new() };
    RunState::new(Budget::new(Limits::default()), ContextWindow::new(1_000_000, 0), Some(prices))
}

fn answered(calls: &[ToolCall], usage: Option<TokenUsage>) -> Entry {
    let (tool_calls, text) = (calls.to_vec(), if calls.is_empty() { "Fine." } else { "" });
    let message = Message { tool_calls, ..Message::text(Speaker::Assistant, MessageKind::Turn, text) };
    let finish_reason = usage.map(|_| "tool_calls".to_owned());
    Entry::Answered { message, at: AT, duration_ms: 1500, usage, finish_reason, raw: Value::Null }
}

fn finished(run: &mut Run) {
    let call = "call00001".to_owned();
    run.entry(&Entry::Started { call_id: call.clone(), shown: None, at: AT });
    let (title, exit_code) = ("run make (exit code 2)".to_owned(), Some(2));
    let facts = ToolFacts { title, exit_code, ..ToolFacts::default() };
    run.entry(&Entry::Finished { message: Message::result(&call, "x"), at: AT, duration_ms: 1500, facts });
}

#[test]
fn every_event_has_its_line() {
    let call = ToolCall { id: "call00001".into(), name: "run_command".into(), arguments: "{}".into() };
    let usage = TokenUsage {
        input_tokens: 1200,
        output_tokens: 80,
        cached_tokens: 1000,
        reasoning_tokens: 60,
        ..TokenUsage::default()
    };
    let mut run = Run { state: priced(), ..Run::default() };
    let near = |unit, used, total| Some(Use { unit, used, total });
    run.progress(Progress::NoEdgePrompt);
    run.said(MessageKind::Opening, None);
    let trace = Some("4bf92f3577b34da6a3ce929d0e0e4736");
    let (session, thread, role, model) = ("01S", "01T", "reviewer", "m");
    run.notice(&Notice::Opened { session, thread, role, model, trace, resumed: None });
    run.entry(&Entry::Asked { at: AT });
    let wait = Duration::from_millis(1500);
    run.progress(Progress::Retry { attempt: 1, wait, reason: "429: busy" });
    let (change, reason) = ("`temperature` is left out from here on".to_owned(), "400: no".to_owned());
    run.entry(&Entry::RequestChanged { change, reason, at: AT });
    run.progress(Progress::Reasoning("hm"));
    run.progress(Progress::Text("line\n\"two\""));
    run.progress(Progress::Tick);
    run.entry(&answered(std::slice::from_ref(&call), Some(usage)));
    finished(&mut run);
    run.said(MessageKind::Warning, near(Unit::Turns, 48, 60));
    // That the model is told has its line below.
    run.lines.truncate(run.lines.trim_end().rfind('\n').unwrap() + 1);
    run.said(MessageKind::Warning, near(Unit::Usd, 400_000_000, 500_000_000));
    let marks = vec![Elided { call_id: "x".into(), text: "x".into() }; 12];
    run.entry(&Entry::Elided { marks, at: AT });
    let message = "the window is small".to_owned();
    run.entry(&Entry::Warned { about: Concern::SmallWindow, message, at: AT });
    run.said(MessageKind::Extract, None);
    run.entry(&Entry::Asked { at: AT });
    run.entry(&answered(&[], None));
    let output = json!({"$status": "approved"});
    let reply = json!({"stepHash": "7VQ43ZSJTEWA7", "frontmatter": output, "isError": false});
    let spent = Spent { turns: 2, tokens: 1280, usd: Usd::dollars(0.0021), ..Spent::default() };
    let mut state = priced();
    state.spent = spent;
    run.notice(&Notice::Entry(&Entry::Replied { reply, at: AT }, &state));
    let mut state = RunState::default();
    state.spent = spent;
    let (phase, error) = (Some("cancelled"), "interrupted by SIGINT");
    run.notice(&Notice::Stopped { state: &state, phase, error });
    let text = run.lines;
    insta::assert_snapshot!("lines", text);
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(value["event"].is_string() && value["at"].is_u64(), "{line}");
    }
}
