//! Runs as they go, for whoever watches: which role plays, which turn it is, which tool runs, what it cost up to now.
//!
//! Read from the locks and the journals below `$UWF_HOME` and from nothing else, so that a run in the background, on another
//! terminal or of another program is seen like any other, and is not disturbed. A [`LiveReader`] remembers how far it has
//! read: looking again costs a look at the lock and at the file, and the bytes that are new. [`HomeChanges`] waits until
//! there is something new at all, and a [`ThreadWatch`] says what is new of one thread. Nothing here writes, and nothing
//! keeps what was said in a run.

mod changes;
mod follow;
mod line;
mod open_visits;
mod progress;
mod recorded;
mod watch;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use uwf_engine::lock::{self, LockHolder, Running};
use uwf_engine::thread::{self, Head, MAX_LEVELS, Status, ThreadError};
use uwf_engine::view::current_role;
use uwf_engine::{ThreadId, workflow};
use uwf_store::{Hash, Store};

pub use self::changes::{Changed, HomeChanges};
use self::follow::{Followed, Listing};
pub use self::line::{Line, LineKind, continued, one_line, seconds, shown};
pub use self::open_visits::{OpenVisits, open_visits};
use self::progress::Progress;
pub use self::progress::{LivePhase, LiveTool, LiveUsage};
pub use self::recorded::recorded_lines;
pub use self::watch::{ThreadEvent, ThreadWatch};
use crate::role_run::journals_dir;

/// How much older than the run a journal may seem that it writes: the times of files are not as exact as the clock.
const INACCURACY: u64 = 1000;

/// How much is remembered at least before it is looked which of it still runs.
const MOST: usize = 16;

/// A step that runs just now.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveRun {
    /// The thread whose step it is: of a role that a workflow plays, the one that was called, however deep.
    pub thread: ThreadId,
    /// Who plays, below the roles that it is called for: `developer`, `developer/coder`; none where nobody can tell.
    pub role: Option<String>,
    /// The process that has the thread's lock, where it says so.
    pub pid: Option<u32>,
    /// Whether that is in the background, where it says so.
    pub background: Option<bool>,
    /// The model.
    pub model: Option<String>,
    /// The turn that the model is asked for, or whose calls run; none of an agent that tells nothing.
    pub turn: Option<u64>,
    /// How many turns it may have.
    pub max_turns: Option<u64>,
    /// What it does.
    pub phase: LivePhase,
    /// The tool that runs.
    pub tool: Option<LiveTool>,
    /// When the role began to play, or to go on; of an agent that tells nothing, when the thread did. In ms since the epoch.
    pub started_at: u64,
    /// How long that is, in ms.
    pub elapsed_ms: u64,
    /// Tokens up to now.
    pub usage: LiveUsage,
    /// Their cost in USD, where it is known.
    pub cost_usd: Option<f64>,
    /// Where the lines of the run are, if they are in a file.
    pub log: Option<PathBuf>,
    /// The last line about it.
    pub last_line: Option<String>,
    /// The last lines, the oldest first.
    #[serde(skip)]
    pub lines: Vec<Line>,
    /// How many lines there were.
    #[serde(skip)]
    pub told: u64,
    /// Two looks at the same run that have the same number saw the same.
    #[serde(skip)]
    pub revision: u64,
}

/// A run that was cut off, and that another process can go on with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InterruptedRun {
    /// The role that played.
    pub role: String,
    /// How many turns of the model are done.
    pub turns: u64,
    /// The last sign of life, in ms since the epoch.
    pub at: u64,
    /// The last lines about it, the oldest first.
    #[serde(skip)]
    pub lines: Vec<Line>,
}

impl InterruptedRun {
    /// In words: `interrupted after 3 turns`.
    pub fn reason(&self) -> String {
        format!("interrupted after {} {}", self.turns, if self.turns == 1 { "turn" } else { "turns" })
    }
}

/// Where a thread stands that plays without a journal.
#[derive(Clone, Debug)]
struct Routed {
    head: Hash,
    /// When it came to stand there, in ms since the epoch.
    since: u64,
    role: Option<String>,
}

/// Reads what runs below one `$UWF_HOME`, remembering how far it has read.
#[derive(Debug)]
pub struct LiveReader {
    home: PathBuf,
    listing: Listing,
    followed: HashMap<ThreadId, Followed>,
    /// What a head tells, where no journal does.
    routed: HashMap<ThreadId, Routed>,
    /// How much is remembered before it is looked which of it still runs.
    most: usize,
}

impl LiveReader {
    /// A reader that has read nothing; `home` is `$UWF_HOME`.
    pub fn new(home: &Path) -> LiveReader {
        let listing = Listing::of(journals_dir(home));
        LiveReader {
            home: home.to_owned(),
            listing,
            followed: HashMap::new(),
            routed: HashMap::new(),
            most: MOST,
        }
    }

