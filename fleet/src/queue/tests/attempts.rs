//! What ends a thread that comes to nothing: attempts, limits of cost, full disks.

use super::*;

#[test]
fn too_many_attempts_without_progress_make_a_dead_letter() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_attempts: 2, ..Terms::default() });
    let lost = |at: &mut Connection| {
        let lease = one(at, &short("w")).unwrap().lease;
        thread::sleep(Duration::from_millis(60));
        (lease, reap(at).unwrap()[0].is_dead)
    };
    assert!(!lost(&mut at).1);
    // Progress begins the count again.
    let lease = one(&mut at, &short("w")).unwrap().lease;
    let team = at.team().to_owned();
    made_progress(at.client(), &team, &lease).unwrap();
    thread::sleep(Duration::from_millis(60));
    assert!(!reap(&mut at).unwrap()[0].is_dead);
    assert!(!lost(&mut at).1);
    assert!(lost(&mut at).1);
    assert_eq!((state(&mut at, &thread).as_str(), one(&mut at, &claimant("w"))), ("dead", None));
    let reason = "SELECT reason FROM uwf.thread";
    let reason: String = at.client().query_one(reason, &[]).unwrap().get(0);
    assert_eq!(reason, "2 workers in a row were not heard of any more while they had it; the last one was w");
    assert_eq!(retry(&mut at, &thread).unwrap(), Wished::Done);
    assert_eq!(one(&mut at, &claimant("w")).unwrap().attempt, 1);
    let not_dead = Wished::NotNow { state: "leased".into(), status: "idle".into() };
    assert_eq!(retry(&mut at, &thread).unwrap(), not_dead);
}

#[test]
fn what_failed_waits_and_what_was_handed_back_does_not() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_attempts: 2, ..Terms::default() });
    let first = one(&mut at, &claimant("w")).unwrap();
    assert!(!hand_back(&mut at, "w", &first.lease, &HandBack::Drained).unwrap());
    let again = one(&mut at, &claimant("w")).unwrap();
    assert_eq!((again.lease.fence, again.attempt), (2, 1));
    let failed = HandBack::Failed("the model is gone".into());
    assert!(!hand_back(&mut at, "w", &again.lease, &failed).unwrap());
    assert_eq!((state(&mut at, &thread).as_str(), one(&mut at, &claimant("w"))), ("ready", None));
    let row = at.client().query_one(
        "SELECT extract(epoch FROM ready_at - clock_timestamp())::float8, reason FROM uwf.thread",
        &[],
    );
    let (delay, reason): (f64, String) = row.map(|row| (row.get(0), row.get(1))).unwrap();
    assert!((1.0..2.1).contains(&delay), "{delay}");
    assert_eq!(reason, "the model is gone");
    set(&mut at, &thread, "ready_at = clock_timestamp()");
    let last = one(&mut at, &claimant("w")).unwrap();
    assert!(hand_back(&mut at, "w", &last.lease, &failed).unwrap());
    assert_eq!(state(&mut at, &thread), "dead");
}

#[test]
fn budgets_of_a_thread_and_of_the_team_end_its_steps() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_cost_usd: Some(1.5), ..Terms::default() });
    set(&mut at, &thread, "cost_usd = 1.5");
    assert_eq!(one(&mut at, &claimant("w")), None);
    set(&mut at, &thread, "cost_usd = 1.4");
    assert!(!is_spent(&mut at).unwrap());
    at.client()
        .batch_execute(
            "UPDATE uwf.team SET budget_usd = 10, budget_period = 'day';
             INSERT INTO uwf.event (team, kind, data) VALUES ('default', 'step', '{\"cost_usd\": 4}'), ('default', 'step', '{\"cost_usd\": 6}');",
        )
        .unwrap();
    assert!(is_spent(&mut at).unwrap());
    assert_eq!(one(&mut at, &claimant("w")), None);
    // Tomorrow there is more.
    at.client().batch_execute("UPDATE uwf.event SET at = at - interval '1 day'").unwrap();
    assert_eq!(one(&mut at, &claimant("w")).unwrap().max_cost_usd, Some(1.5));
    at.client().batch_execute("UPDATE uwf.team SET budget_period = NULL").unwrap();
    assert!(is_spent(&mut at).unwrap());
}

