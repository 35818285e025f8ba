//! Every help text, by a walk over whatever can be typed; and that there are scripts and pages for all of it.

use std::ffi::OsString;
use std::io;

use clap::Command;
use uwf_engine::Env;
use uwf_engine::spawn::StopSignal;

use super::*;
use crate::shell::{Terminals, reference};

fn printed(args: &[&str]) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = main_with(ProcessContext {
        args: std::iter::once(&"uwf-builtin").chain(args).map(OsString::from).collect(),
        env: Env::default(),
        cwd: "/".into(),
        commit: None,
        stdin: &mut io::empty(),
        out: &mut out,
        err: &mut err,
        terminals: Terminals::default(),
        program: None,
        clock: || 0,
        stop: StopSignal::default(),
        catch_signals: |_| (),
    });
    assert_eq!((exit, String::from_utf8_lossy(&err).as_ref()), (0, ""), "{args:?}");
    String::from_utf8(out).unwrap()
}

fn help(command: &Command, way: &[&str]) -> String {
    let text = printed(&[way, &["--help"]].concat());
    let below = command.get_subcommands().map(|below| help(below, &[way, &[below.get_name()]].concat()));
    let typed: String = way.iter().map(|word| format!("{word} ")).collect();
    let below: String = below.collect();
    format!("$ uwf-builtin {typed}--help\n{text}\n{below}")
}

#[test]
fn the_reference_says_what_can_be_typed() {
    let mut cli = BuiltinCli::command();
    cli.build();
    reference::hold(&cli);
}

#[test]
fn every_help_text_is_as_written() {
    insta::assert_snapshot!("help", printed(&["--help"]));
    for command in BuiltinCli::command().get_subcommands() {
        let name = command.get_name();
        let text = help(command, &[name]);
        assert!(text.contains("Example"), "the help of `{name}` has no example");
        insta::assert_snapshot!(format!("help_{name}"), text);
    }
}

#[test]
fn pages_know_every_command_and_a_script_asks_for_them() {
    let (script, page) = (printed(&["completions", "bash"]), printed(&["man"]));
    assert!(
        script.contains("complete -o nospace -o bashdefault") && script.contains("uwf-builtin"),
        "{script}"
    );
    for command in BuiltinCli::command().get_subcommands() {
        let name = command.get_name();
        assert!(page.contains(&name.replace('-', "\\-")), "{name}");
    }
}
