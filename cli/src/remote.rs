//! Remotes as commands name them: which one is meant, a connection to it, and errors that say what to type there.

use uwf_fleet::remote::{Remote, Remotes};
use uwf_fleet::schema::Access;
use uwf_fleet::{Connection, FleetError};

use crate::shell::{CliError, Session, USER};

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

/// Makes an error of a remote one of the command line, with what to type for the remote of this name.
pub(crate) fn at(remote: &str) -> impl Fn(FleetError) -> CliError {
    move |error| CliError::Said { hint: error.hint_at(remote), error: Box::new(error), exit: USER }
}
