//! The forks of sessions, and where the questions to them are journalled.
//!
//! A fork is a directory, `$UWF_HOME/cache/asks/<session>`: whose fork it is, and a journal for each question that was
//! put to it, so that the next question can refer to the answers before. The step's own session remembers nothing. One
//! process at a time asks a fork: it holds the lock of `fork.json`. Forks that nobody asked for long are forgotten.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use uwf_engine::ThreadId;
use uwf_engine::home::make_private;
use uwf_engine::journals::{FORK_FILE, JournalName, forks, remove_forgotten_forks};
use uwf_store::{Clock, open_regular};

use super::from_record::{before, is_something};
use super::{AnswerError, ROLE, StepQuestion};
use crate::journal::{self, Entry, Journal, Surroundings};
use crate::project::ProjectWords;
use crate::provider::message::{Message, ToolDeclaration};
use crate::role_run::RunContext;

/// Whose fork a session is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ForkFile {
    forked_from: String,
}

/// Makes a fork of `session` and gives its id. The step's record holds all that was said, so nothing is copied.
///
/// # Errors
/// [`AnswerError::Io`].
pub fn fork(home: &Path, session: &str, clock: Clock) -> Result<String, AnswerError> {
    let now = clock();
    remove_forgotten_forks(home, now, false);
    let id = ThreadId::new(now).to_string();
    let dir = forks(home).join(&id);
    let fork = json!(ForkFile { forked_from: session.to_owned() }).to_string();
    make_private(&dir).and_then(|()| fs::write(dir.join(FORK_FILE), fork)).map_err(failed(&dir))?;
    Ok(id)
}

#[expect(dead_code, reason = "both are there to be dropped")]
enum Held {
    Passing(tempfile::TempDir),
    Locked(File),
}

/// Where a question is journalled.
pub(super) struct ForkStore {
    dir: PathBuf,
    /// Until the end: a directory that is removed then, or the lock of one that stays.
    _held: Held,
}

impl ForkStore {
    /// The directory of the session, which must be the step's `own` or a fork of it.
    pub(super) fn find(
        question: &StepQuestion,
        own: Option<&str>,
        home: &Path,
    ) -> Result<ForkStore, AnswerError> {
        let forks = forks(home);
        match question.session.as_deref() {
            session if session.is_none() || session == own => {
                let passing = make_private(&forks).and_then(|()| tempfile::tempdir_in(&forks));
                let passing = passing.map_err(failed(&forks))?;
                Ok(ForkStore { dir: passing.path().to_owned(), _held: Held::Passing(passing) })
            }
            Some(session)
                if session.parse::<ThreadId>().is_ok() && fork_of(&forks.join(session)).as_deref() == own =>
            {
                ForkStore::lock(forks.join(session), session)
            }
            session => Err(AnswerError::UnknownSession { session: session.unwrap_or_default().to_owned() }),
        }
    }

    /// The directory of a fork, which nobody else is asking.
    fn lock(dir: PathBuf, session: &str) -> Result<ForkStore, AnswerError> {
        let file = File::open(dir.join(FORK_FILE)).map_err(failed(&dir))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(AnswerError::Busy { session: session.to_owned() }),
            // Where the file system has no locks, two that ask at once do not know of each other.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(ForkStore { dir, _held: Held::Locked(file) }),
        }
    }

    /// The questions that were answered before, each with all that was said for it.
    pub(super) fn earlier(&self) -> Result<Vec<Vec<Message>>, AnswerError> {
        Ok(answered(&self.dir)?.into_iter().map(|(_, said)| said).collect())
    }

    /// The journal of a new question, opened with what it is.
    pub(super) fn journal(
        &self,
        question: &StepQuestion,
        run: &RunContext<'_>,
        behaviour: Option<&str>,
    ) -> Result<Journal, AnswerError> {
        let session = ThreadId::new((run.clock)());
        let fork = question.session.as_ref().and_then(|session| session.parse().ok());
        let name = JournalName { thread: fork.unwrap_or(session), head: question.detail, session };
        let mut journal = Journal::create(&self.dir, name).map_err(failed(&self.dir))?;
        let first = first_entry(question, run, session, behaviour);
        journal.append(first).map_err(failed(&self.dir))?;
        Ok(journal)
    }
}

/// The first line of the journal of a question.
pub(crate) fn first_entry(
    question: &StepQuestion,
    run: &RunContext<'_>,
    session: ThreadId,
    behaviour: Option<&str>,
) -> Entry {
    Entry::Run {
        version: journal::VERSION,
        session: session.to_string(),
        thread: String::new(),
        role: ROLE.to_owned(),
        head: question.detail,
        prompt: question.text.clone(),
        stand_alone: true,
        workspace: run.workspace.display().to_string(),
        at: (run.clock)(),
        settings: run.settings.describe_run(behaviour),
        sandbox: run.sandbox.enforced().clone(),
        tools: Vec::<ToolDeclaration>::new(),
        opening: 1,
        surroundings: Surroundings::of(&run.env, run.settings.added.placeless),
        project: ProjectWords::default(),
    }
}

