//! Who may do what: role by statement by team, with logins that have passwords.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

use postgres::{Client, NoTls};
use uwf_engine::Env;
use uwf_engine::fixture::Place;

use crate::address::Address;
use crate::fixture::{Options, Postgres};
use crate::heads::{self, Advance, Attempt, FailedStep, PaidRun, RemoteHead};
use crate::queue::{self, Claimant, Presence, Terms, Wish};
use crate::{Connection, FleetError, access, nodes, schema, sync};

/// The team of the logins, and another one.
const OWN: &str = "blue";
const OTHER: &str = "red";

/// What somebody tries, with the team in place of `TEAM`, and who may do it to his own: reader, submitter, worker.
const TRIES: &[(&str, [bool; 3])] = &[
    // To look.
    ("SELECT * FROM uwf.thread WHERE team = 'TEAM'", [true, true, true]),
    ("SELECT * FROM uwf.node WHERE team = 'TEAM'", [true, true, true]),
    ("SELECT * FROM uwf.variable WHERE team = 'TEAM'", [true, true, true]),
    ("SELECT * FROM uwf.journal WHERE team = 'TEAM'", [true, true, true]),
    ("SELECT * FROM uwf.event WHERE team = 'TEAM'", [true, true, true]),
    ("SELECT * FROM uwf.worker WHERE team = 'TEAM'", [true, true, true]),
    ("SELECT * FROM uwf.team WHERE name = 'TEAM'", [true, true, true]),
    ("SELECT * FROM uwf.setting WHERE team = 'TEAM'", [true, true, true]),
    ("SELECT * FROM uwf.usage WHERE team = 'TEAM'", [true, true, true]),
    ("SELECT * FROM uwf.member WHERE team = 'TEAM'", [false, false, false]),
    // Nodes: put and confirmed, never changed or removed.
    (INSERT_NODE, [false, true, true]),
    ("SELECT * FROM uwf.have(ARRAY['NODE-TEAM'])", [false, true, true]),
    // A size that is not that of the bytes would count in no limit.
    (UNSIZED_NODE, [false, false, false]),
    (NEGATIVE_NODE, [false, false, false]),
    // What is collected with a row is the team's own.
    (OBJECT_NODE, [false, true, true]),
    (FOREIGN_NODE, [false, false, false]),
    ("UPDATE uwf.node SET bytes = 'x' WHERE team = 'TEAM'", [false, false, false]),
    ("UPDATE uwf.node SET put = 'infinity' WHERE team = 'TEAM'", [false, false, false]),
    ("DELETE FROM uwf.node WHERE team = 'TEAM'", [false, false, false]),
    // Threads: begun, moved and wished for by submitters; leased by workers.
    (INSERT_THREAD, [false, true, false]),
    ("UPDATE uwf.thread SET head = 'H2' WHERE team = 'TEAM' AND id = 'HELD-TEAM'", [false, true, true]),
    ("UPDATE uwf.thread SET head = 'H2' WHERE team = 'TEAM' AND id = 'LEASED-TEAM'", [false, false, true]),
    ("UPDATE uwf.thread SET status = 'end' WHERE team = 'TEAM' AND id = 'LEASED-TEAM'", [false, false, true]),
    ("UPDATE uwf.thread SET workspace = '{}' WHERE team = 'TEAM' AND id = 'HELD-TEAM'", [false, true, true]),
    (
        "UPDATE uwf.thread SET workspace = '{}' WHERE team = 'TEAM' AND id = 'LEASED-TEAM'",
        [false, false, true],
    ),
    ("UPDATE uwf.thread SET state = 'ready' WHERE team = 'TEAM' AND id = 'HELD-TEAM'", [false, true, true]),
    (
        "UPDATE uwf.thread SET state = 'ready' WHERE team = 'TEAM' AND id = 'LEASED-TEAM'",
        [false, false, false],
    ),
    (LEASE, [false, false, true]),
    (FREE, [false, false, true]),
    ("UPDATE uwf.thread SET fence = fence + 1 WHERE team = 'TEAM'", [false, false, true]),
    ("UPDATE uwf.thread SET wish = 'cancel' WHERE team = 'TEAM' AND id = 'LEASED-TEAM'", [false, true, true]),
    ("UPDATE uwf.thread SET priority = 9 WHERE team = 'TEAM' AND id = 'HELD-TEAM'", [false, true, false]),
    (
        "UPDATE uwf.thread SET max_cost_usd = 1000 WHERE team = 'TEAM' AND id = 'HELD-TEAM'",
        [false, true, false],
    ),
    ("UPDATE uwf.thread SET cost_usd = 0 WHERE team = 'TEAM' AND id = 'HELD-TEAM'", [false, false, true]),
    ("UPDATE uwf.thread SET team = 'ELSE' WHERE team = 'TEAM' AND id = 'HELD-TEAM'", [false, false, false]),
    ("DELETE FROM uwf.thread WHERE team = 'TEAM' AND id = 'HELD-TEAM'", [false, false, false]),
    ("SELECT id FROM uwf.thread WHERE team = 'TEAM' FOR UPDATE", [false, true, true]),
    ("SELECT * FROM uwf.reap() WHERE id = 'LAPSED-TEAM'", [false, true, true]),
    ("SELECT * FROM uwf.reap() WHERE id = 'LEASED-TEAM'", [false, false, false]),
    // Variables: of what is leased the worker's alone.
    ("UPDATE uwf.variable SET value = 'V' WHERE team = 'TEAM' AND thread = 'HELD-TEAM'", [false, true, true]),
    (
        "UPDATE uwf.variable SET value = 'V' WHERE team = 'TEAM' AND thread = 'LEASED-TEAM'",
        [false, false, true],
    ),
    (TAKEN_AWAY, [false, false, true]),
    (BROUGHT_IN, [false, false, true]),
    ("DELETE FROM uwf.variable WHERE team = 'TEAM' AND thread = 'LEASED-TEAM'", [false, false, true]),
    (INSERT_VARIABLE, [false, true, true]),
    // Journals and presence are of workers.
    (INSERT_JOURNAL, [false, false, true]),
    ("DELETE FROM uwf.journal WHERE team = 'TEAM'", [false, false, true]),
    ("UPDATE uwf.worker SET seen = 'infinity' WHERE team = 'TEAM'", [false, false, true]),
    ("DELETE FROM uwf.worker WHERE team = 'TEAM'", [false, false, true]),
    // What happened is told and never taken back; what it has cost is told by workers, and is never less than nothing.
    ("INSERT INTO uwf.event (team, kind) VALUES ('TEAM', 'submitted')", [false, true, true]),
    (
        "INSERT INTO uwf.event (team, kind, data) VALUES ('TEAM', 'step', '{\"cost_usd\": 1}')",
        [false, false, true],
    ),
    (
        "INSERT INTO uwf.event (team, kind, data) VALUES ('TEAM', 'step', '{\"cost_usd\": -1}')",
        [false, false, false],
    ),
    (
        "INSERT INTO uwf.event (team, kind, at) VALUES ('TEAM', 'submitted', '-infinity')",
        [false, false, false],
    ),
    ("UPDATE uwf.event SET data = '{}' WHERE team = 'TEAM'", [false, false, false]),
    ("DELETE FROM uwf.event WHERE team = 'TEAM'", [false, false, false]),
    // Budgets, limits, members, roles and the schema are the owner's.
    ("UPDATE uwf.team SET budget_usd = NULL WHERE name = 'TEAM'", [false, false, false]),
    ("UPDATE uwf.team SET max_nodes = NULL WHERE name = 'TEAM'", [false, false, false]),
    ("INSERT INTO uwf.team (name) VALUES ('x')", [false, false, false]),
    ("UPDATE uwf.setting SET value = 'file:///mine' WHERE team = 'TEAM'", [false, false, false]),
    ("DELETE FROM uwf.setting WHERE team = 'TEAM'", [false, false, false]),
    (
        "INSERT INTO uwf.setting (team, name, value) VALUES ('TEAM', 'objects', 'file:///mine')",
        [false, false, false],
    ),
    ("DELETE FROM uwf.team WHERE name = 'TEAM'", [false, false, false]),
    ("UPDATE uwf.usage SET nodes = 0 WHERE team = 'TEAM'", [false, false, false]),
    ("SELECT uwf.count_usage('TEAM', 0, -1000, 0)", [false, false, false]),
    (COUNT_OWN_NODES, [false, false, false]),
    (COUNT_OWN_THREADS, [false, false, false]),
    ("UPDATE uwf.member SET team = 'TEAM'", [false, false, false]),
    ("INSERT INTO uwf.member (login, team) VALUES (session_user, 'TEAM')", [false, false, false]),
    ("UPDATE uwf.version SET oldest_reader = 99", [false, false, false]),
    ("GRANT uwf_worker TO session_user", [false, false, false]),
    ("ALTER TABLE uwf.node DISABLE ROW LEVEL SECURITY", [false, false, false]),
    ("CREATE TABLE uwf.mine (a int)", [false, false, false]),
    ("TRUNCATE uwf.journal", [false, false, false]),
];

