//! What is wrong with the machine and not with the thread, and how a slot rests when nothing goes right: a machine with a full
//! disk would otherwise use up the attempts of one thread after another.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::thread::sleep;
use std::time::Duration;

use super::runs::now;
use super::{TICK, Wind};
use crate::FleetError;

/// The longest rest.
const LONGEST: Duration = Duration::from_secs(15);

/// How a full disk is told by the system, and by SQLite.
const FULL: [&str; 2] = ["No space left on device", "database or disk is full"];

/// Whether the reason is this machine's: a file cannot be written or read, or its keys do not open the object store. Others may
/// have better ones.
pub(super) fn is_of_machine(error: &FleetError) -> bool {
    if matches!(error, FleetError::Objects { .. }) {
        return true;
    }
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(this) = cause {
        if this.is::<io::Error>() {
            return true;
        }
        cause = this.source();
    }
    tells_of_machine(&error.to_string())
}

/// Whether this machine has run out of something, or its disk fails. Of a directory that an agent has had its hands on nothing
/// else is the machine's fault: it may be gone, or closed, by what the agent did.
pub(super) fn is_shortage(error: &FleetError) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(this) = cause {
        if this.downcast_ref::<io::Error>().is_some_and(is_short) {
            return true;
        }
        cause = this.source();
    }
    tells_of_machine(&error.to_string())
}

fn is_short(error: &io::Error) -> bool {
    // EIO, ENFILE and EMFILE have no kind of their own.
    matches!(error.raw_os_error(), Some(5 | 23 | 24))
        || matches!(
            error.kind(),
            ErrorKind::StorageFull
                | ErrorKind::QuotaExceeded
                | ErrorKind::ReadOnlyFilesystem
                | ErrorKind::OutOfMemory
        )
}

/// The same of a step that could not be made, by what it says.
pub(super) fn tells_of_machine(why: &str) -> bool {
    FULL.iter().any(|full| why.contains(full))
}

/// How often in a row nothing came of a claim.
#[derive(Debug, Default)]
pub(super) struct Trouble(u32);

impl Trouble {
    /// Nothing came of a claim, or something did; then rests. The first failure may be the thread's own.
    pub(super) fn after(&mut self, has_failed: bool, wind: &Wind) {
        self.0 = if has_failed { self.0 + 1 } else { 0 };
        let until = now() + self.rest();
        while now() < until && !wind.is_draining() {
            sleep(TICK);
        }
    }

    fn rest(&self) -> Duration {
        match self.0 {
            0 | 1 => Duration::ZERO,
            more => (Duration::from_millis(250) * 2_u32.pow(more.min(10))).min(LONGEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_rests_longer_and_longer() {
        let rests = [0, 1, 2, 3, 5, 6, 40].map(|failures| Trouble(failures).rest().as_millis());
        assert_eq!(rests, [0, 0, 1_000, 2_000, 8_000, 15_000, 15_000]);
    }

    #[test]
    fn a_full_disk_is_the_machines_fault() {
        let full = std::io::Error::from_raw_os_error(28);
        assert!(tells_of_machine(&format!("cannot write the journal: {full}")));
        let path = "/x".into();
        let store = uwf_store::StoreError::Io { doing: "write", path, source: full };
        assert!(is_of_machine(&FleetError::Store(store)));
        let objects = FleetError::Objects { what: "there are no keys".into(), hint: None, passes: false };
        assert!(is_of_machine(&objects));
        assert!(!is_of_machine(&FleetError::Malformed { what: "head".into(), why: "no hash".into() }));
    }
}
