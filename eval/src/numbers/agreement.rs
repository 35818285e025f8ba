//! Whether a judge that votes agrees with itself.

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
pub fn agreement<T: PartialEq>(cases: &[impl AsRef<[T]>]) -> Option<Agreement> {
    let cases: Vec<&[T]> = cases.iter().map(AsRef::as_ref).filter(|votes| votes.len() > 1).collect();
    if cases.is_empty() {
        return None;
    }
    let alike = cases.iter().map(|votes| alike(votes)).sum::<f64>() / cases.len() as f64;
    let votes: Vec<&T> = cases.iter().flat_map(|votes| votes.iter()).collect();
    let same = |vote: &T| votes.iter().filter(|other| ***other == *vote).count() as f64;
    // Each vote, times the share of its word: the squared shares of all words.
    let by_chance = votes.iter().map(|vote| same(vote)).sum::<f64>() / (votes.len() as f64).powi(2);
    let kappa = (by_chance < 1.0).then(|| (alike - by_chance) / (1.0 - by_chance));
    Some(Agreement { cases: cases.len(), votes: votes.len(), alike, kappa })
}

fn alike<T: PartialEq>(votes: &[T]) -> f64 {
    let others =
        |at: usize| (0..votes.len()).filter(|other| *other != at && votes[*other] == votes[at]).count();
    let same: usize = (0..votes.len()).map(others).sum();
    same as f64 / (votes.len() * (votes.len() - 1)) as f64
}
