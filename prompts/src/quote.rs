//! Text that is not ours, made safe to stand among instructions: in line, cut; `uwf_workflow::markdown` fences it.
//!
//! Apart because every prompt needs it and none may get it wrong: what another role or the model itself wrote must
//! not be able to end its quotation. Nothing here interprets the text.

use serde_json::Value;
use std::collections::BTreeMap;
use uwf_workflow::markdown::code_span;

/// The text as one line of inline code; white space is folded, at most `limit` characters.
pub(crate) fn inline(text: &str, limit: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = cut(&line, limit, " ");
    code_span(&line)
}

/// The value as inline code: compact JSON, at most `limit` characters.
pub(crate) fn inline_json(value: &Value, limit: usize) -> String {
    inline(&compact(value), limit)
}

/// The value as JSON on one line, keys by name however the JSON library was built.
pub(crate) fn compact(value: &Value) -> String {
    sorted(value).to_string()
}

/// The first `limit` characters; what is missing is said after `gap`, with the word `[cut]`.
pub(crate) fn cut(text: &str, limit: usize, gap: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(limit) else { return text.to_owned() };
    let total = text.chars().count();
    format!("{}{gap}[cut] {limit} of {total} characters shown", &text[..end])
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(map) => {
            let by_name: BTreeMap<&String, Value> =
                map.iter().map(|(name, value)| (name, sorted(value))).collect();
            by_name.into_iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use uwf_workflow::markdown::longest_run;

    proptest! {
        #[test]
        fn inline_code_is_one_line_and_cannot_be_closed(text in "[a`\n é]{0,40}") {
            let inline = inline(&text, 20);
            let fence = &inline[..inline.find(|c| c != '`').unwrap()];
            prop_assert!(!inline.contains('\n'));
            prop_assert_eq!(longest_run(&inline), fence.len());
            prop_assert_eq!(inline.matches(fence).count(), 2);
        }

        #[test]
        fn a_cut_keeps_the_beginning_and_says_so(text in "\\PC{0,30}", limit in 1usize..30) {
            let short = cut(&text, limit, "\n");
            let kept: String = text.chars().take(limit).collect();
            prop_assert!(short.starts_with(&kept));
            prop_assert_eq!(short != text, text.chars().count() > limit);
        }
    }

    #[test]
    fn a_cut_text_says_how_much_is_missing() {
        assert_eq!(cut("äöü", 2, "\n"), "äö\n[cut] 2 of 3 characters shown");
        assert_eq!(cut("äöü", 3, "\n"), "äöü");
    }
}
