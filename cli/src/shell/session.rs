//! From the process to one command's surroundings: what it learns of the world, and where it writes.
//!
//! The one place that looks at arguments, environment, directory, terminals and clock; the command lines of both
//! programs start here and take everything from these values.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::error::ErrorKind;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use uwf_store::{Clock, Store};

use super::args::{Color, Format, Global};
use super::error::{BUG, CliError, OK, USAGE, USER};
use super::paint::Reader;
use super::ui::Ui;
use super::version;
use uwf_engine::conditions::process::ConditionProcess;
use uwf_engine::home::{Env, Homes};
use uwf_engine::spawn::StopSignal;

/// All that a command learns from the process it runs in.
pub struct ProcessContext<'a> {
    /// The command line, the program's name first.
    pub args: Vec<OsString>,
    /// The environment.
    pub env: Env,
    /// The current directory.
    pub cwd: PathBuf,
    /// What the program was built from, if that is known.
    pub commit: Option<&'static str>,
    /// For file arguments that are `-`.
    pub stdin: &'a mut dyn Read,
    /// The result.
    pub out: &'a mut dyn Write,
    /// Everything else.
    pub err: &'a mut dyn Write,
    /// Which streams have a person at the other end.
    pub terminals: Terminals,
    /// This program's file: the builtin agent lies beside it.
    pub program: Option<PathBuf>,
    /// The time.
    pub clock: Clock,
    /// Set when a signal asks this program to stop.
    pub stop: StopSignal,
    /// Makes signals set `stop` instead of ending this program; called only before agents run, so that every other
    /// command ends at once.
    pub catch_signals: fn(&StopSignal),
}

/// Runs a command line in the real process. A panic ends in the exit status for our own bugs; its message is on stderr
/// by then. `commit` is what the program was built from.
pub fn in_process(commit: Option<&'static str>, run: impl FnOnce(ProcessContext<'_>) -> u8) -> ExitCode {
    let cwd = match std::env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => {
            // Nothing may be read or written relative to a place that is not there.
            let hint = "change into a directory that exists";
            writeln!(
                io::stderr(),
                "error: the current directory cannot be used\n  caused by: {error}\n  hint: {hint}"
            )
            .ok();
            return ExitCode::from(USER);
        }
    };
    let process = || {
        run(ProcessContext {
            args: std::env::args_os().collect(),
            env: std::env::vars_os().collect(),
            cwd,
            commit,
            stdin: &mut io::stdin(),
            out: &mut io::stdout().lock(),
            err: &mut io::stderr(),
            terminals: Terminals {
                input: io::stdin().is_terminal(),
                out: io::stdout().is_terminal(),
                err: io::stderr().is_terminal(),
                width: width(),
            },
            program: std::env::current_exe().ok(),
            clock: now_ms,
            stop: StopSignal::default(),
            catch_signals,
        })
    };
    ExitCode::from(catch_unwind(AssertUnwindSafe(process)).unwrap_or(BUG))
}

/// Whether whoever started us has SIGHUP ignored, as `nohup` does: then the end of a terminal is not ours. An ignored
/// signal is inherited, and a handler would undo that.
pub fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

fn catch_signals(stop: &StopSignal) {
    let hangup = (!ignores_hangups()).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        // Without a handler the signal ends us at once, and the agent's own wish to die with us ends the agent.
        signal_hook::flag::register_usize(signal, stop.cell(), signal.unsigned_abs() as usize).ok();
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl<'a> ProcessContext<'a> {
    /// What was typed. Help is as wide as the terminal, or as a page where there is none.
    ///
    /// # Errors
    /// The command line is wrong, or asks for help or the version, which clap gives as an error, too.
    pub fn parse<C: clap::Parser>(&self) -> Result<C, clap::Error> {
        self.matches(C::command()).and_then(|matches| C::from_arg_matches(&matches))
    }

    /// What was typed of a command line, as clap reads it; see [`ProcessContext::parse`].
    ///
    /// # Errors
    /// As there.
    pub fn matches(&self, command: clap::Command) -> Result<clap::ArgMatches, clap::Error> {
        let command = if self.terminals.out { command } else { command.term_width(100) };
        // Taking so large a command line to pieces costs more than a start has time for; the process ends soon.
        ManuallyDrop::new(command).try_get_matches_from_mut(&self.args)
    }

    /// What clap has to say: help and version are results, everything else about a command line is an error of usage.
    /// Gives the exit status.
    pub fn usage(self, error: &clap::Error) -> u8 {
        let to_people = error.use_stderr();
        let is_terminal = if to_people { self.terminals.err } else { self.terminals.out };
        let colored = is_terminal && self.env.get("NO_COLOR").is_none();
        if error.kind() == ErrorKind::DisplayVersion {
            return self.version(error);
        }
        let text = error.render();
        let text = if colored { text.ansi().to_string() } else { text.to_string() };
        if to_people {
            self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush()).ok();
            return USAGE;
        }
        self.command(&Global::default(), |session| {
            let out = &mut session.ui.out;
            out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CliError::from_stdout)?;
            Ok(OK)
        })
    }

    /// `-V` in a line, `--version` with what a report of a fault should tell.
    fn version(self, error: &clap::Error) -> u8 {
        let rendered = error.render().to_string();
        let program = rendered.split(' ').next().unwrap_or_default();
        let text = match self.args.iter().any(|arg| arg == "--version") {
            true => version::long(program, self.commit, &self.env),
            false => version::short(program, self.commit),
        };
        self.command(&Global::default(), |session| {
            session.ui.print(&text)?;
            Ok(OK)
        })
    }

    /// Runs one command under the options of every command, prints its error if it fails, and gives the exit status.
    pub fn command(self, global: &Global, run: impl FnOnce(&mut Session<'a>) -> Result<u8, CliError>) -> u8 {
        let mut session = self.session(global);
        run(&mut session).unwrap_or_else(|error| {
            if let CliError::Said { .. } = error {
                session.ui.error(&error).ok();
            }
            error.exit()
        })
    }

    fn session(self, global: &Global) -> Session<'a> {
        let terminals = self.terminals;
        let default = if terminals.out { Format::Text } else { Format::Json };
        let color = |is_terminal: bool| match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && self.env.get("NO_COLOR").is_none(),
        };
        let reader = Reader {
            width: terminals.columns(&self.env),
            color: color(terminals.out),
            is_terminal: terminals.out,
        };
        let ui = Ui {
            out: self.out,
            err: self.err,
            format: global.format.unwrap_or(default),
            explicit_format: global.format.is_some(),
            fields: None,
            quiet: global.quiet,
            verbose: global.verbose > 0,
            remarks: !global.quiet,
            color: color(terminals.err),
            reader,
        };
        let ProcessContext { env, cwd, stdin, program, clock, stop, catch_signals, .. } = self;
        Session { ui, env, cwd, stdin, terminals, program, clock, stop, catch_signals }
    }
}

