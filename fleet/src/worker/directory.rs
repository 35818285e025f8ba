//! The directory of a thread that a slot works on: made before its first step, kept after each.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use uwf_engine::thread;
use uwf_store::Hash;

use super::Worker;
use super::left::Left;
use super::link::Link;
use super::runs::{Run, Stopped};
use super::trouble;
use crate::queue::{Claim, HandBack, Settled};
use crate::workspace::{Directory, Halt, HaltWish, Kept, MadeStep, Shared, Workspace, WorkspaceError};
use crate::{FleetError, nodes};

/// The directory of a thread, where this worker makes such.
pub(super) type Place<'a> = Option<Directory<'a>>;

impl Worker<'_> {
    /// Makes the directory of a claimed thread as it was at the head, or as a snapshot `latest` of an interrupted step has it.
    pub(super) fn directory(
        &self,
        link: &mut Link,
        (run, claim): (&Arc<Run>, &Claim),
        latest: Option<&Hash>,
    ) -> Result<Place<'_>, FleetError> {
        let workspace = Workspace::of(&claim.workspace)?;
        let Some(spaces) = self.host.workspaces() else {
            return match workspace {
                Workspace::Shared(Shared { root: None, .. }) => Ok(None),
                _ => Err(WorkspaceError::NotHere {
                    what: format!(
                        "this worker makes no directories, as a workspace of the kind {} needs",
                        workspace.kind()
                    ),
                    hint: "leave the thread to a worker that does".to_owned(),
                }
                .into()),
            };
        };
        let store = self.host.store();
        let roots: Vec<Hash> = workspace.roots().into_iter().chain(latest.copied()).collect();
        if !roots.is_empty() {
            self.at(link, run, |connection| {
                let (client, team) = connection.parts();
                let there = nodes::closure(client, team, &roots)?;
                // They are not known to be there from now on: nobody has confirmed them, and what the next step leaves out of its
                // files may be collected before a later one has it again.
                nodes::get(connection, store, &there).map(drop)
            })?;
        }
        spaces.open(store, (&claim.lease, &workspace), latest, halting(run)).map(Some)
    }

    /// Where the next step works. A role that is asked again works where it did.
    pub(super) fn cwd(&self, claim: &Claim, place: &Place<'_>) -> Result<Option<PathBuf>, FleetError> {
        let Some(place) = place else { return Ok(None) };
        let (store, thread) = (self.host.store(), &claim.lease.thread);
        let last = match &claim.answer {
            Some(_) => thread::head(store, thread)?.step().map(|step| PathBuf::from(&step.cwd)),
            None => None,
        };
        Ok(Some(place.cwd(thread, last.as_deref())?))
    }

    /// Keeps the directory as a step has left it, at the remote.
    pub(super) fn keep(
        &self,
        link: &mut Link,
        run: &Run,
        (place, known): (&mut Place<'_>, &mut HashSet<Hash>),
        made: &MadeStep<'_>,
    ) -> Result<Option<Kept>, FleetError> {
        let Some(place) = place else { return Ok(None) };
        let store = self.host.store();
        let Some(kept) = place.keep(store, made)? else { return Ok(None) };
        let roots = kept.workspace.roots();
        self.at(link, run, |connection| nodes::put(connection, store, (&roots, known)))?;
        Ok(Some(kept))
    }
}

/// What ends the commands that are run for a thread.
fn halting(run: &Arc<Run>) -> Arc<HaltWish> {
    let run = Arc::clone(run);
    Arc::new(move || {
        run.stopped().map(|why| match why {
            Stopped::Lost => Halt::Now,
            Stopped::Cancelled | Stopped::Ended => Halt::Soon,
        })
    })
}

