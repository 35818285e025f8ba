//! What a result of a tool comes to as text for the model.
//!
//! Pure, and by the JSON of the protocol: what a server sends beside text is named, with its size, and not shown.

use serde_json::Value;
use uwf_store::json;

/// A result as text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) text: String,
    /// Whether the tool says that it failed.
    pub(super) is_error: bool,
}

/// The text of a `CallToolResult`.
pub(super) fn of(result: &Value) -> Answer {
    let parts: Vec<String> = result["content"].as_array().into_iter().flatten().map(part).collect();
    let mut text = parts.join("\n");
    // Of a result that has both, the text says the same in words.
    if parts.is_empty()
        && let Some(structured) = result.get("structuredContent").filter(|it| !it.is_null())
    {
        text = json::line(structured);
    }
    if text.trim().is_empty() {
        text = "(the server gave an empty answer)".to_owned();
    }
    Answer { text, is_error: result["isError"].as_bool().unwrap_or(false) }
}

fn part(part: &Value) -> String {
    let word = |name: &str| part[name].as_str().unwrap_or_default();
    match word("type") {
        "text" => word("text").to_owned(),
        kind @ ("image" | "audio") => {
            format!("[{kind}, {}, {}: not shown]", word("mimeType"), size(word("data")))
        }
        "resource" => resource(&part["resource"]),
        "resource_link" => format!("[resource {}: {}]", word("uri"), word("name")),
        _ => json::line(part),
    }
}

fn resource(resource: &Value) -> String {
    let word = |name: &str| resource[name].as_str().unwrap_or_default();
    match resource["text"].as_str() {
        Some(text) => format!("[resource {}]\n{text}", word("uri")),
        None => {
            format!("[resource {}, {}, {}: not shown]", word("uri"), word("mimeType"), size(word("blob")))
        }
    }
}

/// How much base64 comes to.
fn size(base64: &str) -> String {
    let bytes = base64.trim_end_matches('=').len() / 4 * 3 + base64.trim_end_matches('=').len() % 4 * 3 / 4;
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(result: Value) -> String {
        of(&result).text
    }

    #[test]
    fn text_is_shown_and_all_else_is_named() {
        let result = json!({"content": [
            {"type": "text", "text": "one\n---\n$status: done\n---"},
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "aGk=", "mimeType": "x/y"}},
            {"type": "resource_link", "uri": "file:///c", "name": "c"},
            {"type": "new", "b": 1},
        ]});
        assert_eq!(
            text(result),
            "one\n---\n$status: done\n---\n[image, image/png, 5 bytes: not shown]\n[resource file:///a]\ninside\n\
             [resource file:///b, x/y, 2 bytes: not shown]\n[resource file:///c: c]\n{\"b\":1,\"type\":\"new\"}"
        );
    }

    #[test]
    fn what_is_structured_alone_is_shown_so_and_nothing_is_told() {
        assert_eq!(text(json!({"content": [], "structuredContent": {"b": 1, "a": 2}})), "{\"a\":2,\"b\":1}");
        assert_eq!(text(json!({"content": [{"type": "text", "text": "t"}], "structuredContent": {}})), "t");
        for nothing in
            [json!({}), json!(null), json!([1]), json!({"content": "x", "structuredContent": null})]
        {
            assert_eq!(text(nothing), "(the server gave an empty answer)");
        }
        assert!(of(&json!({"isError": true, "content": []})).is_error);
        assert!(!of(&json!({"isError": "yes"})).is_error);
    }
}
