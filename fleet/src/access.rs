//! Who may do what at a remote: roles that logins are granted, teams, and which login is of which team.
//!
//! Changed by whoever owns the schema alone. A login sees the rows of its team, the one that the database finds by who has logged
//! in; what it may write of them is granted to three roles, column by column. `uwf_reader` sees, `uwf_submitter` also pushes
//! threads and says what is to be done with them, `uwf_worker` also leases threads and makes their steps.

#[cfg(test)]
mod limits;
#[cfg(test)]
mod matrix;
mod team;

pub use self::team::{BudgetPeriod, Member, Team, TeamChange, add, join, leave, list, members, set};
use crate::{Connection, FleetError};

/// The roles and their rights, as SQL: run again it changes nothing.
pub const ROLES: &str = include_str!("access/roles.sql");

/// The roles, and what each is for.
pub const ROLE_NAMES: [(&str, &str); 3] = [
    ("uwf_reader", "sees the threads of its team"),
    ("uwf_submitter", "sees, pushes, submits, pauses, cancels and answers"),
    ("uwf_worker", "sees, leases threads and makes their steps"),
];

/// Makes the roles where the server does not have them, and grants them what they may at this database, and no more.
///
/// # Errors
/// The login may not make roles or does not own the schema, or the database fails; nothing was changed.
pub fn apply_roles(connection: &mut Connection) -> Result<(), FleetError> {
    let mut transaction = connection.transaction()?;
    transaction.batch_execute(ROLES)?;
    Ok(transaction.commit()?)
}
