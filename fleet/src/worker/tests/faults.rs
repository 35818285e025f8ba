//! What goes wrong beside a step: outages, refusals, wishes that come just then, and runs that end late.

use std::sync::atomic::{AtomicBool, AtomicU32};

use super::*;

/// Waits until something is so.
fn until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it comes to that");
        thread::sleep(Duration::from_millis(5));
    }
}

fn one_slot(name: &str, lease: u64, until: Until) -> Settings {
    let mut settings = settings(name, lease, until);
    settings.presence.parallel = 1;
    settings
}

#[test]
fn what_is_claimed_after_an_outage_is_leased_from_then_on() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms::default())[0];
    let say = |_: &AgentRequest, stop: &StopSignal| {
        thread::sleep(Duration::from_millis(200));
        match stop.signal() {
            Some(_) => Err("it was stopped".to_owned()),
            None => Ok(json!({"$status": "done"})),
        }
    };
    let (host, counts, is_first) = (TestHost::new(&say), Counts::default(), AtomicBool::new(true));
    let (open, begun) = (opened(&postgres), Instant::now());
    // The first connection is there; those of slot and heart wait for longer than a lease is.
    let open =
        || match is_first.swap(false, Ordering::SeqCst) || begun.elapsed() > Duration::from_millis(3_500) {
            true => open(),
            false => Err(FleetError::Lost { why: "an outage".to_owned() }),
        };
    work(&one_slot("a", 3_000, Until::Once), &host, &open, (&Wind::default(), &counts)).unwrap();
    assert_eq!((counts.lost(), column(&mut at, "state", &thread)), (0, "done".to_owned()));
}

#[test]
fn a_step_that_the_remote_refuses_is_paid_for_once() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms::default())[0];
    let asked = AtomicU32::new(0);
    let say = |_: &AgentRequest, _: &StopSignal| {
        asked.fetch_add(1, Ordering::SeqCst);
        postgres.client().execute("UPDATE uwf.team SET max_nodes = 1", &[]).unwrap();
        Ok(json!({"$status": "done"}))
    };
    let host = TestHost::new(&say);
    let counts = run(&postgres, &host, &settings("a", 5_000, Until::Empty), &Wind::default());
    let reason = column(&mut at, "reason", &thread);
    assert!(reason.contains("may have 1 nodes"), "{reason}");
    assert_eq!((column(&mut at, "state", &thread), asked.into_inner()), ("dead".to_owned(), 1));
    assert_eq!(counts.dead(), 1);
}

#[test]
fn a_thread_whose_workers_were_not_heard_of_is_counted_by_whoever_frees_it() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms { max_attempts: 1, ..Terms::default() })[0];
    let gone = one_slot("gone", 1, Until::Once).claimant;
    assert!(queue::claim(&mut at, &gone).unwrap().is_some());
    let host = TestHost::new(&|_, _| Err("nobody asks".to_owned()));
    let counts = run(&postgres, &host, &one_slot("a", 5_000, Until::Empty), &Wind::default());
    assert_eq!((column(&mut at, "state", &thread), counts.dead()), ("dead".to_owned(), 1));
}

#[test]
fn a_copy_that_went_on_here_is_no_fault_of_the_thread() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let host = TestHost::new(&|_, _| Err("nobody asks".to_owned()));
    let thread = host.place.flow_thread();
    sync::begin(&mut at, &host.store, &thread, Some("writer")).unwrap();
    let start = uwf_engine::thread::head(&host.store, &thread).unwrap().hash;
    let other = Place::in_memory();
    let there = other.store();
    sync::fetch(&mut at, &there, &thread).unwrap();
    for (place, store, text) in [(&host.place, &host.store, "here"), (&other, &there, "there")] {
        let step = place.step(&thread, None, "writer", &json!({"$status": "again", "dir": text}));
        let idle = uwf_engine::thread::Status::Idle;
        uwf_engine::thread::advance(store, &thread, &start, &step, &idle).unwrap();
    }
    sync::push(&mut at, &there, &thread, Some("writer")).unwrap();
    queue::submit(&mut at, &thread, &Terms { max_attempts: 1, ..Terms::default() }).unwrap();
    run(&postgres, &host, &one_slot("a", 5_000, Until::Once), &Wind::default());
    let found = ["state", "attempts"].map(|name| column(&mut at, name, &thread));
    assert_eq!(found, ["ready", "0"], "{}", column(&mut at, "reason", &thread));
}

#[test]
fn a_thread_that_was_pushed_and_never_submitted_runs_when_it_is_resumed() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let place = Place::in_memory();
    let thread = place.flow_thread();
    sync::begin(&mut at, &place.store(), &thread, Some("writer")).unwrap();
    assert_eq!(queue::resume(&mut at, &thread, Resumption::default()).unwrap(), Wished::Done);
    let host = TestHost::new(&|_, _| Ok(json!({"$status": "done"})));
    run(&postgres, &host, &one_slot("a", 5_000, Until::Empty), &Wind::default());
    assert_eq!(column(&mut at, "status", &thread), "end", "{}", column(&mut at, "reason", &thread));
}

