//! Judges that are models: a rubric, the thread, what it changed, and the workspace to look at; each vote is a run of its own.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{Thread, current, park_timeout};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uwf_agent::{Agent, Limits, Usd, Workspace};
use uwf_engine::spawn::StopSignal;
use uwf_prompts::{JudgingView, PromptError, SaidByRole};
use uwf_snapshot::{diff, patch};
use uwf_store::{excerpt, schema};

use super::seen::SeenStep;
use super::{Bench, Said, Silent};
use crate::EvalError;
use crate::task::JudgeSpec;

/// How much of one text a judge is shown.
const SHOWN: usize = 20_000;
/// How often it may look at the workspace.
const TURNS: u64 = 20;
/// How long one vote may take.
pub(super) const TIME: Duration = Duration::from_secs(600);
/// How often it is looked whether this program is to stop.
const LOOK: Duration = Duration::from_millis(100);
/// What it may look with.
const TOOLS: [&str; 4] = ["read_file", "list_dir", "grep", "glob"];

/// What a model is asked.
pub(super) struct Ask<'a> {
    pub(super) model: &'a str,
    pub(super) rubric: &'a str,
    pub(super) votes: u32,
    /// Of all votes together, in USD.
    pub(super) max_cost: Option<f64>,
}

/// What a judge that is a model says.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Verdict {
    /// From 0, nothing of the rubric is met, to 1, all of it is
    score: f64,
    /// Why, in a sentence or two, with what in the record shows it
    reason: String,
    /// What the rubric asks to be told besides; an object
    #[serde(default)]
    data: Option<Value>,
}

/// The mean of the votes, with each of them and its reason. A vote that fails fails the judge, unless there are others.
pub(super) fn judge(bench: &Bench<'_>, judge: &JudgeSpec, ask: &Ask<'_>) -> Result<Said, Silent> {
    let provider = (bench.judging.provider)(ask.model).map_err(Silent::Error)?;
    let copied = bench.copies.make()?;
    let prompt = prompt(bench, ask)?;
    let rules = uwf_prompts::judging_rules(judge.schema.as_ref()).map_err(unwritten)?;
    let (mut verdicts, mut failed, mut cost) = (Vec::new(), Vec::new(), None);
    for _ in 0..ask.votes {
        let left = ask.max_cost.map(|most| most - cost.unwrap_or(0.0));
        if left.is_some_and(|left| left <= 0.0) {
            failed.push("its budget is spent".to_owned());
            break;
        }
        let usd = left.map(Usd::dollars);
        let agent = Agent::new(provider.clone())
            .instructions(rules.clone())
            .limits(Limits { turns: TURNS, time: Some(TIME), usd, ..Limits::default() })
            .workspace(Workspace::new(copied.workspace()).tools(TOOLS).without_snapshots());
        // A vote that is dropped ends.
        let run = waited_for(agent.run::<Verdict>(&prompt), bench.judging.stop);
        let run = run.ok_or(Silent::Broken(EvalError::Stopped))?;
        if let Some(spent) = run.report.cost {
            cost = Some(cost.unwrap_or(0.0) + spent.in_dollars());
        }
        match run.answer.map_err(|error| error.to_string()).and_then(|verdict| checked(judge, verdict)) {
            Ok(verdict) => verdicts.push(verdict),
            Err(why) => failed.push(excerpt(&why, 300).into_owned()),
        }
    }
    if verdicts.is_empty() {
        return Err(Silent::Paid(format!("no vote of {}: {}", ask.model, failed.join("; ")), cost));
    }
    let votes: Vec<f64> = verdicts.iter().map(|verdict| verdict.score).collect();
    let score = votes.iter().sum::<f64>() / votes.len() as f64;
    let data = keep(bench, judge, (ask.model, &verdicts, &failed)).map_err(|silent| silent.paid(cost))?;
    let votes = if ask.votes > 1 { votes } else { Vec::new() };
    Ok(Said { score: Some(score), data: Some(data), votes, cost_usd: cost })
}

/// What a single vote found is as the schema says; of several votes, and without a schema, it is a list of verdicts.
fn keep(
    bench: &Bench<'_>,
    judge: &JudgeSpec,
    (model, verdicts, failed): (&str, &[Verdict], &[String]),
) -> Result<uwf_store::Hash, Silent> {
    if let (Some(schema), [Verdict { data: Some(data), .. }]) = (&judge.schema, verdicts) {
        return bench.keep(&bench.keep_schema(schema)?, data);
    }
    let found = json!({"model": model, "verdicts": verdicts, "failed": failed});
    bench.keep(&bench.records.data, &found)
}

fn checked(judge: &JudgeSpec, verdict: Verdict) -> Result<Verdict, String> {
    if !(0.0..=1.0).contains(&verdict.score) {
        return Err(format!("its score must be from 0 to 1, not {}", verdict.score));
    }
    let Some(schema) = &judge.schema else { return Ok(verdict) };
    let data = verdict.data.clone().unwrap_or(Value::Null);
    let violations = schema::validate(schema, &data).map_err(|error| error.to_string())?;
    match violations.is_empty() {
        true => Ok(verdict),
        false => Err(format!("its data does not obey its schema: {}", schema::sentence(&violations))),
    }
}

fn prompt(bench: &Bench<'_>, ask: &Ask<'_>) -> Result<String, Silent> {
    let changes = diff(bench.store, &bench.subject.before, &bench.subject.after)?;
    let mut changed = Vec::new();
    patch(bench.store, &changes, &mut changed)?;
    let changed = String::from_utf8_lossy(&changed);
    let said = |step: &SeenStep| step.answer.clone().unwrap_or_else(|| uwf_store::json::line(&step.output));
    let answers: Vec<String> = bench.seen.steps.iter().map(|step| shown(&said(step))).collect();
    let steps: Vec<SaidByRole<'_>> = bench
        .seen
        .steps
        .iter()
        .zip(&answers)
        .map(|(step, answer)| SaidByRole { role: &step.role, answer })
        .collect();
    let [rubric, asked, changed] = [ask.rubric, bench.subject.prompt, &changed].map(shown);
    let view = JudgingView { rubric: &rubric, asked: &asked, steps: &steps, changed: &changed };
    uwf_prompts::judging(&view).map_err(unwritten)
}

/// As much of a text as a judge is shown.
fn shown(text: &str) -> String {
    excerpt(text.trim(), SHOWN).into_owned()
}

fn unwritten(error: PromptError) -> Silent {
    Silent::Error(error.to_string())
}

/// The value of a future that works elsewhere; this thread sleeps meanwhile. None where this program is to stop.
pub(super) fn waited_for<T>(future: impl Future<Output = T>, stop: &StopSignal) -> Option<T> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(current())));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    while stop.signal().is_none() {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return Some(value),
            Poll::Pending => park_timeout(LOOK),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_is_waited_for_comes_or_a_signal_does() {
        let stop = StopSignal::default();
        assert_eq!(waited_for(std::future::ready(1), &stop), Some(1));
        let cell = stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(2 * LOOK);
            cell.cell().store(15, Ordering::SeqCst);
        });
        assert_eq!(waited_for(std::future::pending::<u8>(), &stop), None);
        assert_eq!(waited_for(std::future::ready(1), &stop), None, "nor is another vote begun");
    }
}
