//! A call of a tool that is asynchronous, on the thread that it has: a runtime of its own, until it is done or cancelled.
//!
//! Apart because tools of programs and those of this crate that use the network run alike.

use std::future::Future;
use std::time::Duration;

use uwf_tools::Cancel;

/// How often a call looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a call to its end, or drops it where it waits when it is cancelled.
///
/// # Errors
/// It was cancelled, or there is no runtime; in words for the model.
pub(crate) fn run<T>(call: impl Future<Output = T>, cancel: &Cancel) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start its runtime: {error}"))?;
    let cancelled = async {
        while !cancel.is_cancelled() {
            tokio::time::sleep(LOOK).await;
        }
    };
    let called = runtime.block_on(async {
        tokio::select! {
            called = call => Ok(called),
            () = cancelled => Err("it was ended before it was done".to_owned()),
        }
    });
    runtime.shutdown_background();
    called
}
