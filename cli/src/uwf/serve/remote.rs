//! The remote whose page is served: one connection, which is made again when it was lost.

use std::sync::{Mutex, PoisonError};

use uwf_engine::home::Env;
use uwf_fleet::overview::{Overview, overview};
use uwf_fleet::schema::Access;
use uwf_fleet::{Connection, FleetError, remote};

use crate::remote::named;
use crate::shell::{CliError, Session};

/// A remote of this home, and the environment that has the password.
pub(super) struct AtRemote {
    remote: remote::Remote,
    env: Env,
    connection: Mutex<Option<Connection>>,
}

impl AtRemote {
    /// The remote of this name. It need not answer yet.
    pub(super) fn of(session: &Session<'_>, name: &str) -> Result<AtRemote, CliError> {
        let remote = named(session, Some(name))?;
        Ok(AtRemote { remote, env: session.env.clone(), connection: Mutex::default() })
    }

    fn ask(&self) -> Result<Overview, FleetError> {
        let mut kept = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => self.remote.open(&self.env, Access::Read)?,
        };
        let found = overview(&mut connection)?;
        // Only one that works is kept.
        *kept = Some(connection);
        Ok(found)
    }
}

impl uwf_web::Remote for AtRemote {
    fn name(&self) -> &str {
        &self.remote.name
    }

    fn overview(&self) -> Result<Overview, String> {
        self.ask().map_err(|error| match error.hint_at(&self.remote.name) {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        })
    }
}
