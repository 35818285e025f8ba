//! Every help text, by a walk over whatever can be typed; and what is said of nothing.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use clap::Command as Clap;
use uwf_engine::Env;
use uwf_engine::spawn::StopSignal;

use super::*;
use crate::shell::{Terminals, reference};

/// What a command line came to: exit status, stdout, stderr.
fn ran(home: &Path, args: &[&str]) -> (u8, String, String) {
    ran_at(home, args, Terminals::default())
}

fn ran_at(home: &Path, args: &[&str], terminals: Terminals) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = main_with(ProcessContext {
        args: std::iter::once(&"uwf-eval").chain(args).map(OsString::from).collect(),
        env: [("HOME", home)].into_iter().collect::<Env>(),
        cwd: home.to_owned(),
        commit: None,
        stdin: &mut io::empty(),
        out: &mut out,
        err: &mut err,
        terminals,
        program: None,
        clock: || 1_800_000_000_000,
        stop: StopSignal::default(),
        catch_signals: |_| (),
    });
    (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

fn printed(args: &[&str]) -> String {
    let (exit, out, err) = ran(Path::new("/"), args);
    assert_eq!((exit, err.as_str()), (0, ""), "{args:?}");
    out
}

fn help(command: &Clap, way: &[&str]) -> String {
    let text = printed(&[way, &["--help"]].concat());
    let typed: String = way.iter().map(|word| format!("{word} ")).collect();
    let below = command.get_subcommands().map(|below| help(below, &[way, &[below.get_name()]].concat()));
    format!("$ uwf-eval {typed}--help\n{text}\n{}", below.collect::<String>())
}

#[test]
fn every_help_text_is_as_written() {
    insta::assert_snapshot!("help", printed(&["--help"]));
    for command in EvalCli::command().get_subcommands() {
        let name = command.get_name();
        let text = help(command, &[name]);
        assert!(text.contains("Example"), "the help of `{name}` has no example");
        insta::assert_snapshot!(format!("help_{name}"), text);
    }
}

#[test]
fn the_reference_says_what_can_be_typed() {
    let mut cli = EvalCli::command();
    cli.build();
    reference::hold(&cli);
}

#[test]
fn where_nothing_is_there_is_nothing_to_show() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(ran(home.path(), &["list"]), (0, "[]\n".to_owned(), String::new()));
    let terminals = Terminals { out: true, ..Terminals::default() };
    let (exit, _, err) = ran_at(home.path(), &["list"], terminals);
    assert!(exit == 0 && err.starts_with("no evaluations yet; `uwf-eval init DIR`"), "{err}");
    let (exit, out, err) = ran(home.path(), &["show", "none"]);
    assert_eq!((exit, out.as_str()), (1, ""));
    assert_eq!(err, "error: there is no evaluation none\n  hint: begin one with: uwf-eval run TASK\n");
}

mod reports;
