//! Whether an agent is there, and which version of it: its program is asked, and not for long.

use std::path::Path;
use std::time::Duration;

use uwf_engine::Env;
use uwf_engine::spawn::protocol::AgentCommand;
use uwf_engine::spawn::{self, ProcessSpec, Sinks, StopSignal};

use super::definition::Definition;

/// How long it may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest version that is shown, in characters.
const SHOWN: usize = 60;

/// How a program is asked for its version.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// The file of the program.
    pub file: &'a str,
    /// Where it is asked.
    pub cwd: &'a Path,
    /// What it starts from.
    pub env: &'a Env,
    /// Set when this program is to stop.
    pub stop: &'a StopSignal,
}

/// The version that the program tells: the first word of what it prints that begins with a number, else the first line. None where
/// it tells none, or not in time.
pub fn version(definition: &Definition, probe: &Probe<'_>) -> Option<String> {
    let command = AgentCommand::new(definition.name.as_str(), definition.version.clone());
    let run = ProcessSpec {
        command: &command,
        file: probe.file,
        args: Vec::new(),
        cwd: probe.cwd,
        env: probe.env,
        deadline: Some(PATIENCE),
        inherit_stderr: false,
        stop: probe.stop,
    };
    let mut sinks = Sinks { stdout: &mut |_| (), stderr: &mut |_| (), idle: &mut || () };
    let said = (!definition.version.is_empty()).then(|| spawn::run_within(&run, None, &mut sinks).ok());
    let said = said.flatten().filter(|said| said.status.success())?;
    told(&String::from_utf8_lossy(&said.stdout)).or_else(|| told(&said.stderr_tail))
}

fn told(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let is_number = |word: &&str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    let number = line.split_whitespace().find(is_number).map(|word| word.trim_start_matches('v'));
    Some(uwf_store::excerpt(number.unwrap_or(line), SHOWN).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_taken_out_of_the_words_around_it() {
        for (said, version) in [
            ("2.1.330 (Claude Code)\n", Some("2.1.330")),
            ("\ncodex-cli 0.169.0", Some("0.169.0")),
            ("aider v0.86.2", Some("0.86.2")),
            ("a nightly build", Some("a nightly build")),
            (" \n", None),
        ] {
            assert_eq!(told(said).as_deref(), version);
        }
    }
}
