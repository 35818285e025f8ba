//! How long the guard may look: until a point in time, and hardly longer once somebody wants the run to end.
//!
//! Apart because every loop over what commands made, of which there may be millions, asks it.

use std::time::{Duration, Instant};

use crate::tool::Cancel;

/// What is left from the beginning when the run is to end.
const CANCELLED: Duration = Duration::from_secs(2);

pub(super) struct Patience<'a> {
    begun: Instant,
    limit: Duration,
    cancel: &'a Cancel,
}

impl<'a> Patience<'a> {
    pub(super) fn new(limit: Duration, cancel: &'a Cancel) -> Self {
        Self { begun: Instant::now(), limit, cancel }
    }

    pub(super) fn is_over(&self) -> bool {
        let limit = if self.cancel.is_cancelled() { self.limit.min(CANCELLED) } else { self.limit };
        self.begun.elapsed() >= limit
    }

    /// In words, once it is over.
    pub(super) fn why(&self) -> String {
        if self.cancel.is_cancelled() {
            return "the run was to end".to_owned();
        }
        format!("{} s were not enough", self.limit.as_secs())
    }
}
