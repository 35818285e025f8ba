//! Which of their settings two evaluations differ in.

use serde::Serialize;

use crate::record::{EvalConfig, Evaluation, TaskRef};

/// A setting that is not the same in both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Differs {
    /// Which.
    pub what: &'static str,
    /// The tasks, where it is theirs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// In the one that is compared with; null where it has none.
    pub before: Option<String>,
    /// In the one that is compared.
    pub after: Option<String>,
}

impl Differs {
    /// What it is, in words: `model`, `workflow of fix-off-by-one`, `workflow of 6 tasks`.
    pub fn name(&self) -> String {
        match self.tasks.as_slice() {
            [] => self.what.to_owned(),
            [task] => format!("{} of {task}", self.what),
            tasks => format!("{} of {} tasks", self.what, tasks.len()),
        }
    }
}

/// All settings that are not the same; a task that only one of them has is none.
pub(super) fn differing(before: &Evaluation, after: &Evaluation) -> Vec<Differs> {
    let all = of_config(&before.config).into_iter().zip(of_config(&after.config));
    let mut found: Vec<Differs> = Vec::new();
    for ((what, before), (_, after)) in all {
        note(&mut found, (what, None), before, after);
    }
    let (ours, theirs) = (&before.config, &after.config);
    note(&mut found, ("configuration", None), configured(ours, theirs), configured(theirs, ours));
    for task in &before.tasks {
        let Some(other) = after.tasks.iter().find(|other| other.name == task.name) else { continue };
        let name = Some(&task.name);
        note(&mut found, ("workflow", name), workflow(task), workflow(other));
        note(&mut found, ("task", name), Some(task.hash.clone()), Some(other.hash.clone()));
    }
    found
}

/// Notes what differs; tasks that differ alike are told together.
fn note(
    found: &mut Vec<Differs>,
    (what, task): (&'static str, Option<&String>),
    before: Option<String>,
    after: Option<String>,
) {
    if before == after {
        return;
    }
    let alike = |known: &&mut Differs| known.what == what && known.before == before && known.after == after;
    match found.iter_mut().find(alike) {
        Some(known) => known.tasks.extend(task.cloned()),
        None => found.push(Differs { what, tasks: task.into_iter().cloned().collect(), before, after }),
    }
}

fn workflow(task: &TaskRef) -> Option<String> {
    Some(format!("{} {}", task.workflow_name, task.workflow))
}

fn of_config(config: &EvalConfig) -> [(&'static str, Option<String>); 10] {
    let EvalConfig { agent, model, engine_version, sandbox, seed, count, mock, offline, .. } = config;
    let judges = config.judge_mock_hash.clone().or_else(|| config.judge_mock.clone());
    [
        ("agent", Some(agent.clone())),
        ("model", model.clone()),
        ("engine version", Some(engine_version.clone())),
        ("sandbox", sandbox.clone()),
        ("seed", Some(seed.to_string())),
        ("cases a task", Some(count.to_string())),
        ("mock script", mock.clone()),
        ("offline", Some(offline.to_string())),
        ("endpoint", config.options.base_url.clone()),
        ("judges' script", judges),
    ]
}

/// What one has configured otherwise than the other; none where that is nothing.
fn configured(config: &EvalConfig, other: &EvalConfig) -> Option<String> {
    let differ = config.settings.iter().filter(|(name, value)| other.settings.get(*name) != Some(*value));
    let differ: Vec<String> = differ.map(|(name, value)| format!("{name} {value}")).collect();
    (!differ.is_empty()).then(|| differ.join(", "))
}
