//! Whether a judge that votes agrees with itself.

use std::cmp::Ordering;

use serde::Serialize;

/// How far votes agree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Agreement {
    /// How many cases were voted on at least twice.
    pub cases: usize,
    /// How many votes there were on these.
    pub votes: usize,
    /// Of two votes on the same case, how likely they are the same.
    pub alike: f64,
    /// That beyond what chance would give, 1 at best (Fleiss' kappa). None where all votes are the same: chance alone would
    /// agree as well.
    pub kappa: Option<f64>,
}

/// The agreement of votes, a slice for each case; cases with fewer than two are left out. None if that leaves none.
///
/// Cases may have different numbers of votes: each case counts the same in `alike`, each vote in what chance would give.
pub fn agreement<T: PartialOrd>(cases: &[impl AsRef<[T]>]) -> Option<Agreement> {
    let cases: Vec<&[T]> = cases.iter().map(AsRef::as_ref).filter(|votes| votes.len() > 1).collect();
    if cases.is_empty() {
        return None;
    }
    let alike = cases.iter().map(|votes| alike(votes)).sum::<f64>() / cases.len() as f64;
    let votes: Vec<&T> = cases.iter().flat_map(|votes| votes.iter()).collect();
    let (all, count) = (counts(votes.iter().copied()), votes.len() as f64);
    // The squared shares of all words.
    let by_chance = all.iter().map(|same| (*same as f64).powi(2)).sum::<f64>() / count.powi(2);
    let kappa = (by_chance < 1.0).then(|| (alike - by_chance) / (1.0 - by_chance));
    Some(Agreement { cases: cases.len(), votes: votes.len(), alike, kappa })
}

/// Of two votes, how likely they are the same.
fn alike<T: PartialOrd>(votes: &[T]) -> f64 {
    let pairs = |count: usize| (count * count.saturating_sub(1)) as f64;
    counts(votes.iter()).into_iter().map(pairs).sum::<f64>() / pairs(votes.len())
}

/// How often each word is said.
fn counts<'v, T: PartialOrd + 'v>(votes: impl Iterator<Item = &'v T>) -> Vec<usize> {
    let mut votes: Vec<&T> = votes.collect();
    votes.sort_by(|one, other| one.partial_cmp(other).unwrap_or(Ordering::Equal));
    votes.chunk_by(|one, other| one == other).map(<[&T]>::len).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_votes_are_counted_and_not_each_held_against_each() {
        let cases: Vec<Vec<u32>> = (0..20_000).map(|at| vec![at % 7, at % 3, at % 5, at % 2, at]).collect();
        let found = agreement(&cases).unwrap();
        assert_eq!((found.cases, found.votes), (20_000, 100_000));
        assert!(found.kappa.unwrap() < found.alike);
    }
}
