//! What a text claims that can be looked up: files, commands that were run, numbers of tests. Pure.
//!
//! Conservative: what may be meant otherwise is no claim. What else is said is a statement, which only a model can judge.

use uwf_store::excerpt;

/// What a text claims.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    /// There is a file of this path.
    Path(String),
    /// This command was run.
    Command(String),
    /// A number of what tests and tools count: the number, and of what.
    Count(String, String),
}

/// What files end in that are named without a directory.
const EXTENSIONS: [&str; 30] = [
    "c", "cc", "cfg", "cpp", "cs", "css", "go", "h", "hpp", "html", "java", "js", "json", "jsx", "kt",
    "lock", "lua", "md", "php", "py", "rb", "rs", "sh", "sql", "toml", "ts", "tsx", "txt", "yaml", "yml",
];

/// What is counted.
const COUNTED: [&str; 10] =
    ["error", "errors", "failed", "failure", "failures", "passed", "test", "tests", "warning", "warnings"];

/// What stands before a command that was run.
const RAN: [&str; 6] = ["ran", "run", "running", "executed", "executing", "running:"];

/// No more statements of a text are judged.
const MOST: usize = 20;
/// No statement is longer, in characters.
const LONGEST: usize = 400;
/// Fewer words state nothing.
const FEWEST: usize = 3;

/// The claims of a text, in order and none twice.
pub(super) fn claims(text: &str) -> Vec<Claim> {
    let mut found = Vec::new();
    for (before, span) in spans(text) {
        let last = before.split_whitespace().next_back().unwrap_or_default().to_lowercase();
        let words = span.split_whitespace().count();
        let is_past = RAN.contains(&last.trim_end_matches(':')) && !is_proposed(before);
        match () {
            () if is_past && words > 0 => found.push(Claim::Command(span.trim().to_owned())),
            () if words == 1 && is_path(span) => found.push(Claim::Path(path(span))),
            () => {}
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    for pair in words.windows(2) {
        let number = pair[0].trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '/');
        let noun = pair[1].trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) && number.len() < 8;
        if is_number && number.parse() != Ok(0) && COUNTED.contains(&noun.as_str()) {
            found.push(Claim::Count(number.to_owned(), noun));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The sentences of a text that claim something which cannot be looked up: without a command that was run, a count of tests,
/// or a question. The first of them, each no longer than a model needs.
pub(super) fn statements(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in prose(text) {
        let line = line.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '`' | '$' | '"'));
        for sentence in sentences(line) {
            let is_looked_up = claims(sentence).iter().any(|claim| !matches!(claim, Claim::Path(_)));
            let is_short = sentence.split_whitespace().count() < FEWEST;
            let told = excerpt(sentence, LONGEST).into_owned();
            if !is_looked_up && !is_short && !sentence.ends_with('?') && !found.contains(&told) {
                found.push(told);
            }
        }
    }
    found.truncate(MOST);
    found
}

/// The lines of a text outside of fences and headings.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let line = line.trim_start();
        let is_fence = line.starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence && !line.starts_with('#')
    })
}

/// The sentences of a line: what ends in a full stop, an exclamation or a question mark that a blank or nothing follows.
fn sentences(line: &str) -> Vec<&str> {
    let (mut found, mut from) = (Vec::new(), 0);
    let ends = line.char_indices().filter(|(at, c)| {
        let next = line[at + c.len_utf8()..].chars().next();
        matches!(c, '.' | '!' | '?') && next.is_none_or(char::is_whitespace)
    });
    for (at, _) in ends {
        found.push(line[from..=at].trim());
        from = at + 1;
    }
    found.push(line[from..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// What is in backticks, with what stands before it in its line.
fn spans(text: &str) -> Vec<(&str, &str)> {
    let (mut found, mut fenced) = (Vec::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        let parts: Vec<&str> = line.split('`').collect();
        let mut at = 0;
        for (index, part) in parts.iter().enumerate() {
            if index % 2 == 1 && index + 1 < parts.len() && !part.trim().is_empty() {
                found.push((&line[..at - 1], *part));
            }
            at += part.len() + 1;
        }
    }
    found
}

/// Whether what stands before a command says that somebody else is to run it.
fn is_proposed(before: &str) -> bool {
    let words: Vec<String> = before.split_whitespace().map(str::to_lowercase).collect();
    let Some((last, earlier)) = words.split_last() else { return false };
    let is_bare = last.trim_end_matches(':') == "run";
    let after = earlier.last().map(String::as_str);
    is_bare && !matches!(after, Some("have" | "i've" | "was" | "were" | "been" | "has"))
}

fn is_path(span: &str) -> bool {
    let path = path(span);
    let is_plain = path.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-'));
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension =
        name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    let known = extension.is_some_and(|extension| EXTENSIONS.contains(&extension));
    is_plain && !path.contains("//") && known && !path.starts_with("..")
}

/// A path without what stands behind it: a line, a full stop.
fn path(span: &str) -> String {
    let span = span.trim().trim_start_matches("./");
    let span = span.split(':').next().unwrap_or_default();
    span.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let tell = |claim: Claim| match claim {
            Claim::Path(path) => format!("path {path}"),
            Claim::Command(command) => format!("ran {command}"),
            Claim::Count(number, of) => format!("{number} {of}"),
        };
        claims(text).into_iter().map(tell).collect()
    }

    #[test]
    fn files_commands_and_counts_are_claims() {
        let text = "I changed `src/add.py:12` and `add.sh`. I ran `sh test.sh`: 3 tests passed, 12 passed, 0 errors.";
        assert_eq!(told(text), ["path add.sh", "path src/add.py", "ran sh test.sh", "12 passed", "3 tests"]);
    }

    #[test]
    fn what_cannot_be_looked_up_is_a_statement() {
        let text = "---\n$status: done\nsummary: It adds both numbers. Is it fast?\n---\n# What I have done here\n\
                    - `add.sh` prints 1.5 now. I ran `sh test.sh` twice.\n```\nthis is no claim\n```\nDone. 3 tests passed there.\n\
                    - `add.sh` prints 1.5 now.";
        assert_eq!(statements(text), ["summary: It adds both numbers.", "`add.sh` prints 1.5 now."]);
        assert_eq!(statements(&"It is so. And so it is! ".repeat(30)), ["It is so.", "And so it is!"]);
        let many: String = (0..30).map(|at| format!("It is number {at}. ")).collect();
        assert_eq!(statements(&many).len(), MOST);
        assert_eq!(statements(&format!("a b {}", "é".repeat(1000)))[0].chars().count(), LONGEST + 1);
    }

    #[test]
    fn what_may_be_meant_otherwise_is_none() {
        let text = "Please run `make test`. Call `add(1, 2)`, see `obj.method` and `a/b`.\n```\n`x.py`\n```\n\
                    Step 3 of `foo bar.py`; version 1.2.3; `https://a.b/c.html`";
        assert_eq!(told(text), [""; 0]);
    }
}
