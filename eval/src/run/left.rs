//! What another process, or an earlier try, left of a case: its thread goes on as if nothing had happened, or the case begins anew.
//!
//! Apart because it is a matter of what is measured: whoever continues a thread otherwise is best served by going on, and the model
//! is told what was cut off. Here a call that was cut off, or what a command had left running, would count as what the workflow
//! did. So a thread goes on only where nobody could tell afterwards that it was interrupted.

use std::fs;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::Instant;

use uwf_agent::runtime::live::{OpenVisits, open_visits, thread_log};
use uwf_engine::thread::{self, FAILED, HEADS, Head, Status, ThreadError, all_failures};
use uwf_engine::{ThreadId, journals};
use uwf_store::{Hash, Store};

use super::Event;
use super::case::{LOOK, Work};
use super::ledger::{self, Begun};
use super::plan::{Earlier, Slot};
use super::standing::{Standing, standing};
use crate::EvalError;
use crate::measure::Measured;

/// Nobody knows what an agent did that keeps no journal.
const UNTOLD: &str = "nothing tells how far its agent had come";

impl Work<'_> {
    /// The thread of a case, and whether it was begun before.
    pub(super) fn begun(&self, slot: &Slot, workspace: &Path) -> Result<(Begun, bool), EvalError> {
        let (store, place) = (self.runner.store, self.place(slot.repeat));
        if let Some(begun) = ledger::begun_thread(store, place)? {
            // What was noted may not have been done.
            begun.replaces.into_iter().try_for_each(|thread| self.forget(&thread))?;
            return Ok((begun, true));
        }
        let new = Begun::new(store);
        let begun = match slot.earlier {
            // It is noted with its thread.
            None => return Ok((new, false)),
            Some(Earlier { thread: Some(thread), given_up, .. }) if self.has_left(&thread, workspace) => {
                // What was cut off goes on, and is a part of the thread again.
                let head = thread::head(store, &thread)?.hash;
                let given_up = given_up.less(self.visits(&thread, head)?.cost_usd);
                (Begun { thread, given_up, replaces: None }, true)
            }
            Some(Earlier { thread, given_up, paid }) => {
                // What a person has halted stays for that person.
                let is_halted =
                    |thread: &ThreadId| matches!(standing(store, thread), Ok(Standing::Halted(_)));
                let given_up = given_up.replaced(thread.is_some(), paid);
                (Begun { given_up, replaces: thread.filter(|thread| !is_halted(thread)), ..new }, false)
            }
        };
        ledger::note_begun(store, place, &begun.0)?;
        begun.0.replaces.into_iter().try_for_each(|thread| self.forget(&thread))?;
        Ok(begun)
    }

    /// Whether a thread whose infrastructure failed before may yet come to its end. How long that was away is none of its time.
    fn has_left(&self, thread: &ThreadId, workspace: &Path) -> bool {
        let (store, limits) = (self.runner.store, &self.planned.task.limits);
        let has_left = || -> Result<bool, ThreadError> {
            let steps = thread::chain(store, &thread::head(store, thread)?.hash)?.steps;
            let seconds: f64 = steps.iter().map(|(_, step)| step.worked()).sum();
            Ok(seconds < limits.timeout.as_secs_f64() && (steps.len() as u64) < u64::from(limits.max_steps))
        };
        workspace.is_dir()
            && !matches!(standing(store, thread), Err(_) | Ok(Standing::Halted(_)))
            && has_left().unwrap_or(false)
    }

    /// What there is to go on with of a thread that was left. Where going on may change what comes of it, the case begins anew by
    /// another thread, which `begun` is then.
    pub(super) fn go_on(
        &self,
        begun: &mut Begun,
        (repeat, workspace): (u32, &Path),
        events: &Sender<Event>,
    ) -> Result<OpenVisits, EvalError> {
        let store = self.runner.store;
        if store.vars().get_now(&format!("{HEADS}{}", begun.thread))?.is_none() {
            return Ok(OpenVisits::default());
        }
        let found = standing(store, &begun.thread)?;
        if let Standing::Halted(_) = found {
            return Ok(OpenVisits::default());
        }
        let head = thread::head(store, &begun.thread)?;
        let is_there = workspace.is_dir() && Path::new(&head.start(store)?.cwd) == workspace;
        let is_over = matches!(found, Standing::Ended | Standing::Failed(_));
        let visits = if is_over { OpenVisits::default() } else { self.visits(&begun.thread, head.hash)? };
        let why = match visits.disturbed.clone() {
            _ if !is_there => Some("its workspace is gone".to_owned()),
            Some(why) => Some(why),
            None => Some(UNTOLD.to_owned()).filter(|_| !is_over && visits.journals == 0),
        };
        let is_begun = visits.journals > 0 || head.hash != head.start_hash() || !is_there;
        match (why, found) {
            // Nothing is known to have happened or to have been paid: nobody needs to hear of it.
            (Some(_), _) if !is_begun && Measured::of(store, &begun.thread)?.cost_usd.is_none() => {
                let given_up = begun.given_up;
                self.give_up(begun, (repeat, None))?;
                begun.given_up = given_up;
                ledger::note_begun(store, self.place(repeat), begun)?;
                Ok(OpenVisits::default())
            }
            (Some(why), _) => {
                self.give_up(begun, (repeat, visits.cost_usd))?;
                events.send(Event::Anew { task: self.name().to_owned(), repeat, why }).ok();
                Ok(OpenVisits::default())
            }
            (None, Standing::Broken(_)) => self.forget_failures(begun, repeat).map(|()| visits),
            (None, _) => Ok(visits),
        }
    }

    /// What is open where the thread stands, or where the thread stands that it has called.
    pub(super) fn visits(&self, thread: &ThreadId, head: Hash) -> Result<OpenVisits, EvalError> {
        let (store, home) = (self.runner.store, &self.runner.homes.uwf);
        let (at, head, status) = deepest(store, thread, head)?;
        if status.is_some_and(|status| status.is_final()) {
            // The caller's step is made of it, and of nothing else.
            return Ok(OpenVisits { journals: 1, ..OpenVisits::default() });
        }
        let begun = Instant::now();
        loop {
            let visits = open_visits(home, (&at, &head))
                .map_err(|source| EvalError::Disk { path: journals::directory(home), source })?;
            let is_late = begun.elapsed() >= self.planned.task.limits.timeout;
            if !visits.is_held || is_late || !self.waited(LOOK, &|| false) {
                return Ok(visits);
            }
        }
    }

    /// Whether the model of a thread has never been heard of, from its beginning: that says nothing of the workflow. A script that
    /// waits is meant to.
    pub(super) fn is_unanswered(&self, thread: &ThreadId) -> Result<bool, EvalError> {
        if self.planned.script.is_some() {
            return Ok(false);
        }
        let store = self.runner.store;
        let head = thread::head(store, thread)?;
        let is_first = head.start_hash() == head.hash;
        let (at, head, _) = deepest(store, thread, head.hash)?;
        let is_first = is_first && thread::head(store, &at)?.start_hash() == head;
        Ok(is_first && journals::is_unanswered(&self.runner.homes.uwf, (&at, &head)))
    }

    /// The case begins anew: what it has begun is told as given up, and is removed.
    fn give_up(&self, begun: &mut Begun, (repeat, open): (u32, Option<f64>)) -> Result<(), EvalError> {
        let store = self.runner.store;
        let cost = Measured::of(store, &begun.thread)?.cost_usd;
        let given_up = begun.given_up.and_costs(open).and_a_thread(cost);
        *begun = Begun { given_up, replaces: Some(begun.thread), ..Begun::new(store) };
        ledger::note_begun(store, self.place(repeat), begun)?;
        begun.replaces.into_iter().try_for_each(|thread| self.forget(&thread))
    }

    /// Removes a thread, and what its runs left, if it is there.
    fn forget(&self, thread: &ThreadId) -> Result<(), EvalError> {
        let home = &self.runner.homes.uwf;
        match thread::remove(self.runner.store, thread) {
            Ok(()) | Err(ThreadError::Unknown { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        journals::forget(home, thread);
        fs::remove_file(thread_log(home, thread)).ok();
        Ok(())
    }

    /// Attempts that failed below the workflow are none of it: its roles are not told of them.
    fn forget_failures(&self, begun: &mut Begun, repeat: u32) -> Result<(), EvalError> {
        let (store, thread) = (self.runner.store, begun.thread);
        let cost = || Ok::<_, EvalError>(Measured::of(store, &thread)?.cost_usd.unwrap_or(0.0));
        let before = cost()?;
        // Those of a thread that plays a role are noted of that one, too.
        let mut at = Some((thread, thread::head(store, &thread)?.hash));
        while let Some((thread, head)) = at {
            let own = format!("{FAILED}{thread}/");
            for failures in all_failures(store, Some(&thread))? {
                if let Some(role) = failures.variable.name.strip_prefix(&own) {
                    thread::clear_failures(store, &thread, role)?;
                }
            }
            at = below(store, &thread, &head)?.map(|(thread, head)| (thread, head.hash));
        }
        let gone = before - cost()?;
        if gone > 0.0 {
            begun.given_up = begun.given_up.and_costs(Some(gone));
            ledger::note_begun(store, self.place(repeat), begun)?;
        }
        Ok(())
    }
}

/// The thread that plays where a thread stands, and where that stands.
fn below(store: &Store, thread: &ThreadId, head: &Hash) -> Result<Option<(ThreadId, Head)>, ThreadError> {
    let called = thread::called_at(store, thread, head)?;
    called.map(|called| Ok((called.thread, thread::head(store, &called.thread)?))).transpose()
}

/// Where it goes on in the end where a thread stands, and how that stands if it is another thread: one that is over, or that
/// calls none.
fn deepest(
    store: &Store,
    thread: &ThreadId,
    head: Hash,
) -> Result<(ThreadId, Hash, Option<Status>), ThreadError> {
    let mut found = (*thread, head, None);
    while let Some((thread, head)) = below(store, &found.0, &found.1)? {
        let is_final = head.status.is_final();
        found = (thread, head.hash, Some(head.status));
        if is_final {
            break;
        }
    }
    Ok(found)
}