const INSERT_NODE: &str = "INSERT INTO uwf.node (team, hash, digest, type, made, bytes, size)
    VALUES ('TEAM', 'NEW', decode(repeat('00', 32), 'hex'), 'T', 1, 'x', 1)";
const UNSIZED_NODE: &str = "INSERT INTO uwf.node (team, hash, digest, type, made, bytes, size)
    VALUES ('TEAM', 'NEW', decode(repeat('00', 32), 'hex'), 'T', 1, 'x', 0)";
const NEGATIVE_NODE: &str = "INSERT INTO uwf.node (team, hash, digest, type, made, object, size)
    VALUES ('TEAM', 'NEW', decode(repeat('00', 32), 'hex'), 'T', 1, 'TEAM/o', -2000000000)";
const OBJECT_NODE: &str = "INSERT INTO uwf.node (team, hash, digest, type, made, object, size)
    VALUES ('TEAM', 'NEW', decode(repeat('00', 32), 'hex'), 'T', 1, 'TEAM/o', 1)";
const FOREIGN_NODE: &str = "INSERT INTO uwf.node (team, hash, digest, type, made, object, size)
    VALUES ('TEAM', 'NEW', decode(repeat('00', 32), 'hex'), 'T', 1, 'ELSE/o', 1)";
/// What counts is attached to a table of one's own.
const COUNT_OWN_NODES: &str = "DO $$ BEGIN
    CREATE TEMP TABLE mine (team text, size int);
    CREATE TRIGGER mine AFTER INSERT ON mine REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION uwf.count_nodes();
    INSERT INTO mine VALUES ('TEAM', -1000); END $$";
