//! Which journal belongs to a run, and which belong to no run any more.
//!
//! Listing the directory is all that an ordinary start costs, twice where it begins a run, since another process may have
//! begun it meanwhile: the names say thread and head, so only a journal of the very thread and head is opened, and only
//! its first line is read unless it is the one. A journal that another
//! process holds is never taken, changed or removed. It never starts or decides anything: `resume` does.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use thiserror::Error;
use uwf_engine::ThreadId;
use uwf_engine::home::make_private;
use uwf_engine::journals::{self, JournalName};
use uwf_store::{Hash, only_regular};

use super::read::{self, Unreadable};
use super::{Entry, Journal, Sink};

/// How long a held journal is tried again: a process that was just killed holds it for an instant more.
const HELD: Duration = Duration::from_millis(200);

/// How long a process waits for others that begin runs in the same directory. Each takes some milliseconds: one that takes
/// longer has been stopped, and nobody waits for that.
const BEGINNING: Duration = Duration::from_secs(2);

/// How many journals of other threads a start looks at: what one run leaves behind, and then some.
const SWEPT: usize = 8;

/// Which edge prompt a run must have.
#[derive(Clone, Copy, Debug)]
pub enum Prompt<'a> {
    /// Any.
    Any,
    /// This one: it was given.
    This(&'a str),
    /// This one, since none was given; a run that was interrupted may have another.
    Usual(&'a str),
}

/// The run whose journal is looked for.
#[derive(Clone, Copy, Debug)]
pub struct WantedRun<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// Its head.
    pub head: Hash,
    /// The role; none is any.
    pub role: Option<&'a str>,
    /// The edge prompt.
    pub prompt: Prompt<'a>,
    /// Only one that was begun stand-alone.
    pub stand_alone: bool,
    /// Only one that works in this directory.
    pub workspace: Option<&'a Path>,
    /// The agent that plays, where that is not `uwf-builtin`.
    pub agent: Option<&'a str>,
}

/// A journal that is left alone, and why.
#[derive(Debug, Error)]
#[error("the journal {} is not continued: {why}", .path.display())]
pub struct PassedOver {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: Unfit,
}

/// Why a run does not go on from its journal.
#[derive(Debug, Error)]
pub enum Unfit {
    /// Nobody can.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Somebody has put something else there.
    #[error("it is no regular file")]
    NoFile,
    /// What it has seen and done is not here.
    #[error("it is of a run in {begun_in}, and this one is in {}", .here.display())]
    Elsewhere {
        /// The directory it works in.
        begun_in: String,
        /// The one that is asked for.
        here: PathBuf,
    },
}

/// Why it cannot be told whether there is a journal to go on with.
#[derive(Debug, Error)]
pub enum FindError {
    /// Another process plays this very visit.
    #[error("the role {role} of thread {thread} is being played by another process; its journal is {}", .path.display())]
    Busy {
        /// The role.
        role: String,
        /// The thread.
        thread: ThreadId,
        /// The file.
        path: PathBuf,
    },
    /// Another process has begun this very visit since it was looked for.
    #[error("the role {role} of thread {thread} was begun by another process just now; its journal is {}", .path.display())]
    JustBegun {
        /// The role.
        role: String,
        /// The thread.
        thread: ThreadId,
        /// The file.
        path: PathBuf,
    },
    /// The disk's reason.
    #[error("cannot read the journal {}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The journals of a directory, as it was listed.
#[derive(Debug)]
pub struct Journals {
    dir: PathBuf,
    /// Every file's name; those that matter are read when they do.
    files: Vec<String>,
    /// How long one that another process holds is tried.
    held: Duration,
}

impl WantedRun<'_> {
    /// Whether the first line of a journal may be this run's; the role it names.
    fn is(&self, first: &Entry) -> Option<String> {
        let Entry::Run { thread, role, head, prompt, stand_alone, settings, .. } = first else { return None };
        let same = settings["agent"].as_str() == self.agent
            && *thread == self.thread.as_str()
            && *head == self.head
            && self.role.is_none_or(|wanted| wanted == role)
            && !matches!(self.prompt, Prompt::This(wanted) if wanted != prompt)
            && (*stand_alone || !self.stand_alone);
        same.then(|| role.clone())
    }

