//! `uwf thread … --remote NAME`: threads of a remote, from any machine. What is shown is read from rows; no thread is brought here for it.

mod shown;
mod start;
mod watch;

use uwf_engine::ThreadId;
use uwf_engine::view::{ThreadCancelled, ThreadPaused};
use uwf_fleet::queue::{self, Resumption, Wish, Wished};
use uwf_fleet::remote::Remote;
use uwf_fleet::schema::Access;
use uwf_fleet::{Connection, FleetError, sync, view};

pub(super) use self::shown::{list, show};
pub(super) use self::start::start;
pub(in crate::uwf) use self::watch::watch;
use uwf_store::Store;

use crate::remote::{at, named, open, thread_at};
use crate::shell::prompt_text::{PromptSource, WantedText};
use crate::shell::{CliError, Session};
use crate::uwf::args::Resume;
use crate::uwf::report;

/// A thread of a remote that a command is about.
struct Place {
    remote: Remote,
    connection: Connection,
    thread: ThreadId,
}

impl Place {
    fn find(session: &Session<'_>, remote: &str, thread: &str, access: Access) -> Result<Place, CliError> {
        let remote = named(session, Some(remote))?;
        let mut connection = open(session, &remote, access)?;
        let thread = thread_at(session, (&mut connection, &remote.name), thread)?;
        Ok(Place { remote, connection, thread })
    }

    fn failed(&self, error: FleetError) -> CliError {
        at(&self.remote.name)(error)
    }

    fn unknown(&self) -> CliError {
        let (thread, name) = (&self.thread, &self.remote.name);
        CliError::user(format!("{name} has no thread {thread}")).with_hint(format!(
            "`uwf thread list --all --remote {name}` shows all; `uwf push {name} {thread}` brings one there"
        ))
    }

    /// The error for what cannot be done in the state that the thread is in.
    fn not_now(&self, verb: &str, state: &str, status: &str) -> CliError {
        let (thread, name) = (&self.thread, &self.remote.name);
        let stands = match (state, status) {
            ("done", "cancelled") => "is cancelled".to_owned(),
            ("done", _) => "has ended".to_owned(),
            ("waiting", _) => "waits for an answer".to_owned(),
            ("leased", _) => "is being worked on".to_owned(),
            (state, _) => format!("is {state}"),
        };
        let hint = match state {
            "waiting" => format!("`uwf thread resume {thread} -p ANSWER --remote {name}` answers it"),
            _ => format!("`uwf thread show {thread} --remote {name}` tells more"),
        };
        CliError::user(format!("thread {thread} cannot be {verb}: it {stands}")).with_hint(hint)
    }

    fn wish(&mut self, wish: Wish, now: u64) -> Result<Wished, CliError> {
        queue::wish(&mut self.connection, &self.thread, wish, now).map_err(at(&self.remote.name))
    }
}

pub(super) fn pause(session: &mut Session<'_>, remote: &str, thread: &str) -> Result<u8, CliError> {
    let mut place = Place::find(session, remote, thread, Access::Write)?;
    let running = match place.wish(Wish::Pause, (session.clock)())? {
        Wished::Done => false,
        Wished::Asked { .. } => true,
        Wished::NotNow { state, status } => return Err(place.not_now("paused", &state, &status)),
        Wished::Unknown => return Err(place.unknown()),
    };
    let (thread, name) = (place.thread, &place.remote.name);
    session.ui.result(&ThreadPaused { thread, paused: true, running }, || {
        let when = if running { "pauses after the step that runs" } else { "paused" };
        format!("{when}; it goes on with `uwf thread resume {thread} --remote {name}`\n")
    })
}

pub(super) fn cancel(session: &mut Session<'_>, remote: &str, thread: &str) -> Result<u8, CliError> {
    let mut place = Place::find(session, remote, thread, Access::Write)?;
    let asked = match place.wish(Wish::Cancel, (session.clock)())? {
        Wished::Done => None,
        Wished::Asked { worker } => Some(worker),
        Wished::NotNow { state, status } => return Err(place.not_now("cancelled", &state, &status)),
        Wished::Unknown => return Err(place.unknown()),
    };
    let thread = place.thread;
    session.ui.result(&ThreadCancelled { thread, cancelled: true }, || match asked {
        None => "cancelled\n".to_owned(),
        Some(worker) => format!("{} is told to stop it\n", worker.as_deref().unwrap_or("its worker")),
    })
}

pub(super) fn resume(session: &mut Session<'_>, remote: &str, what: &Resume) -> Result<u8, CliError> {
    let mut place = Place::find(session, remote, &what.thread, Access::Write)?;
    let row = view::thread(&mut place.connection, &place.thread).map_err(at(&place.remote.name))?;
    let row = row.ok_or_else(|| place.unknown())?;
    let source = PromptSource::of(what.prompt.as_deref(), what.file.as_deref());
    let wanted = WantedText { name: "answer", about: "" };
    let given = source.is_given().then(|| session.prompt_text(&source, &wanted)).transpose()?;
    let given = given.filter(|text| !text.trim().is_empty());
    if row.state == "waiting" && given.is_none() {
        let asks = row.suspend_message.as_deref().unwrap_or("something");
        return Err(CliError::user(format!("thread {} asks: {asks}", place.thread)).with_hint(format!(
            "answer with `uwf thread resume {} -p TEXT --remote {}`",
            place.thread, place.remote.name
        )));
    }
    let how = Resumption { answer: given.as_deref(), max_cost_usd: what.how.flags.max_cost };
    let resumed = queue::resume(&mut place.connection, &place.thread, how);
    match resumed.map_err(|error| place.failed(error))? {
        Wished::Done | Wished::Asked { .. } => {}
        Wished::NotNow { state, status } => return Err(place.not_now("resumed", &state, &status)),
        Wished::Unknown => return Err(place.unknown()),
    }
    let row = view::thread(&mut place.connection, &place.thread).map_err(at(&place.remote.name))?;
    let row = row.ok_or_else(|| place.unknown())?;
    let (thread, name) = (place.thread, &place.remote.name);
    session.ui.result(&row, || {
        format!(
            "the next worker takes it up; `uwf thread watch {thread} --remote {name}` tells how it goes\n"
        )
    })
}

/// The thread comes into a store in memory: nothing of it is kept here.
pub(super) fn read(
    session: &mut Session<'_>,
    (remote, thread): (&str, &str),
    range: &report::ReportRange,
) -> Result<u8, CliError> {
    let mut place = Place::find(session, remote, thread, Access::Read)?;
    let names = Store::in_memory(uwf_engine::builtin::PROFILE, session.clock)?;
    let fetched = sync::fetch(&mut place.connection, &names, &place.thread);
    fetched.map_err(|error| match error {
        FleetError::NoRemote { .. } => place.unknown(),
        error => place.failed(error),
    })?;
    let conditions = session.conditions();
    let judge = uwf_engine::conditions::process::judge(conditions.as_ref());
    let markdown = report::thread(&names, &place.thread, range, judge)?;
    let document = uwf_engine::view::ThreadDocument { thread: place.thread, markdown };
    session.ui.document(&document, &document.markdown)
}
