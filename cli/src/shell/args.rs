//! What can be typed after every command of both programs.

mod man_pages;

use std::time::Duration;

use clap::{Args, ValueEnum};
use uwf_tools::sandbox::Level;

pub use self::man_pages::{Completions, Man};

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

/// The greatest seed: a store keeps numbers as JavaScript does.
pub const GREATEST_SEED: u64 = (1 << 53) - 1;

/// A time limit: `90s`, `20m`, and more than nothing.
///
/// # Errors
/// What is wrong with it, for people.
pub fn some_time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("expected more than no time".to_owned()) } else { Ok(time) }
}

/// An amount of money: not less than nothing.
///
/// # Errors
/// What is wrong with it, for people.
pub fn dollars(text: &str) -> Result<f64, String> {
    let amount: f64 = text.trim_start_matches('$').parse().map_err(|_| "expected an amount such as 0.50")?;
    if amount.is_finite() && amount >= 0.0 {
        Ok(amount)
    } else {
        Err("expected an amount of 0 or more".into())
    }
}

/// What endpoints take.
///
/// # Errors
/// What is wrong with it, for people.
pub fn temperature(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().map_err(|_| "expected a number from 0 to 2")?;
    if (0.0..=2.0).contains(&number) { Ok(number) } else { Err("expected a number from 0 to 2") }
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

/// How much of the sandbox must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SandboxLevel {
    /// All of it, or no command runs
    Strict,
    /// Whatever the kernel can enforce
    BestEffort,
    /// None: commands may do whatever you may
    Off,
}

impl SandboxLevel {
    /// What it means.
    pub fn level(self) -> Level {
        match self {
            SandboxLevel::Strict => Level::Strict,
            SandboxLevel::BestEffort => Level::BestEffort,
            SandboxLevel::Off => Level::Off,
        }
    }

    /// The word as it is typed, and as agents are told it.
    pub fn as_str(self) -> &'static str {
        match self {
            SandboxLevel::Strict => "strict",
            SandboxLevel::BestEffort => "best-effort",
            SandboxLevel::Off => "off",
        }
    }
}
