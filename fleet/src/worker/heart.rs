//! The heart of a worker: asks for its leases again in time, hears wishes, and frees what other workers have let go.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::counts::add;
use super::link::Link;
use super::runs::now;
use super::{Happening, Worker};
use crate::queue::{self, Lease, News};
use crate::{Connection, FleetError, schema};

/// How often a heart that cannot reach the remote tries.
const AGAIN: Duration = Duration::from_millis(100);

impl Worker<'_> {
    pub(super) fn heart(&self) {
        let mut link = Link::prepared(|connection| queue::listen(connection, News::Wish));
        let interval = self.settings.claimant.lease / 3;
        let soon = self.settings.claimant.lease / 30;
        let mut due = now();
        let mut was_reached = true;
        while !self.runs.is_closed() {
            let time = now();
            if time < due {
                // A wish is asked for at once.
                match link.once(self.open, |connection| queue::wait(connection, AGAIN.min(due - time))) {
                    Ok(true) => due = time,
                    Ok(false) => {}
                    Err(_) => std::thread::sleep(AGAIN),
                }
                continue;
            }
            // Counted from before it is asked for.
            match link.once(self.open, |connection| self.beat(connection, time)) {
                Ok(all_told) => {
                    was_reached = true;
                    due = time + if all_told { interval } else { soon };
                }
                Err(error @ FleetError::SchemaTooNew { .. }) => {
                    // What runs would be written in a form that nobody wants any more.
                    self.fail(error);
                    self.runs.lose_all();
                    due = time + interval;
                }
                Err(error) => {
                    if was_reached {
                        self.host.tell(&Happening::Unreachable(&error));
                    }
                    was_reached = false;
                    due = now() + AGAIN;
                }
            }
        }
    }

    /// One heartbeat; false where a row was locked, of which nothing is known then.
    fn beat(&self, connection: &mut Connection, asked_at: Duration) -> Result<bool, FleetError> {
        // Those of now: of a wish for one that was claimed while a connection was made nobody was told.
        let leases = self.runs.leases();
        let mut all_told = true;
        if let Some(present) = schema::present(connection.client())? {
            self.settings.versions.check(present, schema::Access::Write)?;
        }
        if !leases.is_empty() {
            let beats = queue::heartbeat(connection, &self.settings.claimant, &leases)?;
            all_told = beats.locked.is_empty();
            let is_told = |lease: &&Lease| !beats.locked.contains(&lease.thread);
            let told: Vec<Lease> = leases.iter().filter(is_told).copied().collect();
            self.runs.answered(&told, asked_at, &beats.held);
        }
        let reaped = queue::reap(connection)?;
        add(&self.counts.dead, reaped.iter().filter(|reaped| reaped.is_dead).count() as u64);
        let state = if self.wind.is_draining() { "draining" } else { "working" };
        queue::is_here(connection, &self.settings.claimant.name, (state, leases.len()))?;
        let waiting = queue::waiting(connection)?;
        self.counts.ready.store(waiting.threads, Ordering::Relaxed);
        self.counts.age.store(waiting.longest_ms, Ordering::Relaxed);
        Ok(all_told)
    }
}
