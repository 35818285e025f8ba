//! Remotes as commands name them: which one is meant, a connection to it, and errors that say what to type there.

use uwf_engine::ThreadId;
use uwf_fleet::remote::{Remote, Remotes};
use uwf_fleet::schema::Access;
use uwf_fleet::view::{self, RemoteThread};
use uwf_fleet::{Connection, FleetError};

use crate::names::IdPart;
use crate::shell::{CliError, Session, USER, render};

/// The remotes of this home.
pub(crate) fn known(session: &Session<'_>) -> Result<Remotes, CliError> {
    Ok(Remotes::load(&session.homes()?.uwf)?)
}

/// The remote of this name; without a name the only one.
///
/// # Errors
/// There is none of that name, or no name and not exactly one remote.
pub(crate) fn named(session: &Session<'_>, name: Option<&str>) -> Result<Remote, CliError> {
    Ok(known(session)?.pick(name)?)
}

/// A connection to a remote, whose schema this program may use so. The password is from the environment, never from `.env`.
///
/// # Errors
/// As [`Remote::open`], with what to type for this remote.
pub(crate) fn open(session: &Session<'_>, remote: &Remote, access: Access) -> Result<Connection, CliError> {
    remote.open(&session.env, access).map_err(at(&remote.name))
}

/// How many of the threads that are meant alike are shown.
const SHOWN: usize = 8;

/// The thread of a remote that `text` names: its id, or the beginning or the end of it; `@` is one of this machine.
///
/// # Errors
/// It names none, or several; the message says which.
pub(crate) fn thread_at(
    session: &Session<'_>,
    (connection, remote): (&mut Connection, &str),
    text: &str,
) -> Result<ThreadId, CliError> {
    if text.starts_with('@') || text.contains(':') {
        return session.thread_id(text);
    }
    if let Ok(thread) = text.to_ascii_uppercase().parse() {
        return Ok(thread);
    }
    let none = |what: String| {
        CliError::user(what)
            .with_hint(format!("`uwf thread list --all --remote {remote}` shows all threads there"))
    };
    let Some(part) = IdPart::of(text) else {
        return Err(none(format!("`{}` names no thread", render::name(text))));
    };
    let found = view::matching(connection, part.as_str(), SHOWN + 1).map_err(at(remote))?;
    match found.as_slice() {
        [only] => Ok(only.thread),
        [] => Err(none(format!("no thread of {remote} has an id that begins or ends with `{text}`"))),
        several => {
            let line = |row: &RemoteThread| {
                format!(
                    "{}  {}  {}: {}",
                    row.thread,
                    row.status,
                    row.workflow_name,
                    render::first_line(&row.task, 60)
                )
            };
            let lines: Vec<String> = several.iter().take(SHOWN).map(line).collect();
            let more = if several.len() > SHOWN { "\n  … and more" } else { "" };
            let what = format!("`{text}` begins or ends the ids of several threads of {remote}:");
            Err(CliError::user(format!("{what}\n  {}{more}", lines.join("\n  ")))
                .with_hint("type more of the one that is meant"))
        }
    }
}

/// Makes an error of a remote one of the command line, with what to type for the remote of this name.
pub(crate) fn at(remote: &str) -> impl Fn(FleetError) -> CliError {
    move |error| CliError::Said { hint: error.hint_at(remote), error: Box::new(error), exit: USER }
}