const COUNT_OWN_THREADS: &str = "DO $$ BEGIN
    CREATE TEMP TABLE mine (team text);
    CREATE TRIGGER mine AFTER INSERT ON mine REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION uwf.count_threads();
    INSERT INTO mine VALUES ('TEAM'); END $$";
const INSERT_THREAD: &str = "INSERT INTO uwf.thread (team, id, head, tags, status, workflow, state)
    VALUES ('TEAM', 'NEW', 'H', '{}', 'idle', 'W', 'held')";
const INSERT_VARIABLE: &str =
    "INSERT INTO uwf.variable (team, thread, name, value) VALUES ('TEAM', 'HELD-TEAM', 'n', 'V')
     ON CONFLICT (team, thread, name) DO UPDATE SET value = excluded.value";
const TAKEN_AWAY: &str = "UPDATE uwf.variable SET thread = 'HELD-TEAM', name = 'taken'
    WHERE team = 'TEAM' AND thread = 'LEASED-TEAM'";
const BROUGHT_IN: &str = "UPDATE uwf.variable SET thread = 'LEASED-TEAM', name = 'brought'
    WHERE team = 'TEAM' AND thread = 'HELD-TEAM'";
const INSERT_JOURNAL: &str = "INSERT INTO uwf.journal (team, thread, name, start, fence, bytes)
    VALUES ('TEAM', 'LEASED-TEAM', 'n', 1, 1, 'x')";
const LEASE: &str = "UPDATE uwf.thread SET state = 'leased', fence = fence + 1, lease_until = 'infinity'
    WHERE team = 'TEAM' AND id = 'HELD-TEAM'";
