//! How a thread stands whose step failed: the head stays, and what the attempt has left and has cost is kept.

use std::collections::HashSet;

use postgres::{GenericClient, Transaction};
use serde_json::json;
use uwf_engine::thread::FAILED;
use uwf_store::Hash;

use super::{OwnVariable, write_variables};
use crate::queue::{Lease, check_held};
use crate::workspace::Kept;
use crate::{Connection, FleetError};

/// A step that failed.
#[derive(Debug)]
pub struct FailedStep<'a> {
    /// What the worker has.
    pub lease: Lease,
    /// Its name.
    pub worker: &'a str,
    /// The variables of the thread as they are now.
    pub variables: &'a [OwnVariable],
    /// What was paid for the attempts that they list, and for what the called threads have finished.
    pub attempts: &'a [Attempt],
    /// The directory that it works in, as the attempt has left it; the one of before where this is none. What it names is there.
    pub kept: Option<&'a Kept>,
}

/// Something that was paid for an attempt that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// The StepNode that tells of it.
    pub step: Hash,
    /// What that was.
    pub run: PaidRun,
}

/// A run of an agent, and what it has cost.
#[derive(Debug, Clone, PartialEq)]
pub struct PaidRun {
    /// What makes it this run, whichever step tells of it.
    pub key: String,
    /// In US dollars.
    pub cost_usd: f64,
    /// Tokens that were sent and received.
    pub tokens: i64,
}

/// Writes the variables and the directory of a thread whose head stays, and counts what the attempts have cost of which the
/// remote knew nothing: the same again counts nothing twice. Gives what was counted, in US dollars.
///
/// # Errors
/// [`FleetError::LeaseLost`], or the connection was lost.
pub fn keep_failed(connection: &mut Connection, failed: &FailedStep<'_>) -> Result<f64, FleetError> {
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    check_held(&mut transaction, team, &failed.lease)?;
    let thread = &failed.lease.thread;
    let known = known_attempts(&mut transaction, (team, thread.as_str()))?;
    let mut met = told(&mut transaction, (team, thread.as_str()))?;
    let new = failed.attempts.iter().filter(|attempt| !known.contains(attempt.step.as_str()));
    let new: Vec<&PaidRun> =
        new.map(|attempt| &attempt.run).filter(|run| met.insert(run.key.clone())).collect();
    let (cost, tokens) =
        new.iter().fold((0.0, 0), |(cost, tokens), run| (cost + run.cost_usd, tokens + run.tokens));
    let keys: Vec<&str> = new.iter().map(|run| run.key.as_str()).collect();
    write_variables(&mut transaction, team, thread, failed.variables)?;
    transaction.execute(
        "UPDATE uwf.thread SET cost_usd = cost_usd + $3, tokens = tokens + $4, workspace = coalesce($5, workspace)
         WHERE team = $1 AND id = $2",
        &[&team, &thread.as_str(), &cost, &tokens, &failed.kept.map(|kept| kept.workspace.to_value())],
    )?;
    if cost > 0.0 || tokens > 0 {
        transaction.execute(
            "INSERT INTO uwf.event (team, thread, kind, worker, fence, data) VALUES ($1, $2, 'attempt', $3, $4, $5)",
            &[
                &team,
                &thread.as_str(),
                &failed.worker,
                &failed.lease.fence,
                &json!({"cost_usd": cost, "tokens": tokens, "runs": keys}),
            ],
        )?;
    }
    transaction.commit()?;
    Ok(cost)
}

/// The runs that have counted as parts of failed attempts of a thread: a step that is made of some of them in the end has cost the
/// others alone.
///
/// # Errors
/// The connection was lost.
pub fn told_runs(connection: &mut Connection, lease: &Lease) -> Result<HashSet<String>, FleetError> {
    let (client, team) = connection.parts();
    told(client, (team, lease.thread.as_str()))
}

fn told(
    client: &mut impl GenericClient,
    (team, thread): (&str, &str),
) -> Result<HashSet<String>, FleetError> {
    let rows = client.query(
        "SELECT jsonb_array_elements_text(data -> 'runs') FROM uwf.event
         WHERE team = $1 AND thread = $2 AND kind = 'attempt' AND jsonb_typeof(data -> 'runs') = 'array'",
        &[&team, &thread],
    )?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// The failed attempts that a remote has of a thread, and of those that it called.
fn known_attempts(
    transaction: &mut Transaction<'_>,
    (team, thread): (&str, &str),
) -> Result<HashSet<String>, FleetError> {
    let rows = transaction.query(
        "SELECT unnest(also) FROM uwf.variable WHERE team = $1 AND thread = $2 AND starts_with(name, $3)",
        &[&team, &thread, &FAILED],
    )?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use serde_json::json;
    use uwf_engine::fixture::Place;
    use uwf_engine::thread::record_failure;

    use super::*;
    use crate::fixture::Postgres;
    use crate::heads::RemoteHead;
    use crate::queue::{self, Claimant, Terms};
    use crate::{nodes, sync};

    #[test]
    fn what_a_failed_attempt_has_cost_counts_once_in_thread_and_budget() {
        let Some(postgres) = Postgres::start() else { return };
        let mut at = postgres.connection();
        let place = Place::in_memory();
        let (store, thread) = (place.store(), place.flow_thread());
        sync::begin(&mut at, &store, &thread, Some("writer")).unwrap();
        queue::submit(&mut at, &thread, &Terms::default()).unwrap();
        postgres.client().batch_execute("UPDATE uwf.team SET budget_usd = 0.3").unwrap();
        let claimant =
            Claimant { name: "w".into(), labels: vec![], workflow: None, lease: Duration::from_secs(60) };
        let lease = queue::claim(&mut at, &claimant).unwrap().unwrap().lease;
        let mut attempts = Vec::new();
        let mut fails = |at: &mut Connection, status: &str| {
            let step = place.step(&thread, None, "writer", &json!({ "$status": status }));
            record_failure(&store, &thread, "writer", &step).unwrap();
            let run = PaidRun { key: step.to_string(), cost_usd: 0.2, tokens: 5 };
            attempts.push(Attempt { step, run });
            let standing = RemoteHead::of(&store, &thread).unwrap();
            nodes::put(at, &store, (&standing.roots(), &mut HashSet::new())).unwrap();
            let variables = &standing.variables;
            let failed = FailedStep { lease, worker: "w", variables, attempts: &attempts, kept: None };
            // The answer was lost: the same again.
            [(); 2].map(|()| keep_failed(at, &failed).unwrap())
        };
        assert_eq!(fails(&mut at, "again"), [0.2, 0.0]);
        assert!(!queue::is_spent(&mut at).unwrap());
        assert_eq!(fails(&mut at, "done"), [0.2, 0.0]);
        assert!(queue::is_spent(&mut at).unwrap());
        let row = "SELECT cost_usd, tokens, (SELECT count(*) FROM uwf.event WHERE kind = 'attempt') FROM uwf.thread";
        let row = postgres.client().query_one(row, &[]).unwrap();
        assert_eq!((row.get::<_, f64>(0), row.get::<_, i64>(1), row.get::<_, i64>(2)), (0.4, 10, 2));
    }
}
