//! Workers against a real Postgres, each with a store of its own, and agents that are code.

mod faults;
mod versions;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};
use uwf_engine::exec::{ExecOptions, StepAgentError, Unobserved, answer, hold, resume_once, step_once};
use uwf_engine::fixture::{FLOW, Place};
use uwf_engine::record::Detail;
use uwf_engine::workflow;
use uwf_engine::{AdapterOutput, AgentRequest, Engine, Env};

use super::*;
use crate::address::Address;
use crate::fixture::Postgres;
use crate::queue::{Resumption, Submitted, Terms, Wish, Wished};
use crate::{heads, schema, sync};

/// What an agent of a test says to a request.
type Say<'a> = dyn Fn(&AgentRequest, &StopSignal) -> Result<Value, String> + Sync + 'a;

struct TestHost<'a> {
    place: Place,
    home: PathBuf,
    store: Store,
    say: &'a Say<'a>,
    told: Mutex<Vec<String>>,
    /// What each step costs.
    price: Option<f64>,
}

impl<'a> TestHost<'a> {
    fn new(say: &'a Say<'a>) -> TestHost<'a> {
        let place = Place::in_memory();
        TestHost {
            store: place.store(),
            home: place.homes().uwf,
            place,
            say,
            told: Mutex::default(),
            price: None,
        }
    }

    /// The step that was given, with its price on record.
    fn priced(&self, given: AdapterOutput) -> AdapterOutput {
        let Some(price) = self.price else { return given };
        let mut step = uwf_engine::thread::step_node(&self.store, &given.step_hash).unwrap();
        let mut batch = self.store.batch();
        step.detail = Detail { cost: Some(price), ..Detail::empty("", "") }.put(&mut batch).unwrap();
        let step_hash = batch.put(&step.type_(), &json!(step)).unwrap();
        batch.commit().unwrap();
        AdapterOutput { step_hash, detail_hash: step.detail, ..given }
    }
}

impl Host for TestHost<'_> {
    fn store(&self) -> &Store {
        &self.store
    }

    fn step(&self, step: &WantedStep<'_>) -> Result<StepReport, String> {
        let agent = |request: &AgentRequest, cwd: &Path| -> Result<AdapterOutput, StepAgentError> {
            let output = (self.say)(request, step.stop)?;
            // What is on record and has failed all the same.
            let error_message = output["failed"].as_str().map(str::to_owned);
            let is_error = error_message.is_some();
            let given = answer(&self.store, request, cwd, &output)?;
            Ok(self.priced(AdapterOutput { is_error, error_message, ..given }))
        };
        self.place.with_engine(|engine| {
            let engine = Engine { agent: Some(&agent), stop: step.stop, store: &self.store, ..*engine };
            let options =
                ExecOptions { cwd: Some(PathBuf::from("/tmp")), apart: true, ..ExecOptions::default() };
            let lock = hold(&engine, &step.lease.thread).map_err(|error| error.to_string())?;
            match step.answer {
                Some(text) => resume_once(&engine, &lock, Some(text), &options, &mut Unobserved),
                None => step_once(&engine, &lock, &options, &mut Unobserved),
            }
            .map_err(|error| error.to_string())
        })
    }

    fn home(&self) -> &Path {
        &self.home
    }

    fn forget(&self, _: &ThreadId) {}

    fn tell(&self, happening: &Happening<'_>) {
        let text = match happening {
            Happening::Claimed(..) => "claimed".to_owned(),
            Happening::Stepped(_, _, state) => (*state).to_owned(),
            Happening::Failed(_, why) => (*why).to_owned(),
            Happening::Lost(_) => "lost".to_owned(),
            Happening::HandedBack(_) => "handed back".to_owned(),
            Happening::Unreachable(error) => error.to_string(),
        };
        self.told.lock().unwrap().push(text);
    }
}

pub(super) fn settings(name: &str, lease: u64, until: Until) -> Settings {
    Settings {
        claimant: Claimant {
            name: name.into(),
            labels: vec![],
            workflow: None,
            lease: Duration::from_millis(lease),
        },
        presence: Presence { version: "1".into(), host: "here".into(), parallel: 2 },
        until,
        grace: Duration::from_secs(20),
        versions: schema::VERSIONS,
    }
}

