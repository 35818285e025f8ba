//! Which of their settings two evaluations differ in.

use serde::Serialize;

use crate::record::{EvalConfig, Evaluation, TaskRef};

/// A setting that is not the same in both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Differs {
    /// Which.
    pub what: &'static str,
    /// The task, where it is one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// In the one that is compared with; null where it has none.
    pub before: Option<String>,
    /// In the one that is compared.
    pub after: Option<String>,
}

/// All settings that are not the same; a task that only one of them has is none.
pub(super) fn differing(before: &Evaluation, after: &Evaluation) -> Vec<Differs> {
    let all = of_config(&before.config).into_iter().zip(of_config(&after.config));
    let mut found: Vec<Differs> =
        all.filter_map(|((what, before), (_, after))| differs((what, None), before, after)).collect();
    for task in &before.tasks {
        let Some(other) = after.tasks.iter().find(|other| other.name == task.name) else { continue };
        found.extend(of_task(task, other));
    }
    found
}

fn of_config(config: &EvalConfig) -> [(&'static str, Option<String>); 10] {
    let EvalConfig { agent, model, engine_version, sandbox, seed, count, mock, offline, judge_mock, options } =
        config;
    [
        ("agent", Some(agent.clone())),
        ("model", model.clone()),
        ("engine version", Some(engine_version.clone())),
        ("sandbox", sandbox.clone()),
        ("seed", Some(seed.to_string())),
        ("cases a task", Some(count.to_string())),
        ("mock script", mock.clone()),
        ("offline", Some(offline.to_string())),
        ("endpoint", options.base_url.clone()),
        ("judges' script", judge_mock.clone()),
    ]
}

fn of_task(before: &TaskRef, after: &TaskRef) -> Vec<Differs> {
    let task = || Some(before.name.clone());
    let workflow = |task: &TaskRef| Some(format!("{} {}", task.workflow_name, task.workflow));
    [
        differs(("workflow", task()), workflow(before), workflow(after)),
        differs(("task", task()), Some(before.hash.clone()), Some(after.hash.clone())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn differs(
    (what, task): (&'static str, Option<String>),
    before: Option<String>,
    after: Option<String>,
) -> Option<Differs> {
    (before != after).then_some(Differs { what, task, before, after })
}
