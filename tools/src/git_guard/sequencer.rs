//! What git keeps of a rebase, a cherry-pick or a revert that is not over: the steps it will take and the strategy it
//! will merge by, some of which are programs.
//!
//! Pure. As git's own `sequencer.c` reads them: a step is a line, whose first word says what to do; a strategy is the
//! name of a program, `git-merge-` before it, and may hold slashes.

use std::collections::BTreeSet;

use crate::limits::cut_line;
use crate::words::Words;

/// The steps that run nothing but git, long and short.
const STEPS: Words = Words(
    "break b drop d edit e fixup f label l merge m noop pick p reset t revert reword r squash s update-ref u",
);

/// Git's own.
const STRATEGIES: Words = Words("octopus ort ours recursive resolve subtree");

/// How many characters of a step are shown.
const SHOWN: usize = 60;

/// The lines that are none of git's own steps.
pub(super) fn programs(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !is_harmless(line))
}

/// What a file of steps must become so that it runs no programs but those that are `allowed`, and what was taken out of
/// it; `None` when it is so.
pub(super) fn without_programs(text: &[u8], allowed: &BTreeSet<Vec<u8>>) -> Option<(Vec<u8>, Vec<String>)> {
    let is_allowed = |line: &[u8]| is_harmless(line.trim_ascii()) || allowed.contains(line.trim_ascii());
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let (kept, out): (Vec<&[u8]>, Vec<&[u8]>) = lines.partition(|line| is_allowed(line));
    let steps = out.iter().map(|line| format!("the step `{}`", shown(line.trim_ascii())));
    (!out.is_empty()).then(|| (kept.concat(), steps.collect()))
}

/// Whether a strategy is one of git's own, so that no other program is run for it.
pub(super) fn is_own_strategy(text: &[u8]) -> bool {
    let name = text.strip_suffix(b"\n").unwrap_or(text);
    let name = name.strip_suffix(b"\r").unwrap_or(name);
    name.is_empty() || STRATEGIES.contains(name)
}

fn is_harmless(line: &[u8]) -> bool {
    let word = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    word.is_empty() || word[0] == b'#' || STEPS.contains(word)
}

fn shown(line: &[u8]) -> String {
    cut_line(&String::from_utf8_lossy(line), SHOWN).0.replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_runs_programs_is_taken_out_of_the_steps() {
        let text =
            b"pick 1 a\n# exec no\n\n  x  evil\nexec\tevil\nmerge -C 1 l # exec\nnonsense\nu refs/x\nb";
        let (kept, out) = without_programs(text, &BTreeSet::new()).unwrap();
        assert_eq!(kept, b"pick 1 a\n# exec no\n\nmerge -C 1 l # exec\nu refs/x\nb");
        assert_eq!(
            out,
            [
                "the step `x  evil`",
                "the step `exec\tevil`".replace('\t', "?").as_str(),
                "the step `nonsense`"
            ]
        );
        assert!(without_programs(&kept, &BTreeSet::new()).is_none());
    }

    #[test]
    fn a_person_s_own_steps_stand_wherever_they_are() {
        let mine: BTreeSet<Vec<u8>> = programs(b"pick 1\nexec cargo test\n").map(<[u8]>::to_vec).collect();
        assert!(without_programs(b"exec cargo test\npick 2\n", &mine).is_none());
        assert!(without_programs(b"exec cargo test; evil\n", &mine).is_some());
    }

    #[test]
    fn only_git_s_own_strategies_are_no_programs() {
        for own in ["ort", "ort\n", "ours\r\n", ""] {
            assert!(is_own_strategy(own.as_bytes()), "{own}");
        }
        for other in ["./evil", "ort2", "ort\n\n", " ort", "ort\0"] {
            assert!(!is_own_strategy(other.as_bytes()), "{other}");
        }
    }
}
