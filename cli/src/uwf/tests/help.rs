//! Every help text, completion script and manual page, by a walk over whatever can be typed.

use clap::Command;

use super::command_line::CommandLine;
use crate::shell::reference;
use crate::uwf::args;
use uwf_engine::fixture::Place;

/// The help of a command and of those below it, as it is printed where there is no terminal.
fn help(place: &Place, command: &Command, way: &[&str]) -> String {
    let ran = place.uwf(&[way, &["--help"]].concat());
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{way:?}");
    let mut text = format!(
        "$ uwf {}--help\n{}\n",
        way.iter().map(|word| format!("{word} ")).collect::<String>(),
        ran.out
    );
    for below in command.get_subcommands() {
        text += &help(place, below, &[way, &[below.get_name()]].concat());
    }
    text
}

#[test]
fn every_help_text_is_as_written() {
    let (place, cli) = (Place::new(), args::command());
    let top = place.uwf(&["--help"]).out;
    insta::assert_snapshot!("help", top);
    for noun in cli.get_subcommands() {
        insta::assert_snapshot!(format!("help_{}", noun.get_name()), help(&place, noun, &[noun.get_name()]));
    }
    let short = place.uwf(&["thread", "exec", "-h"]).out;
    assert!(!short.contains("Examples:") && short.contains("Usage:"));
    assert!(place.uwf(&["--version"]).out.starts_with("uwf 0."));
}

/// Every command that does something says how, by example.
fn assert_examples(command: &Command, way: &str) {
    let way = format!("{way} {}", command.get_name());
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    let below: Vec<&Command> = shown.collect();
    if below.is_empty() {
        let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.contains("Example"), "the help of `{}` has no example", way.trim());
    }
    below.into_iter().for_each(|below| assert_examples(below, &way));
}

#[test]
fn every_command_has_an_example() {
    assert_examples(&args::command(), "");
}

#[test]
fn the_reference_says_what_can_be_typed() {
    let mut cli = args::command();
    cli.build();
    reference::hold(&cli);
}

#[test]
fn there_is_a_completion_script_for_every_shell() {
    let place = Place::new();
    for (shell, word) in [
        ("bash", "complete -o nospace -o bashdefault"),
        ("zsh", "#compdef uwf"),
        ("fish", "complete --keep-order --exclusive --command uwf"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let ran = place.uwf(&["completions", shell]);
        assert!(ran.exit == 0 && ran.out.contains(word) && ran.out.contains("COMPLETE"), "{shell}: {ran:?}");
    }
    assert_eq!(place.uwf(&["completions", "csh"]).exit, 2);
}

#[test]
fn there_is_a_page_for_every_command() {
    let place = Place::new();
    assert!(place.uwf(&["man"]).out.contains(".SH NAME\nuwf \\- A stateless workflow engine"));
    let written = place.uwf(&["man", "--out", "pages"]);
    let pages = place.project().join("pages");
    let files: Vec<String> = serde_json::from_str(&written.out).unwrap();
    assert_eq!(std::fs::read_dir(&pages).unwrap().count(), files.len());
    assert!(files.iter().all(|file| !file.contains("help")), "{files:?}");
    let exec = std::fs::read_to_string(pages.join("uwf-thread-exec.1")).unwrap();
    assert!(exec.contains("uwf thread exec 01K… \\-\\-until\\-end"), "{exec}");
    assert!(!pages.join("uwf-skill.1").exists(), "what is hidden has no page");
    std::fs::write(place.project().join("file"), "").unwrap();
    let failed = place.uwf(&["man", "--out", "file"]);
    assert!(failed.exit == 1 && failed.err.starts_with("error: cannot write pages to"), "{failed:?}");
}