    /// What is wrong with a run that works in another directory than the one asked for.
    fn elsewhere(&self, first: Option<&Entry>) -> Option<Unfit> {
        let Some(Entry::Run { workspace, .. }) = first else { return None };
        let here = self.workspace.filter(|here| here.to_string_lossy() != *workspace)?;
        Some(Unfit::Elsewhere { begun_in: workspace.clone(), here: here.to_owned() })
    }

    /// Whether all of them are.
    fn are(&self, entries: &[Entry]) -> bool {
        match (self.prompt, entries.first(), entries.last()) {
            (Prompt::Usual(wanted), Some(Entry::Run { prompt, .. }), Some(Entry::Replied { .. })) => {
                wanted == prompt
            }
            _ => true,
        }
    }
}

impl Journals {
    /// Lists `dir`; one that is not there holds none.
    ///
    /// # Errors
    /// The disk's.
    pub fn list(dir: &Path) -> Result<Journals, FindError> {
        let failed = |source| FindError::Io { path: dir.to_owned(), source };
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Journals { dir: dir.to_owned(), files: Vec::new(), held: HELD });
            }
            Err(error) => return Err(failed(error)),
        };
        let mut files = Vec::new();
        for entry in entries {
            files.extend(entry.map_err(failed)?.file_name().into_string().ok());
        }
        Ok(Journals { dir: dir.to_owned(), files, held: HELD })
    }

    /// The same, of which one that is held counts as held at once.
    pub(crate) fn without_waiting(self) -> Journals {
        Journals { held: Duration::ZERO, ..self }
    }

    /// The youngest journal of the run, locked and without a torn last line. One in which nothing has happened is not
    /// found; one that cannot be read is left alone, and `tell` hears of it.
    ///
    /// # Errors
    /// See [`FindError`].
    pub(crate) fn find(
        &self,
        wanted: &WantedRun<'_>,
        tell: &mut dyn FnMut(PassedOver),
    ) -> Result<Option<Journal>, FindError> {
        for name in self.of(wanted).into_iter().rev() {
            let path = self.dir.join(name.to_string());
            let failed = |source| FindError::Io { path: path.clone(), source };
            let mut found = match OpenedJournal::open(&path) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    tell(PassedOver { path, why: Unfit::NoFile });
                    continue;
                }
                Err(error) => return Err(failed(error)),
            };
            let first = match read::first(&found.first) {
                Ok(first) => first,
                Err(why) => {
                    tell(PassedOver { path, why: why.into() });
                    continue;
                }
            };
            let Some(role) = first.and_then(|first| wanted.is(&first)) else { continue };
            if !taken(&found.file, self.held).map_err(failed)? {
                return Err(FindError::Busy { role, thread: wanted.thread, path });
            }
            if found.file.metadata().map_err(failed)?.nlink() == 0 {
                // Somebody has removed it since it was opened.
                continue;
            }
            match found.rest().map_err(failed)? {
                Ok((entries, _)) if !has_begun(&entries) || !wanted.are(&entries) => {}
                Ok((entries, length)) => {
                    if let Some(why) = wanted.elsewhere(entries.first()) {
                        if !has_failed(&entries) {
                            tell(PassedOver { path, why });
                        }
                        continue;
                    }
                    found.file.set_len(length as u64).map_err(failed)?;
                    return Ok(Some(Journal {
                        name: name.clone(),
                        path,
                        sink: Sink::File(found.file),
                        entries,
                        remote: None,
                        length: length as u64,
                    }));
                }
                Err(why) => tell(PassedOver { path, why: why.into() }),
            }
        }
        Ok(None)
    }

    /// Waits until no other process begins a run in `dir`; others wait as long as the file lives that is returned. It
    /// stands beside the directory.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn lock(dir: &Path) -> io::Result<File> {
        make_private(dir)?;
        let lock = File::options().append(true).create(true).mode(0o600).open(dir.with_extension("lock"))?;
        match taken(&lock, BEGINNING) {
            // Where the file system knows no locks, two that begin at once do not know of each other.
            Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
            _ => Ok(lock),
        }
    }

    /// Removes the journals of the run, finished or not, but none that a process holds.
    ///
    /// # Errors
    /// The disk's.
    pub fn discard(&self, wanted: &WantedRun<'_>) -> Result<(), FindError> {
        for name in self.of(wanted) {
            let path = self.dir.join(name.to_string());
            let failed = |source| FindError::Io { path: path.clone(), source };
            let mut found = match OpenedJournal::open(&path) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => continue,
                Err(error) => return Err(failed(error)),
            };
            let Ok(Some(first)) = read::first(&found.first) else { continue };
            let Ok((entries, _)) = found.rest().map_err(failed)? else { continue };
            let is_it = wanted.is(&first).is_some() && wanted.are(&entries);
            if is_it && wanted.elsewhere(Some(&first)).is_none() {
                match journals::remove(&path) {
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(failed(error)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Removes journals, with their full outputs, whose head has moved on: all of `thread`, and some of other threads,
    /// from anywhere in the list on, which `chance` decides. `head_of` a thread that it does not know is none: such a journal may be another store's
    /// and stays. What cannot be removed stays, too.
    pub fn sweep(&self, thread: &ThreadId, chance: usize, head_of: &dyn Fn(&ThreadId) -> Option<Hash>) {
        let (own, others): (Vec<&String>, Vec<&String>) =
            self.files.iter().partition(|file| file.starts_with(thread.as_str()));
        let start = chance.checked_rem(others.len()).unwrap_or(0);
        let others = others.iter().cycle().skip(start).take(others.len()).copied();
        let some = others.filter_map(|file| JournalName::parse(file)).take(SWEPT);
        let own = own.into_iter().filter_map(|file| JournalName::parse(file));
        let mut heads: Vec<(ThreadId, Option<Hash>)> = Vec::new();
        for name in own.chain(some) {
            let known = heads.iter().find(|(thread, _)| *thread == name.thread).map(|(_, head)| *head);
            let head = known.unwrap_or_else(|| {
                let head = head_of(&name.thread);
                heads.push((name.thread, head));
                head
            });
            if head.is_some_and(|head| head != name.head) {
                journals::remove(&self.dir.join(name.to_string())).ok();
            }
        }
    }

    /// Those of the thread and head, the youngest last.
    fn of(&self, wanted: &WantedRun<'_>) -> Vec<JournalName> {
        let start = format!("{}.{}.", wanted.thread, wanted.head);
        let own = self.files.iter().filter(|file| file.starts_with(&start));
        let mut names: Vec<JournalName> = own.filter_map(|file| JournalName::parse(file)).collect();
        names.sort_unstable();
        names
    }
}

/// A journal of which the first line is read.
struct OpenedJournal {
    file: File,
    first: Vec<u8>,
}

impl OpenedJournal {
    /// None when it is gone by now; `InvalidInput` where it is no file.
    fn open(path: &Path) -> io::Result<Option<OpenedJournal>> {
        let file = match only_regular(File::options().read(true).append(true), path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut first = Vec::new();
        BufReader::new(&file).read_until(b'\n', &mut first)?;
        Ok(Some(OpenedJournal { file, first }))
    }

    /// Everything, once nobody writes to it any more.
    fn rest(&mut self) -> io::Result<Result<(Vec<Entry>, usize), Unreadable>> {
        let mut bytes = Vec::new();
        io::Seek::rewind(&mut self.file)?;
        self.file.read_to_end(&mut bytes)?;
        Ok(read::entries(&bytes))
    }
}

/// Whether the opening is complete: before that, nothing was sent and nothing done.
fn has_begun(entries: &[Entry]) -> bool {
    let Some(Entry::Run { opening, .. }) = entries.first() else { return false };
    entries.len() > *opening
}

/// Whether it ended with an error: then the next run is a new attempt anyway.
pub(crate) fn has_failed(entries: &[Entry]) -> bool {
    matches!(entries.last(), Some(Entry::Replied { reply, .. }) if reply["isError"] == true)
}

/// Takes the lock unless a living process holds it for all of `held`.
fn taken(file: &File, held: Duration) -> io::Result<bool> {
    let give_up = Instant::now() + held;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= give_up => return Ok(false),
            Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(5)),
        }
    }
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
