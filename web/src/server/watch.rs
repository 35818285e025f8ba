//! One watcher for all streams: it waits until something below the homes changes, and tells those who follow it. While nobody
//! follows anything it sleeps; while nothing happens it looks once a second whether what runs is still there.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use tokio::sync::watch;
use uwf_agent::live::{Changed, HomeChanges};
use uwf_engine::lock;
use uwf_engine::thread::{self, ThreadId};

use super::App;
use crate::live::LiveLine;
use crate::remote::RemoteSource;

/// How long it waits at most: that a process was killed nobody tells.
const PATIENCE: Duration = Duration::from_secs(1);
/// What happens within this time is told once.
const TOGETHER: Duration = Duration::from_millis(150);

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
    /// Follows a topic, of which this version is the present one.
    pub(super) fn follow(app: &Arc<App>, topic: String, version: String) -> Followed {
        let mut topics = app.watch.lock();
        let (sender, count) =
            topics.followed.entry(topic.clone()).or_insert_with(|| (watch::channel(version).0, 0));
        *count += 1;
        let versions = sender.subscribe();
        app.watch.changed.notify_all();
        Followed { topic, versions, app: Arc::clone(app) }
    }

    /// The watcher is to end.
    pub(super) fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Topics> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is followed; waits while that is nothing. None at the end.
    fn followed(&self) -> Option<Vec<String>> {
        let nothing = |topics: &mut Topics| topics.followed.is_empty() && !topics.is_over;
        let topics = self.changed.wait_while(self.lock(), nothing).unwrap_or_else(PoisonError::into_inner);
        if topics.is_over { None } else { Some(topics.followed.keys().cloned().collect()) }
    }

    #[cfg(test)]
    pub(super) fn topics(&self) -> Vec<String> {
        self.lock().followed.keys().cloned().collect()
    }

    fn tell(&self, topic: &str, version: String) {
        if let Some((sender, _)) = self.lock().followed.get(topic) {
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
        let mut topics = self.app.watch.lock();
        if let Some((_, count)) = topics.followed.get_mut(&self.topic) {
            *count -= 1;
            if *count == 0 {
                topics.followed.remove(&self.topic);
            }
        }
    }
}

/// Starts the watcher, which ends soon after [`Watch::end`].
///
/// # Errors
/// There can be no more threads.
pub(super) fn start(app: Arc<App>) -> io::Result<()> {
    let watcher = std::thread::Builder::new().name("watcher".to_owned());
    watcher.spawn(move || watch(&app)).map(drop)
}

fn watch(app: &App) {
    let mut changes = HomeChanges::of(&app.site.homes);
    let mut before = Seen::default();
    while app.watch.followed().is_some() {
        // Where the kernel tells nothing, everything is looked at again.
        let changed = changes.wait(PATIENCE, &[]).unwrap_or_else(|_| {
            std::thread::sleep(PATIENCE);
            Changed { unknown: true, ..Changed::default() }
        });
        let is_quiet = !changed.store && !changed.unknown && changed.threads.is_empty();
        if !is_quiet {
            std::thread::sleep(TOGETHER);
        }
        let also = changes.now();
        let now = Seen::of(app);
        for topic in app.watch.followed().unwrap_or_default() {
            let concerned = match topic.parse::<ThreadId>() {
                Ok(thread) => changed.concerns(&thread) || also.concerns(&thread) || now.runs(&thread),
                Err(_) => true,
            };
            let differs = now.running != before.running;
            if concerned || differs {
                app.watch.tell(&topic, app.version_of(&topic, &now));
            }
        }
        before = now;
    }
}

/// What a look sees.
#[derive(Default)]
pub(super) struct Seen {
    /// When the names were written last.
    names: Vec<(u64, Option<SystemTime>)>,
    running: BTreeSet<ThreadId>,
}

impl Seen {
    fn of(app: &App) -> Seen {
        let stamp = |name: &str| {
            let found = fs::metadata(app.site.homes.ocas.join("vars").join(name)).ok();
            found.map_or((0, None), |found| (found.len(), found.modified().ok()))
        };
        let running = lock::all_running(&app.site.homes.uwf).unwrap_or_default();
        Seen { names: ["_store.db", "_store.db-wal"].map(stamp).to_vec(), running }
    }

    fn runs(&self, thread: &ThreadId) -> bool {
        self.running.contains(thread)
    }
}

impl App {
    /// The version that a page of that topic has which is made now.
    pub(super) fn version(&self, topic: &str) -> String {
        self.version_of(topic, &Seen::of(self))
    }

    fn version_of(&self, topic: &str, seen: &Seen) -> String {
        if let Some(remote) = self.site.remote.as_ref().filter(|_| topic == "remote") {
            return RemoteSource::version(remote);
        }
        let mut hasher = DefaultHasher::new();
        match topic.parse::<ThreadId>() {
            Ok(thread) => {
                let entry = thread::entry(&self.site.store, &thread).ok();
                let stands =
                    entry.map(|entry| (entry.head, entry.updated, format!("{:?}", entry.status().ok())));
                let paused =
                    thread::paused(&self.site.store, &thread).ok().flatten().map(|pause| pause.reason);
                (stands, paused, seen.runs(&thread)).hash(&mut hasher);
                if seen.runs(&thread) {
                    format!("{:?}", self.live(&thread)).hash(&mut hasher);
                } else {
                    let failed = thread::all_failures(&self.site.store, Some(&thread));
                    let lists = failed.into_iter().flatten().map(|failed| failed.variable.value);
                    lists.for_each(|list| list.hash(&mut hasher));
                }
            }
            Err(_) => (&seen.names, &seen.running).hash(&mut hasher),
        }
        format!("{:016x}", hasher.finish())
    }

    /// What the run of a thread does just now; none while nothing runs.
    pub(super) fn live(&self, thread: &ThreadId) -> Option<LiveLine> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.run(&self.site.store, thread).map(LiveLine::from)
    }
}
