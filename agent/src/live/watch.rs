//! One thread, followed: where it stood when it was looked at last, and what is new.

use uwf_engine::ThreadId;
use uwf_engine::thread::{self, Status, ThreadError};
use uwf_store::{Hash, Store};

use super::{LiveReader, LiveRun};

/// What is new of a thread.
#[derive(Clone, Debug, PartialEq)]
pub enum ThreadEvent {
    /// It stands elsewhere: a step was made, or the last one is another.
    Moved(Hash),
    /// Its stored state is another one.
    Status(Status),
    /// Something runs now, or runs no more, or has come further; see [`ThreadWatch::run`].
    Live,
}

/// A thread that is watched.
#[derive(Debug)]
pub struct ThreadWatch {
    thread: ThreadId,
    head: Hash,
    status: Status,
    run: Option<LiveRun>,
}

impl ThreadWatch {
    /// From where it stands now on.
    ///
    /// # Errors
    /// There is no such thread, or the store cannot be read.
    pub fn of(store: &Store, reader: &mut LiveReader, thread: &ThreadId) -> Result<ThreadWatch, ThreadError> {
        let run = reader.run(store, thread);
        let entry = thread::entry(store, thread)?;
        Ok(ThreadWatch { thread: *thread, head: entry.head, status: entry.status()?.clone(), run })
    }

    /// The thread.
    pub fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// Where it stands.
    pub fn head(&self) -> &Hash {
        &self.head
    }

    /// Its stored state: a step that asks, and of which that is not stored, is seen by [`Head::settled`](thread::Head::settled).
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// What runs.
    pub fn run(&self) -> Option<&LiveRun> {
        self.run.as_ref()
    }

    /// Looks again: what is new since the last time, in the order in which it is to be told.
    ///
    /// # Errors
    /// The thread is gone, or the store cannot be read.
    pub fn look(&mut self, store: &Store, reader: &mut LiveReader) -> Result<Vec<ThreadEvent>, ThreadError> {
        // The lock first: whoever has given it back has moved the head before.
        let run = reader.run(store, &self.thread);
        let entry = thread::entry(store, &self.thread)?;
        let (status, mut events) = (entry.status()?.clone(), Vec::new());
        if std::mem::replace(&mut self.head, entry.head) != entry.head {
            events.push(ThreadEvent::Moved(entry.head));
        }
        if self.status != status {
            self.status = status.clone();
            events.push(ThreadEvent::Status(status));
        }
        let of = |run: &Option<LiveRun>| {
            run.as_ref().map(|run| (run.thread, run.pid, run.started_at, run.revision, run.role.clone()))
        };
        if of(&self.run) != of(&run) {
            events.push(ThreadEvent::Live);
        }
        self.run = run;
        Ok(events)
    }
}
