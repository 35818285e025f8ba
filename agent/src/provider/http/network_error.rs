//! What the network's errors mean, as faults.
//!
//! Apart because a reply can fail before its body and within it.

use std::error::Error;
use std::time::Duration;

use crate::provider::fault::Fault;

/// The fault of an endpoint that says nothing for so long.
pub(super) fn silence(patience: Duration) -> Fault {
    Fault::Cut { reason: format!("nothing arrived for {patience:?}") }
}

/// The fault of a request that got no reply, or of a body that broke off.
pub(super) fn fault_of(error: &reqwest::Error) -> Fault {
    let reason = innermost(error);
    if error.is_connect() {
        return Fault::Connect { reason };
    }
    if error.is_builder() {
        return Fault::Setup { reason };
    }
    Fault::Cut { reason }
}

/// The last cause: the ones above it only wrap, and name the URL.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
