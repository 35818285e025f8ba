//! Programs and schemas of several versions at one remote.

use super::*;
use crate::schema::{Access, Migration, VERSIONS, Versions};

const ADDED: Migration = Migration {
    version: 2,
    oldest_reader: 1,
    oldest_writer: 1,
    sql: "ALTER TABLE uwf.thread ADD COLUMN mood text; CREATE INDEX ON uwf.thread (mood)",
};

const CHANGED: Migration = Migration {
    version: 3,
    oldest_reader: 1,
    oldest_writer: 3,
    sql: "ALTER TABLE uwf.thread ALTER COLUMN mood SET DEFAULT 'good'",
};

/// A program that knows what is added, and works with what was before.
const NEWER: Versions = Versions { migrations: &[VERSIONS.migrations[0], ADDED], oldest: 1 };

/// One that needs it, and knows of the next version.
const NEWEST: Versions = Versions { migrations: &[VERSIONS.migrations[0], ADDED, CHANGED], oldest: 2 };

fn open_as(
    postgres: &Postgres,
    versions: &'static Versions,
) -> impl Fn() -> Result<Connection, FleetError> + Sync {
    let address: Address = postgres.url().parse().unwrap();
    move || {
        let mut connection = Connection::open(&address, &Env::default())?;
        schema::ready(&mut connection, versions, Access::Write)?;
        Ok(connection)
    }
}

/// Steps that end a thread once the tables are as they are to be.
fn run_as(
    postgres: &Postgres,
    name: &str,
    versions: &'static Versions,
    say: &Say<'_>,
) -> Result<u64, FleetError> {
    let (host, counts) = (TestHost::new(say), Counts::default());
    let settings = Settings { versions: *versions, ..settings(name, 3_000, Until::Empty) };
    work(&settings, &host, &open_as(postgres, versions), (&Wind::default(), &counts)).map(|()| counts.steps())
}

fn migrate(postgres: &Postgres, versions: &Versions) -> (i32, i32) {
    schema::migrate(&mut postgres.connection(), versions).unwrap()
}

#[test]
fn an_older_worker_goes_on_where_the_tables_are_added_to() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let threads = submitted(&mut at, 6, &Terms::default());
    let is_added = Mutex::new(false);
    let seen = Mutex::default();
    let say = |request: &AgentRequest, _: &StopSignal| {
        let mut is_added = is_added.lock().unwrap();
        if !*is_added {
            // In the middle of what both are at.
            assert_eq!(migrate(&postgres, &NEWER), (1, 2));
            *is_added = true;
        }
        drop(is_added);
        Ok(third(&seen, request))
    };
    let steps = thread::scope(|scope| {
        let older = scope.spawn(|| run_as(&postgres, "older", &VERSIONS, &say).unwrap());
        let newer = scope.spawn(|| run_as(&postgres, "newer", &NEWER, &say).unwrap());
        older.join().unwrap() + newer.join().unwrap()
    });
    assert_eq!(steps, 18);
    for thread in &threads {
        assert_eq!(
            (column(&mut at, "state", thread), column(&mut at, "steps", thread)),
            ("done".into(), "3".into())
        );
    }
}

#[test]
fn an_older_worker_ends_where_it_may_not_write_any_more() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms::default())[0];
    migrate(&postgres, &NEWER);
    let say = |_: &AgentRequest, stop: &StopSignal| {
        // Once in the middle of a step; the worker hears of it with its next heartbeat.
        if schema::present(&mut postgres.client()).unwrap().is_some_and(|present| present.version == 2) {
            migrate(&postgres, &NEWEST);
            let begun = Instant::now();
            while stop.signal().is_none() && begun.elapsed() < Duration::from_secs(20) {
                thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(json!({"$status": "done"}))
    };
    let refused = run_as(&postgres, "older", &VERSIONS, &say).unwrap_err();
    assert!(matches!(refused, FleetError::SchemaTooNew { found: 3, known: 1, reading: false }), "{refused}");
    assert_eq!(
        refused.to_string(),
        "the remote's schema is version 3, which this uwf (version 1) may not write"
    );
    assert!(refused.hint().is_some_and(|hint| hint.contains("install a newer uwf")));
    assert_eq!(
        (column(&mut at, "state", &thread), column(&mut at, "steps", &thread)),
        ("leased".into(), "0".into())
    );
    // It may still be looked at.
    let address: Address = postgres.url().parse().unwrap();
    let mut reader = Connection::open(&address, &Env::default()).unwrap();
    assert_eq!(schema::ready(&mut reader, &VERSIONS, Access::Read).unwrap().version, 3);
    assert!(heads::read(reader.client(), "default", &thread).unwrap().is_some());
    assert_eq!(run_as(&postgres, "newest", &NEWEST, &say).unwrap(), 1);
}

#[test]
fn a_newer_program_works_with_older_tables_or_says_what_to_do() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms::default())[0];
    let say = |_: &AgentRequest, _: &StopSignal| Ok(json!({"$status": "done"}));
    let refused = run_as(&postgres, "newest", &NEWEST, &say).unwrap_err();
    assert_eq!(refused.to_string(), "the remote's schema is version 1; this uwf needs 2 at least");
    assert!(refused.hint().is_some_and(|hint| hint.contains("remote migrate")));
    assert_eq!(column(&mut at, "fence", &thread), "0", "nothing was written");
    assert_eq!(run_as(&postgres, "newer", &NEWER, &say).unwrap(), 1);
    assert_eq!(column(&mut at, "state", &thread), "done");
}
