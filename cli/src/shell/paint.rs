//! What words mean, as their colours tell it, and what there is to know of whoever sees them. Pure.

use std::borrow::Cow;

use super::sanitise::sanitise;

/// What a word means, as its colour tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// It is done, and well: green
    Good,
    /// Somebody is waited for: yellow
    Waiting,
    /// It went wrong: red
    Bad,
    /// It is happening: cyan
    Active,
    /// It matters no more: dim
    Past,
    /// It is what to look at: bold
    Strong,
}

impl Paint {
    /// The meaning of a status word, or of a text that begins with one (`failed: 401`).
    pub fn of_status(text: &str) -> Option<Paint> {
        match text.split([':', ' ']).next().unwrap_or_default() {
            "end" => Some(Paint::Good),
            "suspended" | "paused" | "asks" | "interrupted" => Some(Paint::Waiting),
            "failed" => Some(Paint::Bad),
            "running" => Some(Paint::Active),
            "cancelled" => Some(Paint::Past),
            _ => None,
        }
    }

    /// The text with its colour.
    pub fn on(self, text: &str) -> String {
        let color = match self {
            Paint::Good => "32",
            Paint::Waiting => "33",
            Paint::Bad => "31",
            Paint::Active => "36",
            Paint::Past => "2",
            Paint::Strong => "1",
        };
        format!("\x1b[{color}m{text}\x1b[0m")
    }
}

/// What there is to know of whoever reads stdout.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reader {
    /// How many characters stand in a line, if there is an end to it.
    pub width: Option<usize>,
    /// Whether colours are wanted.
    pub color: bool,
    /// Whether it is a terminal: then foreign texts must not steer it.
    pub is_terminal: bool,
}

impl Reader {
    pub(super) fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_terminal { sanitise(text) } else { text.into() }
    }

    pub(super) fn painted(&self, text: Cow<'_, str>, paint: Option<Paint>) -> String {
        match paint.filter(|_| self.color) {
            Some(paint) => paint.on(&text),
            None => text.into_owned(),
        }
    }
}
