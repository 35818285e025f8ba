//! The library from outside: a scripted model, a type, an answer and a report.

use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uwf_engine::Homes;
use uwf_store::Store;

use super::*;
use crate::provider::Script;
use crate::{Entry, Limits};

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