#[test]
fn a_thread_that_fails_here_for_another_reason_than_its_step_is_given_back() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms { max_attempts: 1, ..Terms::default() })[0];
    let host = Forgetful(TestHost::new(&|_, _| Ok(json!({"$status": "done"}))));
    let (settings, counts) = (one_slot("a", 60_000, Until::Once), Counts::default());
    work(&settings, &host, &opened(&postgres), (&Wind::default(), &counts)).unwrap();
    let reason = column(&mut at, "reason", &thread);
    assert_eq!(column(&mut at, "state", &thread), "dead", "{reason}");
    assert!(reason.contains(thread.as_str()), "{reason}");
}

/// A host whose store loses a thread when a step of it was made.
struct Forgetful<'a>(TestHost<'a>);

impl Host for Forgetful<'_> {
    fn store(&self) -> &Store {
        self.0.store()
    }

    fn home(&self) -> &Path {
        self.0.home()
    }

    fn step(&self, step: &WantedStep<'_>) -> Result<StepReport, String> {
        let made = self.0.step(step);
        uwf_engine::thread::remove(self.store(), &step.lease.thread).unwrap();
        made
    }

    fn forget(&self, _: &ThreadId) {}

    fn tell(&self, happening: &Happening<'_>) {
        self.0.tell(happening);
    }
}

#[test]
fn a_run_that_ends_late_is_in_nobodys_way() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms { max_attempts: 1, ..Terms::default() })[0];
    let (is_first, has_met) = (AtomicBool::new(true), AtomicBool::new(false));
    let say = |_: &AgentRequest, stop: &StopSignal| {
        if is_first.swap(false, Ordering::SeqCst) {
            let free = "UPDATE uwf.thread SET state = 'ready', lease_until = NULL, attempts = 0";
            postgres.client().execute(free, &[]).unwrap();
            until(|| stop.signal().is_some());
            // The other slot has claimed it, and this one still has its agent.
            until(|| has_met.load(Ordering::SeqCst));
        }
        Ok(json!({"$status": "done"}))
    };
    let host = Meeting(TestHost::new(&say), &has_met);
    let counts = Counts::default();
    let wind = Wind::default();
    thread::scope(|scope| {
        let settings = settings("a", 10_000, Until::Empty);
        let (host, counts, wind, postgres) = (&host, &counts, &wind, &postgres);
        scope.spawn(move || work(&settings, host, &opened(postgres), (wind, counts)).unwrap());
        until(|| has_met.load(Ordering::SeqCst));
        assert_eq!(column(&mut at, "attempts", &thread), "0", "{}", column(&mut at, "reason", &thread));
        until(|| counts.lost() == 1);
        at.client().execute("UPDATE uwf.thread SET ready_at = clock_timestamp()", &[]).unwrap();
    });
    assert_eq!((column(&mut at, "state", &thread), counts.steps()), ("done".to_owned(), 1));
    assert_eq!(uwf_engine::thread::entries(host.store()).count(), 0);
}

/// A host that notes when a thread was given back.
struct Meeting<'a>(TestHost<'a>, &'a AtomicBool);

impl Host for Meeting<'_> {
    fn store(&self) -> &Store {
        self.0.store()
    }

    fn home(&self) -> &Path {
        self.0.home()
    }

    fn step(&self, step: &WantedStep<'_>) -> Result<StepReport, String> {
        self.0.step(step)
    }

    fn forget(&self, _: &ThreadId) {}

    fn tell(&self, happening: &Happening<'_>) {
        if matches!(happening, Happening::HandedBack(_)) {
            self.1.store(true, Ordering::SeqCst);
        }
        self.0.tell(happening);
    }
}

#[test]
fn only_the_lease_that_a_thread_was_brought_for_forgets_it() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms::default())[0];
    let place = Place::in_memory();
    let store = place.store();
    let standing = sync::fetch(&mut at, &store, &thread).unwrap();
    standing.write(&store, &thread, Some(2)).unwrap();
    let lease = |fence| Lease { thread, fence };
    assert!(!crate::heads::forget(&store, &lease(1)).unwrap());
    assert!(uwf_engine::thread::head(&store, &thread).is_ok());
    assert!(crate::heads::forget(&store, &lease(2)).unwrap());
    assert!(uwf_engine::thread::head(&store, &thread).is_err());
}

/// Has a worker make a step of a thread that somebody cancels meanwhile.
fn cancelled_with(answer: &Value) -> (String, String, String) {
    let Some(postgres) = Postgres::start() else { return <_>::default() };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms::default())[0];
    let say = |_: &AgentRequest, stop: &StopSignal| {
        let wished = queue::wish(&mut postgres.connection(), &thread, Wish::Cancel, 7).unwrap();
        assert_eq!(wished, Wished::Asked { worker: Some("a".into()) });
        until(|| stop.signal().is_some());
        Ok(answer.clone())
    };
    let host = TestHost::new(&say);
    run(&postgres, &host, &settings("a", 10_000, Until::Empty), &Wind::default());
    (column(&mut at, "state", &thread), column(&mut at, "status", &thread), column(&mut at, "steps", &thread))
}

#[test]
fn a_step_that_was_made_when_its_thread_is_cancelled_is_kept() {
    for (answer, status) in [("again", "cancelled"), ("done", "end")] {
        let (state, found, steps) = cancelled_with(&json!({ "$status": answer }));
        if state.is_empty() {
            return;
        }
        assert_eq!((state.as_str(), found.as_str(), steps.as_str()), ("done", status, "1"));
    }
}
