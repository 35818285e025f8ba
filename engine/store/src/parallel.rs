//! Reading many nodes at once: independent work over all cores, answers in the order of the questions.
//!
//! Apart because reading is what long lists wait for.

use std::num::NonZero;
use std::thread::{Builder, available_parallelism, scope};

/// Below this many it is not worth a thread.
const WORTHWHILE: usize = 64;

/// What `work` makes of each of `items`.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    // How many cores there are costs a look at files of the system.
    match items.len() {
        0..WORTHWHILE => items.iter().map(work).collect(),
        _ => on_threads(items, work, available_parallelism().map_or(1, NonZero::get), Builder::new),
    }
}

/// A part that gets no thread, since the system has no more of them, is worked on here.
fn on_threads<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    workers: usize,
    thread: impl Fn() -> Builder,
) -> Vec<R> {
    let work_on = |part: &[T]| part.iter().map(&work).collect::<Vec<R>>();
    let work_on = &work_on;
    scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(workers));
        let started: Vec<_> =
            parts.map(|part| (part, thread().spawn_scoped(scope, move || work_on(part)))).collect();
        let results = started.into_iter().flat_map(|(part, started)| match started {
            Ok(running) => running.join().expect("the work does not panic"),
            Err(_) => work_on(part),
        });
        results.collect()
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

    /// No system has room for such a stack: the threads cannot be made.
    #[test]
    fn without_any_thread_the_answers_are_the_same() {
        let items: Vec<usize> = (0..100).collect();
        let thread = || std::thread::Builder::new().stack_size(1 << 60);
        let answers = super::on_threads(&items, |item| item * 2, 4, thread);
        assert_eq!(answers, items.iter().map(|item| item * 2).collect::<Vec<_>>());
    }
}
