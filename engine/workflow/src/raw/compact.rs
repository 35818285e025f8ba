//! `compact`: when the history of a thread is summed up, as it was typed.

use serde_json::Value;

use super::Section;
use crate::diagnostics::Diagnostics;
use crate::yaml::kind;

/// The two numbers; `None`: missing or no number that counts steps, which has been reported where it may not be.
pub(crate) struct RawCompact {
    pub(crate) pointer: String,
    pub(crate) after: Option<u32>,
    pub(crate) keep: Option<u32>,
    /// Whether `keep` is there at all.
    pub(crate) has_keep: bool,
}

impl RawCompact {
    pub(super) fn read(top: &Section<'_>, problems: &mut Diagnostics<'_>) -> Option<RawCompact> {
        let value = top.map.get("compact").filter(|value| !value.is_null())?;
        let section = Section::open(value, top.below("compact"), "`compact`", problems)?;
        section.tell_others((&["after"], &["keep"]), problems);
        if !section.map.contains_key("after") {
            section.missing("after", problems);
        }
        let after = section.count("after", problems);
        let keep = section.count("keep", problems);
        let has_keep = section.map.get("keep").is_some_and(|keep| !keep.is_null());
        Some(RawCompact { pointer: section.pointer, after, keep, has_keep })
    }
}

impl Section<'_> {
    /// How many steps a key says, if it is there.
    fn count(&self, key: &str, problems: &mut Diagnostics<'_>) -> Option<u32> {
        let value = self.map.get(key)?;
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
        if count.is_none() && (key == "after" || !value.is_null()) {
            let got = match value {
                Value::Number(number) => number.to_string(),
                other => kind(other).to_owned(),
            };
            let message = format!("`{key}` must be a number of steps, from 1 on, got {got}");
            problems.at(&self.below(key), message, None);
        }
        count
    }
}
