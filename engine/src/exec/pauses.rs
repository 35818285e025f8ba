//! Whether a thread is to make no further step for now: somebody has paused it, or its next role has played as often as
//! it may.
//!
//! Looked at before a step and after it, so that a run in another process stops between two steps. How often a role has
//! played is counted only where there is a limit: that costs a walk along the chain.

use uwf_store::Hash;
use uwf_workflow::moderator::{Route, Target};

use super::{ExecError, ExecOptions, LockedThread};
use crate::thread::{self, Pause, PausedBy};

impl LockedThread<'_> {
    /// An error where the step that the route leads to is not to be made for now. What paused the thread since its rounds were
    /// used up is taken back when there are more of them.
    pub(super) fn check_not_paused(&self, route: &Route, options: &ExecOptions) -> Result<(), ExecError> {
        let (store, thread) = (self.engine.store, self.thread);
        let Target::Role(role) = &route.target else { return Ok(()) };
        let stored = thread::paused(store, &thread)?;
        if let Some(Pause { reason, by: by @ PausedBy::Person }) = stored {
            return Err(ExecError::Paused { thread, reason, by });
        }
        match self.used_up(&self.head.hash, role, options)? {
            Some(pause) => {
                if stored.as_ref() != Some(&pause) {
                    thread::pause(store, &thread, &pause)?;
                }
                // The limit that was reached is that of the thread from now on.
                self.keep(options)?;
                Err(ExecError::Paused { thread, reason: pause.reason, by: pause.by })
            }
            None if stored.is_some() => Ok(thread::unpause(store, &thread)?),
            None => Ok(()),
        }
    }

    /// Keeps what was chosen for the thread, if that is wanted.
    pub(super) fn keep(&self, options: &ExecOptions) -> Result<(), ExecError> {
        match options.keep {
            true => Ok(thread::keep_options(self.engine.store, &self.thread, &options.chosen)?),
            false => Ok(()),
        }
    }

    /// Why there is to be no further step for now, after a step that has become the head and leads to `next`.
    pub(super) fn paused_after(
        &self,
        head: &Hash,
        next: Option<&str>,
        options: &ExecOptions,
    ) -> Result<Option<Pause>, ExecError> {
        let (store, thread) = (self.engine.store, &self.thread);
        let Some(role) = next else { return Ok(None) };
        if let Some(pause) = thread::paused(store, thread)? {
            return Ok(Some(pause));
        }
        let used_up = self.used_up(head, role, options)?;
        if let Some(pause) = &used_up {
            thread::pause(store, thread, pause)?;
        }
        Ok(used_up)
    }

    /// The pause that there is to be where `role` has played as often as it may.
    fn used_up(&self, head: &Hash, role: &str, options: &ExecOptions) -> Result<Option<Pause>, ExecError> {
        let Some(most) = options.chosen.max_rounds else { return Ok(None) };
        let mut visits = 0_u32;
        if *head != self.head.start_hash() {
            thread::links(self.engine.store, head, &mut |link| visits += u32::from(link.step.role == role))?;
        }
        let reason = || match most {
            1 => format!("1 round used up: {role} would play a 2nd time"),
            _ => format!("{most} rounds used up: {role} would play a {} time", ordinal(visits + 1)),
        };
        Ok((visits >= most).then(|| Pause { reason: reason(), by: PausedBy::Rounds }))
    }
}

/// `1st`, `2nd`, `3rd`, `4th`, `11th` …
fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
