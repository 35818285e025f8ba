//! Limits of teams against a real Postgres.

use uwf_engine::fixture::Place;

use super::{BudgetPeriod, TeamChange};
use crate::fixture::Postgres;
use crate::{Connection, FleetError, access, sync};

fn usage(at: &mut Connection) -> (i64, i64, i64) {
    let team = access::list(at).unwrap().remove(0);
    (team.threads, team.nodes, team.bytes)
}

#[test]
fn what_a_team_has_is_counted_as_it_comes_and_goes() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let place = Place::in_memory();
    let (store, threads) = (place.store(), [place.flow_thread(), place.flow_thread()]);
    for thread in &threads {
        sync::begin(&mut at, &store, thread, None).unwrap();
        // Again it is no more.
        sync::begin(&mut at, &store, thread, None).unwrap();
    }
    let counted = "SELECT (SELECT count(*) FROM uwf.thread), count(*), sum(size)::bigint FROM uwf.node";
    let row = at.client().query_one(counted, &[]).unwrap();
    assert_eq!(usage(&mut at), (row.get(0), row.get(1), row.get(2)));
    assert!(row.get::<_, i64>(1) > 3);
    at.client().batch_execute("DELETE FROM uwf.thread; DELETE FROM uwf.node").unwrap();
    assert_eq!(usage(&mut at), (0, 0, 0));
}

#[test]
fn a_limit_says_which_it_is_and_what_to_do_and_changes_nothing() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let place = Place::in_memory();
    let (store, first, second) = (place.store(), place.flow_thread(), place.flow_thread());
    let limited = |at: &mut Connection, change: TeamChange| access::set(at, "default", &change).unwrap();

    limited(&mut at, TeamChange { max_nodes: Some(Some(2)), ..TeamChange::default() });
    let error = sync::begin(&mut at, &store, &first, None).unwrap_err();
    assert!(matches!(error, FleetError::Refused { .. }), "{error:?}");
    assert!(error.to_string().contains("team default may have 2 nodes, and these would make it "), "{error}");
    assert!(error.hint().unwrap().contains("uwf remote team set NAME default"));
    assert_eq!(usage(&mut at), (0, 0, 0));

    limited(
        &mut at,
        TeamChange { max_nodes: Some(None), max_bytes: Some(Some(10)), ..TeamChange::default() },
    );
    let error = sync::begin(&mut at, &store, &first, None).unwrap_err();
    assert!(error.to_string().contains("may have 10 bytes of nodes"), "{error}");

    limited(
        &mut at,
        TeamChange { max_bytes: Some(None), max_threads: Some(Some(1)), ..TeamChange::default() },
    );
    assert!(sync::begin(&mut at, &store, &first, None).unwrap());
    let error = sync::begin(&mut at, &store, &second, None).unwrap_err();
    assert!(error.to_string().contains("may have 1 threads, and this would be 2"), "{error}");
    assert_eq!(usage(&mut at).0, 1);
    // What is there already is no more of it.
    assert!(!sync::begin(&mut at, &store, &first, None).unwrap());
}

#[test]
fn teams_are_added_changed_and_joined() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    at.client().batch_execute("CREATE ROLE anna LOGIN").unwrap();
    assert!(access::add(&mut at, "blue").unwrap());
    assert!(!access::add(&mut at, "blue").unwrap());
    for wrong in ["", "Blue", "a b", "-a", "a\"b", &"a".repeat(41)] {
        assert!(
            access::add(&mut at, wrong).unwrap_err().to_string().contains("cannot be the name of a team")
        );
    }
    let change = TeamChange {
        budget_usd: Some(Some(12.5)),
        period: Some(BudgetPeriod::Day),
        max_threads: Some(Some(7)),
        ..TeamChange::default()
    };
    access::set(&mut at, "blue", &change).unwrap();
    access::set(&mut at, "blue", &TeamChange { max_threads: Some(None), ..TeamChange::default() }).unwrap();
    let error = access::set(&mut at, "green", &change).unwrap_err();
    assert!(error.to_string().ends_with("the remote has no team green"), "{error}");
    access::join(&mut at, "blue", "anna").unwrap();
    assert!(access::join(&mut at, "green", "anna").is_err());
    assert!(access::join(&mut at, "blue", "bert").unwrap_err().to_string().contains("no login bert"));
    let blue = access::list(&mut at).unwrap().remove(0);
    assert_eq!(
        (blue.name.as_str(), blue.budget_usd, blue.period, blue.max_threads, blue.members),
        ("blue", Some(12.5), BudgetPeriod::Day, None, vec!["anna".to_owned()])
    );
    let anna = postgres.url_of("anna").parse().unwrap();
    let mut of_anna = Connection::open(&anna, &uwf_engine::Env::default()).unwrap();
    assert!(of_anna.client().query_one("SELECT uwf.team()", &[]).is_err(), "no role yet");
    access::apply_roles(&mut at).unwrap();
    access::apply_roles(&mut at).unwrap();
    at.client().batch_execute("GRANT uwf_reader TO anna").unwrap();
    assert_eq!(postgres.connection_of("anna").team(), "blue");
    assert!(access::leave(&mut at, "anna").unwrap() && !access::leave(&mut at, "anna").unwrap());
    assert_eq!(postgres.connection_of("anna").team(), "default");
}
