//! A command that does not exist: what was probably meant.
//!
//! People type what other programs taught them (`ls`, `ps`, `kill`), a verb without its noun (`show`), or a name with a typing
//! error. The commands are asked what there is, so that nothing is named here that cannot be typed.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use uwf_store::suggest;

/// At most so many commands are named.
const NAMED: usize = 3;

/// What other programs call a command: a word, and the names that it has here, or their beginning.
const OTHER_NAMES: [(&str, &[&str]); 29] = [
    ("ls", &["list", "thread list", "workflow list"]),
    ("ps", &["list", "thread list"]),
    ("jobs", &["thread list"]),
    ("top", &["watch", "thread list"]),
    ("status", &["thread show", "show", "thread list"]),
    ("info", &["show", "thread show"]),
    ("describe", &["show", "thread show"]),
    ("inspect", &["show", "thread show"]),
    ("get", &["show", "thread show"]),
    ("cat", &["read", "thread read"]),
    ("view", &["read", "thread read"]),
    ("history", &["thread read", "step list"]),
    ("logs", &["logs", "thread read", "log show"]),
    ("tail", &["logs", "log show"]),
    ("new", &["init", "start", "thread start"]),
    ("create", &["init", "add", "start", "thread start"]),
    ("begin", &["start", "thread start"]),
    ("launch", &["run", "start", "thread start"]),
    ("execute", &["exec", "run", "thread exec"]),
    ("continue", &["resume", "thread resume"]),
    ("answer", &["resume", "thread resume"]),
    ("reply", &["resume", "thread resume"]),
    ("kill", &["stop", "thread stop"]),
    ("abort", &["cancel", "thread cancel"]),
    ("delete", &["rm", "thread rm"]),
    ("remove", &["rm", "thread rm"]),
    ("check", &["validate", "workflow validate", "doctor"]),
    ("login", &["setup"]),
    ("version", &["--version"]),
];

/// The error, with our advice in the place of clap's.
pub(super) fn advised(mut error: Error, args: &[OsString], root: fn() -> Command) -> Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let root = root();
    let meant = meant(word, &parents(args, word, &root), &root);
    error.remove(ContextKind::SuggestedSubcommand);
    if !meant.is_empty() {
        let named: Vec<String> = meant.iter().map(|way| format!("`uwf {way}`")).collect();
        let tip = StyledStr::from(format!("did you mean {}?", listed(&named)));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// The commands that were recognised before the word.
fn parents(args: &[OsString], word: &str, root: &Command) -> Vec<String> {
    let (mut command, mut way) = (root, Vec::new());
    for arg in args.iter().skip(1).filter_map(|arg| arg.to_str()) {
        match command.find_subcommand(arg) {
            _ if arg == word => break,
            Some(below) => {
                command = below;
                way.push(below.get_name().to_owned());
            }
            None => {}
        }
    }
    way
}

/// The commands that were probably meant, each as it is typed.
fn meant(word: &str, parents: &[String], root: &Command) -> Vec<String> {
    let level = parents.iter().try_fold(root, |command, name| command.find_subcommand(name)).unwrap_or(root);
    let own = |name: &str| parents.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(" ");
    let others = OTHER_NAMES.iter().filter(|(other, _)| *other == word).flat_map(|(_, names)| *names);
    let others = others.flat_map(|name| [own(name), (*name).to_owned()]);
    let mut found: Vec<String> = others.filter(|way| exists(root, way)).collect();
    let verbs = verbs(root);
    found.extend(verbs.iter().filter(|(_, verb)| verb == word).map(|(noun, verb)| format!("{noun} {verb}")));
    if found.is_empty() {
        found.extend(suggest::one(word, names(level)).map(|name| own(&name)));
    }
    if found.is_empty() {
        let near = suggest::one(word, verbs.iter().map(|(_, verb)| verb));
        let alike = verbs.iter().filter(|(_, verb)| near.as_ref() == Some(verb));
        found.extend(alike.map(|(noun, verb)| format!("{noun} {verb}")));
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|way| seen.insert(way.clone()));
    found.truncate(NAMED);
    found
}

fn exists(root: &Command, way: &str) -> bool {
    let found = way.split(' ').try_fold(root, |command, name| match name.starts_with("--") {
        true => Some(command),
        false => command.get_subcommands().find(|below| below.get_name() == name && !below.is_hide_set()),
    });
    found.is_some()
}

fn names(command: &Command) -> impl Iterator<Item = &str> {
    command.get_subcommands().filter(|below| !below.is_hide_set()).map(Command::get_name)
}

/// Everything that is said with two words, what concerns threads first.
fn verbs(root: &Command) -> Vec<(String, String)> {
    let nouns = root.get_subcommands().filter(|noun| !noun.is_hide_set());
    let pairs = nouns.flat_map(|noun| names(noun).map(|verb| (noun.get_name().to_owned(), verb.to_owned())));
    let mut pairs: Vec<(String, String)> = pairs.filter(|(_, verb)| verb != "help").collect();
    let place =
        |noun: &str| ["thread", "step", "workflow"].iter().position(|first| *first == noun).unwrap_or(3);
    pairs.sort_by_key(|(noun, _)| place(noun));
    pairs
}

fn listed(named: &[String]) -> String {
    match named {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        all => all.concat(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::uwf::args::UwfCli;

    #[test]
    fn every_other_name_leads_somewhere_and_is_no_command() {
        let root = UwfCli::command();
        for (word, names) in OTHER_NAMES {
            assert!(names.iter().any(|name| exists(&root, name)), "{word}");
        }
    }
}