const FREE: &str =
    "UPDATE uwf.thread SET state = 'ready', lease_until = NULL WHERE team = 'TEAM' AND id = 'LEASED-TEAM'";

/// What there is of each team.
const ROWS: &str = "
    INSERT INTO uwf.team (name, budget_usd, max_nodes) VALUES ('TEAM', 5, 1000);
    INSERT INTO uwf.setting (team, name, value) VALUES ('TEAM', 'objects', 'file:///srv');
    INSERT INTO uwf.node (team, hash, digest, type, made, bytes, size)
    VALUES ('TEAM', 'NODE-TEAM', decode(repeat('00', 32), 'hex'), 'T', 1, 'x', 1);
    INSERT INTO uwf.thread (team, id, head, tags, status, workflow, state, lease_until, worker)
    VALUES ('TEAM', 'HELD-TEAM', 'H', '{}', 'idle', 'W', 'held', NULL, NULL),
           ('TEAM', 'LEASED-TEAM', 'H', '{}', 'idle', 'W', 'leased', 'infinity', 'w'),
           ('TEAM', 'LAPSED-TEAM', 'H', '{}', 'idle', 'W', 'leased', '-infinity', 'w');
    INSERT INTO uwf.variable (team, thread, name, value) VALUES ('TEAM', 'HELD-TEAM', 'v', 'V'), ('TEAM', 'LEASED-TEAM', 'v', 'V');
    INSERT INTO uwf.journal (team, thread, name, start, fence, bytes) VALUES ('TEAM', 'LEASED-TEAM', 'j', 0, 1, 'x');
    INSERT INTO uwf.event (team, kind) VALUES ('TEAM', 'submitted');
    INSERT INTO uwf.worker (team, name, version, host, parallel, state) VALUES ('TEAM', 'w', '1', 'h', 1, 'working');";

const ROLES: [&str; 3] = ["reader", "submitter", "worker"];

/// A remote with two teams, and a login of each role in one of them.
fn prepared() -> Option<Postgres> {
    let hba =
        "local all postgres trust\nlocal all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n";
    let postgres = Postgres::with(&Options { hba: Some(hba), port: true, ..Options::default() })?;
    let mut owner = postgres.connection();
    access::apply_roles(&mut owner).unwrap();
    for team in [OWN, OTHER] {
        owner.client().batch_execute(&ROWS.replace("TEAM", team)).unwrap();
    }
    for role in ROLES {
        let login = format!("a_{role}");
        let made =
            format!("CREATE ROLE {login} LOGIN PASSWORD 'pass of {role}'; GRANT uwf_{role} TO {login}");
        owner.client().batch_execute(&made).unwrap();
        access::join(&mut owner, OWN, &login).unwrap();
    }
    Some(postgres)
}

fn client(postgres: &Postgres, role: &str) -> Client {
    let mut config: postgres::Config = postgres.url_of(&format!("a_{role}")).parse().unwrap();
    config.password(format!("pass of {role}")).connect(NoTls).unwrap()
}

/// Why a statement may fail that is refused: no right to it, a row that is not as a constraint wants it, a thread that a worker has.
/// Whatever else fails is a mistake in the statement, and shows nothing.
const REFUSED: [&str; 3] = ["42501", "23514", "UWF02"];

/// Whether a statement does something or shows something; all of it is undone.
fn does(client: &mut Client, sql: &str) -> bool {
    let mut transaction = client.transaction().unwrap();
    let has_rows = !["GRANT", "ALTER", "CREATE", "TRUNCATE", "DO"].iter().any(|word| sql.starts_with(word));
    match transaction.execute(sql, &[]) {
        Ok(rows) => rows > 0 || !has_rows,
        Err(error) => {
            let code = error.code().unwrap_or_else(|| panic!("{sql}: {error}"));
            assert!(REFUSED.contains(&code.code()), "{sql}: {error:?}");
            false
        }
    }
}

