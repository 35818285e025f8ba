//! What a step changed, in the colours of a patch.

use maud::{Markup, html};
use uwf_engine::view::{ChangedBy, FileDiff, StepDiff};

use super::blocks::folded;
use crate::text::{counted, visible};

/// How many lines of a patch are in a page.
const LINES: usize = 1_500;
/// Patches of so few lines together are not folded.
const FEW: usize = 120;
/// How many files are in a page.
const FILES: usize = 300;

/// The section of the changes, or why there is none.
pub(super) fn changes(changes: &Result<StepDiff, String>) -> Markup {
    let diff = match changes {
        Ok(diff) => diff,
        Err(why) => return html! { h2 { "Changes" } p .small .faint { (visible(why)) } },
    };
    let lines: usize = diff.changes.iter().map(|file| file.diff.lines().count()).sum();
    html! {
        h2 { "Changes" }
        @if diff.changes.is_empty() { p .small .faint { "The step changed no file." } }
        @for changed in diff.changes.iter().take(FILES) { (file(changed, lines <= FEW)) }
        @if diff.changes.len() > FILES { p .more { (counted((diff.changes.len() - FILES) as u64, "file")) " more: " code { "uwf step diff " (diff.step) } } }
        @if let Some(why) = &diff.unknown { p .small .faint { "Changes made by commands are not part of it: " (visible(why)) } }
    }
}

fn file(file: &FileDiff, open: bool) -> Markup {
    let count = |sign: char, head: &str| {
        file.diff.lines().filter(|line| line.starts_with(sign) && !line.starts_with(head)).count()
    };
    let (came, went) = match &file.facts {
        Some(facts) => (facts.insertions as usize, facts.deletions as usize),
        None => (count('+', "+++ "), count('-', "--- ")),
    };
    let summary = html! {
        code { (visible(&file.change.path)) } " "
        @if let Some(facts) = &file.facts {
            @if facts.kind != "modified" { span .small { (facts.kind) " " } }
            @if let Some(from) = &facts.renamed_from { span .small { "from " (visible(from)) " " } }
            (by(&facts.by))
        }
        span .meta { span .add { "+" (came) } " " span .del { "−" (went) } }
    };
    let more = file.diff.lines().count().saturating_sub(LINES);
    let is_binary = file.facts.as_ref().is_some_and(|facts| facts.binary);
    let content = html! {
        @if is_binary { p .small .faint { "A binary file." } } @else {
            pre .diff tabindex="0" { @for line in file.diff.lines().take(LINES) { span class=(kind(line)) { (visible(line)) "\n" } } }
            @if more > 0 { p .more { (counted(more as u64, "line")) " more" } }
        }
    };
    html! { div .file { (folded(&summary, open, &content)) } }
}

fn by(by: &ChangedBy) -> Markup {
    html! {
        @if let ChangedBy::Command { turn, command } = by {
            span .small .faint { "by a command of turn " (turn) @if let Some(command) = command { ": " code { (visible(command)) } } }
        }
    }
}

fn kind(line: &str) -> &'static str {
    const HEADS: [&str; 9] =
        ["diff ", "--- ", "+++ ", "index ", "new ", "deleted ", "similarity ", "rename ", "old "];
    match line.as_bytes().first() {
        _ if HEADS.iter().any(|head| line.starts_with(head)) => "meta",
        Some(b'+') => "add",
        Some(b'-') => "del",
        Some(b'@') => "hunk",
        _ => "same",
    }
}
