//! How a run goes, told on stderr. On a terminal: a status line (turn, tool, elapsed, tokens), a line per finished
//! tool call, and the model's words as they come. Elsewhere: one plain line a turn, and one a failed tool call.
//!
//! Apart so that the loop knows no terminal. What a model or a tool says is shown without its control characters:
//! they could make a terminal do things.

use std::time::{Duration, Instant};

use crate::shell::Ui;

use uwf_agent::provider;
use uwf_agent::provider::message::{Kind, ToolCall};
use uwf_agent::react::Event;

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
    pub(super) fn tell(&mut self, event: &Event<'_>, ui: &mut Ui<'_>) {
        if let Event::NoEdgePrompt = event {
            return ui.warn("no edge prompt was given and none is due: the thread's task is used");
        }
        if !self.terminal {
            if let Some(line) = plain(event) {
                ui.note(&line);
            }
            return;
        }
        let text = self.screen(event);
        if !text.is_empty() {
            ui.pass(text.as_bytes());
        }
    }

    /// What a terminal is sent.
    fn screen(&mut self, event: &Event<'_>) -> String {
        match event {
            Event::TurnStarted { number } => {
                (self.turn, self.doing, self.spoke) = (*number, "thinking".to_owned(), false);
                self.status_line()
            }
            Event::Progress(provider::Progress::Text(text)) => self.words(text),
            Event::Turn { usage, .. } => {
                self.tokens += usage.map_or(0, |usage| usage.input_tokens + usage.output_tokens);
                self.end_of_words()
            }
            Event::ToolStarted { call, arguments } => {
                self.doing = format!("{} {arguments}", call.name);
                self.status_line()
            }
            Event::Tick => self.status_line(),
            Event::RunFinished { .. } => self.end_of_words() + &self.clear(),
            event => match tool(event).or_else(|| notable(event)) {
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
fn plain(event: &Event<'_>) -> Option<String> {
    match event {
        Event::Turn { number, took, calls, .. } => {
            Some(format!("turn {number}: {} ({})", tools(calls), seconds(*took)))
        }
        Event::Tool { failed: true, .. } => tool(event),
        event => notable(event),
    }
}

/// The tools of a turn: `read_file, grep ×3`.
fn tools(calls: &[ToolCall]) -> String {
    if calls.is_empty() {
        return "text".to_owned();
    }
    let alike: Vec<String> = calls
        .chunk_by(|one, next| one.name == next.name)
        .map(|same| match same.len() {
            1 => shown(&same[0].name),
            times => format!("{} ×{times}", shown(&same[0].name)),
        })
        .collect();
    alike.join(", ")
}

/// The line of a finished tool call.
fn tool(event: &Event<'_>) -> Option<String> {
    let Event::Tool { title, failed, took, .. } = event else { return None };
    // A name may hold line ends, and a line of its own would look like one of ours.
    let title = shown(title).replace('\n', " ");
    Some(format!("  {} {title} ({})", if *failed { "✗" } else { "✓" }, seconds(*took)))
}

/// What people should know in either case.
fn notable(event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::Continued { turns } => {
            format!(
                "continues the interrupted run, after {turns} {}",
                if *turns == 1 { "turn" } else { "turns" }
            )
        }
        Event::Progress(provider::Progress::Retry { attempt, wait, reason }) => {
            format!("attempt {attempt} failed: {}; again in {}", shown(reason), seconds(*wait))
        }
        Event::Progress(provider::Progress::Learnt { change, reason }) => {
            format!("refused: {}; {}", shown(reason), shown(change))
        }
        Event::Said(kind) if *kind != Kind::Opening => format!("told the model: {}", kind.as_str()),
        Event::Warned(text) => format!("warning: {}", shown(text)),
        Event::LeftOut { results } => {
            format!("the window is nearly full: {results} old results are left out")
        }
        _ => return None,
    })
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// The text without control characters, but for line breaks and tabs.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> ToolCall {
        ToolCall { id: "a".into(), name: name.into(), arguments: "{}".into() }
    }

    fn turn(calls: &[ToolCall]) -> Event<'_> {
        let took = Duration::from_millis(1260);
        Event::Turn { number: 3, took, calls, usage: None, cost: None, finish_reason: None }
    }

    #[test]
    fn without_a_terminal_a_turn_is_a_line() {
        let calls = ["read_file", "grep", "grep"].map(call);
        let of = |event: &Event<'_>| plain(event).unwrap_or_default();
        assert_eq!(of(&turn(&calls)), "turn 3: read_file, grep ×2 (1.3 s)");
        assert_eq!(of(&turn(&[])), "turn 3: text (1.3 s)");
        assert_eq!(of(&Event::Said(Kind::Correction)), "told the model: correction");
        assert_eq!(plain(&Event::Progress(provider::Progress::Text("x"))), None);
        assert_eq!(plain(&Event::Tick), None);
        let ended = |failed: bool| {
            let took = Duration::from_millis(100);
            plain(&Event::Tool { call: &calls[1], title: "grep (", failed, exit_code: None, took })
        };
        assert_eq!((ended(true).as_deref(), ended(false)), (Some("  ✗ grep ( (0.1 s)"), None));
    }

    #[test]
    fn a_terminal_sees_words_as_they_come_and_a_status_between_them() {
        let mut show = Show::new(true);
        let grep = call("grep");
        let took = Duration::from_millis(100);
        let mut screen = String::new();
        for event in [
            Event::TurnStarted { number: 1 },
            Event::Progress(provider::Progress::Text("I will \x1b]0;evil\x07look")),
            Event::Tick,
            turn(std::slice::from_ref(&grep)),
            Event::ToolStarted { call: &grep, arguments: "{\"pattern\":\"a\nb\"}" },
            Event::Tool { call: &grep, title: "grep\na", failed: false, exit_code: None, took },
        ] {
            screen += &show.screen(&event);
        }
        let expected = format!(
            "{STATUS}turn 1 · thinking · 0 s · 0 tokens{STATUS_END}{CLEAR}I will ]0;evillook\n\
             {STATUS}turn 1 · grep {{\"pattern\":\"a b\"}} · 0 s · 0 tokens{STATUS_END}{CLEAR}  ✓ grep a (0.1 s)\n"
        );
        assert_eq!(screen, expected);
    }
}
