//! What each error of evaluations means to the person at the terminal.

use uwf_eval::EvalError;
use uwf_eval::task::TaskError;

use crate::shell::{CliError, USER};

/// There is no result: too many cases have no score, or are not finished.
pub(super) const NO_RESULT: u8 = 3;

impl From<EvalError> for CliError {
    fn from(error: EvalError) -> CliError {
        CliError::Said { hint: error.hint(), error: Box::new(error), exit: USER }
    }
}

impl From<TaskError> for CliError {
    fn from(error: TaskError) -> CliError {
        CliError::Said { hint: error.hint(), error: Box::new(error), exit: USER }
    }
}
