//! What each of our errors means to the person at the terminal: the exit status and what to do about it.

use crate::shell::{BUG, CliError, USAGE, USER};
use clap::CommandFactory;

use super::args::BuiltinCli;
use uwf_agent::ask::AnswerError;
use uwf_agent::confinement::ConfinementError;
use uwf_agent::journal::FindError;
use uwf_agent::mock_server::ListenError;
use uwf_agent::provider::ProviderError;
use uwf_agent::react::Stopped;
use uwf_agent::role_run::RunError;
use uwf_agent::settings::SettingsError;

/// The first word is no subcommand and no thread.
pub(super) fn unknown_command(word: &str) -> CliError {
    let cli = BuiltinCli::command();
    let commands = cli.get_subcommands().map(clap::Command::get_name);
    let commands = uwf_store::suggest::sorted(word, commands).join(", ");
    usage(format!("unknown command, {word}"))
        .with_hint(format!("the commands are {commands}; a thread's id has 26 characters"))
}

/// The command line is wrong.
pub(super) fn usage(message: String) -> CliError {
    CliError::Said { error: message.into(), hint: Some("see uwf-builtin --help".to_owned()), exit: USAGE }
}

/// Exit status: the sandbox that was asked for cannot be enforced.
pub(super) const UNCONFINED: u8 = 6;
/// Exit status: git may run programs that commands left in the workspace.
pub(super) const PREPARED: u8 = 7;

impl From<RunError> for CliError {
    fn from(error: RunError) -> CliError {
        let error = match error {
            RunError::Taken(error) => return error.into(),
            error => error,
        };
        let (exit, hint) = match &error {
            RunError::Thread(cause) => (USER, cause.hint()),
            RunError::Provider(cause) => (USER, cause.hint().map(str::to_owned)),
            RunError::Settings(cause) => (USER, cause.hint().map(str::to_owned)),
            RunError::Servers(cause) => (USER, cause.hint().map(str::to_owned)),
            RunError::Unconfined(_) => {
                (UNCONFINED, Some("nothing is lost; --fresh starts the run over as a new attempt".to_owned()))
            }
            RunError::Prompt(_) | RunError::Order(_) => (BUG, None),
            RunError::Stopped { source, .. } => match source.as_ref() {
                Stopped::Interrupted(signal) => (signal.exit_code(), None),
                stopped => (exit_of(stopped), None),
            },
            _ => (USER, None),
        };
        CliError::Said { error: Box::new(error), hint, exit }
    }
}

/// Whether a person can do something about it.
fn exit_of(stopped: &Stopped) -> u8 {
    match stopped {
        Stopped::Prompt(_) | Stopped::Invariant(_) | Stopped::Order(_) | Stopped::Tool(_) => BUG,
        _ => USER,
    }
}

impl From<AnswerError> for CliError {
    fn from(error: AnswerError) -> CliError {
        let (exit, hint) = match &error {
            AnswerError::Stopped(Stopped::Interrupted(signal)) => (signal.exit_code(), None),
            AnswerError::Stopped(stopped) => (exit_of(stopped), None),
            AnswerError::Foreign { .. } => (USER, Some("ask the agent that made the step".to_owned())),
            AnswerError::UnknownSession { .. } => {
                (USER, Some("fork the step's session with --mode fork".to_owned()))
            }
            AnswerError::Busy { .. } => (USER, Some("wait for its answer, or ask another fork".to_owned())),
            AnswerError::Store(error) => (USER, error.hint()),
            _ => (USER, None),
        };
        match error {
            AnswerError::Run(error) => error.into(),
            error => CliError::Said { error: Box::new(error), hint, exit },
        }
    }
}

impl From<FindError> for CliError {
    fn from(error: FindError) -> CliError {
        let hint = match &error {
            FindError::Busy { .. } => {
                Some("wait for it or end it; --fresh plays the role beside it".to_owned())
            }
            FindError::JustBegun { .. } => Some("start it again: it goes on from there".to_owned()),
            FindError::Io { .. } => None,
        };
        CliError::Said { error: Box::new(error), hint, exit: USER }
    }
}

/// Errors of the user's that may know a hint.
macro_rules! with_own_hint {
    ($($error:ty),*) => {$(
        impl From<$error> for CliError {
            fn from(error: $error) -> CliError {
                let hint = error.hint().map(str::to_owned);
                CliError::Said { error: Box::new(error), hint, exit: USER }
            }
        }
    )*};
}

with_own_hint!(SettingsError, ProviderError);

impl From<ConfinementError> for CliError {
    fn from(error: ConfinementError) -> CliError {
        let hint = Some(error.hint());
        CliError::Said { error: Box::new(error), hint, exit: USER }
    }
}

impl From<ListenError> for CliError {
    fn from(error: ListenError) -> CliError {
        CliError::Said { error: Box::new(error), hint: Some("choose another --port".to_owned()), exit: USER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_command_is_offered_first_whatever_the_others_tie_at() {
        for (typed, meant) in
            [("dctor", "doctor"), ("doctr", "doctor"), ("rum", "run"), ("tool", "tools"), ("MAN", "man")]
        {
            let error = unknown_command(typed);
            let hint = error.hint().unwrap_or_default();
            assert!(hint.starts_with(&format!("the commands are {meant}, ")), "{typed}: {hint}");
        }
        let ties = unknown_command("x");
        let hint = "the commands are man, run, tools, doctor, replay, completions, mock-schema, mock-server; a thread's id has 26 characters";
        assert_eq!(ties.hint(), Some(hint));
    }
}