pub(super) fn opened(postgres: &Postgres) -> impl Fn() -> Result<Connection, FleetError> + Sync + use<> {
    let address: Address = postgres.url().parse().unwrap();
    move || {
        let mut connection = Connection::open(&address, &Env::default())?;
        schema::ready(&mut connection, &schema::VERSIONS, schema::Access::Write)?;
        Ok(connection)
    }
}

/// Threads at the remote that wait for a worker.
fn submitted(at: &mut Connection, count: usize, terms: &Terms) -> Vec<ThreadId> {
    let place = Place::in_memory();
    let store = place.store();
    (0..count)
        .map(|_| {
            let thread = place.flow_thread();
            assert!(sync::begin(at, &store, &thread, Some("writer")).unwrap());
            assert!(!sync::begin(at, &store, &thread, Some("writer")).unwrap());
            assert_eq!(queue::submit(at, &thread, terms).unwrap(), Submitted::Is("ready".into()));
            thread
        })
        .collect()
}

fn run(postgres: &Postgres, host: &TestHost<'_>, settings: &Settings, wind: &Wind) -> Counts {
    let counts = Counts::default();
    work(settings, host, &opened(postgres), (wind, &counts)).unwrap();
    counts
}

pub(super) fn column(at: &mut Connection, column: &str, thread: &ThreadId) -> String {
    let sql = format!("SELECT {column}::text FROM uwf.thread WHERE id = $1");
    at.client().query_one(&sql, &[&thread.as_str()]).unwrap().get::<_, Option<String>>(0).unwrap_or_default()
}

/// Ends a thread at its third step: its prompt does not tell, so the number of earlier ones is looked up.
fn third(at: &Mutex<std::collections::BTreeMap<String, u32>>, request: &AgentRequest) -> Value {
    let mut seen = at.lock().unwrap();
    let visits = seen.entry(request.thread.to_string()).or_default();
    *visits += 1;
    json!({"$status": if *visits == 3 { "done" } else { "again" }})
}

#[test]
fn three_workers_end_all_threads_and_make_each_step_once() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let threads = submitted(&mut at, 12, &Terms::default());
    let seen = Mutex::default();
    let say = |request: &AgentRequest, _: &StopSignal| Ok(third(&seen, request));
    thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            let postgres = &postgres;
            let say = &say;
            scope.spawn(move || {
                let host = TestHost::new(say);
                run(postgres, &host, &settings(name, 10_000, Until::Empty), &Wind::default());
                assert_eq!(
                    uwf_engine::thread::entries(&host.store).count(),
                    0,
                    "nothing is left of them here"
                );
            });
        }
    });
    for thread in &threads {
        assert_eq!(column(&mut at, "state", thread), "done");
        assert_eq!(
            (column(&mut at, "steps", thread).as_str(), column(&mut at, "status", thread).as_str()),
            ("3", "end")
        );
    }
    let twice = "SELECT count(*) FROM (SELECT data ->> 'from' FROM uwf.event WHERE kind = 'step' GROUP BY thread, 1 HAVING count(*) > 1) AS t";
    assert_eq!(at.client().query_one(twice, &[]).unwrap().get::<_, i64>(0), 0);
    assert_eq!(at.client().query("SELECT 1 FROM uwf.worker", &[]).unwrap().len(), 0);
    // What the remote has is whole.
    let place = Place::in_memory();
    let (store, thread) = (place.store(), threads[0]);
    sync::fetch(&mut at, &store, &thread).unwrap();
    assert_eq!(
        uwf_engine::thread::chain(&store, &uwf_engine::thread::head(&store, &thread).unwrap().hash)
            .unwrap()
            .steps
            .len(),
        3
    );
}

