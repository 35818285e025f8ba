//! The reference of commands in `docs/reference/`, written from what can be typed: a page for each noun, and one for what
//! has none.
//!
//! For tests alone: they hold the pages against the command lines, and write what is not up to date.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, Command};

/// What stands above the first heading of each page.
const HEAD: &str =
    "<!-- Written from the command line by the tests of cli/; what is changed here is written over. -->\n\n";

/// The other programs, by what stands behind `uwf-`.
const PROGRAMS: [&str; 2] = ["builtin", "eval"];

/// The pages of a program: the name of the file without `.md`, and its text.
pub(crate) fn pages(program: &Command) -> Vec<(String, String)> {
    let name = program.get_name();
    let mut first = format!("{HEAD}# `{name}`\n\n{}", about(program));
    let (mut leaves, mut pages) = (String::new(), Vec::new());
    let _ = writeln!(first, "| command | what it does |\n|---|---|");
    for below in shown(program) {
        let way = format!("{name} {}", below.get_name());
        let file = match shown(below).next() {
            Some(_) => format!("{name}-{}", below.get_name()),
            None => String::new(),
        };
        let page = if file.is_empty() { String::new() } else { format!("{file}.md") };
        let _ = writeln!(first, "| [`{way}`]({page}#{}) | {} |", anchor(&way), in_a_cell(&short(below)));
        if file.is_empty() {
            leaves += &section(below, &way);
        } else {
            pages.push((file, noun(below, &way)));
        }
    }
    let without = arguments(program, false);
    if !without.is_empty() {
        let _ = write!(first, "\n## Without a command\n\n{}{without}", usage(program));
    }
    let _ = write!(
        first,
        "\n## Options of every command\n\n{}{}{leaves}",
        arguments(program, true),
        examples(program)
    );
    pages.push((name.to_owned(), tidy(&first)));
    pages
}

/// The page of a noun with its verbs.
fn noun(command: &Command, way: &str) -> String {
    let mut page = format!("{HEAD}# `{way}`\n\n{}| command | what it does |\n|---|---|\n", about(command));
    let mut verbs = String::new();
    for (way, verb) in leaves(command, way) {
        let _ = writeln!(page, "| [`{way}`](#{}) | {} |", anchor(&way), in_a_cell(&short(verb)));
        verbs += &section(verb, &way);
    }
    tidy(&format!("{page}\n{}{verbs}", examples(command)))
}

/// All that can be typed below a command, however deep, with the words that lead there.
fn leaves<'c>(command: &'c Command, way: &str) -> Vec<(String, &'c Command)> {
    let mut found = Vec::new();
    for below in shown(command) {
        let way = format!("{way} {}", below.get_name());
        // What has verbs below it may mean something without them.
        if shown(below).next().is_none() || below.get_arguments().any(|arg| !is_general(arg)) {
            found.push((way.clone(), below));
        }
        found.extend(leaves(below, &way));
    }
    found
}

fn section(command: &Command, way: &str) -> String {
    let aliases: Vec<String> = command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    let aliases =
        if aliases.is_empty() { String::new() } else { format!("Also: {}.\n\n", aliases.join(", ")) };
    let (about, usage) = (about(command), usage(command));
    let arguments = arguments(command, false);
    format!("## `{way}`\n\n{about}{aliases}{usage}{arguments}{}", examples(command))
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

/// An option that every command has.
fn is_general(arg: &Arg) -> bool {
    arg.is_global_set() || ["help", "version"].contains(&arg.get_id().as_str())
}

fn short(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn about(command: &Command) -> String {
    let text = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    prose(&text)
}

fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let lines: Vec<&str> = usage.lines().map(str::trim).collect();
    format!("```text\n{}\n```\n\n", lines.join("\n"))
}

fn examples(command: &Command) -> String {
    let text = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    if text.trim().is_empty() { String::new() } else { format!("```text\n{}\n```\n\n", text.trim_end()) }
}

fn arguments(command: &Command, general: bool) -> String {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set() && is_general(arg) == general);
    let list: String = shown.map(argument).collect();
    if list.is_empty() { list } else { list + "\n" }
}

fn argument(arg: &Arg) -> String {
    let short = arg.get_short().filter(|_| arg.get_long().is_some());
    let short = short.map(|letter| format!("-{letter}, ")).unwrap_or_default();
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("- `{short}{arg}` — {help}");
    let values: Vec<_> = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
    if arg.get_action().takes_values() && !values.is_empty() && !format!("{arg}").contains('|') {
        let value = |value: &clap::builder::PossibleValue| match value.get_help() {
            Some(help) => format!("`{}` ({})", value.get_name(), escaped(&help.to_string())),
            None => format!("`{}`", value.get_name()),
        };
        let _ = write!(text, "; one of {}", values.iter().map(value).collect::<Vec<_>>().join(", "));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if arg.get_action().takes_values() && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        let _ = write!(text, " (default: `{}`)", defaults.join(" "));
    }
    text + "\n"
}

/// Paragraphs as they are, and what is set in columns as it stands.
fn prose(text: &str) -> String {
    let paragraph = |part: &str| match part.lines().any(|line| line.starts_with(' ')) {
        true => format!("```text\n{part}\n```\n\n"),
        false => format!("{}\n\n", escaped(part)),
    };
    text.trim_end().split("\n\n").filter(|part| !part.trim().is_empty()).map(paragraph).collect()
}

/// Text that shows what it says, as markdown; what stands between backquotes stays.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for (at, part) in text.split('`').enumerate() {
        if at > 0 {
            escaped.push('`');
        }
        for letter in part.chars() {
            if at % 2 == 0 && ['<', '*', '\\'].contains(&letter) {
                escaped.push('\\');
            }
            escaped.push(letter);
        }
    }
    escaped
}

fn in_a_cell(text: &str) -> String {
    escaped(text).replace('|', "\\|")
}

/// What a heading of these words is called in a link.
fn anchor(way: &str) -> String {
    way.replace(' ', "-")
}

fn tidy(page: &str) -> String {
    format!("{}\n", page.trim_end())
}

/// Holds the pages of a program against the files, and writes those that differ.
pub(crate) fn hold(program: &Command) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference");
    let name = program.get_name();
    let pages = pages(program);
    let is_ours = |file: &PathBuf| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        stem == name || stem.strip_prefix(&format!("{name}-")).is_some_and(|noun| !PROGRAMS.contains(&noun))
    };
    let entries = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let mut changed = Vec::new();
    for file in entries.filter(is_ours) {
        if !pages.iter().any(|(page, _)| dir.join(format!("{page}.md")) == file) {
            fs::remove_file(&file).unwrap();
            changed.push(file);
        }
    }
    for (page, text) in pages {
        let file = dir.join(format!("{page}.md"));
        if fs::read_to_string(&file).unwrap_or_default() != text {
            fs::write(&file, text).unwrap();
            changed.push(file);
        }
    }
    assert!(
        changed.is_empty(),
        "these pages were not up to date; they are now, commit them: {changed:?}\n\
         (a new page goes into docs/SUMMARY.md)"
    );
}
