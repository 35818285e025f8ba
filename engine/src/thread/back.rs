//! Walking back from a node of a thread, the youngest step first: the one reader below lists, chains and contexts.
//!
//! Apart because whoever needs only the last steps must not pay for the others: a node is read when it is asked for.

use crate::builtin;
use uwf_store::{Hash, Store};

use super::{Link, ThreadError, chain::linked};

/// The steps from a head to the start, one read each.
pub struct Back<'a> {
    store: &'a Store,
    start: Hash,
    next: Next,
}

/// What a walk comes to next.
enum Next {
    /// It is read.
    Read(Box<Link>),
    /// A step leads there.
    Before { step: Hash, prev: Hash },
    /// There is none, or one cannot be read.
    Nothing,
}

impl<'a> Back<'a> {
    /// A walk from `head`, a StartNode or a StepNode, that node included; one read.
    ///
    /// # Errors
    /// The node is missing, damaged or of another type.
    pub fn from(store: &'a Store, head: &Hash) -> Result<Back<'a>, ThreadError> {
        let node = store.get(head)?;
        if builtin::STARTS.contains(&node.type_) {
            return Ok(Back { store, start: *head, next: Next::Nothing });
        }
        let link = linked(*head, node)?;
        Ok(Back { store, start: link.step.start, next: Next::Read(Box::new(link)) })
    }

    /// The StartNode, as the node says where the walk began.
    pub fn start(&self) -> Hash {
        self.start
    }

    /// What comes next, which is not read for this; none where the walk has come to the start.
    pub fn peek(&self) -> Option<Hash> {
        match &self.next {
            Next::Read(link) => Some(link.hash),
            Next::Before { prev, .. } => Some(*prev),
            Next::Nothing => None,
        }
    }

    fn read(&mut self) -> Result<Option<Link>, ThreadError> {
        let link = match std::mem::replace(&mut self.next, Next::Nothing) {
            Next::Read(link) => *link,
            Next::Before { step, prev } => {
                super::link(self.store, &prev).map_err(|error| error.severed(&step, "the step before"))?
            }
            Next::Nothing => return Ok(None),
        };
        if link.step.start != self.start {
            let (expected, found) = (self.start, link.step.start);
            return Err(ThreadError::BrokenChain { hash: link.hash, expected, found });
        }
        if let Some(prev) = link.step.prev {
            self.next = Next::Before { step: link.hash, prev };
        }
        Ok(Some(link))
    }
}

impl Iterator for Back<'_> {
    type Item = Result<Link, ThreadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// The step `back` steps before that at `head`; or, where there are fewer, how many there are.
///
/// # Errors
/// A node on the way is missing, damaged, of another type, or belongs to the start of another thread.
pub fn nth_back(store: &Store, head: &Hash, back: usize) -> Result<Result<Hash, usize>, ThreadError> {
    let mut walk = Back::from(store, head)?;
    for passed in 0..back {
        if walk.next().transpose()?.is_none() {
            return Ok(Err(passed));
        }
    }
    Ok(walk.peek().ok_or(back))
}
