//! JSON values as YAML text: for people who ask for `--format yaml`, for the configuration file, and for a model that is
//! shown what to write.
//!
//! The one promise is that our own reader gives the same value back; it is asked whenever a text might pass for
//! something else.

use serde_json::Value;
use uwf_store::json;

use crate::yaml;

/// A longer key must be marked as one (`? key`): YAML looks no further than 1024 characters for the colon.
const LONGEST_KEY: usize = 1000;

/// `value` as one YAML document in block style, ending in a line end.
pub fn write(value: &Value) -> String {
    let mut text = String::new();
    block(&json::sorted(value.clone()), 0, &mut text);
    text.trim_start_matches(['\n', ' ']).to_owned()
}

/// What follows a key or a dash: a scalar on the same line, or an indented block below it.
fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                line(indent, out);
                key(&quoted_unless_plain(name), indent, out);
                block(value, indent + 2, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                line(indent, out);
                out.push('-');
                block(item, indent + 2, out);
            }
        }
        Value::String(text) if is_literal(text) => literal(text, indent, out),
        Value::String(text) => scalar(&quoted_unless_plain(text), out),
        // Empty containers, numbers, booleans and null are written as JSON does.
        other => scalar(&other.to_string(), out),
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

fn key(name: &str, indent: usize, out: &mut String) {
    if name.len() > LONGEST_KEY {
        out.push_str("? ");
        out.push_str(name);
        line(indent, out);
    } else {
        out.push_str(name);
    }
    out.push(':');
}

fn line(indent: usize, out: &mut String) {
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out.extend(std::iter::repeat_n(' ', indent));
}

fn scalar(text: &str, out: &mut String) {
    out.push(' ');
    out.push_str(text);
}

/// Texts of several lines that a literal block keeps as they are: no line may begin or end with a blank.
fn is_literal(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let clean = |line: &str| line.trim() == line && line.chars().all(is_printable);
    body.contains('\n') && body.split('\n').all(clean) && !body.starts_with('\n') && !body.ends_with('\n')
}

fn literal(text: &str, indent: usize, out: &mut String) {
    out.push_str(if text.ends_with('\n') { " |\n" } else { " |-\n" });
    for text in text.lines() {
        if !text.is_empty() {
            line(indent.max(2), out);
            out.push_str(text);
        }
        out.push('\n');
    }
}

/// Booleans to readers of YAML 1.1, of which there are many.
const OLD_BOOLEANS: [&str; 4] = ["yes", "no", "on", "off"];

/// A text on one line: plain where every reader takes it for the same string, as far as we know, else double-quoted.
pub fn quoted_unless_plain(text: &str) -> String {
    let harmless = |character: char| character.is_alphanumeric() || " _./$@+-".contains(character);
    let begins_well = text.starts_with(|first: char| first.is_alphanumeric() || "_./$".contains(first));
    // Numbers to YAML, though not to our reader, since JSON has none such.
    let special = [".inf", ".nan"].iter().chain(&OLD_BOOLEANS);
    let is_special = special.into_iter().any(|special| text.eq_ignore_ascii_case(special));
    let plain = begins_well
        && text.trim() == text
        && text.chars().all(harmless)
        && !["---", "..."].contains(&text)
        && !is_special;
    if plain && yaml::parse_value(text).is_ok_and(|value| value == text) {
        return text.to_owned();
    }
    let json = serde_json::to_string(text).expect("a string always serialises");
    json.chars()
        .map(|character| match character {
            // JSON allows them as they are, YAML does not.
            odd if !is_printable(odd) => format!("\\U{:08X}", u32::from(odd)),
            plain => plain.to_string(),
        })
        .collect()
}

fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::yaml::parse_value;

    #[test]
    fn it_reads_like_yaml() {
        let value = json!({
            "agents": {"mine": {"args": ["-x", "true", "a b"], "command": "./run me"}},
            "text": "a\n\nb\n", "n": 1.5, "none": null, "empty": {}, "nested": [[1], {"a": ["x: y"]}],
        });
        insta::assert_snapshot!(write(&value));
        assert_eq!(write(&json!("plain")), "plain\n");
        for special in [".inf", ".NaN", "-.INF", "...", "1e3", "0x1f", "~", "yes", "NO", "on", "Off"] {
            assert_eq!(write(&json!(special)), format!("\"{special}\"\n"));
        }
        assert_eq!(write(&json!({})), "{}\n");
    }

    #[test]
    fn a_key_may_be_long() {
        for name in ["k".repeat(3000), "\u{7f}\"".repeat(400)] {
            for inner in
                [json!(1), json!("a\nb\n"), json!({"x": [1, {"y": null}]}), json!([]), json!([[1], 2])]
            {
                let value = json!({"a": {&name: inner}, "z": [{&name: inner, "b": 2}]});
                let text = write(&value);
                assert_eq!(parse_value(&text).as_ref(), Ok(&value), "{text}");
            }
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "[ -~\n\t]{0,20}",
            any::<String>(),
            Just("yes".to_owned()),
            Just("0o7".to_owned()),
            Just("- a".to_owned()),
            Just("a: b # c".to_owned()),
            Just("  indented\n more\n\n".to_owned()),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            (-1000i32..1000).prop_map(|n| Value::from(f64::from(n) / 8.0 + 0.0625)),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z$. -]{1,6}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn our_reader_gives_the_same_value_back(value in any_value()) {
            let text = write(&value);
            prop_assert_eq!(parse_value(&text).map_err(|error| error.to_string()), Ok(value), "{}", text);
        }
    }
}
