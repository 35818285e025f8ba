//! What a team may spend. A thread's own limit is looked at where it is claimed.

use crate::{Connection, FleetError};

/// Whether the team has spent what it may in this day, in this month, or in all. A team without a budget never has.
///
/// # Errors
/// The database fails, or the connection was lost.
pub fn is_spent(connection: &mut Connection) -> Result<bool, FleetError> {
    let (client, team) = connection.parts();
    let row = client.query_opt(
        "SELECT b.budget_usd::float8 <= coalesce((
             SELECT sum((e.data ->> 'cost_usd')::float8) FROM uwf.event e
             WHERE e.team = b.name AND e.kind = 'step' AND e.at >= CASE b.budget_period
                 WHEN 'day' THEN date_trunc('day', clock_timestamp(), 'UTC')
                 WHEN 'month' THEN date_trunc('month', clock_timestamp(), 'UTC')
                 ELSE '-infinity' END), 0)
         FROM uwf.team b WHERE b.name = $1 AND b.budget_usd IS NOT NULL",
        &[&team],
    )?;
    Ok(row.is_some_and(|row| row.get(0)))
}
