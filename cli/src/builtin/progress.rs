//! How a run goes, told on stderr. On a terminal: a status line (turn, tool, elapsed, tokens), a line per finished
//! tool call, and the model's words as they come. Elsewhere: one plain line a turn, and one a failed tool call.
//!
//! Apart so that the loop knows no terminal. What a model or a tool says is shown without its control characters:
//! they could make a terminal do things.

use std::time::Instant;

use crate::shell::Ui;

use uwf_agent::journal::Entry;
use uwf_agent::live::{Line, LineKind, continued, seconds, shown};
use uwf_agent::react::{Notice, Progress};

/// Clears the line that the cursor is in, and turns off wrapping so that a status line stays one line.
const STATUS: &str = "\r\x1b[2K\x1b[?7l";
const STATUS_END: &str = "\x1b[?7h";
const CLEAR: &str = "\r\x1b[2K";

/// Shows one run.
pub(super) struct Show {
    /// Whether stderr is a terminal.
    terminal: bool,
    begun: Instant,
    turn: u64,
    /// What is going on: a tool, or the model.
    doing: String,
    tokens: u64,
    /// A status line is on the screen.
    status: bool,
    /// The model's words end in the middle of a line.
    speaking: bool,
    /// The turn had words, and they are on the screen.
    spoke: bool,
}

impl Show {
    /// A run that begins now.
    pub(super) fn new(terminal: bool) -> Show {
        let (doing, begun) = (String::new(), Instant::now());
        Show { terminal, begun, turn: 0, doing, tokens: 0, status: false, speaking: false, spoke: false }
    }

    /// Whether what the model said last is on the screen.
    pub(super) fn spoke(&self) -> bool {
        self.spoke
    }

    /// One event.
    pub(super) fn tell(&mut self, event: &Notice<'_>, ui: &mut Ui<'_>) {
        if let Notice::Progress(Progress::NoEdgePrompt) = event {
            return ui.warn("no edge prompt was given and none is due: the thread's task is used");
        }
        if !self.terminal {
            if let Some(line) = plain(event) {
                ui.note(&line);
            }
            return;
        }
        let text = self.screen(event);
        let is_call = matches!(event, Notice::Entry(Entry::Finished { .. }, _));
        let text = if is_call { ui.marked(text) } else { text };
        if !text.is_empty() {
            ui.pass(text.as_bytes());
        }
    }

    /// What a terminal is sent.
    fn screen(&mut self, event: &Notice<'_>) -> String {
        match event {
            Notice::Entry(Entry::Asked { .. }, state) => {
                (self.turn, self.doing, self.spoke) = (state.spent.turns + 1, "thinking".to_owned(), false);
                self.status_line()
            }
            Notice::Progress(Progress::Text(text)) => self.words(text),
            Notice::Entry(Entry::Answered { usage, .. }, _) => {
                self.tokens += usage.map_or(0, |usage| usage.input_tokens + usage.output_tokens);
                self.end_of_words()
            }
            Notice::Entry(Entry::Started { call_id, shown, .. }, state) => {
                if let Some(call) = state.call(call_id) {
                    self.doing = format!("{} {}", call.name, shown.as_ref().unwrap_or(&call.arguments));
                }
                self.status_line()
            }
            Notice::Progress(Progress::Tick) => self.status_line(),
            Notice::Entry(Entry::Replied { .. }, _) | Notice::Stopped { .. } => {
                self.end_of_words() + &self.clear()
            }
            event => match own_line(event) {
                Some(line) => format!("{}{}{line}\n", self.end_of_words(), self.clear()),
                None => String::new(),
            },
        }
    }

    /// The status line, unless it would cut into the model's words.
    fn status_line(&mut self) -> String {
        if self.speaking {
            return String::new();
        }
        self.status = true;
        let Show { turn, doing, tokens, begun, .. } = self;
        let doing: String = shown(doing).chars().map(|c| if c == '\n' { ' ' } else { c }).take(80).collect();
        let elapsed = begun.elapsed().as_secs();
        format!("{STATUS}turn {turn} · {} · {elapsed} s · {tokens} tokens{STATUS_END}", doing.trim())
    }

    fn words(&mut self, text: &str) -> String {
        let begin = self.clear();
        (self.speaking, self.spoke) = (!text.ends_with('\n'), true);
        begin + &shown(text)
    }

    fn end_of_words(&mut self) -> String {
        if std::mem::take(&mut self.speaking) { "\n".to_owned() } else { String::new() }
    }

    fn clear(&mut self) -> String {
        if std::mem::take(&mut self.status) { CLEAR.to_owned() } else { String::new() }
    }
}

