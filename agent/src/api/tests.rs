//! The library from outside: a scripted model, a type, an answer and a report.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uwf_engine::{AgentRequest, Homes};
use uwf_store::Store;

use super::*;
use crate::mock_server::MockServer;
use crate::provider::Script;
use crate::{Entry, Limits, Usd};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Invoice {
    number: String,
    /// Below a million
    cents: Cents,
}

/// A type with a rule that no schema of it tells.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "u64")]
struct Cents(#[schemars(with = "u64")] u64);

impl TryFrom<u64> for Cents {
    type Error = String;

    fn try_from(cents: u64) -> Result<Cents, String> {
        if cents < 1_000_000 { Ok(Cents(cents)) } else { Err(format!("{cents} cents are too many")) }
    }
}

fn script(turns: &Value) -> Script {
    Script::parse("test", &json!({ "turns": turns }).to_string()).unwrap()
}

fn says(text: &str) -> Value {
    json!({"content": text, "usage": {"input_tokens": 100, "output_tokens": 10}})
}

fn invoice(cents: u64) -> String {
    format!("---\n$status: done\nnumber: A-7\ncents: {cents}\n---\nAs printed.")
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn an_answer_has_its_type_and_a_report() {
    fn is_send<T: Send>(_: &T) {}
    let agent = Agent::new(script(&json!([says(&invoice(1250))]))).instructions("You read invoices.");
    let future = agent.run::<Invoice>("Read it.");
    is_send(&future);
    let run = block(future);
    assert_eq!(run.answer.unwrap(), Invoice { number: "A-7".into(), cents: Cents(1250) });
    assert_eq!(run.text, "As printed.");
    assert_eq!((run.report.turns, run.report.usage.input_tokens, run.report.attempts.len()), (1, 100, 1));
    assert_eq!(run.report.attempts[0].wrong, None);
    assert!(matches!(run.report.log.first(), Some(Entry::Run { .. })), "{:?}", run.report.log.first());
    assert!(matches!(run.report.log.last(), Some(Entry::Replied { .. })));
    let Some(Entry::Said { message, .. }) = run.report.log.get(1) else { panic!("no system message") };
    assert!(
        message.content.contains("You read invoices.") && !message.content.contains("/tmp"),
        "{}",
        message.content
    );
}

#[test]
fn what_schema_or_type_refuse_goes_back_to_the_model() {
    let turns =
        json!([says("---\n$status: done\nnumber: 7\n---"), says(&invoice(7_000_000)), says(&invoice(700))]);
    let run = block(Agent::new(script(&turns)).run::<Invoice>("Read it."));
    assert_eq!(run.answer.unwrap().cents, Cents(700));
    let wrong: Vec<_> = run.report.attempts.iter().map(|attempt| attempt.wrong.as_deref()).collect();
    assert!(wrong[0].unwrap().contains("cents") && wrong[2].is_none(), "{wrong:?}");
    assert!(wrong[1].unwrap().contains("7000000 cents are too many"), "{wrong:?}");
    let told = run.report.log.iter().filter_map(|entry| match entry {
        Entry::Said { message, .. } => Some(message.content.as_str()),
        _ => None,
    });
    assert!(told.into_iter().any(|text| text.contains("7000000 cents are too many")), "the model is told");
}

#[test]
fn a_failure_has_its_report_too() {
    let no = says("No.");
    let run = block(Agent::new(script(&json!([no, no, no]))).run::<Invoice>("Read it."));
    assert!(matches!(run.answer, Err(AgentError::Failed { at: FailedAt::Answer, .. })), "{:?}", run.answer);
    assert_eq!((run.report.turns, run.report.attempts.len()), (3, 3));
    assert!(run.report.attempts.iter().all(|attempt| attempt.wrong.is_some()));

    let error = json!({"error": {"status": 401, "message": "no key"}});
    let run = block(Agent::new(script(&json!([error]))).run::<Invoice>("Read it."));
    assert!(matches!(run.answer, Err(AgentError::Failed { at: FailedAt::Provider, .. })), "{:?}", run.answer);

    let limits = Limits { tokens: Some(50), ..Limits::default() };
    let run = block(Agent::new(script(&json!([no, no, no]))).limits(limits).run::<Invoice>("Read it."));
    assert!(matches!(run.answer, Err(AgentError::Failed { at: FailedAt::Budget, .. })), "{:?}", run.answer);

    let asks = says("---\n$status: $SUSPEND\nreason: Which one?\n---");
    let run = block(Agent::new(script(&json!([asks]))).run::<Invoice>("Read it."));
    assert_eq!(run.answer.unwrap_err().to_string(), "the model asks for a person: Which one?");

    let run = block(Agent::new(script(&json!([no]))).run::<Invoice>(" "));
    assert!(matches!(run.answer, Err(AgentError::Thread(_))), "{:?}", run.answer);
}

/// A directory with a store and the homes in it.
fn recorded() -> (tempfile::TempDir, Store, Homes) {
    let dir = tempfile::tempdir().unwrap();
    let homes = Homes { uwf: dir.path().join("uwf"), ocas: dir.path().join("ocas") };
    let store = uwf_engine::open_store(&homes.ocas, || 1_800_000_000_000).unwrap();
    (dir, store, homes)
}

/// Waits at its first call for ever, or answers.
struct Waits(bool, Arc<Mutex<Vec<String>>>);

impl Model for Waits {
    async fn complete(&self, request: crate::Request<'_>) -> Result<Reply, BoxError> {
        self.1.lock().unwrap().push(request.messages.last().unwrap().content.clone());
        if self.0 {
            std::future::pending::<()>().await;
        }
        Ok(Reply::text(invoice(7)))
    }
}

#[test]
fn a_run_whose_future_is_dropped_ends_and_can_be_resumed() {
    let (_dir, store, homes) = recorded();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let (sender, receiver) = std::sync::mpsc::channel();
    let agent = |waits| Agent::new(Provider::own(Waits(waits, Arc::clone(&asked)))).record(&store, &homes);
    let waiting = agent(true).on_event(move |line| sender.send(line.to_owned()).unwrap_or_default());
    block(async {
        let run = waiting.run::<Invoice>("Read it.");
        tokio::select! {
            run = run => panic!("nobody has answered: {run:?}"),
            () = async { while asked.lock().unwrap().is_empty() { tokio::time::sleep(std::time::Duration::from_millis(5)).await } } => {}
        }
    });
    drop(waiting);
    // The sender goes with the thread of the run.
    let lines: Vec<String> = receiver.iter().collect();
    let first: Value = serde_json::from_str(&lines[0]).unwrap();
    let last: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!((first["event"].as_str(), last["phase"].as_str()), (Some("run.started"), Some("cancelled")));
    let thread = first["thread"].as_str().unwrap().parse().unwrap();
    let run = block(agent(false).resume::<Invoice>(thread));
    assert_eq!(run.answer.unwrap().cents, Cents(7));
    assert_eq!((run.report.thread, run.report.turns), (Some(thread), 1));
    let again = block(agent(true).resume::<Invoice>(thread));
    assert!(matches!(again.answer, Err(AgentError::NothingToResume(_))), "{:?}", again.answer);
    let head = uwf_engine::thread::head(&store, &thread).unwrap();
    assert_eq!((Some(head.hash), head.status.as_str()), (run.report.step, "end"));
}

/// A visit of a role of somebody else's thread.
fn visit(store: &Store, cwd: &Path) -> AgentRequest {
    let flow = role::workflow("You read invoices.", &schema::AnswerSchema::of::<Invoice>()).unwrap();
    let flow = uwf_engine::workflow::put(store, &flow).unwrap();
    let thread = uwf_engine::thread::start(store, &flow, "task", &cwd.display().to_string()).unwrap();
    AgentRequest::new(thread, role::ROLE, Some("Read it.".to_owned()), None)
}

/// How many try to play the same visit.
const PLAYERS: usize = 6;

/// Answers once nobody else can begin any more; counts how often it is asked.
#[derive(Default)]
struct Last {
    asked: AtomicUsize,
    refused: AtomicUsize,
}

struct AnswersLast(Arc<Last>);

impl Model for AnswersLast {
    async fn complete(&self, _: crate::Request<'_>) -> Result<Reply, BoxError> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        while self.0.asked.load(Ordering::SeqCst) + self.0.refused.load(Ordering::SeqCst) < PLAYERS {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        Ok(Reply::text(invoice(7)))
    }
}

#[test]
fn of_many_that_play_a_visit_at_once_one_does() {
    let (dir, store, homes) = recorded();
    for round in 0..5 {
        let (request, last, start) =
            (visit(&store, dir.path()), Arc::<Last>::default(), Barrier::new(PLAYERS));
        let play = || {
            let agent = Agent::new(Provider::own(AnswersLast(Arc::clone(&last))));
            start.wait();
            let played = agent.play((&store, &homes), &request, dir.path());
            last.refused.fetch_add(usize::from(played.is_err()), Ordering::SeqCst);
            played
        };
        let played: Vec<_> = std::thread::scope(|scope| {
            let players: Vec<_> = (0..PLAYERS).map(|_| scope.spawn(play)).collect();
            players.into_iter().map(|player| player.join().unwrap()).collect()
        });
        assert_eq!(last.asked.load(Ordering::SeqCst), 1, "round {round}: {played:?}");
        for error in played.into_iter().filter_map(Result::err) {
            assert!(matches!(&error, AgentError::Journal(why) if why.contains("another process")), "{error}");
        }
    }
}

/// Has two numbers added up, and then answers with the sum or falls over.
struct Adds {
    falls: bool,
    asked: Arc<AtomicUsize>,
}

impl Model for Adds {
    async fn complete(&self, request: crate::Request<'_>) -> Result<Reply, BoxError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let last = request.messages.last().unwrap();
        match last.role {
            crate::Speaker::Tool if self.falls => panic!("out of order"),
            crate::Speaker::Tool => Ok(Reply::text(invoice(last.content.parse()?))),
            _ => Ok(Reply::default().call("sum", &json!({"terms": [3, 4]}))),
        }
    }
}

#[test]
fn a_visit_that_was_cut_off_goes_on_and_one_that_is_over_is_not_played_again() {
    let (dir, store, homes) = recorded();
    let (request, asked) = (visit(&store, dir.path()), Arc::<AtomicUsize>::default());
    let play = |falls| {
        let model = Adds { falls, asked: Arc::clone(&asked) };
        Agent::new(Provider::own(model)).tool(Sum(true)).play((&store, &homes), &request, dir.path())
    };
    assert!(matches!(play(true), Err(AgentError::Internal(_))));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    let reply = play(false).unwrap();
    assert_eq!((&reply.frontmatter["cents"], reply.body.as_str()), (&json!(7), "As printed."));
    assert_eq!(asked.load(Ordering::SeqCst), 3, "what was answered is not asked again");
    assert_eq!(reply.usage.as_ref().unwrap().turns, 2);
    assert_eq!(play(true).unwrap(), reply);
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    let head = uwf_engine::thread::head(&store, &request.thread).unwrap();
    assert_ne!(head.hash, reply.step_hash, "whoever drives the thread moves it");
}

/// Adds up, in its own time.
struct Sum(bool);

#[derive(Deserialize, JsonSchema)]
struct Terms {
    /// What to add
    terms: Vec<u64>,
}

impl Tool for Sum {
    type Arguments = Terms;

    fn name(&self) -> &str {
        "sum"
    }

    fn description(&self) -> &str {
        "Adds numbers."
    }

    fn reads_only(&self) -> bool {
        self.0
    }

    async fn call(&self, Terms { terms }: Terms) -> Result<String, BoxError> {
        tokio::task::yield_now().await;
        match terms.as_slice() {
            [] => Err("there is nothing to add".into()),
            [404] => panic!("no such number"),
            [0] => std::future::pending().await,
            terms => Ok(terms.iter().sum::<u64>().to_string()),
        }
    }
}

fn calls(terms: &Value) -> Value {
    json!({"tool_calls": [{"name": "sum", "arguments": {"terms": terms}}]})
}

/// Calls a tool for ever, unless it may not; each turn costs so much, where that is told.
struct Costs(Option<Usd>);

impl Model for Costs {
    async fn complete(&self, request: crate::Request<'_>) -> Result<Reply, BoxError> {
        let reply = match request.tool_choice {
            crate::ToolChoice::None => Reply::text(invoice(7)),
            _ => Reply::default().call("sum", &json!({"terms": [request.messages.len()]})),
        };
        Ok(reply.usage(crate::TokenUsage {
            input_tokens: 9,
            cost_usd: self.0.map(crate::usd::Usd::in_dollars),
            ..Default::default()
        }))
    }
}

#[test]
fn a_limit_in_money_ends_a_run_by_what_its_turns_cost() {
    let limits = Limits { usd: Some(Usd::dollars(0.05)), ..Limits::default() };
    let run = |cost: Option<f64>| {
        let model = Provider::own(Costs(cost.map(Usd::dollars)));
        block(Agent::new(model).tool(Sum(true)).limits(limits).run::<Invoice>("Read it."))
    };
    let paid = run(Some(0.02));
    assert_eq!(
        (paid.report.turns, paid.report.cost),
        (4, Some(Usd::dollars(0.08))),
        "three, and one to answer"
    );
    assert_eq!(paid.answer.unwrap().cents, Cents(7));
    let unknown = run(None);
    assert_eq!((unknown.report.turns, unknown.report.cost), (2, None));
    let no = Agent::new(script(&json!([calls(&json!([1])), says("No."), says("No."), says("No.")])));
    let free = block(no.tool(Sum(true)).limits(limits).run::<Invoice>("Read it."));
    assert_eq!(free.report.cost, Some(Usd::dollars(0.0)), "a script costs nothing");
    assert!(matches!(free.answer, Err(AgentError::Failed { at: FailedAt::Answer, .. })));
    let endpoint = crate::Endpoint::new("http://127.0.0.1:9/v1", "unpriced");
    let refused = block(Agent::new(endpoint.clone()).limits(limits).run::<Invoice>("Read it."));
    let error = refused.answer.unwrap_err();
    assert!(matches!(error, AgentError::Settings(_)) && error.to_string().contains("no price"), "{error}");
    assert!(refused.report.log.is_empty() && refused.report.thread.is_none(), "nothing was begun");
    let prices = uwf_engine::catalogue::Prices {
        input: 1.0,
        output: 2.0,
        cached_input: None,
        cache_write: None,
        tiers: Vec::new(),
    };
    let priced = Agent::new(Provider::from(endpoint).prices(Some(prices.clone()))).limits(limits);
    assert_eq!(priced.settings(None).unwrap().prices, Some(prices));
}

#[test]
fn an_extractor_is_asked_once_when_no_correction_led_to_an_answer() {
    let fields = |number: &str| format!("{{\"$status\": \"done\", \"number\": \"{number}\", \"cents\": 7}}");
    let run = |turns: Value, extracted: String| {
        let served = script(&json!([says(&extracted), says("asked twice")]));
        block(async {
            let (server, address) = MockServer::bind(served, 0, false).unwrap();
            let extractor = crate::Endpoint::new(format!("http://{address}/v1"), "small");
            let run = Agent::new(script(&turns)).extractor(extractor).run::<Invoice>("Read it.");
            tokio::select! {
                run = run => run,
                ended = server.run(std::future::pending()) => panic!("the endpoint has ended: {ended:?}"),
            }
        })
    };
    let (no, kinds) = (says("It is A-7, seven cents."), |run: &Run<Invoice>| {
        let of_extraction = |entry: &&Entry| matches!(entry, Entry::Answered { message, .. } if message.kind == crate::MessageKind::Extract);
        run.report.log.iter().filter(of_extraction).count()
    });
    let found = run(json!([no, no, no]), fields("A-7"));
    assert_eq!((kinds(&found), found.report.turns, found.report.attempts.len()), (1, 4, 3));
    assert_eq!(found.answer.unwrap(), Invoice { number: "A-7".into(), cents: Cents(7) });
    let useless = run(json!([no, no, no]), "There is nothing.".to_owned());
    assert_eq!(kinds(&useless), 1);
    assert!(matches!(useless.answer, Err(AgentError::Failed { at: FailedAt::Answer, .. })));
    let corrected = run(json!([no, says(&invoice(8))]), fields("A-7"));
    assert_eq!((kinds(&corrected), corrected.answer.unwrap().cents), (0, Cents(8)));
}

/// The results that the model was told, and whether each call failed.
fn results(log: &[Entry]) -> Vec<(String, bool)> {
    let finished = log.iter().filter_map(|entry| match entry {
        Entry::Finished { message, facts, .. } => Some((message.content.clone(), facts.failed())),
        _ => None,
    });
    finished.collect()
}

#[test]
fn an_own_tool_is_declared_run_and_recorded_as_any_other() {
    let (dir, turns) = (
        tempfile::tempdir().unwrap(),
        json!([
            calls(&json!([1, 2, 3])),
            calls(&json!([])),
            calls(&json!("all")),
            calls(&json!([404])),
            {"tool_calls": [{"name": "summ"}, {"name": "read_file", "arguments": {"path": "a.txt"}}]},
            says("---\n$status: done\nanswer: 6\n---"),
        ]),
    );
    std::fs::write(dir.path().join("a.txt"), "A text.").unwrap();
    let workspace = Workspace::new(dir.path()).tools(["read_file"]);
    let run = block(Agent::new(script(&turns)).workspace(workspace).tool(Sum(true)).run::<u64>("Add."));
    assert_eq!(run.answer.unwrap(), 6);
    let results = results(&run.report.log);
    assert_eq!(results[0], ("6".to_owned(), false));
    assert_eq!(results[1], ("there is nothing to add".to_owned(), true));
    assert!(results[2].0.contains("sum was not run") && results[2].0.contains("What to add"), "{results:?}");
    assert_eq!(results[3], ("sum failed: it panicked".to_owned(), true));
    assert!(results[4].0.contains("there is no tool `summ`") && results[4].0.ends_with("read_file, sum"));
    assert!(results[5].0.contains("A text."), "{results:?}");
    let Some(Entry::Run { tools, .. }) = run.report.log.first() else { panic!("no first line") };
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["read_file", "sum"]);
    assert_eq!(tools[1].parameters["properties"]["terms"]["items"]["type"], "integer");
    let sequential = block(Agent::new(script(&turns)).tool(Sum(false)).run::<u64>("Add."));
    assert_eq!(sequential.answer.unwrap(), 6);
}

#[test]
fn a_tool_that_waits_ends_with_the_time_of_the_run() {
    let turns = json!([calls(&json!([0])), says("---\n$status: done\nanswer: 0\n---")]);
    let limits = Limits { time: Some(std::time::Duration::from_secs(2)), ..Limits::default() };
    let run = block(Agent::new(script(&turns)).tool(Sum(true)).limits(limits).run::<u64>("Add."));
    assert_eq!(
        results(&run.report.log),
        [("it was ended before it was done".to_owned(), true)],
        "{:?}",
        run.report
    );
    assert_eq!(run.answer.unwrap(), 0, "the grace turn is left");
}

#[test]
fn tools_that_cannot_be_offered_together_are_refused_before_anything_runs() {
    struct Named(&'static str);
    impl Tool for Named {
        type Arguments = u8;

        fn name(&self) -> &str {
            self.0
        }

        fn description(&self) -> &str {
            ""
        }

        async fn call(&self, _: u8) -> Result<String, BoxError> {
            Ok(String::new())
        }
    }
    let agent = || Agent::new(script(&json!([says("No.")])));
    for (agent, why) in [
        (agent().tool(Sum(true)).tool(Sum(true)), "another tool has this name"),
        (agent().tool(Named("grep")), "another tool has this name"),
        (agent().tool(Named("a b")), "its name must be"),
        (agent().tool(Named("a")), "its arguments must be an object"),
    ] {
        let run = block(agent.run::<u64>("Add."));
        let error = run.answer.unwrap_err().to_string();
        assert!(error.contains(why) && run.report.thread.is_none(), "{error}");
    }
}

#[test]
fn commands_run_in_the_sandbox_of_the_workspace() {
    let dir = tempfile::tempdir().unwrap();
    let command = "echo a > in.txt; echo b > /var/tmp/uwf-outside.txt; echo done";
    let turns = json!([
        {"tool_calls": [{"name": "run_command", "arguments": {"command": command}}]},
        says("---\n$status: done\nanswer: done\n---"),
    ]);
    let workspace = Workspace::new(dir.path()).tools(["run_command"]).sandbox(crate::Level::BestEffort);
    let run = block(Agent::new(script(&turns)).workspace(workspace).run::<String>("Run."));
    assert_eq!(run.answer.unwrap(), "done");
    assert!(dir.path().join("in.txt").exists() && !std::path::Path::new("/var/tmp/uwf-outside.txt").exists());
    assert!(results(&run.report.log)[0].0.contains("done"), "{:?}", results(&run.report.log));
}
