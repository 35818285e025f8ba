//! The wires there are, by name.
//!
//! Apart from how each is written and read, since messages, settings and dialects only say which one is spoken.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The request and event formats that endpoints speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// OpenAI-compatible chat completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
}

impl Wire {
    /// The word for it: `chat`, `responses` or `messages`.
    pub fn as_str(self) -> &'static str {
        match self {
            Wire::Chat => "chat",
            Wire::Responses => "responses",
            Wire::Messages => "messages",
        }
    }

    /// Where its requests go, below the API's version.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Wire::Chat => "/chat/completions",
            Wire::Responses => "/responses",
            Wire::Messages => "/messages",
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Wire {
    type Err = ();

    fn from_str(text: &str) -> Result<Wire, ()> {
        [Wire::Chat, Wire::Responses, Wire::Messages].into_iter().find(|wire| wire.as_str() == text).ok_or(())
    }
}
