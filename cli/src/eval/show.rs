//! `uwf-eval show`: an evaluation with its cases, or one case with what its judges found.

use serde::Serialize;
use serde_json::Value;
use uwf_eval::record::{EvalRun, Evaluation, Records, get};
use uwf_eval::{Case, GivenUp, JudgeScore, Loaded, load};
use uwf_store::{Hash, Store};
use uwf_workflow::yaml;

use super::args::Show;
use crate::shell::{CliError, Session, Text, render};

/// An evaluation with its cases.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    evaluation: Evaluation,
    cases: Vec<Case>,
}

/// A case with what its judges found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownCase {
    evaluation: String,
    #[serde(flatten)]
    case: Case,
    task_hash: String,
    workflow: Hash,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<Hash>,
    found: Vec<Found>,
}

/// What a judge found.
#[derive(Serialize)]
struct Found {
    judge: String,
    data: Value,
}

pub(super) fn show(session: &mut Session<'_>, what: &Show) -> Result<u8, CliError> {
    let store = session.store()?;
    match case_named(&store, &what.case)? {
        Some((evaluation, hash)) => show_case(session, &store, (evaluation, &hash)),
        None => {
            let Loaded { evaluation, cases } = load(&store, &what.case)?;
            let shown = Shown { evaluation: Evaluation { cases: Vec::new(), ..evaluation }, cases };
            let value = serde_json::to_value(&shown).expect("a record has names for fields");
            session.ui.result(&value, || table(&shown.cases))
        }
    }
}

/// The record of the case that is meant, and its evaluation where that is named; none where an evaluation is meant.
fn case_named<'n>(store: &Store, named: &'n str) -> Result<Option<(Option<&'n str>, Hash)>, CliError> {
    if let Some((name, place)) = named.split_once('/') {
        let unknown = || {
            CliError::user(format!("there is no finished case {place} in evaluation {name}"))
                .with_hint(format!("list them with: uwf-eval show {name}"))
        };
        let (task, repeat) = place.rsplit_once('/').ok_or_else(unknown)?;
        let repeat: u32 = repeat.parse().map_err(|_| unknown())?;
        let found = uwf_eval::load::evaluation(store, name)?.cases;
        let found = found.into_iter().find(|case| case.task == task && case.repeat == repeat);
        return Ok(Some((Some(name), found.ok_or_else(unknown)?.run)));
    }
    let hash: Option<Hash> = named.parse().ok();
    let records = Records::known();
    let case = hash.filter(|hash| matches!(store.find(hash), Ok(Some(node)) if node.type_ == records.run));
    Ok(case.map(|hash| (None, hash)))
}

fn show_case(
    session: &mut Session<'_>,
    store: &Store,
    (named, hash): (Option<&str>, &Hash),
) -> Result<u8, CliError> {
    let run: EvalRun = get(store, &Records::known().run, hash)?;
    // One that was imported under another name, or was taken from an earlier evaluation, has that of its own in its record.
    let evaluation = named.unwrap_or(&run.evaluation).to_owned();
    let (task_hash, workflow, head) = (run.task_hash.clone(), run.workflow, run.head);
    let mut found = Vec::new();
    for judge in &run.judges {
        let Some(data) = judge.data_hash else { continue };
        found.push(Found { judge: judge.name.clone(), data: store.get(&data)?.payload });
    }
    let shown = ShownCase { evaluation, case: run.case(hash), task_hash, workflow, head, found };
    session.ui.result(&shown, || text(&shown))
}

fn table(cases: &[Case]) -> Text {
    let cells = |case: &Case| {
        [
            format!("{}/{}", case.task, case.repeat),
            case.outcome.as_str().to_owned(),
            score(case.score),
            case.steps.to_string(),
            seconds(case.seconds),
            render::cost(case.cost_usd, 0),
            case.thread.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = cases.iter().map(cells).collect();
    render::table(["CASE", "OUTCOME", "SCORE", "STEPS", "TIME", "COST", "THREAD"], &rows).into()
}

fn text(shown: &ShownCase) -> Text {
    let case = &shown.case;
    let mut head = format!(
        "{}/{} of {}: {}, score {}\n",
        case.task,
        case.repeat,
        shown.evaluation,
        case.outcome.as_str(),
        score(case.score)
    );
    let mut line = |name: &str, text: &str| {
        if !text.is_empty() {
            head += &format!("{name}: {text}\n");
        }
    };
    line("reason", case.reason.as_deref().unwrap_or_default());
    line("thread", case.thread.as_deref().unwrap_or_default());
    line("steps", &case.steps.to_string());
    line("time", &seconds(case.seconds));
    line("tokens", &format!("{} in, {} out", case.tokens.input, case.tokens.output));
    line("cost", &render::cost(case.cost_usd, 0));
    if !case.given_up.is_nothing() {
        let GivenUp { threads, cost_usd } = case.given_up;
        let cost = cost_usd.map(|cost| render::cost(Some(cost), 0));
        let threads = (threads > 0 || cost.is_none()).then(|| format!("{threads} begun and interrupted"));
        line("given up before", &threads.into_iter().chain(cost).collect::<Vec<_>>().join(", "));
    }
    line("seed", &case.seed.to_string());
    head.push('\n');
    let cells = |judge: &JudgeScore| {
        [
            judge.name.clone(),
            score(judge.score),
            judge.weight.to_string(),
            judge.error.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = case.judges.iter().map(cells).collect();
    let found = shown.found.iter().map(|found| format!("\n{}:\n{}", found.judge, yaml::write(&found.data)));
    let found: String = found.collect();
    Text::from(head).then(render::table(["JUDGE", "SCORE", "WEIGHT", "ERROR"], &rows)).then(found)
}

/// `0.75`; `-` where there is none.
pub(super) fn score(score: Option<f64>) -> String {
    score.map_or_else(|| "-".to_owned(), |score| format!("{score:.2}"))
}

fn seconds(seconds: f64) -> String {
    render::duration((seconds.max(0.0) * 1000.0).round() as u64)
}
