//! Waiting until something changes below the homes: a lock, a journal, the variables of the store.
//!
//! Apart because whoever watches threads waits for all of them in one place: the kernel tells (inotify), so that nothing is
//! read and no time is spent while nothing happens. Where it does not, as on a file system of another machine or where a
//! directory is not there yet, the wait ends each second, and whoever waits looks for himself.

use std::collections::BTreeSet;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use uwf_engine::{Homes, ThreadId};

use crate::role_run::journals_dir;

/// How long a wait is where the kernel does not tell of every change.
const BLIND: Duration = Duration::from_secs(1);

/// What has changed, as far as the kernel tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Threads whose lock or journal did.
    pub threads: BTreeSet<ThreadId>,
    /// Whether variables of the store did, of whichever thread.
    pub store: bool,
    /// Whether anything may have: the kernel did not see everything.
    pub unknown: bool,
    /// Which of the other files that were waited for can be read, by their place in the list.
    pub readable: Vec<usize>,
}

impl Changed {
    /// Whether there is a reason to look at this thread.
    pub fn concerns(&self, thread: &ThreadId) -> bool {
        self.store || self.unknown || self.threads.contains(thread)
    }
}

/// Tells when something below the homes changes.
#[derive(Debug)]
pub struct HomeChanges {
    inotify: Option<OwnedFd>,
    places: [Place; 3],
}

/// A directory whose files tell.
#[derive(Debug)]
struct Place {
    dir: PathBuf,
    is_store: bool,
    /// The kernel's number for it.
    watch: Option<i32>,
}

impl HomeChanges {
    /// From now on.
    pub fn of(homes: &Homes) -> HomeChanges {
        let place = |dir, is_store| Place { dir, is_store, watch: None };
        let places = [
            place(homes.uwf.join("running"), false),
            place(journals_dir(&homes.uwf), false),
            place(homes.ocas.join("vars"), true),
        ];
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok();
        let mut changes = HomeChanges { inotify, places };
        changes.watch();
        changes
    }

    /// What can be waited for beside other things; none where the kernel tells nothing.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }

    /// Waits until something has changed, one of the other files can be read, or the time is over. A wait that ends early
    /// and tells of nothing asks to look at everything: see [`Changed::unknown`].
    ///
    /// # Errors
    /// The system's, in waiting. A signal ends the wait and is no error.
    pub fn wait(&mut self, timeout: Duration, others: &[BorrowedFd<'_>]) -> io::Result<Changed> {
        let is_blind = !self.watch();
        let deadline = Instant::now() + if is_blind { timeout.min(BLIND) } else { timeout };
        let mut changed = Changed { readable: self.poll(deadline, others)?, ..Changed::default() };
        self.read(&mut changed);
        changed.unknown |= is_blind && changed.readable.is_empty();
        Ok(changed)
    }

    /// What has changed up to now, without waiting.
    pub fn now(&mut self) -> Changed {
        let mut changed = Changed { unknown: !self.watch(), ..Changed::default() };
        self.read(&mut changed);
        changed
    }

    fn poll(&self, deadline: Instant, others: &[BorrowedFd<'_>]) -> io::Result<Vec<usize>> {
        let own = self.file();
        let mut files: Vec<PollFd<'_>> = others
            .iter()
            .chain(own.iter())
            .map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN))
            .collect();
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut files, Some(&left)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let ready = files.iter().take(others.len()).enumerate();
        Ok(ready.filter(|(_, file)| !file.revents().is_empty()).map(|(index, _)| index).collect())
    }

    /// Has the kernel watch what it does not watch yet; whether it watches all.
    fn watch(&mut self) -> bool {
        let Some(inotify) = &self.inotify else { return false };
        let what = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::ONLYDIR;
        for place in self.places.iter_mut().filter(|place| place.watch.is_none()) {
            place.watch = inotify::add_watch(inotify, &place.dir, what).ok();
        }
        self.places.iter().all(|place| place.watch.is_some())
    }

    /// Takes over what the kernel has to tell.
    fn read(&mut self, changed: &mut Changed) {
        let Some(inotify) = &self.inotify else { return };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(inotify, &mut buffer);
        // When it has no more, that is an error.
        while let Ok(event) = events.next() {
            let is_gone = event.events().intersects(inotify::ReadFlags::IGNORED);
            let Some(place) = self.places.iter_mut().find(|place| place.watch == Some(event.wd())) else {
                changed.unknown |= event.events().intersects(inotify::ReadFlags::QUEUE_OVERFLOW);
                continue;
            };
            if is_gone {
                (place.watch, changed.unknown) = (None, true);
            }
            let name = event.file_name().and_then(|name| name.to_str().ok()).unwrap_or_default();
            match place.is_store {
                // The rest is of whoever reads.
                true => changed.store |= name.starts_with("_store.db") && !name.ends_with("-shm"),
                false => {
                    changed.threads.extend(name.split('.').next().and_then(|id| id.parse::<ThreadId>().ok()))
                }
            }
        }
    }
}