/// A question that was answered.
pub(crate) struct RecordedQuestion {
    /// Of its journal.
    pub name: JournalName,
    /// What its journal says.
    pub entries: Vec<Entry>,
    /// The questions before it in the same fork, each with all that was said for it.
    pub earlier: Vec<Vec<Message>>,
}

/// The answered questions that were put to the forks of `session`, the oldest of each fork first.
///
/// # Errors
/// [`AnswerError::Io`].
pub(crate) fn questions(home: &Path, session: Option<&str>) -> Result<Vec<RecordedQuestion>, AnswerError> {
    let listed = fs::read_dir(forks(home)).into_iter().flatten().flatten();
    let own = |dir: &PathBuf| session.is_some() && fork_of(dir).as_deref() == session;
    let mut dirs: Vec<PathBuf> = listed.map(|dir| dir.path()).filter(own).collect();
    dirs.sort();
    let mut questions = Vec::new();
    for dir in dirs {
        let mut earlier = Vec::new();
        for (name, said) in answered(&dir)? {
            let entries = journal::entries_of(&dir, &name.session.to_string());
            questions.push(RecordedQuestion { name, entries, earlier: earlier.clone() });
            earlier.push(said);
        }
    }
    Ok(questions)
}

/// The journals in the directory of a fork that came to an answer, the oldest first, each with what was said for it.
fn answered(dir: &Path) -> Result<Vec<(JournalName, Vec<Message>)>, AnswerError> {
    let files = fs::read_dir(dir).map_err(failed(dir))?.flatten();
    let mut names: Vec<JournalName> =
        files.filter_map(|file| JournalName::parse(file.file_name().to_str()?)).collect();
    names.sort();
    let mut answered = Vec::new();
    for name in names {
        let path = dir.join(name.to_string());
        let said = open_regular(&path).and_then(complete).map_err(failed(&path))?;
        answered.extend(said.map(|said| (name, said)));
    }
    Ok(answered)
}

fn fork_of(dir: &Path) -> Option<String> {
    let fork: ForkFile = serde_json::from_slice(&fs::read(dir.join(FORK_FILE)).ok()?).ok()?;
    Some(fork.forked_from)
}

/// What was said for a question, if it came to its answer.
fn complete(journal: File) -> io::Result<Option<Vec<Message>>> {
    let mut said = Vec::new();
    for line in BufReader::new(journal).lines() {
        match serde_json::from_str(&line?) {
            Ok(
                Entry::Said { message, .. }
                | Entry::Answered { message, .. }
                | Entry::Finished { message, .. },
            ) => {
                said.push(message);
            }
            Ok(Entry::Replied { .. }) => {
                return Ok(Some(said.into_iter().filter(is_something).map(before).collect()));
            }
            // What was left out for want of room is said again.
            Ok(_) => {}
            // A line that was cut off, or another version's.
            Err(_) => break,
        }
    }
    Ok(None)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> AnswerError {
    let path = path.display().to_string();
    move |source| AnswerError::Io { path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use serde_json::Value;

    use super::*;
    use crate::provider::message::{MessageKind, Speaker};

    fn now() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
    }

    fn question(session: &str) -> StepQuestion {
        let detail = uwf_engine::builtin::TEXT;
        StepQuestion { session: Some(session.to_owned()), text: "Why?".to_owned(), detail }
    }

    #[test]
    fn a_fork_is_asked_by_one_at_a_time() {
        let home = tempfile::tempdir().unwrap();
        let session = fork(home.path(), "own", || 1_000).unwrap();
        let find = || ForkStore::find(&question(&session), Some("own"), home.path());
        let place = find().unwrap();
        assert!(matches!(find(), Err(AnswerError::Busy { session: busy }) if busy == session));
        drop(place);
        assert!(find().is_ok());
    }

    #[test]
    fn what_nobody_asked_for_long_is_forgotten() {
        let home = tempfile::tempdir().unwrap();
        let young = fork(home.path(), "own", now).unwrap();
        let old = fork(home.path(), "own", now).unwrap();
        let at = |session: &str| forks(home.path()).join(session);
        let then = SystemTime::now() - Duration::from_secs(31 * 24 * 3600);
        File::open(at(&old)).unwrap().set_modified(then).unwrap();
        fork(home.path(), "own", now).unwrap();
        assert_eq!((at(&young).exists(), at(&old).exists()), (true, false));
    }

    #[test]
    fn earlier_questions_count_for_nothing() {
        let message = Message::text(Speaker::User, MessageKind::Grace, "Answer now.");
        let mut journal = tempfile::tempfile().unwrap();
        for entry in
            [Entry::Said { message, near: None, at: 0 }, Entry::Replied { reply: Value::Null, at: 0 }]
        {
            writeln!(journal, "{}", json!(entry)).unwrap();
        }
        journal.rewind().unwrap();
        let said = complete(journal).unwrap().unwrap();
        assert_eq!(said, [Message::text(Speaker::User, MessageKind::Opening, "Answer now.")]);
    }
}
