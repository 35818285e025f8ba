//! Threads for what blocks: tools, and the end of a run. Whoever waits for them hears signals meanwhile.
//!
//! Apart because the runtime's own pool panics where the system has no thread for it. Here the first thread is made
//! before a run begins and stays: what finds no other thread waits for that one.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// The threads of a process; the first ends with this, the others when there is nothing more to do.
pub struct Workers {
    shared: Arc<Shared>,
    thread: fn() -> Builder,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Whether the first thread waits for a job that nobody has given it yet.
    idle: bool,
    over: bool,
}

/// What was said by work that panicked: a bug of ours.
#[derive(Debug)]
pub struct Panicked(String);

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Workers {
    /// Makes the first thread.
    ///
    /// # Errors
    /// The system's, when it has none.
    pub fn start() -> io::Result<Workers> {
        let workers = Workers { shared: Arc::default(), thread: Builder::new };
        let shared = Arc::clone(&workers.shared);
        workers.builder().spawn(move || shared.work_on())?;
        Ok(workers)
    }

    /// Has this done, at once or when a thread is free; it is not stopped when nobody waits for it any more.
    pub fn run<T: Send + 'static, W: FnOnce() -> T + Send + 'static>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<T, Panicked>> + use<T, W> {
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            let done = catch_unwind(AssertUnwindSafe(work));
            // Nobody waits when a second signal has ended the wait.
            let _ = sender.send(done.map_err(|panic| Panicked(words(&*panic))));
        };
        if !self.shared.give(Box::new(job)) {
            let shared = Arc::clone(&self.shared);
            // Without one more thread, those there are do it.
            let _ = self.builder().spawn(move || shared.work_off());
        }
        async { receiver.await.unwrap_or_else(|_| Err(Panicked("its thread is gone".to_owned()))) }
    }

    fn builder(&self) -> Builder {
        (self.thread)().name("worker".to_owned())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.lock().over = true;
        self.shared.news.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Jobs run outside of the lock: nothing in it is half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the first thread takes it.
    fn give(&self, job: Job) -> bool {
        let mut state = self.lock();
        state.jobs.push_back(job);
        let taken = std::mem::take(&mut state.idle);
        if taken {
            self.news.notify_one();
        }
        taken
    }

    /// The first thread: jobs as they come.
    fn work_on(&self) {
        let mut state = self.lock();
        while !state.over {
            match state.jobs.pop_front() {
                Some(job) => {
                    drop(state);
                    job();
                    state = self.lock();
                }
                None => {
                    state.idle = true;
                    state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Any other thread: what there is to do now.
    fn work_off(&self) {
        let next = || self.lock().jobs.pop_front();
        while let Some(job) = next() {
            job();
        }
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it said nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().build().unwrap()
    }

    #[test]
    fn as_much_as_there_is_runs_side_by_side() {
        let workers = Workers::start().unwrap();
        let met = Arc::new(Barrier::new(8));
        for _ in 0..3 {
            let all: Vec<_> = (0..8)
                .map(|n| {
                    let met = Arc::clone(&met);
                    workers.run(move || (met.wait(), n).1)
                })
                .collect();
            let all = runtime().block_on(futures_util::future::join_all(all));
            assert_eq!(all.into_iter().map(Result::unwrap).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
        }
    }

    /// No system has room for such a stack: no more threads can be made.
    #[test]
    fn one_thread_does_it_all_where_there_is_no_other() {
        let mut workers = Workers::start().unwrap();
        workers.thread = || Builder::new().stack_size(1 << 60);
        for _ in 0..3 {
            let all: Vec<_> = (0..8).map(|n| workers.run(move || n)).collect();
            let all = runtime().block_on(futures_util::future::join_all(all));
            assert_eq!(all.into_iter().map(Result::unwrap).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_is_told_and_costs_no_thread() {
        let mut workers = Workers::start().unwrap();
        workers.thread = || Builder::new().stack_size(1 << 60);
        let ended = runtime().block_on(workers.run(|| panic!("out of {}", "ideas")));
        assert_eq!(ended.unwrap_err().to_string(), "out of ideas");
        assert_eq!(runtime().block_on(workers.run(|| 7)).unwrap(), 7);
    }
}