#[test]
fn each_role_may_do_its_own_to_its_own_team_and_nothing_to_others() {
    let Some(postgres) = prepared() else { return };
    let mut wrong = String::new();
    for (column, role) in ROLES.into_iter().enumerate() {
        let mut client = client(&postgres, role);
        for (sql, may) in TRIES {
            for (team, may) in [(OWN, may[column]), (OTHER, false)] {
                let sql = sql.replace("ELSE", if team == OWN { OTHER } else { OWN }).replace("TEAM", team);
                let does = does(&mut client, &sql);
                if does != may {
                    writeln!(wrong, "{role}, {team}: {does} instead of {may}: {sql}").unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // The owner may do all of it that is sound.
    let mut owner = postgres.client();
    for (sql, _) in TRIES.iter().filter(|(_, may)| may.contains(&true)) {
        // What finds the team by the login finds the one of the owner.
        let is_by_login = sql.contains("uwf.have") || sql.contains("uwf.reap");
        assert!(does(&mut owner, &sql.replace("TEAM", OTHER)) || is_by_login, "{sql}");
    }
}

#[test]
fn another_team_is_not_found_by_what_collides_refers_or_is_listened_to() {
    let Some(postgres) = prepared() else { return };
    let mut worker = client(&postgres, "submitter");
    // A row of the same key is no obstacle: it is another row.
    let node = INSERT_NODE.replace("TEAM", OWN).replace("'NEW'", "'NODE-red'") + " ON CONFLICT DO NOTHING";
    assert!(does(&mut worker, &node));
    assert!(worker.query("SELECT * FROM uwf.have(ARRAY['NODE-red'])", &[]).unwrap().is_empty());
    // A reference to a row of another team is refused as one to a row that is not there.
    let said = |client: &mut Client, sql: &str| {
        let mut transaction = client.transaction().unwrap();
        let error = transaction.execute(sql, &[]).unwrap_err();
        error.as_db_error().unwrap().code().code().to_owned()
    };
    let variable = |team: &str, thread: &str| {
        format!(
            "INSERT INTO uwf.variable (team, thread, name, value) VALUES ('{team}', '{thread}', 'n', 'V')"
        )
    };
    assert_eq!(said(&mut worker, &variable(OWN, "HELD-red")), said(&mut worker, &variable(OWN, "NOBODY")));
    assert_eq!(
        said(&mut worker, &variable(OTHER, "HELD-red")),
        said(&mut worker, &variable(OTHER, "NOBODY"))
    );
    // Taking on another role is no other team.
    worker.batch_execute("SET ROLE uwf_submitter").unwrap();
    assert_eq!(worker.query_one("SELECT uwf.team()", &[]).unwrap().get::<_, &str>(0), OWN);
    // A function of one's own with the name of another is not the one that is called.
    worker.batch_execute("RESET ROLE; CREATE TEMP TABLE node (a int); SET search_path = pg_temp").unwrap();
    assert_eq!(worker.query_one("SELECT count(*) FROM uwf.node", &[]).unwrap().get::<_, i64>(0), 1);
    assert_eq!(worker.query("SELECT * FROM uwf.have(ARRAY['NODE-blue'])", &[]).unwrap().len(), 1);
}

#[test]
fn programs_come_in_with_a_password_from_the_environment_and_are_told_what_they_may_not() {
    let Some(postgres) = prepared() else { return };
    let port = postgres.port().unwrap();
    let address: Address = format!("postgres://a_reader@127.0.0.1:{port}/postgres").parse().unwrap();
    let env: Env = [("PGPASSWORD", "pass of reader")].into_iter().collect();
    let mut connection = Connection::open(&address, &env).unwrap();
    schema::ready(&mut connection, &schema::VERSIONS, schema::Access::Read).unwrap();
    assert_eq!(connection.team(), OWN);
    let error = access::set(&mut connection, OWN, &access::TeamChange::default()).unwrap_err();
    assert!(matches!(error, FleetError::NotPermitted { .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("uwf remote roles"));
    let error = access::apply_roles(&mut connection).unwrap_err();
    assert!(matches!(error, FleetError::NotPermitted { .. }), "{error:?}");

    let wrong: Env = [("PGPASSWORD", "s3cret")].into_iter().collect();
    let error = Connection::open(&address, &wrong).unwrap_err();
    let said = format!("{error} {:?} {error:?}", error.hint());
    assert!(said.contains("PGPASSWORD") && !said.contains("s3cret"), "{said}");
    let none = Connection::open(&address, &Env::default()).unwrap_err();
    assert!(none.hint().unwrap().contains(".pgpass"), "{none}");
}

#[test]
fn a_leased_thread_says_who_has_it() {
    let Some(postgres) = prepared() else { return };
    let mut submitter = client(&postgres, "submitter");
    for sql in [
        "UPDATE uwf.thread SET head = 'X' WHERE id = 'LEASED-blue'",
        "DELETE FROM uwf.variable WHERE thread = 'LEASED-blue'",
    ] {
        let error: FleetError = submitter.execute(sql, &[]).unwrap_err().into();
        assert_eq!(error.to_string(), "the remote refuses that: worker w has thread LEASED-blue just now");
        assert!(error.hint().unwrap().contains("uwf thread cancel LEASED-blue --remote NAME"));
    }
}

#[test]
fn what_the_programs_do_is_granted_to_their_roles() {
    let Some(postgres) = Postgres::start() else { return };
    let mut owner = postgres.connection();
    access::apply_roles(&mut owner).unwrap();
    owner
        .client()
        .batch_execute(
            "CREATE ROLE s LOGIN; GRANT uwf_submitter TO s; CREATE ROLE w LOGIN; GRANT uwf_worker TO w",
        )
        .unwrap();
    let (mut submitter, mut worker) = (postgres.connection_of("s"), postgres.connection_of("w"));
    let place = Place::in_memory();
    let (store, thread) = (place.store(), place.flow_thread());
    assert!(sync::begin(&mut submitter, &store, &thread, Some("writer")).unwrap());
    queue::submit(&mut submitter, &thread, &Terms::default()).unwrap();

    let claimant =
        Claimant { name: "w".into(), labels: vec![], workflow: None, lease: Duration::from_secs(60) };
    queue::come(&mut worker, &claimant, &Presence { version: "1".into(), host: "h".into(), parallel: 1 })
        .unwrap();
    let claim = queue::claim(&mut worker, &claimant).unwrap().unwrap();
    assert_eq!(queue::heartbeat(&mut worker, &claimant, &[claim.lease]).unwrap().held.len(), 1);
    assert_eq!(queue::reap(&mut worker).unwrap(), []);
    queue::is_here(&mut worker, "w", ("working", 1)).unwrap();
    queue::waiting(&mut worker).unwrap();
    let asked = queue::Wished::Asked { worker: Some("w".into()) };
    assert_eq!(queue::wish(&mut submitter, &thread, Wish::Pause, 7).unwrap(), asked);
    let to = RemoteHead::of(&store, &thread).unwrap();
    nodes::put(&mut worker, &store, (&to.roots(), &mut HashSet::new())).unwrap();
    let run = PaidRun { key: "a".to_owned(), cost_usd: 0.25, tokens: 5 };
    let attempts = [Attempt { step: to.head, run }];
    let failed = FailedStep {
        lease: claim.lease,
        worker: "w",
        variables: &to.variables,
        attempts: &attempts,
        kept: None,
    };
    assert_eq!(heads::keep_failed(&mut worker, &failed).unwrap(), 0.25);
    let step = Advance {
        lease: claim.lease,
        worker: "w",
        from: claim.head,
        to: &to,
        played: Some("writer"),
        role: None,
        state: "leased",
        reason: None,
        cost_usd: 0.5,
        tokens: 7,
        next_lease: Duration::from_secs(60),
        kept: None,
    };
    assert_eq!(heads::advance(&mut worker, &step).unwrap(), "paused");
    let higher = queue::Resumption { max_cost_usd: Some(9.0), ..queue::Resumption::default() };
    assert_eq!(queue::resume(&mut submitter, &thread, higher).unwrap(), queue::Wished::Done);
    let claim = queue::claim(&mut worker, &claimant).unwrap().unwrap();
    queue::made_progress(worker.client(), "default", &claim.lease).unwrap();
    queue::hand_back(&mut worker, "w", &claim.lease, &queue::HandBack::Drained).unwrap();
    queue::go(&mut worker, "w").unwrap();
    assert_eq!(queue::wish(&mut submitter, &thread, Wish::Cancel, 7).unwrap(), queue::Wished::Done);
}
