//! Whether what steps tell of their ancestors is what `prev` leads to.
//!
//! Apart because each list is held against the steps that come after it, and against the lists of those: one that is wrong
//! is found at the first step where it is.

use uwf_store::Hash;

use super::{Link, StepLinks, ThreadError};

/// What was told of the steps that come next, by the one that told most.
#[derive(Default)]
pub(super) struct ToldAncestors {
    by: Option<Hash>,
    /// The next one last.
    next: Vec<Hash>,
}

impl ToldAncestors {
    /// Holds a step against what was told, and what it tells against that.
    ///
    /// # Errors
    /// [`ThreadError::FalseAncestors`].
    pub(super) fn check(&mut self, link: &Link) -> Result<(), ThreadError> {
        let own = &link.step.links.ancestors;
        // That it is the one that was told is known from the `prev` that led here.
        self.next.pop();
        let told: Vec<Hash> = self.next.iter().rev().copied().collect();
        if own.len() > StepLinks::ANCESTORS {
            return Err(ThreadError::FalseAncestors { step: link.hash, why: "it has more than 11" });
        }
        let of_both = own.len().min(told.len());
        if own[..of_both] != told[..of_both] {
            let why = "a later step tells others, or in another order";
            return Err(ThreadError::FalseAncestors { step: link.hash, why });
        }
        if own.len() > told.len() {
            self.by = Some(link.hash);
            self.next = own.iter().rev().copied().collect();
        }
        if self.next.is_empty() || self.next.last() == link.step.prev.as_ref() {
            return Ok(());
        }
        let why = match link.step.prev {
            Some(_) => "`prev` leads elsewhere",
            None => "`prev` leads to fewer",
        };
        Err(ThreadError::FalseAncestors { step: self.by.unwrap_or(link.hash), why })
    }
}