/// The one line of a turn, and what is worth one of its own.
fn plain(event: &Notice<'_>) -> Option<String> {
    match event {
        Notice::Entry(entry, state) => Line::of(entry, state.spent.turns)
            .filter(|line| line.kind != LineKind::Call { failed: false })
            .map(|line| line.text),
        event => passing(event),
    }
}

/// What a terminal shows on a line of its own: a turn has its words there.
fn own_line(event: &Notice<'_>) -> Option<String> {
    match event {
        Notice::Entry(entry, state) => Line::of(entry, state.spent.turns)
            .filter(|line| line.kind != LineKind::Turn)
            .map(|line| line.text),
        event => passing(event),
    }
}

/// What people should know in either case, and is in no journal.
fn passing(event: &Notice<'_>) -> Option<String> {
    Some(match event {
        Notice::Opened { resumed: Some(turns), .. } => continued(*turns),
        Notice::Progress(Progress::Retry { attempt, wait, reason }) => {
            format!("attempt {attempt} failed: {}; again in {}", shown(reason), seconds(*wait))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use uwf_agent::journal::ToolFacts;
    use uwf_agent::provider::message::{Message, MessageKind, Speaker, ToolCall};
    use uwf_agent::run_state::RunState;

    fn call(name: &str) -> ToolCall {
        ToolCall { id: "a".into(), name: name.into(), arguments: "{}".into() }
    }

    fn turn(calls: &[ToolCall]) -> Entry {
        let tool_calls = calls.to_vec();
        let message = Message { tool_calls, ..Message::text(Speaker::Assistant, MessageKind::Turn, "x") };
        let (usage, finish_reason, raw) = (None, None, Value::Null);
        Entry::Answered { message, at: 0, duration_ms: 1260, usage, finish_reason, raw }
    }

    fn finished(title: &str, is_error: bool) -> Entry {
        let facts = ToolFacts { title: title.into(), is_error, ..ToolFacts::default() };
        Entry::Finished { message: Message::result("a", "x"), at: 0, duration_ms: 100, facts }
    }

    #[test]
    fn without_a_terminal_a_turn_is_a_line() {
        let calls = ["read_file", "grep", "grep"].map(call);
        let mut state = RunState::default();
        state.spent.turns = 3;
        let of = |entry: &Entry| plain(&Notice::Entry(entry, &state));
        assert_eq!(of(&turn(&calls)).unwrap(), "turn 3: read_file, grep ×2 (1.3 s)");
        assert_eq!(of(&turn(&[])).unwrap(), "turn 3: text (1.3 s)");
        let said = |kind| {
            let message = Message::text(Speaker::User, kind, "x");
            of(&Entry::Said { message, near: None, at: 0 })
        };
        assert_eq!(said(MessageKind::Correction).unwrap(), "told the model: correction");
        assert_eq!((said(MessageKind::Opening), said(MessageKind::Extract)), (None, None));
        assert_eq!(plain(&Notice::Progress(Progress::Text("x"))), None);
        assert_eq!(plain(&Notice::Progress(Progress::Tick)), None);
        let ended = |failed| of(&finished("grep (", failed));
        assert_eq!((ended(true).as_deref(), ended(false)), (Some("  ✗ grep ( (0.1 s)"), None));
    }

    #[test]
    fn a_terminal_sees_words_as_they_come_and_a_status_between_them() {
        let (mut show, mut state) = (Show::new(true), RunState::default());
        let grep = ToolCall { arguments: "{\"pattern\":\"a\nb\"}".into(), ..call("grep") };
        let mut screen = String::new();
        state.apply(&Entry::Asked { at: 0 }).unwrap();
        screen += &show.screen(&Notice::Entry(&Entry::Asked { at: 0 }, &state));
        screen += &show.screen(&Notice::Progress(Progress::Text("I will \x1b]0;evil\x07look")));
        screen += &show.screen(&Notice::Progress(Progress::Tick));
        for entry in [
            turn(&[grep]),
            Entry::Started { call_id: "a".into(), shown: None, at: 0 },
            finished("grep\na", false),
        ] {
            state.apply(&entry).unwrap();
            screen += &show.screen(&Notice::Entry(&entry, &state));
        }
        let expected = format!(
            "{STATUS}turn 1 · thinking · 0 s · 0 tokens{STATUS_END}{CLEAR}I will ]0;evillook\n\
             {STATUS}turn 1 · grep {{\"pattern\":\"a b\"}} · 0 s · 0 tokens{STATUS_END}{CLEAR}  ✓ grep a (0.1 s)\n"
        );
        assert_eq!(screen, expected);
    }
}
