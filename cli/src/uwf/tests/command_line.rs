//! Command lines on a [`Place`], in this process: what they print and how they exit.

use std::ffi::OsString;

use serde_json::Value;

use crate::shell::{ProcessContext, Terminals};
use crate::uwf::main_with;
use uwf_engine::fixture::{Place, clock};
use uwf_engine::home::Env;
use uwf_engine::spawn::StopSignal;

/// What a command line did.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) exit: u8,
    pub(super) out: String,
    pub(super) err: String,
}

impl Ran {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A [`Place`] to type in.
pub(super) trait CommandLine {
    /// Runs `uwf` in the project, as a script would: no terminal anywhere.
    fn uwf(&self, args: &[&str]) -> Ran;

    /// Runs a command line on a terminal.
    fn on_terminal(&self, args: &[&str]) -> Ran;

    /// Runs a command line with this text on stdin.
    fn run(&self, args: &[&str], stdin: &str, terminal: bool) -> Ran;

    /// Runs a command line of words that need not be text.
    fn typed(&self, args: &[OsString]) -> Ran;

    /// What TAB offers behind a command line: the words of a line each.
    fn completing(&self, args: &[&str]) -> Vec<String>;

    /// Runs a command line for a person at a terminal of that width.
    fn at_width(&self, width: &str, args: &[&str]) -> Ran;

    /// Runs a command line with one more variable in the environment.
    fn with_variable(&self, name: &str, value: &str, args: &[&str]) -> Ran;

    /// Runs a command line until a signal comes.
    fn until(&self, args: &[&str], stdin: &str, terminal: bool, stop: StopSignal) -> Ran;
}

impl CommandLine for Place {
    fn uwf(&self, args: &[&str]) -> Ran {
        self.run(args, "", false)
    }

    fn on_terminal(&self, args: &[&str]) -> Ran {
        self.run(args, "", true)
    }

    fn run(&self, args: &[&str], stdin: &str, terminal: bool) -> Ran {
        self.until(args, stdin, terminal, StopSignal::default())
    }

    fn typed(&self, args: &[OsString]) -> Ran {
        ran(self, self.env(), args.to_vec(), ("", false), StopSignal::default())
    }

    fn completing(&self, args: &[&str]) -> Vec<String> {
        // As the script for fish has it.
        let mut env = self.env();
        env.set("COMPLETE", "fish");
        let args = ["--", "uwf"].iter().chain(args).map(Into::into).collect();
        let ran = ran(self, env, args, ("", false), StopSignal::default());
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
        ran.out.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    }

    fn at_width(&self, width: &str, args: &[&str]) -> Ran {
        let mut env = self.env();
        env.set("COLUMNS", width);
        ran(self, env, args.iter().map(Into::into).collect(), ("", true), StopSignal::default())
    }

    fn with_variable(&self, name: &str, value: &str, args: &[&str]) -> Ran {
        let mut env = self.env();
        env.set(name, value);
        ran(self, env, args.iter().map(Into::into).collect(), ("", false), StopSignal::default())
    }

    fn until(&self, args: &[&str], stdin: &str, terminal: bool, stop: StopSignal) -> Ran {
        ran(self, self.env(), args.iter().map(Into::into).collect(), (stdin, terminal), stop)
    }
}

fn ran(
    place: &Place,
    mut env: Env,
    args: Vec<OsString>,
    (stdin, terminal): (&str, bool),
    stop: StopSignal,
) -> Ran {
    // What is said is compared as text; `--color always` asks for more.
    env.set("NO_COLOR", "1");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = main_with(ProcessContext {
        args: std::iter::once("uwf".into()).chain(args).collect(),
        env,
        cwd: place.project(),
        commit: None,
        stdin: &mut stdin.as_bytes(),
        out: &mut out,
        err: &mut err,
        terminals: Terminals { out: terminal, ..Terminals::default() },
        program: None,
        clock,
        stop,
        catch_signals: |_| (),
    });
    Ran { exit, out: String::from_utf8_lossy(&out).into_owned(), err: String::from_utf8(err).unwrap() }
}
