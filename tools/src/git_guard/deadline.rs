//! How long the guard may look: until a point in time, and hardly longer once the run is cancelled.
//!
//! Apart because every loop over what commands made, of which there may be millions, asks it.

use std::time::{Duration, Instant};

use crate::cancel::Cancel;

/// How long it may look, from its beginning, once the run is cancelled.
const CANCELLED: Duration = Duration::from_secs(2);

pub(super) struct CheckDeadline<'a> {
    begun: Instant,
    limit: Duration,
    cancel: &'a Cancel,
}

impl<'a> CheckDeadline<'a> {
    pub(super) fn new(limit: Duration, cancel: &'a Cancel) -> Self {
        Self { begun: Instant::now(), limit, cancel }
    }

    pub(super) fn is_over(&self) -> bool {
        let limit = if self.cancel.is_cancelled() { self.limit.min(CANCELLED) } else { self.limit };
        self.begun.elapsed() >= limit
    }

    /// Why it is over, in words.
    pub(super) fn why(&self) -> String {
        if self.cancel.is_cancelled() {
            return "the run was cancelled".to_owned();
        }
        format!("{} s were not enough", self.limit.as_secs())
    }
}
