//! Whether a thread that is summed up as `compact` says ever gets shorter by it.

use crate::diagnostics::Diagnostics;
use crate::raw::RawCompact;
use crate::values::CompactRule;

/// How many steps stay where `keep` does not say.
pub const KEEP: u32 = 5;

/// The rule, unless something is wrong with it.
pub(super) fn check(raw: Option<RawCompact>, problems: &mut Diagnostics<'_>) -> Option<CompactRule> {
    let raw = raw?;
    let after = raw.after?;
    let keep = match (raw.keep, raw.has_keep) {
        (Some(keep), _) => keep,
        (None, true) => return None,
        (None, false) => KEEP,
    };
    if keep < after {
        return Some(CompactRule { after, keep });
    }
    let (pointer, said) = match raw.has_keep {
        true => (format!("{}/keep", raw.pointer), ""),
        false => (format!("{}/after", raw.pointer), ", which it is where nobody says,"),
    };
    let message = format!(
        "`keep` {keep}{said} leaves nothing to sum up after {after} {}: `keep` must be less than `after`",
        if after == 1 { "step" } else { "steps" }
    );
    problems.at(&pointer, message, "as in `compact: { after: 20, keep: 5 }`".to_owned());
    None
}
