//! Times as people type them: `--after`, `--before`.

use std::time::{Duration, UNIX_EPOCH};

use crate::shell::{CliError, USAGE};

/// `7d` (so long ago), a day, or a time; as milliseconds since the epoch.
pub(super) fn time_argument(text: &str, now_ms: u64) -> Result<u64, CliError> {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if let Ok(ago) = humantime::parse_duration(text) {
        return Ok(now_ms.saturating_sub(ms(ago)));
    }
    let (local, offset) = without_offset(text);
    let day = format!("{text}T00:00:00Z");
    let parsed = humantime::parse_rfc3339_weak(local).or_else(|_| humantime::parse_rfc3339_weak(&day));
    let since = parsed.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| ms(since).checked_add_signed(-offset)).ok_or_else(|| CliError::Said {
        error: format!("`{text}` is not a time").into(),
        hint: Some(
            "expected 2026-11-21, 2026-11-21T08:00:00Z (or +01:00), or 7d for seven days ago".to_owned(),
        ),
        exit: USAGE,
    })
}

/// A time without its offset from UTC, and that in milliseconds: `T08:00:00+01:00`.
fn without_offset(text: &str) -> (&str, i64) {
    let split =
        text.rsplit_once(['+', '-']).filter(|(time, _)| time.contains('T') && !time.ends_with(['Z', 'z']));
    let Some((time, (hours, minutes))) =
        split.and_then(|(time, offset)| Some((time, offset.split_once(':')?)))
    else {
        return (text, 0);
    };
    let number = |digits: &str, below: i64| {
        let number = digits.parse::<i64>().ok().filter(|number| *number < below);
        number.filter(|_| digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit()))
    };
    match (number(hours, 24), number(minutes, 60)) {
        (Some(hours), Some(minutes)) => {
            let sign = if text[time.len()..].starts_with('-') { -1 } else { 1 };
            (time, sign * (hours * 60 + minutes) * 60_000)
        }
        _ => (text, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_day_a_time_or_so_long_ago() {
        let at = |text: &str| time_argument(text, 1_000_000_000_000).unwrap();
        assert_eq!(at("1000s"), 999_999_000_000);
        assert_eq!(at("2026-11-22"), 1_795_305_600_000);
        for same in ["2026-11-22T05:49:00Z", "2026-11-22T14:49:00+09:00", "2026-11-22T00:19:00-05:30"] {
            assert_eq!(at(same), 1_795_326_540_000, "{same}");
        }
        for not_one in [
            "soon",
            "",
            "2026-11-22T05:49:00+9:00",
            "2026-11-22T05:49:00+24:00",
            "2026-13-01",
            "+01:00",
            "2026-11-22T05:49:00Z+01:00",
        ] {
            assert_eq!(time_argument(not_one, 0).unwrap_err().exit(), USAGE, "{not_one}");
        }
    }
}