#[test]
fn a_worker_whose_lease_was_taken_writes_nothing_and_goes_on_with_others() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms::default())[0];
    let taken = Mutex::new(false);
    let say = |_: &AgentRequest, stop: &StopSignal| {
        let mut taken = taken.lock().unwrap();
        if !*taken {
            *taken = true;
            let sql = "UPDATE uwf.thread SET fence = fence + 1, lease_until = clock_timestamp() + interval '1 s', worker = 'other'";
            postgres.client().execute(sql, &[]).unwrap();
            let begun = Instant::now();
            while stop.signal().is_none() {
                assert!(begun.elapsed() < Duration::from_secs(20), "it is told");
                thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(json!({"$status": "done"}))
    };
    let host = TestHost::new(&say);
    let counts = run(&postgres, &host, &settings("a", 600, Until::Empty), &Wind::default());
    assert_eq!((counts.lost(), counts.steps()), (1, 1));
    assert_eq!(column(&mut at, "fence", &thread), "3");
    let told = host.told.into_inner().unwrap();
    assert_eq!(told, ["claimed", "lost", "claimed", "done"]);
}

#[test]
fn a_step_that_fails_too_often_makes_a_dead_letter() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms { max_attempts: 1, ..Terms::default() })[0];
    let say = |_: &AgentRequest, _: &StopSignal| Err("no model".to_owned());
    let host = TestHost::new(&say);
    let counts = run(&postgres, &host, &settings("a", 5_000, Until::Empty), &Wind::default());
    assert_eq!((column(&mut at, "state", &thread), counts.dead()), ("dead".into(), 1));
    let reason = column(&mut at, "reason", &thread);
    assert!(reason.ends_with("failed: no model"), "{reason}");
}

#[test]
fn a_step_that_cannot_be_begun_here_is_left_to_others_as_often_as_it_takes() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms { max_attempts: 1, ..Terms::default() })[0];
    let say = |_: &AgentRequest, _: &StopSignal| Ok(json!({"$status": "done"}));
    let host = TestHost::new(&say);
    // Nobody can listen below a file.
    std::fs::create_dir_all(host.home()).unwrap();
    std::fs::write(host.home().join("keepers"), "").unwrap();
    let mut settings = settings("a", 5_000, Until::Once);
    settings.presence.parallel = 1;
    let counts = run(&postgres, &host, &settings, &Wind::default());
    assert_eq!((counts.steps(), counts.dead()), (0, 0));
    assert_eq!(["state", "attempts"].map(|name| column(&mut at, name, &thread)), ["ready", "0"]);
    let begun = "SELECT 1 FROM uwf.event WHERE data ? 'begun'";
    assert!(at.client().query(begun, &[]).unwrap().is_empty());
}

#[test]
fn a_step_on_record_is_an_attempt_also_where_the_disk_was_full() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms { max_attempts: 1, ..Terms::default() })[0];
    let full = "cannot write x: No space left on device";
    let mut left = |say: &Say<'_>| {
        let mut settings = settings("a", 5_000, Until::Once);
        settings.presence.parallel = 1;
        run(&postgres, &TestHost::new(say), &settings, &Wind::default());
        ["state", "attempts"].map(|name| column(&mut at, name, &thread))
    };
    assert_eq!(left(&|_, _| Err(full.to_owned())), ["ready", "0"], "nothing was kept of it");
    postgres.client().execute("UPDATE uwf.thread SET ready_at = clock_timestamp()", &[]).unwrap();
    assert_eq!(left(&|_, _| Ok(json!({"$status": "again", "failed": full}))), ["dead", "1"]);
}

#[test]
fn no_further_step_is_begun_on_a_budget_that_is_spent() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms::default())[0];
    let (seen, other) = (Mutex::default(), Mutex::new(postgres.connection()));
    let say = |request: &AgentRequest, _: &StopSignal| {
        let spent = "UPDATE uwf.team SET budget_usd = 0";
        other.lock().unwrap().client().execute(spent, &[]).unwrap();
        Ok(third(&seen, request))
    };
    let host = TestHost::new(&say);
    let mut settings = settings("a", 60_000, Until::Once);
    settings.presence.parallel = 1;
    run(&postgres, &host, &settings, &Wind::default());
    let found = ["state", "steps", "attempts"].map(|name| column(&mut at, name, &thread));
    assert_eq!(found, ["ready", "1", "0"]);
    at.client().execute("UPDATE uwf.team SET budget_usd = NULL", &[]).unwrap();
    assert!(queue::claim(&mut at, &settings.claimant).unwrap().is_some());
}

