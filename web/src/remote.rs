//! A remote whose pages are shown: asked by one at a time, and no more often than every two seconds.
//!
//! Whoever asks a remote waits for a database elsewhere. So the watcher of all streams never does: it has what was found last,
//! and lets a thread of its own look again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uwf_fleet::overview::Overview;
use uwf_store::Clock;

/// How a remote is asked.
pub trait Remote: Send + Sync {
    /// What it is called here.
    fn name(&self) -> &str;

    /// What goes on there. Called from threads that may wait, by one at a time.
    ///
    /// # Errors
    /// Why that is not known, in words.
    fn overview(&self) -> Result<Overview, String>;
}

/// How long what was found is told again, in milliseconds.
const FRESH: u64 = 2_000;

/// What was found, or why nothing was.
type Found = Result<Overview, String>;

/// A remote, and what was found there last.
pub(crate) struct RemoteSource {
    remote: Box<dyn Remote>,
    now: Clock,
    last: Mutex<Option<(u64, Arc<Found>)>>,
    /// Held by whoever asks.
    asking: Mutex<()>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RemoteSource {
    pub(crate) fn new(remote: Box<dyn Remote>, now: Clock) -> RemoteSource {
        RemoteSource { remote, now, last: Mutex::default(), asking: Mutex::default() }
    }

    pub(crate) fn name(&self) -> &str {
        self.remote.name()
    }

    /// What goes on at the remote, not older than two seconds.
    pub(crate) fn found(&self) -> Arc<Found> {
        let _asking = locked(&self.asking);
        if let Some(fresh) = self.fresh() {
            return fresh;
        }
        let found = Arc::new(self.remote.overview());
        *locked(&self.last) = Some(((self.now)(), Arc::clone(&found)));
        found
    }

    fn fresh(&self) -> Option<Arc<Found>> {
        let last = locked(&self.last);
        let (at, found) = last.as_ref()?;
        ((self.now)().saturating_sub(*at) < FRESH).then(|| Arc::clone(found))
    }

    /// The version of what was found last; where that is old, it is looked for again meanwhile.
    pub(crate) fn version(this: &Arc<RemoteSource>) -> String {
        if this.fresh().is_none() && this.asking.try_lock().is_ok() {
            let this = Arc::clone(this);
            // Where there can be no more threads the next look finds out.
            std::thread::Builder::new().name("remote".to_owned()).spawn(move || drop(this.found())).ok();
        }
        let mut hasher = DefaultHasher::new();
        let last = locked(&this.last);
        last.as_ref().map(|(_, found)| format!("{found:?}")).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}