#[test]
fn who_has_cost_what_it_may_goes_on_with_a_higher_limit_alone() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_cost_usd: Some(1.5), ..Terms::default() });
    let to = |most| Resumption { max_cost_usd: Some(most), ..Resumption::default() };
    for state_then in ["paused", "dead", "held", "waiting"] {
        set(&mut at, &thread, &format!("state = '{state_then}', cost_usd = 1.5, max_cost_usd = 1.5"));
        for how in [Resumption::default(), answered("go on"), to(1.0)] {
            let error = resume(&mut at, &thread, how).unwrap_err();
            assert!(error.to_string().contains("has cost $1.5000, and may cost $1"), "{error}");
            assert!(error.hint_at("team").unwrap().contains("--remote team --max-cost USD"));
        }
        assert_eq!(state(&mut at, &thread), state_then);
        assert_eq!(resume(&mut at, &thread, to(2.0)).unwrap(), Wished::Done);
        let claim = one(&mut at, &claimant("w")).unwrap();
        assert_eq!(claim.max_cost_usd, Some(2.0));
        hand_back(&mut at, "w", &claim.lease, &HandBack::Drained).unwrap();
    }
    set(&mut at, &thread, "state = 'dead', cost_usd = 2");
    assert!(retry(&mut at, &thread).is_err());
}

#[test]
fn attempts_that_have_used_up_the_limit_have_the_thread_wait_for_a_higher_one() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_cost_usd: Some(1.5), ..Terms::default() });
    let is_given_back = |at: &mut Connection, lease: &Lease| {
        assert!(!hand_back(at, "w", lease, &HandBack::Failed("no model".into())).unwrap());
    };
    let is_freed = |at: &mut Connection, lease: &Lease| {
        lapse(at, &lease.thread);
        assert!(!reap(at).unwrap()[0].is_dead);
    };
    for (leave, most) in [(&is_given_back as &dyn Fn(&mut Connection, &Lease), 2.0), (&is_freed, 3.0)] {
        let lease = one(&mut at, &claimant("w")).unwrap().lease;
        set(&mut at, &thread, "cost_usd = max_cost_usd");
        leave(&mut at, &lease);
        assert_eq!(state(&mut at, &thread), "paused");
        let reason = at.client().query_one("SELECT reason FROM uwf.thread", &[]).unwrap();
        let reason: String = reason.get(0);
        assert!(reason.starts_with("its steps have cost $") && reason.contains(" of $"), "{reason}");
        let higher = Resumption { max_cost_usd: Some(most), ..Resumption::default() };
        assert_eq!(resume(&mut at, &thread, higher).unwrap(), Wished::Done);
    }
    assert_eq!(one(&mut at, &claimant("w")).unwrap().max_cost_usd, Some(3.0));
}

#[test]
fn a_step_that_fills_every_disk_is_not_begun_without_end() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_attempts: 2, ..Terms::default() });
    let mut left = |why: HandBack| {
        set(&mut at, &thread, "ready_at = clock_timestamp()");
        let claim = one(&mut at, &claimant("w")).unwrap();
        assert_eq!(claim.attempt, 1);
        hand_back(&mut at, "w", &claim.lease, &why).unwrap()
    };
    for _ in 0..19 {
        assert!(!left(HandBack::Stranded("No space left on device".into())));
        // To have no directory for it is something else.
        assert!(!left(HandBack::Elsewhere("no such root".into())));
    }
    assert!(left(HandBack::Stranded("No space left on device".into())));
    assert_eq!(retry(&mut at, &thread).unwrap(), Wished::Done);
    let claim = one(&mut at, &claimant("w")).unwrap();
    assert!(!hand_back(&mut at, "w", &claim.lease, &HandBack::Stranded("full".into())).unwrap());
}
