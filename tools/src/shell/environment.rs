//! The environment of a command: what programs commonly need and what the settings name, plus what keeps programs quiet.
//!
//! By a list of what is allowed. Nobody can list the names of secrets: whatever is new to us stays closed. Pure: the
//! environment to start from is a value.

mod values;
mod wanted;

use std::ffi::{OsStr, OsString};

use self::values::{contains_any, holds_a_secret};
use self::wanted::sounds_like_a_build_s;

/// Names, or their beginnings with a `*`, by purpose; a line that begins with `#` tells which.
const ALLOWED: &str = include_str!("environment/allowed.txt");

/// No pager waits, no colours, no progress bars.
const QUIET: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("TQDM_DISABLE", "1"),
    ("PIP_PROGRESS_BAR", "off"),
];

/// What each command's shell, or we for it, set anew: what is inherited would be the agent's.
const SET_ANEW: &[&str] = &["PWD", "OLDPWD", "SHLVL", "_", "TMPDIR"];

/// What commands see of an environment, for people: no value is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct EnvironmentSurvey {
    /// How many of its variables are passed on.
    pub seen: usize,
    /// How many are not.
    pub withheld: usize,
    /// The names of withheld variables that sound like something a build may want.
    pub wanted: Vec<String>,
}

/// What becomes of an inherited variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disposition {
    Passed,
    /// A command has a value of its own.
    SetAnew,
    /// It is on no list.
    Unlisted,
    /// It is on the list of what is allowed, but its value looks like a secret.
    HoldsSecret,
    /// Its value holds the provider's key.
    Hidden,
}

/// The variables of `inherited` that a command may see, and the quiet ones. `named` are names beside our own list, or
/// their beginnings (`NAME`, `PREFIX_*`): those pass whatever they hold, but for `hidden` values, which never do, nor
/// any that contains one.
pub(crate) fn scrubbed(
    inherited: &[(OsString, OsString)],
    named: &[String],
    hidden: &[String],
) -> Vec<(OsString, OsString)> {
    let passed = inherited
        .iter()
        .filter(|(name, value)| disposition((name, value), named, hidden) == Disposition::Passed);
    let quiet = QUIET.iter().map(|(name, value)| (name.into(), value.into()));
    passed.cloned().chain(quiet).collect()
}

/// Counts what [`crate::ToolboxConfig::env`] passes on, given its `pass_env` and `hidden_env`.
pub fn survey_environment(
    inherited: &[(OsString, OsString)],
    named: &[String],
    hidden: &[String],
) -> EnvironmentSurvey {
    let mut survey = EnvironmentSurvey::default();
    for (name, value) in inherited {
        match disposition((name, value), named, hidden) {
            Disposition::Passed => survey.seen += 1,
            Disposition::SetAnew => {}
            disposition => {
                survey.withheld += 1;
                let name = name.to_string_lossy();
                if disposition == Disposition::HoldsSecret
                    || (disposition == Disposition::Unlisted && sounds_like_a_build_s(&name))
                {
                    survey.wanted.push(name.into_owned());
                }
            }
        }
    }
    survey
}

/// The value of a variable.
pub(crate) fn value<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
}

fn disposition((name, value): (&OsStr, &OsStr), named: &[String], hidden: &[String]) -> Disposition {
    let name = name.to_string_lossy();
    let is_allowed = || listed(ALLOWED).any(|pattern| matches(pattern, &name));
    if SET_ANEW.contains(&&*name) || QUIET.iter().any(|(quiet, _)| *quiet == name) {
        Disposition::SetAnew
    } else if contains_any(value, hidden) {
        Disposition::Hidden
    } else if named.iter().any(|pattern| matches(pattern, &name)) {
        Disposition::Passed
    } else if !is_allowed() {
        Disposition::Unlisted
    } else if holds_a_secret(&value.to_string_lossy()) {
        Disposition::HoldsSecret
    } else {
        Disposition::Passed
    }
}

/// `NAME` is itself, `PREFIX_*` all that begins so.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |beginning| name.starts_with(beginning))
}

/// The names in a list such as [`ALLOWED`].
fn listed(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
}

#[cfg(test)]
mod tests;
