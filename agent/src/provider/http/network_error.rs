//! What the network's errors mean for an attempt.
//!
//! Apart because a reply can fail before its body and within it.

use std::error::Error;
use std::time::Duration;

use crate::provider::attempt_error::AttemptError;

/// The error of an endpoint that says nothing for so long.
pub(super) fn silence(patience: Duration) -> AttemptError {
    AttemptError::Cut { reason: format!("nothing arrived for {patience:?}") }
}

/// The error of a request that got no reply, or of a body that broke off.
pub(super) fn attempt_error(error: &reqwest::Error) -> AttemptError {
    let reason = innermost(error);
    if error.is_connect() {
        return AttemptError::Connect { reason };
    }
    if error.is_builder() {
        return AttemptError::Setup { reason };
    }
    AttemptError::Cut { reason }
}

/// The last cause: the ones above it only wrap, and name the URL.
pub(crate) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
