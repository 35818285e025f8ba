//! What people want of a thread: to be resumed, paused, cancelled.

use super::*;

#[test]
fn a_text_is_for_a_thread_that_asks_and_for_no_other() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms::default());
    for state_then in ["paused", "dead", "held"] {
        set(&mut at, &thread, &format!("state = '{state_then}', answer = 'of before'"));
        let error = resume(&mut at, &thread, answered("go on")).unwrap_err();
        assert!(error.to_string().contains("has asked nothing, so it cannot be answered"), "{error}");
        assert!(error.hint_at("team").unwrap().contains("--remote team` has it go on, without `-p`"));
        assert_eq!(state(&mut at, &thread), state_then);
        assert_eq!(resume(&mut at, &thread, Resumption::default()).unwrap(), Wished::Done);
        let claim = one(&mut at, &claimant("w")).unwrap();
        assert_eq!(claim.answer, None);
        hand_back(&mut at, "w", &claim.lease, &HandBack::Drained).unwrap();
    }
    // Whoever has written it: nobody is told what was not asked for.
    set(&mut at, &thread, "answer = 'unasked'");
    assert_eq!(one(&mut at, &claimant("w")).unwrap().answer, None);
}

#[test]
fn whoever_wants_something_of_a_thread_waits_for_no_worker_that_is_gone() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let abandoned = |at: &mut Connection, n: u64, wished: Option<Wish>| {
        let thread = ready(at, n, &Terms::default());
        let claim = one(at, &claimant("gone")).unwrap();
        assert_eq!(claim.lease.thread, thread);
        if let Some(wished) = wished {
            wish(at, &thread, wished, 7).unwrap();
        }
        lapse(at, &thread);
        thread
    };
    let thread = abandoned(&mut at, 1, None);
    assert_eq!(wish(&mut at, &thread, Wish::Pause, 7).unwrap(), Wished::Done);
    assert_eq!(state(&mut at, &thread), "paused");
    let thread = abandoned(&mut at, 2, Some(Wish::Pause));
    assert_eq!(resume(&mut at, &thread, Resumption::default()).unwrap(), Wished::Done);
    assert_eq!(wish(&mut at, &thread, Wish::Cancel, 7).unwrap(), Wished::Done);
    for wished in [None, Some(Wish::Cancel)] {
        let thread = abandoned(&mut at, wished.map_or(3, |_| 4), wished);
        assert_eq!(wish(&mut at, &thread, Wish::Cancel, 7).unwrap(), Wished::Done);
        let cancelled = [Some("done"), Some("cancelled"), Some("cancelled"), None];
        assert_eq!(row(&mut at, &thread), cancelled.map(|word| word.map(str::to_owned)));
    }
}

#[test]
fn a_pause_takes_no_cancel_back() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms::default());
    let lease = one(&mut at, &claimant("w")).unwrap().lease;
    let asked = Wished::Asked { worker: Some("w".into()) };
    assert_eq!(wish(&mut at, &thread, Wish::Pause, 7).unwrap(), asked);
    assert_eq!(wish(&mut at, &thread, Wish::Cancel, 7).unwrap(), asked);
    let error = wish(&mut at, &thread, Wish::Pause, 7).unwrap_err().to_string();
    assert!(error.contains("is being cancelled, so it cannot be paused"), "{error}");
    assert_eq!(heartbeat(&mut at, &claimant("w"), &[lease]).unwrap().held[0].wish, Some(Wish::Cancel));
}

