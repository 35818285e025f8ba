//! Work on many items, on as many threads as the system gives: none is as good as any.
//!
//! Apart because what walks directories with threads of its own panics when the system has no more of them, as it does
//! where processes are limited. Here the caller's thread finds the items and works on those that nobody takes.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, TrySendError, sync_channel};
use std::thread::{Builder, available_parallelism, scope};

use crate::lock::lock;

/// More threads wait for each other and for the disk.
const MAX_THREADS: usize = 12;
/// Items on their way to a thread.
const QUEUE: usize = 256;

/// Hands each item to a worker. `worker` makes one for every thread there is.
pub(crate) fn for_each<T: Send, W: FnMut(T)>(items: impl Iterator<Item = T>, worker: impl Fn() -> W + Sync) {
    let threads = available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_THREADS);
    on_threads(items, worker, threads - 1, Builder::new);
}

fn on_threads<T: Send, W: FnMut(T)>(
    items: impl Iterator<Item = T>,
    worker: impl Fn() -> W + Sync,
    threads: usize,
    thread: impl Fn() -> Builder,
) {
    let (sender, receiver) = sync_channel(QUEUE);
    let receiver = Mutex::new(receiver);
    let (receiver, worker) = (&receiver, &worker);
    scope(|scope| {
        let started =
            (0..threads).map_while(|_| thread().spawn_scoped(scope, || take(receiver, worker())).ok());
        let started = started.count();
        let mut own = worker();
        for item in items {
            if started == 0 {
                own(item);
                continue;
            }
            match sender.try_send(item) {
                Ok(()) => {}
                Err(TrySendError::Full(item) | TrySendError::Disconnected(item)) => own(item),
            }
        }
        drop(sender);
    });
}

fn take<T>(receiver: &Mutex<Receiver<T>>, mut worker: impl FnMut(T)) {
    loop {
        let item = lock(receiver).recv();
        match item {
            Ok(item) => worker(item),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn sum(threads: usize, thread: impl Fn() -> Builder) -> usize {
        let sum = AtomicUsize::new(0);
        let worker = || {
            |item: usize| {
                sum.fetch_add(item, Ordering::Relaxed);
            }
        };
        on_threads(0..5_000, worker, threads, thread);
        sum.into_inner()
    }

    #[test]
    fn every_item_is_worked_on_with_any_number_of_threads() {
        for threads in [0, 1, 7] {
            assert_eq!(sum(threads, Builder::new), 4_999 * 2_500);
        }
    }

    /// No system has room for such a stack: the threads cannot be made.
    #[test]
    fn without_any_thread_the_work_is_done_here() {
        assert_eq!(sum(4, || Builder::new().stack_size(1 << 60)), 4_999 * 2_500);
    }
}
