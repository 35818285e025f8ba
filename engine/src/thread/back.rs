//! Walking back from a node of a thread, the youngest step first: the one reader below lists, chains and contexts.
//!
//! Apart because whoever needs only the last steps must not pay for the others: a node is read when it is asked for, and
//! those that will be asked for after it are read with it, side by side, where its `ancestors` name them. What a step names
//! there is only where to look: the steps come by `prev`, and a list that says otherwise is an error.

mod ancestors;

use std::collections::VecDeque;

use crate::builtin;
use uwf_store::{Hash, Store, parallel};

use self::ancestors::ToldAncestors;
use super::{Link, StepLinks, ThreadError, chain::linked};

/// How many steps are read ahead at first; each time twice as many.
const FIRST_CHUNK: usize = StepLinks::ANCESTORS;
/// How many steps are read ahead at most.
const LARGEST_CHUNK: usize = 2048;

/// The steps from a head to the start, one read each.
pub struct WalkBack<'a> {
    store: &'a Store,
    start: Hash,
    next: Option<NextStep>,
    /// What was read before it was asked for, in the order of the walk.
    ahead: VecDeque<(Hash, Result<Link, ThreadError>)>,
    /// How many are read ahead next.
    chunk: usize,
    /// How many are wanted in all.
    wanted: usize,
    told: ToldAncestors,
}

/// What a walk comes to next.
enum NextStep {
    /// It is read.
    Read(Box<Link>),
    /// A step leads there.
    Before { step: Hash, prev: Hash },
}

impl<'a> WalkBack<'a> {
    /// A walk from `head`, a StartNode or a StepNode, that node included; one read.
    ///
    /// # Errors
    /// The node is missing, damaged or of another type.
    pub fn from(store: &'a Store, head: &Hash) -> Result<WalkBack<'a>, ThreadError> {
        let node = store.get(head)?;
        let (start, next) = match builtin::STARTS.contains(&node.type_) {
            true => (*head, None),
            false => {
                let link = linked(*head, node)?;
                (link.step.start, Some(NextStep::Read(Box::new(link))))
            }
        };
        let (ahead, told) = (VecDeque::new(), ToldAncestors::default());
        Ok(WalkBack { store, start, next, ahead, chunk: FIRST_CHUNK, wanted: usize::MAX, told })
    }

    /// The walk, of which at most so many steps will be asked for: no others are read ahead.
    pub fn at_most(self, wanted: usize) -> WalkBack<'a> {
        WalkBack { wanted, ..self }
    }

    /// The StartNode, as the node says where the walk began.
    pub fn start(&self) -> Hash {
        self.start
    }

    /// What comes next, which is not read for this; none where the walk has come to the start.
    pub fn peek(&self) -> Option<Hash> {
        self.next.as_ref().map(|next| match next {
            NextStep::Read(link) => link.hash,
            NextStep::Before { prev, .. } => *prev,
        })
    }

    fn read(&mut self) -> Result<Option<Link>, ThreadError> {
        let link = match self.next.take() {
            None => return Ok(None),
            Some(NextStep::Read(link)) => *link,
            Some(NextStep::Before { step, prev }) => {
                self.found(&prev).map_err(|error| error.severed(&step, "the step before"))?
            }
        };
        if link.step.start != self.start {
            let (expected, found) = (self.start, link.step.start);
            return Err(ThreadError::BrokenChain { hash: link.hash, expected, found });
        }
        self.told.check(&link)?;
        self.wanted = self.wanted.saturating_sub(1);
        if self.ahead.is_empty() && self.wanted > 1 {
            self.read_ahead(&link);
        }
        self.next = link.step.prev.map(|prev| NextStep::Before { step: link.hash, prev });
        Ok(Some(link))
    }

    /// The step at `hash`, which may have been read ahead.
    fn found(&mut self, hash: &Hash) -> Result<Link, ThreadError> {
        match self.ahead.pop_front() {
            Some((read, found)) if read == *hash => found,
            _ => {
                self.ahead.clear();
                super::link(self.store, hash)
            }
        }
    }

    /// Reads what comes after `link` as far as ancestors name it: the last one of each list leads to the next list, and
    /// what is between is read side by side.
    fn read_ahead(&mut self, link: &Link) {
        let most = self.chunk.min(self.wanted);
        self.chunk = (self.chunk * 2).min(LARGEST_CHUNK);
        let mut places: Vec<(Hash, Option<Result<Link, ThreadError>>)> = Vec::new();
        let mut list = link.step.links.ancestors.clone();
        while list.len() > 1 && places.len() < most {
            list.truncate(most - places.len());
            places.extend(list.drain(..).map(|hash| (hash, None)));
            if let Some((hash, read)) = places.last_mut() {
                let last = super::link(self.store, hash);
                list = last.as_ref().map_or_else(|_| Vec::new(), |last| last.step.links.ancestors.clone());
                *read = Some(last);
            }
        }
        let wanted: Vec<Hash> =
            places.iter().filter(|(_, read)| read.is_none()).map(|(hash, _)| *hash).collect();
        let mut others = parallel::map(&wanted, |hash| super::link(self.store, hash)).into_iter();
        let read =
            places.into_iter().filter_map(|(hash, read)| Some((hash, read.or_else(|| others.next())?)));
        self.ahead.extend(read);
    }
}

impl Iterator for WalkBack<'_> {
    type Item = Result<Link, ThreadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// The step `back` steps before that at `head`; or, where there are fewer, how many there are. The steps between are read
/// all the same: only their `prev` says what is before them.
///
/// # Errors
/// A node on the way is missing, damaged, of another type, or belongs to the start of another thread; or its ancestors are
/// not those it has.
pub fn nth_back(store: &Store, head: &Hash, back: usize) -> Result<Result<Hash, usize>, ThreadError> {
    let mut walk = WalkBack::from(store, head)?.at_most(back);
    for passed in 0..back {
        if walk.next().transpose()?.is_none() {
            return Ok(Err(passed));
        }
    }
    Ok(walk.peek().ok_or(back))
}

#[cfg(test)]
#[path = "back_tests.rs"]
mod tests;
