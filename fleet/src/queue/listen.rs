//! Waiting for something to claim, without asking again and again.

use std::time::Duration;

use postgres::fallible_iterator::FallibleIterator;

use crate::{Connection, FleetError};

/// Has this connection hear when a thread becomes ready, and when something of a thread changes.
///
/// # Errors
/// The connection was lost.
pub fn listen(connection: &mut Connection) -> Result<(), FleetError> {
    let (client, team) = connection.parts();
    let quoted = |kind: &str| format!("LISTEN \"uwf_{kind}_{}\"", team.replace('"', "\"\""));
    let both = [quoted("ready"), quoted("thread")].join("; ");
    Ok(client.batch_execute(&both)?)
}

/// Waits until something is heard on a connection that [listens](listen), or for so long. Tells whether something was.
///
/// # Errors
/// The connection was lost.
pub fn wait(connection: &mut Connection, longest: Duration) -> Result<bool, FleetError> {
    let client = connection.client();
    let heard = client.notifications().timeout_iter(longest).next()?.is_some();
    // All that came at once is one reason to look.
    while client.notifications().iter().next()?.is_some() {}
    Ok(heard)
}
