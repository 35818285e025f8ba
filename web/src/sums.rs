//! What a thread comes to: how many steps, who played how often, what it cost. Remembered for the head it was read at, so that
//! a step more costs a read more.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use uwf_engine::thread::{self, Link, ThreadError, WalkBack};
use uwf_store::{Hash, Store, parallel};

/// Threads whose sums are remembered.
const REMEMBERED: usize = 256;

/// What the steps up to a node come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    pub(crate) steps: usize,
    /// How often each role played.
    pub(crate) visits: BTreeMap<String, usize>,
    /// In USD, of those steps that tell.
    pub(crate) cost: Option<f64>,
    pub(crate) turns: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) duration_ms: u64,
}

impl Sum {
    fn add(&mut self, link: &Link, cost: Option<f64>) {
        self.steps += 1;
        *self.visits.entry(link.step.role.clone()).or_default() += 1;
        self.cost = match (self.cost, cost) {
            (Some(sum), Some(cost)) => Some(sum + cost),
            (sum, cost) => sum.or(cost),
        };
        self.duration_ms += link.step.duration_ms();
        if let Some(usage) = &link.step.usage {
            self.turns += usage.turns;
            self.input_tokens += usage.input_tokens;
            self.output_tokens += usage.output_tokens;
        }
    }
}

/// The sums that were asked for last, by the node that the steps lead up to.
#[derive(Debug, Default)]
pub(crate) struct Sums(Mutex<HashMap<Hash, Sum>>);

impl Sums {
    /// What the steps up to `head` come to.
    pub(crate) fn of(&self, store: &Store, head: &Hash) -> Result<Sum, ThreadError> {
        let mut links = Vec::new();
        let mut sum = Sum::default();
        for link in WalkBack::from(store, head)? {
            let link = link?;
            if let Some(known) = self.known(&link.hash) {
                sum = known;
                break;
            }
            links.push(link);
        }
        let costs = parallel::map(&links, |link| {
            thread::detail_of(store, &link.step).ok().and_then(|detail| detail.cost)
        });
        for (link, cost) in links.iter().zip(costs).rev() {
            sum.add(link, cost);
        }
        self.remember(*head, sum.clone());
        Ok(sum)
    }

    fn known(&self, head: &Hash) -> Option<Sum> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(head).cloned()
    }

    fn remember(&self, head: Hash, sum: Sum) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(head, sum);
    }
}
