//! What can be typed, and every help text: one file a noun. No meaning is given to anything here.

mod cas;
mod config;
mod doctor;
mod log;
mod models;
mod pages;
mod prompt;
mod setup;
mod step;
mod thread;
mod var;
mod workflow;

use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(super) use self::cas::{Cas, Put, Schema, Values};
pub(super) use self::config::Config;
pub(super) use self::doctor::Doctor;
pub(super) use self::log::{Log, LogShow};
pub(super) use self::models::Models;
pub use self::pages::{Completions, Man};
pub(super) use self::prompt::{Prompt, Skill};
pub(super) use self::setup::Setup;
pub(super) use self::step::{Ask, Step};
pub(super) use self::thread::{Exec, How, SandboxWord, StatusWord, Thread, ThreadList};
pub(super) use self::var::Var;
pub(super) use self::workflow::{Language, Workflow};

/// A stateless workflow engine for agents.
#[derive(Debug, Parser)]
#[command(
    name = "uwf",
    version,
    about = "A stateless workflow engine for agents",
    long_about = "A stateless workflow engine for agents.\n\nA workflow is data, a thread is a chain of immutable steps, \
                  and every step is one agent process that starts, does one thing and exits.",
    after_long_help = "Examples:
  uwf setup                                     connect a model
  uwf workflow validate solve-issue.yaml        find every mistake in a workflow
  uwf workflow add solve-issue.yaml             register it by its name
  uwf thread start solve-issue -p \"Fix #7\"      begin a thread; prints its id
  uwf thread exec 01K… --until-end              run its steps until it ends or waits
  uwf thread read 01K…                          what happened, in words

Files:
  $UWF_HOME (~/.uwf)     config.yaml, .env, logs, locks of running steps
  $OCAS_HOME (~/.ocas)   the content-addressed store",
    arg_required_else_help = true
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) noun: Noun,
}

/// Options of every command.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// How the result is printed [default: text on a terminal, json otherwise]
    #[arg(long, global = true, value_enum, value_name = "text|json|yaml", hide_possible_values = true)]
    pub format: Option<Format>,
    /// Say less on stderr: errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more on stderr
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// When to use colours: auto is on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, value_name = "auto|always|never", default_value_t = Color::Auto)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub color: Color,
}

/// A time limit: `90s`, `20m`, and more than nothing.
///
/// # Errors
/// What is wrong with it, for people.
pub fn some_time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("expected more than no time".to_owned()) } else { Ok(time) }
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// For both
    Yaml,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
pub(super) enum Noun {
    /// Workflows: check, register, look at them
    #[command(subcommand)]
    Workflow(Workflow),
    /// Threads: start, run, read them
    #[command(subcommand)]
    Thread(Thread),
    /// Steps: look at single steps of a thread
    #[command(subcommand)]
    Step(Step),
    /// The content-addressed store underneath
    #[command(subcommand)]
    Cas(Cas),
    /// Variables: names for nodes of the store
    #[command(subcommand)]
    Var(Var),
    /// The configuration in $UWF_HOME/config.yaml
    #[command(subcommand)]
    Config(Config),
    /// Connect a model: write its endpoint into config.yaml
    ///
    /// It becomes the default model, and everything else in the file stays. On a terminal, what is not given is asked.
    /// A key is never an argument: name the variable that holds it, or a file to take it from.
    Setup(Setup),
    /// List known models: windows, prices, what they can be asked for
    ///
    /// The list comes with the program and has a date: nobody is asked. What the configuration says of a model wins, and
    /// a model that is not listed can be used all the same.
    ///
    /// Exit status: 0 there are some, 1 none is like that.
    Models(Models),
    /// What the engine did, line by line: the log
    #[command(subcommand)]
    Log(Log),
    /// Guides to uwf, for people and for models
    #[command(subcommand)]
    Prompt(Prompt),
    /// The same guides by their older names
    #[command(subcommand, hide = true)]
    Skill(Skill),
    /// Check what steps need: directories, store, configuration, agents
    ///
    /// Changes nothing. What the builtin agent has to say of itself (sandbox, model) follows.
    ///
    /// Exit status: 0 all is well, 1 something is in the way.
    Doctor(Doctor),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the manual page, or write all of them
    Man(Man),
}
