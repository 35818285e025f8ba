//! A value as messages show it.
//!
//! Apart because what is wrong with a schema and what is wrong with a payload both quote values.

use std::borrow::Cow;

use serde_json::Value;

use crate::{excerpt, json};

/// Values longer than this are cut in messages; `got` always has them whole.
const SHOWN: usize = 160;

/// A value as JSON on one line, cut if it is long.
pub(super) fn shown(value: &Value) -> String {
    let text = json::line(value);
    match excerpt(&text, SHOWN) {
        Cow::Owned(start) => format!("{start} ({} bytes)", text.len()),
        Cow::Borrowed(_) => text,
    }
}
