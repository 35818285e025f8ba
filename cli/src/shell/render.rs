//! Small pieces of text for people: paths, times, durations, blocks of markdown.

use std::borrow::Cow;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;
use uwf_workflow::{markdown, yaml};

use super::sanitise::one_line;
pub(crate) use super::table::table;
use uwf_agent::Usd;
use uwf_engine::record::Artifact;
use uwf_engine::thread::Usage;

/// A path as it is printed: a name that is no text as well as may be.
pub(crate) fn path(path: &Path) -> String {
    path.display().to_string()
}

/// `2026-11-21 21:33:04` in UTC.
pub(crate) fn time(ms: u64) -> String {
    // Beyond the year 9999 there is no such text.
    let ms = ms.min(253_402_300_799_000);
    let text = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(ms)).to_string();
    text.replace('T', " ").trim_end_matches('Z').to_owned()
}

/// `126 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// How long ago something was: `12 s`, `3 min`, `5 h`, `2 d`.
pub(crate) fn age(ms: u64) -> String {
    const HOUR: u64 = 3_600_000;
    match ms {
        0..60_000 => format!("{} s", ms / 1000),
        60_000..HOUR => format!("{} min", ms / 60_000),
        HOUR..172_800_000 => format!("{} h", ms / HOUR),
        _ => format!("{} d", ms / (24 * HOUR)),
    }
}

/// What is known of a cost, and whether it is all: `$0.0123`, `$1.50 + ?`, `?`; nothing where no model was paid.
pub(crate) fn cost(usd: Option<f64>, unpriced: u64) -> String {
    match (usd.map(Usd::dollars), unpriced) {
        (Some(usd), 0) => usd.to_string(),
        (Some(usd), _) => format!("{usd} + ?"),
        (None, 0) => String::new(),
        (None, _) => "?".to_owned(),
    }
}

/// `1 step`, `3 steps`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A number with its thousands apart: `1 234 567`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for group in digits.as_bytes()[first..].chunks(3) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.extend(group.iter().map(|digit| char::from(*digit)));
    }
    text
}

/// `512 B`, `1.2 KiB`, `3.4 MiB`.
pub(crate) fn bytes(count: u64) -> String {
    let mut tenths = count.saturating_mul(10);
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if tenths < 10_240 {
            let small = unit == "B";
            return if small {
                format!("{count} B")
            } else {
                format!("{}.{} {unit}", tenths / 10, tenths % 10)
            };
        }
        tenths /= 1024;
    }
    format!("{}.{} TiB", tenths / 10, tenths % 10)
}

/// The name of a file or node as a terminal may be given it, on one line.
pub(crate) fn name(name: &str) -> String {
    one_line(name).into_owned()
}

/// `report.md, 1.2 KiB, 9GDHFMG6KAC8V`.
pub(crate) fn artifact(artifact: &Artifact) -> String {
    named(artifact, &name(&artifact.name))
}

/// The same in markdown: `` `report.md`, 1.2 KiB, 9GDHFMG6KAC8V ``.
pub(crate) fn artifact_in_markdown(artifact: &Artifact) -> String {
    named(artifact, &markdown::code_span(&one_line(&artifact.name)))
}

fn named(artifact: &Artifact, name: &str) -> String {
    let size = artifact.size.map(|size| format!(", {}", bytes(size))).unwrap_or_default();
    format!("{name}{size}, {}", artifact.content)
}

/// `3 turns, 1200 tokens in, 80 out`.
pub(crate) fn usage(usage: &Usage) -> String {
    let turns = if usage.turns == 1 { "turn" } else { "turns" };
    format!("{} {turns}, {} tokens in, {} out", usage.turns, usage.input_tokens, usage.output_tokens)
}

/// A value as a fenced block of YAML.
pub(crate) fn yaml_block(value: &Value) -> String {
    fenced("yaml", &yaml::write(value))
}

/// A text as a fenced block, whatever fences it holds itself.
pub(crate) fn fenced(language: &str, text: &str) -> String {
    uwf_workflow::markdown::fenced(language, text) + "\n"
}

/// A text as a quotation.
pub(crate) fn quotation(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect()
}

/// The first line, at most `width` characters of it.
pub(crate) fn first_line(text: &str, width: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    match uwf_store::excerpt(line, width) {
        Cow::Borrowed(_) if text.trim_end().lines().count() > 1 => format!("{line} …"),
        start => start.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_read_well() {
        assert_eq!(time(1_795_296_784_304), "2026-11-21 21:33:04");
        assert_eq!(time(u64::MAX), "9999-12-31 23:59:59");
        let texts = [61, 1250, 200_000, 7_500_000].map(duration);
        assert_eq!(texts, ["61 ms", "1.2 s", "3 min 20 s", "2 h 5 min"]);
    }

    #[test]
    fn ages_costs_and_counts_read_well() {
        let ages = [0, 59_999, 200_000, 7_500_000, 172_799_999, 400_000_000].map(age);
        assert_eq!(ages, ["0 s", "59 s", "3 min", "2 h", "47 h", "4 d"]);
        let costs = [(Some(0.0042), 0), (Some(12.0), 1), (None, 2), (None, 0)]
            .map(|(usd, unpriced)| cost(usd, unpriced));
        assert_eq!(costs, ["$0.0042", "$12.00 + ?", "?", ""]);
        assert_eq!(
            [0, 12, 1234, 123_456, 1_234_567].map(thousands),
            ["0", "12", "1 234", "123 456", "1 234 567"]
        );
        assert_eq!([count(1, "step"), count(2, "step")], ["1 step", "2 steps"]);
    }

    #[test]
    fn sizes_read_well() {
        let texts = [0, 1023, 1024, 1_300_000, 5 << 30, 7 << 40].map(bytes);
        assert_eq!(texts, ["0 B", "1023 B", "1.0 KiB", "1.2 MiB", "5.0 GiB", "7.0 TiB"]);
    }

    #[test]
    fn a_fence_is_longer_than_those_inside() {
        assert_eq!(fenced("", "a\n````\nb\n"), "`````\na\n````\nb\n`````\n");
        assert_eq!(quotation("a\n\nb\n"), "> a\n>\n> b\n");
        assert_eq!(first_line("one\ntwo", 10), "one …");
        assert_eq!(first_line("abcdef", 3), "abc…");
    }
}
