//! What each of our errors means to the person at the terminal: the exit status and what to do about it.

use crate::shell::{BUG, Failure, USAGE, USER};
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
pub(super) fn unknown_command(word: &str) -> Failure {
    let cli = BuiltinCli::command();
    let commands = cli.get_subcommands().map(clap::Command::get_name);
    let commands = uwf_workflow::suggest::sorted(word, commands).join(", ");
    usage(format!("unknown command, {word}"))
        .with_hint(format!("the commands are {commands}; a thread's id has 26 characters"))
}

/// The command line is wrong.
pub(super) fn usage(message: String) -> Failure {
    Failure::Said { error: message.into(), hint: Some("see uwf-builtin --help".to_owned()), exit: USAGE }
}

/// Exit status: the sandbox that was asked for cannot be enforced.
pub(super) const UNCONFINED: u8 = 6;
/// Exit status: git may run programs that commands left in the workspace.
pub(super) const PREPARED: u8 = 7;

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        let (exit, hint) = match &error {
            RunError::Thread(cause) => (USER, cause.hint()),
            RunError::Provider(cause) => (USER, cause.hint().map(str::to_owned)),
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
        Failure::Said { error: Box::new(error), hint, exit }
    }
}

/// Whether a person can do something about it.
fn exit_of(stopped: &Stopped) -> u8 {
    match stopped {
        Stopped::Prompt(_) | Stopped::Invariant(_) | Stopped::Order(_) | Stopped::Tool(_) => BUG,
        _ => USER,
    }
}

impl From<AnswerError> for Failure {
    fn from(error: AnswerError) -> Failure {
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
            error => Failure::Said { error: Box::new(error), hint, exit },
        }
    }
}

impl From<FindError> for Failure {
    fn from(error: FindError) -> Failure {
        let hint = match &error {
            FindError::Busy { .. } => {
                Some("wait for it or end it; --fresh plays the role beside it".to_owned())
            }
            FindError::Io { .. } => None,
        };
        Failure::Said { error: Box::new(error), hint, exit: USER }
    }
}

/// Errors of the user's that may know a hint.
macro_rules! with_own_hint {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                let hint = error.hint().map(str::to_owned);
                Failure::Said { error: Box::new(error), hint, exit: USER }
            }
        }
    )*};
}

with_own_hint!(SettingsError, ProviderError);

impl From<ConfinementError> for Failure {
    fn from(error: ConfinementError) -> Failure {
        let hint = Some(error.hint());
        Failure::Said { error: Box::new(error), hint, exit: USER }
    }
}

impl From<ListenError> for Failure {
    fn from(error: ListenError) -> Failure {
        Failure::Said { error: Box::new(error), hint: Some("choose another --port".to_owned()), exit: USER }
    }
}