/// Which streams have a person at the other end.
#[derive(Clone, Copy, Default)]
pub struct Terminals {
    /// stdin.
    pub input: bool,
    /// stdout.
    pub out: bool,
    /// stderr.
    pub err: bool,
    /// How many characters a line of stdout's terminal has.
    pub width: Option<usize>,
}

impl Terminals {
    /// How many characters a line of stdout may have: as `COLUMNS` says, else as the terminal does. A line of a file or a
    /// pipe has no end.
    fn columns(&self, env: &Env) -> Option<usize> {
        let told = env.get("COLUMNS").and_then(|text| text.to_str()?.parse().ok());
        told.or(self.width).filter(|width| self.out && *width > 0)
    }
}

/// How wide the terminal at stdout is.
fn width() -> Option<usize> {
    rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col.into())
}

/// One command's surroundings.
pub struct Session<'a> {
    /// Where it writes.
    pub ui: Ui<'a>,
    /// The environment.
    pub env: Env,
    /// The current directory.
    pub cwd: PathBuf,
    /// For file arguments that are `-`.
    pub stdin: &'a mut dyn Read,
    /// Which streams have a person at the other end.
    pub terminals: Terminals,
    /// This program's file: the builtin agent lies beside it.
    pub program: Option<PathBuf>,
    /// The time.
    pub clock: Clock,
    /// Set when a signal asks this program to stop.
    pub stop: StopSignal,
    /// Makes signals set `stop` instead of ending this program; called only before agents run, so that every other
    /// command ends at once.
    pub catch_signals: fn(&StopSignal),
}

impl Session<'_> {
    /// Where the files of `env` are.
    ///
    /// # Errors
    /// Neither the variable of a home nor `HOME` is set.
    pub fn homes(&self) -> Result<Homes, CliError> {
        Ok(Homes::from_env(&self.env, &self.cwd)?)
    }

    /// The store, opened.
    ///
    /// # Errors
    /// The homes are unknown, or the store cannot be opened.
    pub fn store(&self) -> Result<Store, CliError> {
        Ok(uwf_engine::open_store(&self.homes()?.ocas, self.clock)?)
    }

    /// Who evaluates the conditions of graphs: this very program, in a process of its own.
    pub fn conditions(&self) -> Option<ConditionProcess> {
        self.program.clone().map(ConditionProcess::new)
    }

    /// Whether there is somebody to ask.
    pub fn has_person(&self) -> bool {
        self.terminals.input && self.terminals.err
    }

    /// A directory as typed, absolute and without links.
    ///
    /// # Errors
    /// There is no such directory, or it cannot be entered.
    pub fn directory(&self, named: Option<&Path>) -> Result<PathBuf, CliError> {
        let path = named.map_or_else(|| self.cwd.clone(), |named| self.cwd.join(named));
        match path.canonicalize() {
            Ok(path) if path.is_dir() => Ok(path),
            Ok(path) => Err(CliError::user(format!("{} is not a directory", path.display()))
                .with_hint("name a directory with --cwd DIR")),
            Err(error) => Err(CliError::said(format!("cannot use the directory {}", path.display()), error)
                .with_hint("name a directory with --cwd DIR")),
        }
    }
}