    /// The step of a thread that runs now; none while nothing of it runs.
    pub fn run(&mut self, store: &Store, thread: &ThreadId) -> Option<LiveRun> {
        let running = lock::running(&self.home, thread);
        if !running.is_running() {
            self.followed.remove(thread);
            self.routed.remove(thread);
            return None;
        }
        self.forget_idle();
        let (at, way, deepest) = self.deepest(store, *thread);
        let deepest = deepest.as_ref().unwrap_or(&running);
        let since = holder(deepest).map(LockHolder::started_at).unwrap_or_default();
        let told = self.followed(&at, since, store.now());
        let none = Progress::default();
        let progress = told.as_ref().map_or(&none, |followed| &followed.progress);
        let (role, started_at) = match (&progress.role, told.is_some()) {
            (Some(role), true) => (Some(role.clone()), progress.started_at),
            // Between two steps the next one has not said that it begins.
            _ => self.routed(store, &at).map_or((None, since), |at| (at.role, at.since.max(since))),
        };
        let log = thread_log(&self.home, thread);
        let run = LiveRun {
            thread: at,
            role: role.map(|role| way.iter().map(|above| format!("{above}/")).collect::<String>() + &role),
            pid: holder(&running).map(LockHolder::pid),
            background: running.background(),
            model: progress.model.clone(),
            turn: told.is_some().then(|| progress.turn()),
            max_turns: progress.max_turns,
            phase: progress.phase,
            tool: progress.tool().cloned(),
            started_at,
            elapsed_ms: store.now().saturating_sub(started_at),
            usage: progress.usage,
            cost_usd: progress.cost(),
            log: log.is_file().then_some(log),
            last_line: progress.lines.back().map(|line| line.text.trim().to_owned()),
            lines: progress.lines.iter().cloned().collect(),
            told: progress.told,
            revision: told.as_ref().map_or(0, |followed| followed.offset()),
        };
        told.into_iter().for_each(|followed| drop(self.followed.insert(at, followed)));
        Some(run)
    }

    /// The run of a thread that stands at `head` and does not run, if one was cut off there.
    pub fn interrupted(&mut self, thread: &ThreadId, head: &Hash, now: u64) -> Option<InterruptedRun> {
        let followed = self.listing.newest(thread, now, |name, _| name.head == *head)?;
        let mut followed = Followed::new(followed);
        followed.read().ok()?;
        let Progress { role, turns, last_at, is_over, lines, .. } = followed.progress;
        Some(InterruptedRun { role: role.filter(|_| !is_over)?, turns, at: last_at, lines: lines.into() })
    }

    /// Forgets what does not run any more, once as much as that may be remembered: nobody asks for a called thread by its
    /// name. Where it cannot be told what runs, all is read anew.
    fn forget_idle(&mut self) {
        if self.followed.len() + self.routed.len() <= self.most {
            return;
        }
        let running = lock::all_running(&self.home).unwrap_or_default();
        self.followed.retain(|thread, _| running.contains(thread));
        self.routed.retain(|thread, _| running.contains(thread));
        self.most = MOST.max(2 * (self.followed.len() + self.routed.len()));
    }

    /// The thread that plays for this one, the roles on the way there, and who runs it, where it is another one.
    fn deepest(&self, store: &Store, thread: ThreadId) -> (ThreadId, Vec<String>, Option<Running>) {
        let (mut at, mut way, mut by) = (thread, Vec::new(), None);
        while let Ok(Some(called)) = thread::last_called(store, &at) {
            let running = lock::running(&self.home, &called.thread);
            if !running.is_running() || way.len() >= MAX_LEVELS {
                break;
            }
            (at, by) = (called.thread, Some(running));
            way.push(called.role);
        }
        (at, way, by)
    }

    /// The journal that is written for a thread by a run that began at `since`, read to its end; none where its agent writes
    /// none, or has not begun to.
    fn followed(&mut self, thread: &ThreadId, since: u64, now: u64) -> Option<Followed> {
        let path = self.listing.newest(thread, now, |_, written| written + INACCURACY >= since)?;
        let known = self.followed.remove(thread).filter(|followed| followed.path() == path);
        let mut followed = known.unwrap_or_else(|| Followed::new(path));
        followed.read().ok()?;
        let Progress { role, is_over, .. } = &followed.progress;
        let counts = role.is_some() && !is_over && followed.progress.last_at + INACCURACY >= since;
        if !counts {
            self.followed.insert(*thread, followed);
            return None;
        }
        Some(followed)
    }

    /// Where the thread stands, and who plays next there as far as no condition decides it.
    fn routed(&mut self, store: &Store, thread: &ThreadId) -> Option<Routed> {
        let hash = thread::stands_at(store, thread).ok()??;
        if let Some(routed) = self.routed.get(thread).filter(|routed| routed.head == hash) {
            return Some(routed.clone());
        }
        let head = thread::head(store, thread).ok()?;
        let (hash, since) = (head.hash, head.updated);
        let routed = Routed { head: hash, since, role: player(store, head).ok().flatten() };
        self.routed.insert(*thread, routed.clone());
        Some(routed)
    }
}

/// Who plays at a head.
fn player(store: &Store, head: Head) -> Result<Option<String>, ThreadError> {
    let workflow = workflow::get(store, &head.start(store)?.workflow)?;
    let head = head.settled(store, &workflow, None);
    Ok(match &head.status {
        Status::Suspended { role, .. } => Some(role.clone()),
        _ => current_role(store, &workflow, &head, None),
    })
}

fn holder(running: &Running) -> Option<&LockHolder> {
    match running {
        Running::By(holder) => Some(holder),
        Running::No | Running::Unnamed => None,
    }
}

/// Where the lines of a thread's runs are; `home` is `$UWF_HOME`.
pub fn thread_log(home: &Path, thread: &ThreadId) -> PathBuf {
    home.join("logs/threads").join(format!("{thread}.log"))
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
