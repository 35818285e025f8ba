//! Reading many nodes at once: independent work over all cores, answers in the order of the questions.
//!
//! Apart because reading is what long lists wait for.

use std::num::NonZero;
use std::thread::{available_parallelism, scope};

/// Below this many it is not worth a thread.
const WORTHWHILE: usize = 64;

/// What `work` makes of each of `items`.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = available_parallelism().map_or(1, NonZero::get);
    if workers == 1 || items.len() < WORTHWHILE {
        return items.iter().map(work).collect();
    }
    let work = &work;
    scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(workers));
        let parts: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<R>>())).collect();
        parts.into_iter().flat_map(|part| part.join().expect("the work does not panic")).collect()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn answers_come_in_order() {
        for count in [0, 1, 63, 64, 1000, 1001] {
            let items: Vec<usize> = (0..count).collect();
            let expected: Vec<usize> = items.iter().map(|item| item * 2).collect();
            assert_eq!(super::map(&items, |item| item * 2), expected);
        }
    }
}
