//! A connection that is made again when it was lost.

use std::thread;
use std::time::Duration;

use super::Open;
use crate::{Connection, FleetError};

/// How long it is waited before the first new attempt, and at most.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);

/// A connection, where there is one just now.
pub(super) struct Link {
    connection: Option<Connection>,
    pause: Duration,
    /// Prepares each new connection.
    prepare: fn(&mut Connection) -> Result<(), FleetError>,
}

impl Link {
    pub(super) fn prepared(prepare: fn(&mut Connection) -> Result<(), FleetError>) -> Link {
        Link { connection: None, pause: FIRST, prepare }
    }

    /// Does something at the remote; where what is in the way passes, again, until `is_over` says that it is no use.
    pub(super) fn patiently<T>(
        &mut self,
        open: &Open<'_>,
        is_over: &dyn Fn(&FleetError) -> bool,
        mut what: impl FnMut(&mut Connection) -> Result<T, FleetError>,
    ) -> Result<T, FleetError> {
        loop {
            match self.once(open, &mut what) {
                Err(error) if error.is_passing() && !is_over(&error) => {
                    thread::sleep(self.pause);
                    self.pause = (self.pause * 2).min(LONGEST);
                }
                done => {
                    self.pause = FIRST;
                    return done;
                }
            }
        }
    }

    /// Does something at the remote. A connection that was lost is made again by the next one.
    pub(super) fn once<T>(
        &mut self,
        open: &Open<'_>,
        what: impl FnOnce(&mut Connection) -> Result<T, FleetError>,
    ) -> Result<T, FleetError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let mut connection = open()?;
                (self.prepare)(&mut connection)?;
                connection
            }
        };
        let done = what(&mut connection);
        if !matches!(done, Err(FleetError::Lost { .. })) {
            self.connection = Some(connection);
        }
        done
    }
}