#[test]
fn who_is_asked_answers_from_elsewhere() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms::default())[0];
    let say = |request: &AgentRequest, _: &StopSignal| {
        let is_told = request.prompt.as_deref().is_some_and(|prompt| prompt.contains("the blue one"));
        Ok(if is_told {
            json!({"$status": "done"})
        } else {
            json!({"$status": "$SUSPEND", "reason": "Which?"})
        })
    };
    let host = TestHost::new(&say);
    run(&postgres, &host, &settings("a", 5_000, Until::Empty), &Wind::default());
    assert_eq!(
        (column(&mut at, "state", &thread), column(&mut at, "reason", &thread)),
        ("waiting".into(), "Which?".into())
    );
    let answer = Resumption { answer: Some("the blue one"), ..Resumption::default() };
    assert_eq!(queue::resume(&mut at, &thread, answer).unwrap(), Wished::Done);
    run(&postgres, &host, &settings("a", 5_000, Until::Empty), &Wind::default());
    assert_eq!(
        (column(&mut at, "state", &thread), column(&mut at, "answer", &thread)),
        ("done".into(), String::new())
    );
}

#[test]
fn what_is_cancelled_stops_at_once_and_what_is_drained_is_handed_back() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = submitted(&mut at, 1, &Terms::default())[0];
    let wind = Wind::default();
    let say = |_: &AgentRequest, stop: &StopSignal| {
        let begun = Instant::now();
        while stop.signal().is_none() && begun.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(5));
        }
        Err("it was stopped".to_owned())
    };
    let host = TestHost::new(&say);
    thread::scope(|scope| {
        let worker = scope.spawn(|| run(&postgres, &host, &settings("a", 30_000, Until::Asked), &wind));
        // Who has just claimed it is told of a wish at once; before that it is at the next heartbeat.
        while !host.told.lock().unwrap().iter().any(|told| told == "claimed") {
            thread::sleep(Duration::from_millis(5));
        }
        let asked = Wished::Asked { worker: Some("a".into()) };
        assert_eq!(queue::wish(&mut at, &thread, Wish::Cancel, 7).unwrap(), asked);
        let begun = Instant::now();
        while column(&mut at, "state", &thread) != "done" {
            assert!(begun.elapsed() < Duration::from_secs(8), "not only at the next heartbeat");
            thread::sleep(Duration::from_millis(5));
        }
        let next = submitted(&mut at, 1, &Terms::default())[0];
        while column(&mut at, "state", &next) != "leased" {
            thread::sleep(Duration::from_millis(5));
        }
        wind.drain();
        wind.stop();
        worker.join().unwrap();
        assert_eq!(
            (column(&mut at, "state", &next), column(&mut at, "attempts", &next)),
            ("ready".into(), "0".into())
        );
    });
    assert_eq!(
        (column(&mut at, "status", &thread).as_str(), column(&mut at, "steps", &thread).as_str()),
        ("cancelled", "0")
    );
}

#[test]
fn a_summary_moves_the_head_by_itself_and_what_it_costs_counts() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let place = Place::in_memory();
    let store = place.store();
    let text = format!("{FLOW}\ncompact: {{ after: 2, keep: 1 }}\n");
    let checked = workflow::read(&mut text.as_bytes(), Path::new("f.yaml"), &place.project()).unwrap();
    let hash = workflow::put(&store, &checked).unwrap();
    let thread =
        uwf_engine::thread::start(&store, &hash, "A task.", place.project().to_str().unwrap()).unwrap();
    assert!(sync::begin(&mut at, &store, &thread, Some("writer")).unwrap());
    queue::submit(&mut at, &thread, &Terms::default()).unwrap();
    let left = Mutex::new(["done", "again", "again", "again"].to_vec());
    let say = |request: &AgentRequest, _: &StopSignal| match request.role.as_str() {
        uwf_engine::thread::COMPACT => Ok(json!({"$status": "done", "summary": "What happened."})),
        _ => Ok(json!({"$status": left.lock().unwrap().pop()})),
    };
    let mut host = TestHost::new(&say);
    host.price = Some(0.25);
    let mut settings = settings("a", 5_000, Until::Empty);
    settings.presence.parallel = 1;
    let counts = run(&postgres, &host, &settings, &Wind::default());
    let found = ["state", "steps", "cost_usd"].map(|name| column(&mut at, name, &thread));
    assert_eq!(found, ["done", "4", "1.25"], "{:?}", host.told.lock().unwrap());
    assert_eq!(counts.steps(), 4);
    let roles = "SELECT string_agg(data ->> 'role', ' ' ORDER BY id) FROM uwf.event WHERE kind = 'step'";
    let roles: String = at.client().query_one(roles, &[]).unwrap().get(0);
    assert_eq!(roles, "writer writer writer $COMPACT writer");
}
