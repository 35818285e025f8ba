//! Waiting for something to claim, without asking again and again.

use std::time::Duration;

use postgres::fallible_iterator::FallibleIterator;

use crate::{Connection, FleetError};

/// What can be heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// A thread is ready.
    Ready,
    /// Something of a thread has changed.
    Thread,
    /// A worker is to do something with a thread that it has.
    Wish,
}

impl News {
    /// What the channels of these are called, before the team.
    fn channel(self) -> &'static str {
        match self {
            News::Ready => "uwf_ready_",
            News::Thread => "uwf_thread_",
            News::Wish => "uwf_wish_",
        }
    }
}

/// Has this connection hear of something.
///
/// # Errors
/// The connection was lost.
pub fn listen(connection: &mut Connection, news: News) -> Result<(), FleetError> {
    let (client, team) = connection.parts();
    let team = team.replace('"', "\"\"");
    Ok(client.batch_execute(&format!("LISTEN \"{}{team}\"", news.channel()))?)
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
