//! One watcher for all streams: it looks whether anything has moved, and tells those who follow it. While nobody follows
//! anything it sleeps; while nothing happens a look is a few questions to the file system.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use std::{fs, io};

use tokio::sync::watch;
use uwf_engine::lock;
use uwf_engine::thread::{self, ThreadId};
use uwf_engine::view::ThreadView;

use super::App;
use crate::live::LiveLine;

/// How often it looks.
const PERIOD: Duration = Duration::from_millis(250);

/// What is followed, by how many, and what they are told.
#[derive(Default)]
pub(crate) struct Watch {
    topics: Mutex<Topics>,
    changed: Condvar,
}

#[derive(Default)]
struct Topics {
    followed: HashMap<String, (watch::Sender<String>, usize)>,
    is_over: bool,
}

/// A topic that is followed as long as this is there.
pub(super) struct Followed {
    pub(super) topic: String,
    pub(super) versions: watch::Receiver<String>,
    app: Arc<App>,
}

impl Watch {
    /// Follows a topic.
    pub(super) fn follow(&self, app: &Arc<App>, topic: String) -> Followed {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        let (sender, count) = topics
            .followed
            .entry(topic.clone())
            .or_insert_with(|| (watch::channel(app.version(&topic)).0, 0));
        *count += 1;
        let versions = sender.subscribe();
        self.changed.notify_all();
        Followed { topic, versions, app: Arc::clone(app) }
    }

    /// The watcher is to end.
    pub(super) fn end(&self) {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.changed.notify_all();
    }

    fn leave(&self, topic: &str) {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, count)) = topics.followed.get_mut(topic) {
            *count -= 1;
            if *count == 0 {
                topics.followed.remove(topic);
            }
        }
    }

    /// What is followed, after a period; waits while that is nothing. None at the end.
    fn next(&self) -> Option<Vec<String>> {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waited = false;
        loop {
            match (topics.is_over, topics.followed.is_empty(), waited) {
                (true, ..) => return None,
                (_, true, _) => topics = self.changed.wait(topics).unwrap_or_else(PoisonError::into_inner),
                (_, false, true) => return Some(topics.followed.keys().cloned().collect()),
                (_, false, false) => {
                    drop(topics);
                    std::thread::sleep(PERIOD);
                    topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
                    waited = true;
                }
            }
        }
    }

    fn tell(&self, topic: &str, version: String) {
        let topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((sender, _)) = topics.followed.get(topic) {
            sender.send_if_modified(|known| {
                let differs = *known != version;
                *known = version;
                differs
            });
        }
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.app.watch.leave(&self.topic);
    }
}

/// Starts the watcher.
pub(super) fn follow(app: Arc<App>) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("watcher".to_owned()).spawn(move || {
        let mut seen = Seen::default();
        while let Some(topics) = app.watch.next() {
            let now = Seen::of(&app);
            for topic in topics {
                if now.concerns(&seen, &topic) {
                    app.watch.tell(&topic, app.version_of(&topic, &now));
                }
            }
            seen = now;
        }
    })
}

/// What a look sees.
#[derive(Default)]
struct Seen {
    /// When the names were written last.
    names: Vec<(u64, Option<SystemTime>)>,
    running: BTreeSet<ThreadId>,
}

impl Seen {
    fn of(app: &App) -> Seen {
        let stamp = |name: &str| {
            let found = fs::metadata(app.site.names.join(name)).ok();
            found.map_or((0, None), |found| (found.len(), found.modified().ok()))
        };
        let running = lock::all_running(&app.site.home).unwrap_or_default();
        Seen { names: ["_store.db", "_store.db-wal"].map(stamp).to_vec(), running }
    }

    /// Whether there may be news of a topic since the last look.
    fn concerns(&self, before: &Seen, topic: &str) -> bool {
        let runs = |seen: &Seen| topic.parse().is_ok_and(|thread: ThreadId| seen.running.contains(&thread));
        self.names != before.names || self.running != before.running || runs(self)
    }
}

impl App {
    /// The version that a page of that topic has which is made now.
    pub(crate) fn version(&self, topic: &str) -> String {
        self.version_of(topic, &Seen::of(self))
    }

    fn version_of(&self, topic: &str, seen: &Seen) -> String {
        let mut hasher = DefaultHasher::new();
        match topic.parse::<ThreadId>() {
            Ok(thread) => {
                let entry = thread::entry(&self.site.store, &thread).ok();
                let stands =
                    entry.map(|entry| (entry.head, entry.updated, format!("{:?}", entry.status().ok())));
                (stands, seen.running.contains(&thread)).hash(&mut hasher);
                if seen.running.contains(&thread) {
                    format!("{:?}", self.live_of(&thread)).hash(&mut hasher);
                }
            }
            Err(_) => (&seen.names, &seen.running).hash(&mut hasher),
        }
        format!("{:016x}", hasher.finish())
    }

    /// What the run of a thread does just now, where that is known.
    pub(crate) fn live(&self, view: &ThreadView) -> Option<LiveLine> {
        if view.status == "running" { self.live_of(&view.thread) } else { None }
    }

    fn live_of(&self, _thread: &ThreadId) -> Option<LiveLine> {
        None
    }
}
