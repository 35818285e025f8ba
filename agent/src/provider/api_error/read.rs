//! What endpoints say about errors, in the many shapes they say it, → [`ApiError`].
//!
//! Apart because it reads the bodies that are no completions. The text it gets is free of secrets already.

use std::time::Duration;

use serde_json::Value;

use super::{ApiError, NO_WORDS};

/// How much of a message people get to read, in characters.
const READABLE: usize = 600;

/// The body of a reply with a bad status.
pub(crate) fn of_body(body: &str) -> ApiError {
    match serde_json::from_str::<Value>(body) {
        Ok(value) if value.is_object() || value.is_array() => of_value(&value),
        _ => ApiError::words(excerpt(body)),
    }
}

/// Whether a good reply holds an error.
pub(in crate::provider) fn is_within(reply: &Value) -> bool {
    let given = reply.get("error").is_some_and(is_error);
    let is_named = reply.get("object").is_some_and(|object| object == "error");
    // Proxies and frameworks complain with a good status and no choices.
    let is_bare = reply.get("choices").is_none()
        && ["detail", "message"].iter().any(|key| reply.get(key).is_some_and(is_error));
    given || is_named || is_bare || reply.is_array()
}

/// Whether the value of a field for errors is one: some fields are there, and empty, in every reply.
pub(in crate::provider) fn is_error(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    }
}

/// An error as JSON: `{"error": {…}}`, `{"error": "…"}`, `{"message": …}`, `{"detail": …}`, or a list of one of these.
pub(in crate::provider) fn of_value(value: &Value) -> ApiError {
    let value = value.get(0).unwrap_or(value);
    let error = match value.get("error") {
        Some(error) if !error.is_null() => error,
        _ => value,
    };
    let words = [error.as_str(), text(error, "message"), text(value, "message"), text(error, "detail")];
    let message = words.into_iter().flatten().find(|words| !words.is_empty());
    let message = message.map_or_else(|| excerpt(&error.to_string()), excerpt);
    ApiError {
        message,
        code: word(error, "code"),
        kind: word(error, "type").or_else(|| word(error, "status")),
        param: word(error, "param"),
        request_id: word(value, "request_id").or_else(|| word(error, "request_id")),
        should_retry: None,
        retry_delay: retry_delay(error),
        failed_generation: text(error, "failed_generation").map(str::to_owned),
    }
}

/// How long to wait by `details: [{"retryDelay": "34s"}]` (google.rpc.RetryInfo).
fn retry_delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let seconds = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'))?;
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
}

/// The start of a text as one line of readable length; of a page its title.
pub(in crate::provider) fn excerpt(text: &str) -> String {
    let text = match title(text) {
        Some(title) => return format!("an HTML page, {:?}", excerpt(title)),
        None => text,
    };
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    if line.is_empty() {
        return NO_WORDS.to_owned();
    }
    uwf_store::excerpt(&line, READABLE).into_owned()
}

fn title(page: &str) -> Option<&str> {
    let lower: String = page.trim_start().chars().take(9).collect::<String>().to_ascii_lowercase();
    if !lower.starts_with("<html") && !lower.starts_with("<!doctype") {
        return None;
    }
    let title = page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    Some(title.map_or("without a title", |(title, _)| title.trim()))
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// A code: a text or a number.
fn word(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_shape_of_an_error_gives_its_words() {
        for (body, words) in [
            (r#"{"error": {"message": "no"}}"#, "no"),
            (r#"{"error": "no"}"#, "no"),
            (r#"{"message": "no"}"#, "no"),
            (r#"{"object": "error", "message": "no", "code": 400}"#, "no"),
            (r#"{"detail": "no"}"#, "no"),
            (r#"{"detail": [{"loc": ["body"]}]}"#, r#"{"detail":[{"loc":["body"]}]}"#),
            (r#"[{"error": {"message": "no", "status": "X"}}]"#, "no"),
            ("upstream\n  failed", "upstream failed"),
            ("", "no explanation"),
            (
                "<!DOCTYPE html><html><head><title>502 Bad Gateway</title>",
                r#"an HTML page, "502 Bad Gateway""#,
            ),
            ("<html>", r#"an HTML page, "without a title""#),
            ("\"words\"", "\"words\""),
        ] {
            assert_eq!(of_body(body).message, words, "{body}");
        }
        let long = of_body(&"é".repeat(5000)).message;
        assert_eq!(long.chars().count(), READABLE + 1);
    }

    #[test]
    fn codes_are_texts_or_numbers() {
        let told = of_body(r#"{"error": {"message": "m", "code": 429, "status": "RESOURCE_EXHAUSTED"}}"#);
        assert_eq!((told.code.as_deref(), told.kind.as_deref()), (Some("429"), Some("RESOURCE_EXHAUSTED")));
        let told =
            of_body(r#"{"error": {"message": "m", "code": "c", "type": "t", "failed_generation": "g"}}"#);
        assert_eq!((told.code.as_deref(), told.kind.as_deref()), (Some("c"), Some("t")));
        assert_eq!(told.failed_generation.as_deref(), Some("g"));
    }

    #[test]
    fn what_helps_a_client_or_its_support_is_read() {
        let google = r#"[{"error": {"message": "m", "code": 429, "details": [{"@type": "x"}, {"retryDelay": "34.5s"}]}}]"#;
        assert_eq!(of_body(google).retry_delay, Some(Duration::from_millis(34_500)));
        let anthropic = r#"{"type": "error", "error": {"type": "t", "message": "m"}, "request_id": "req_1"}"#;
        assert_eq!(of_body(anthropic).request_id.as_deref(), Some("req_1"));
        let openai = r#"{"error": {"message": "m", "param": "reasoning.summary"}}"#;
        assert_eq!(of_body(openai).param.as_deref(), Some("reasoning.summary"));
    }

    #[test]
    fn a_good_reply_holds_no_error() {
        for good in [
            json!({"choices": []}),
            json!({"choices": [], "error": null}),
            json!({"choices": [], "error": {}}),
            json!({"choices": [], "message": "hello"}),
            json!({"usage": {}}),
        ] {
            assert!(!is_within(&good), "{good}");
        }
        for bad in [json!({"error": "x"}), json!({"detail": "x"}), json!({"object": "error", "message": "x"})]
        {
            assert!(is_within(&bad));
            assert_eq!(of_value(&bad).message, "x");
        }
    }
}