/// What becomes of a thread whose directory cannot be made.
pub(super) fn without(error: FleetError) -> Result<Left, FleetError> {
    match error {
        FleetError::LeaseLost { .. } => Err(error),
        FleetError::Workspace(WorkspaceError::Stopped) => Ok(Left::HandBack(HandBack::Drained)),
        error if trouble::is_of_machine(&error) => Ok(Left::HandBack(HandBack::Elsewhere(told(&error)))),
        FleetError::Workspace(error @ (WorkspaceError::Invalid { .. } | WorkspaceError::Foreign { .. })) => {
            Ok(Left::Settle(Settled::Dead, told(&error.into())))
        }
        FleetError::Workspace(ref of_here) if of_here.is_of_this_machine() => {
            Ok(Left::HandBack(HandBack::Elsewhere(told(&error))))
        }
        error => Ok(Left::HandBack(HandBack::Failed(told(&error)))),
    }
}

/// What becomes of a thread whose step was made, and whose files could not be kept: a step is paid for, so it is not made again
/// and again for what will not go away. A full disk is no fault of the thread: the step is made once more, by another worker perhaps,
/// but not without end.
pub(super) fn unkept(error: FleetError) -> Result<Left, FleetError> {
    match error {
        FleetError::Workspace(WorkspaceError::Stopped) => Ok(Left::HandBack(HandBack::Drained)),
        error if trouble::is_shortage(&error) => Ok(Left::HandBack(HandBack::Failed(told(&error)))),
        FleetError::Workspace(ref passing) if passing.is_passing() => {
            Ok(Left::HandBack(HandBack::Failed(told(&error))))
        }
        FleetError::Workspace(_) => Ok(Left::Settle(
            Settled::Dead,
            format!("a step was made, but its files are not kept: {}", told(&error)),
        )),
        error => unpushed(error),
    }
}

/// What becomes of a thread whose step was made, well or not, and could not be pushed. Keys that do not open the object store are no
/// more its fault than a full disk is.
pub(super) fn unpushed(error: FleetError) -> Result<Left, FleetError> {
    match error {
        FleetError::Objects { .. } => Ok(Left::HandBack(HandBack::Failed(told(&error)))),
        error => Err(error),
    }
}

/// An error for the thread's row, with what is to be done.
pub(super) fn told(error: &FleetError) -> String {
    let said = crate::error::chain(error);
    error.hint().map_or(said.clone(), |hint| format!("{said} ({hint})"))
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use uwf_snapshot::SnapshotError;

    use super::*;

    #[test]
    fn a_full_disk_is_no_attempt_before_a_step_and_one_after_it() {
        let full = || io::Error::from_raw_os_error(28);
        let path = PathBuf::from("/x");
        let disk = || WorkspaceError::Disk { doing: "write", path: path.clone(), source: full() };
        let store = || uwf_store::StoreError::Io { doing: "write", path: path.clone(), source: full() };
        let said = || WorkspaceError::Git {
            doing: "fetch from",
            repository: "https://example.org/a.git".parse().unwrap(),
            why: "fatal: write error: No space left on device".to_owned(),
        };
        let errors: [&dyn Fn() -> FleetError; 4] =
            [&|| disk().into(), &|| said().into(), &|| store().into(), &|| {
                WorkspaceError::Snapshot(SnapshotError::from(store())).into()
            }];
        for error in errors {
            assert!(matches!(without(error()), Ok(Left::HandBack(HandBack::Elsewhere(_)))), "{}", error());
            assert!(matches!(unkept(error()), Ok(Left::HandBack(HandBack::Failed(_)))), "{}", error());
        }
        let keys = || FleetError::Objects { what: "no keys".to_owned(), hint: None, passes: false };
        assert!(matches!(without(keys()), Ok(Left::HandBack(HandBack::Elsewhere(_)))));
        assert!(matches!(unkept(keys()), Ok(Left::HandBack(HandBack::Failed(_)))));
        // An agent may have removed its own directory.
        let gone =
            || SnapshotError::Io { doing: "open", path: path.clone(), source: ErrorKind::NotFound.into() };
        let left = unkept(WorkspaceError::Snapshot(gone()).into());
        assert!(matches!(left, Ok(Left::Settle(Settled::Dead, _))));
        let invalid = || WorkspaceError::Invalid { field: "tree".to_owned(), why: "is none".to_owned() };
        for left in [without(invalid().into()), unkept(invalid().into())] {
            assert!(matches!(left, Ok(Left::Settle(Settled::Dead, _))));
        }
    }
}
