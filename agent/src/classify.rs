//! What a completion's text really is: an answer to be judged, a thought, a tool call that leaked into the text, or
//! nothing.
//!
//! Pure, and apart from the providers because these are habits of models, not of endpoints.

use serde_json::Value;
use uwf_workflow::frontmatter;

/// A completion without tool calls, understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextClass<'a> {
    /// Text that may be an answer.
    Text(&'a str),
    /// No text at all.
    Nothing,
    /// A tool call written as text, which nothing has run.
    LeakedCall,
}

/// Splits a leading `<think>…</think>` (or everything up to a lone `</think>`) from the text behind it.
pub(crate) fn split_thought(text: &str) -> (Option<&str>, &str) {
    let opened = text.trim_start().strip_prefix("<think>");
    let inner = opened.unwrap_or(text);
    let Some((thought, rest)) = inner.split_once("</think>") else {
        return (None, text);
    };
    // A lone end tag counts only where no fence stands before it: an answer may well speak of the tag.
    if opened.is_none() && thought.lines().any(|line| line.trim_end() == "---") {
        return (None, text);
    }
    (Some(thought.trim()).filter(|thought| !thought.is_empty()), rest.trim_start())
}

impl<'a> TextClass<'a> {
    /// Understands the text of a completion that asked for no tool.
    pub(crate) fn of(text: &'a str) -> TextClass<'a> {
        let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if trimmed.is_empty() {
            TextClass::Nothing
        } else if is_call(trimmed) && frontmatter::split(&frontmatter::normalized(text)).is_err() {
            TextClass::LeakedCall
        } else {
            TextClass::Text(text)
        }
    }
}

fn is_call(text: &str) -> bool {
    text.contains("<tool_call>") || text.contains("<function=") || is_call_json(text)
}

/// JSON with a name and arguments, bare or in the code fence that ends the text.
fn is_call_json(text: &str) -> bool {
    let last_fence = text.strip_suffix("```").and_then(|text| text.rsplit_once("```"));
    let json = last_fence
        .map_or(text, |(_, block)| block.trim_start_matches("json").trim_start_matches("tool_call"));
    let Ok(value) = serde_json::from_str::<Value>(json.trim()) else { return false };
    let call = value.get(0).unwrap_or(&value);
    let call = call.get("function").unwrap_or(call);
    call["name"].is_string() && (call.get("arguments").or(call.get("parameters"))).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_split_off() {
        assert_eq!(split_thought("<think>hm</think>\n---\na"), (Some("hm"), "---\na"));
        assert_eq!(split_thought("hm\n</think>---\na"), (Some("hm"), "---\na"));
        assert_eq!(split_thought("<think>\n</think>x"), (None, "x"));
        assert_eq!(split_thought("<think>never closed"), (None, "<think>never closed"));
        let answer = "---\n$status: done\n---\nthe `</think>` tag";
        assert_eq!(split_thought(answer), (None, answer));
    }

    #[test]
    fn leaked_calls_are_never_an_answer() {
        for text in [
            "<tool_call>{\"name\": \"grep\"}</tool_call>",
            "I will look.\n<function=grep>{}</function>",
            "```json\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n```",
            "Let me see:\n```\n[{\"name\": \"grep\", \"parameters\": {}}]\n```",
            "{\"function\": {\"name\": \"grep\", \"arguments\": \"{}\"}}",
        ] {
            assert_eq!(TextClass::of(text), TextClass::LeakedCall, "{text}");
        }
        for text in [
            "prose",
            "---\n$status: done\n---\n<tool_call> is a tag",
            "Hi\n---\n$status: done\n---\n<tool_call>",
            "```json\n{\"name\": \"x\"}\n```",
        ] {
            assert_eq!(TextClass::of(text), TextClass::Text(text));
        }
        assert_eq!(TextClass::of(" \n\u{feff}"), TextClass::Nothing);
    }
}