#[test]
fn a_wish_is_obeyed_at_once_or_told_to_the_worker() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let [one_ready, run, lost, waiting] = [1, 2, 3, 4].map(|n| match n {
        4 => pushed(&mut at, n, "suspended"),
        _ => ready(&mut at, n, &Terms { priority: i32::try_from(n).unwrap(), ..Terms::default() }),
    });
    assert_eq!(wish(&mut at, &one_ready, Wish::Pause, 7).unwrap(), Wished::Done);
    assert_eq!(state(&mut at, &one_ready), "paused");
    assert_eq!(wish(&mut at, &one_ready, Wish::Cancel, 7).unwrap(), Wished::Done);
    assert_eq!(wish(&mut at, &one_ready, Wish::Cancel, 7).unwrap(), Wished::Done);
    let ended = Wished::NotNow { state: "done".into(), status: "cancelled".into() };
    assert_eq!(wish(&mut at, &one_ready, Wish::Pause, 7).unwrap(), ended);
    assert_eq!(resume(&mut at, &one_ready, Resumption::default()).unwrap(), ended);
    let claims = [(); 2].map(|()| one(&mut at, &claimant("w")).unwrap());
    for thread in [run, lost] {
        let asked = Wished::Asked { worker: Some("w".into()) };
        assert_eq!(wish(&mut at, &thread, Wish::Cancel, 7).unwrap(), asked);
    }
    let lease = claims.iter().find(|claim| claim.lease.thread == run).unwrap().lease;
    assert_eq!(heartbeat(&mut at, &claimant("w"), &[lease]).unwrap().held[0].wish, Some(Wish::Cancel));
    // Whoever cannot be told any more has it no longer either.
    lapse(&mut at, &lost);
    assert_eq!(reap(&mut at).unwrap().len(), 1);
    let tags = "SELECT status, tags ->> 'status', tags ->> 'completedAt' FROM uwf.thread WHERE id = $1";
    let row = at.client().query_one(tags, &[&lost.as_str()]).unwrap();
    assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("cancelled", "cancelled"));
    assert!(row.get::<_, &str>(2).parse::<u64>().unwrap() > 1_600_000_000_000);
    assert_eq!(submit(&mut at, &waiting, &Terms::default()).unwrap(), Submitted::Is("waiting".into()));
    assert_eq!(resume(&mut at, &waiting, answered("the second one")).unwrap(), Wished::Done);
    let claim = one(&mut at, &claimant("w")).unwrap();
    assert_eq!((claim.lease.thread, claim.answer.as_deref()), (waiting, Some("the second one")));
    assert_eq!(wish(&mut at, &ThreadId::new(9), Wish::Pause, 7).unwrap(), Wished::Unknown);
}

#[test]
fn what_is_to_be_cancelled_is_that_however_its_worker_leaves_it() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let cancelled =
        [Some("done"), Some("cancelled"), Some("cancelled"), None].map(|word| word.map(str::to_owned));
    let mut next = 0;
    let mut leave = |leave: &dyn Fn(&mut Connection, &Lease)| {
        next += 1;
        let thread = ready(&mut at, next, &Terms::default());
        let lease = one(&mut at, &claimant("a")).unwrap().lease;
        assert_eq!(
            wish(&mut at, &thread, Wish::Cancel, 7).unwrap(),
            Wished::Asked { worker: Some("a".into()) }
        );
        leave(&mut at, &lease);
        row(&mut at, &thread)
    };
    for why in [HandBack::Drained, HandBack::Failed("no".into()), HandBack::Elsewhere("no".into())] {
        assert_eq!(leave(&|at, lease| assert!(!hand_back(at, "a", lease, &why).unwrap())), cancelled);
    }
    for settled in [Settled::Dead, Settled::Paused, Settled::Waiting] {
        let how = (settled, Some("why"));
        assert_eq!(leave(&|at, lease| assert!(!settle(at, "a", lease, how).unwrap())), cancelled);
    }
    let ended = leave(&|at, lease| assert!(!settle(at, "a", lease, (Settled::Done, None)).unwrap()));
    assert_eq!(ended, [Some("done"), Some("idle"), None, None].map(|word| word.map(str::to_owned)));
    let to = |tags: &[(&str, &str)]| RemoteHead {
        head: "0000000000002".parse().unwrap(),
        tags: tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        variables: vec![],
    };
    for (wanted, tags, found) in [
        ("leased", &[][..], "cancelled"),
        ("waiting", &[("status", "suspended")], "cancelled"),
        ("dead", &[], "cancelled"),
        ("done", &[("status", "end")], "end"),
    ] {
        let to = to(tags);
        let row = leave(&|at, lease| {
            let step = Advance {
                lease: *lease,
                worker: "a",
                from: HEAD.parse().unwrap(),
                to: &to,
                played: None,
                role: None,
                state: wanted,
                reason: Some("why"),
                cost_usd: 0.5,
                tokens: 1,
                next_lease: Duration::from_secs(60),
                kept: None,
            };
            assert_eq!(advance(at, &step).unwrap(), "done");
            assert_eq!(advance(at, &step).unwrap(), "done", "whose answer was lost");
        });
        assert_eq!(row, [Some("done"), Some(found), Some(found), None].map(|word| word.map(str::to_owned)));
    }
}
