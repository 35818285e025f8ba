//! What is to be run: tasks, each with a workflow, so often.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use thiserror::Error;
use uwf_engine::ThreadId;
use uwf_engine::thread::ThreadOptions;
use uwf_store::Hash;

use crate::case::{Case, GivenUp, Outcome};
use crate::record::{EvalConfig, Evaluation, TaskRef};
use crate::task::Task;

/// What is to be run.
#[derive(Debug)]
pub struct Plan {
    /// What the evaluation is called.
    pub name: String,
    /// Whether nobody has asked for that name, so that nothing that is called so is gone on with.
    pub is_new: bool,
    /// What is the same for all cases.
    pub config: EvalConfig,
    /// The tasks.
    pub tasks: Vec<Planned>,
}

/// A task with the workflow that is run for it.
#[derive(Debug)]
pub struct Planned {
    /// The task.
    pub task: Task,
    /// The Workflow node.
    pub workflow: Hash,
    /// What that is called.
    pub workflow_name: String,
    /// What plays in the place of a model.
    pub script: Option<Script>,
}

/// A script that plays in the place of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The file; absolute.
    pub path: PathBuf,
    /// Its text, as a hash.
    pub hash: String,
}

/// A case that is to be run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slot {
    /// Which task.
    pub(super) task: usize,
    /// Which of its cases, from 1.
    pub(super) repeat: u32,
    /// What came of it before, where that was an error.
    pub(super) earlier: Option<Earlier>,
}

impl Slot {
    /// What was paid for it before, which is part of what it costs in the end: with its thread, or as given up.
    pub(super) fn paid_before(&self) -> f64 {
        self.earlier.and_then(|earlier| earlier.paid).unwrap_or(0.0)
    }
}

/// A case whose infrastructure failed before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Earlier {
    /// Its thread; none where that is another evaluation's, which needs it.
    pub(super) thread: Option<ThreadId>,
    /// What was paid for it, in USD, with what was given up.
    pub(super) paid: Option<f64>,
    /// What was given up before.
    pub(super) given_up: GivenUp,
}

/// An evaluation cannot go on with a plan.
#[derive(Debug, Error)]
#[error("evaluation {name} was begun with another {differs}")]
pub struct PlanError {
    /// The evaluation.
    pub name: String,
    /// What differs.
    pub differs: String,
}

impl Planned {
    /// As it is recorded.
    pub(super) fn reference(&self) -> TaskRef {
        TaskRef {
            name: self.task.name.clone(),
            path: self.task.path.display().to_string(),
            hash: self.task.hash.clone(),
            workflow: self.workflow,
            workflow_name: self.workflow_name.clone(),
            seen: self.task.seen.clone(),
            prompt: self.task.prompt.clone(),
        }
    }
}

impl Plan {
    /// All cases: the first of each task before the second of any, so that what is interrupted tells of all.
    pub(super) fn cases(&self) -> impl Iterator<Item = Slot> + '_ {
        (1..=self.config.count)
            .flat_map(|repeat| (0..self.tasks.len()).map(move |task| Slot { task, repeat, earlier: None }))
    }

    /// Those that are to be run: they are not among the recorded ones, or nothing is known of the workflow by them.
    pub(super) fn missing(&self, recorded: &[Case]) -> Vec<Slot> {
        let recorded: HashMap<(&str, u32), &Case> =
            recorded.iter().map(|case| ((case.task.as_str(), case.repeat), case)).collect();
        let missing =
            |slot: Slot| match recorded.get(&(self.tasks[slot.task].task.name.as_str(), slot.repeat)) {
                None => Some(slot),
                Some(case) if case.outcome == Outcome::Error => {
                    let thread = case.thread.as_ref().filter(|_| !case.cached);
                    let thread = thread.and_then(|thread| thread.parse().ok());
                    let earlier = Earlier { thread, paid: case.paid(), given_up: case.given_up };
                    Some(Slot { earlier: Some(earlier), ..slot })
                }
                Some(_) => None,
            };
        self.cases().filter_map(missing).collect()
    }

    /// Whether an evaluation that was begun can go on by this plan: all is the same, or only more cases are wanted.
    ///
    /// # Errors
    /// What differs.
    pub fn check_same(&self, begun: &Evaluation) -> Result<(), PlanError> {
        let differs = self.differences(begun);
        if differs.is_empty() {
            return Ok(());
        }
        Err(PlanError { name: self.name.clone(), differs: differs.join(", ") })
    }

    fn differences(&self, begun: &Evaluation) -> Vec<String> {
        let (ours, theirs) = (&self.config, &begun.config);
        // Where a script lies is no matter.
        let chosen = |options: &ThreadOptions| ThreadOptions { mock: None, ..options.clone() };
        let settings = ours.settings.iter().chain(&theirs.settings).map(|(name, _)| name);
        let configured: BTreeSet<&String> =
            settings.filter(|name| ours.settings.get(*name) != theirs.settings.get(*name)).collect();
        let all = [
            ("agent", ours.agent != theirs.agent),
            ("model", ours.model != theirs.model),
            ("version of the engine", ours.engine_version != theirs.engine_version),
            ("sandbox", ours.sandbox != theirs.sandbox),
            ("seed", ours.seed != theirs.seed),
            ("larger count", ours.count < theirs.count),
            ("mock script", (&ours.mock, ours.offline) != (&theirs.mock, theirs.offline)),
            ("script of judges", ours.judge_mock_hash != theirs.judge_mock_hash),
            ("endpoint", ours.options.base_url != theirs.options.base_url),
            (
                "choice of options",
                ours.options.base_url == theirs.options.base_url
                    && (&ours.agent, &ours.model) == (&theirs.agent, &theirs.model)
                    && ours.sandbox == theirs.sandbox
                    && chosen(&ours.options) != chosen(&theirs.options),
            ),
        ];
        let mut found: Vec<String> =
            all.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| what.to_owned()).collect();
        found.extend(configured.into_iter().map(|name| format!("configuration: `{name}`")));
        for planned in &self.tasks {
            match begun.tasks.iter().find(|task| task.name == planned.task.name) {
                None => found.push(format!("set of tasks: not `{}`", planned.task.name)),
                Some(task) if task.hash != planned.task.hash => {
                    found.push(format!("content of task `{}`", task.name));
                }
                Some(task) if task.workflow != planned.workflow => {
                    found.push(format!("workflow for `{}`: {}", task.name, task.workflow_name));
                }
                Some(_) => {}
            }
        }
        if let Some(task) =
            begun.tasks.iter().find(|task| !self.tasks.iter().any(|planned| planned.task.name == task.name))
        {
            found.push(format!("set of tasks: `{}`, too", task.name));
        }
        found
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::case::Tokens;

    fn case(repeat: u32, outcome: Outcome, cost: f64) -> Case {
        Case {
            task: "t".into(),
            repeat,
            outcome,
            score: None,
            reason: None,
            judges: Vec::new(),
            cost_usd: Some(cost),
            seconds: 0.0,
            steps: 1,
            tokens: Tokens::default(),
            thread: Some(ThreadId::new(u64::from(repeat)).to_string()),
            seed: 0,
            cached: false,
            given_up: GivenUp::default(),
            run: String::new(),
        }
    }

    /// A plan of a task, so often, and what holds its files.
    pub(in crate::run) fn plan(count: u32) -> (tempfile::TempDir, Plan) {
        let dir = tempfile::tempdir().unwrap();
        let task = dir.path().join("t");
        std::fs::create_dir(&task).unwrap();
        let text = "name: t\nprompt: p\njudges: [{ name: tests, builtin: true, command: 'true' }]\n";
        std::fs::write(task.join("task.yaml"), text).unwrap();
        let task = Task::load(&task, &dir.path().join("scratch")).unwrap();
        let config = serde_json::from_value(serde_json::json!({
            "agent": "a", "model": null, "engineVersion": "1", "seed": 1, "count": count,
        }));
        let workflow = Hash::of(&uwf_engine::builtin::TEXT, &"w".into());
        let planned = Planned { task, workflow, workflow_name: "w".into(), script: None };
        (dir, Plan { name: "e".into(), is_new: false, config: config.unwrap(), tasks: vec![planned] })
    }

    #[test]
    fn errors_are_run_again_and_what_was_paid_for_them_counts_once() {
        let (_dir, plan) = plan(4);
        let recorded =
            [case(1, Outcome::Scored, 1.0), case(2, Outcome::Error, 2.0), case(4, Outcome::Failed, 4.0)];
        let missing = plan.missing(&recorded);
        assert_eq!(missing.iter().map(|slot| slot.repeat).collect::<Vec<_>>(), [2, 3]);
        assert_eq!([missing[0].paid_before(), missing[1].paid_before()], [2.0, 0.0]);
    }

    #[test]
    fn the_thread_of_another_evaluation_is_not_there_to_be_removed() {
        let (_dir, plan) = plan(2);
        let taken = Case { cached: true, ..case(2, Outcome::Error, 2.0) };
        let missing = plan.missing(&[case(1, Outcome::Error, 1.0), taken]);
        let threads = missing.iter().map(|slot| slot.earlier.unwrap().thread.is_some());
        assert_eq!(threads.collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn whatever_is_chosen_or_configured_otherwise_is_another_evaluation() {
        let (_dir, mut plan) = plan(1);
        let begun = super::super::begun(&plan, 1);
        plan.check_same(&begun).unwrap();
        let mut differs = |change: &dyn Fn(&mut EvalConfig)| {
            plan.config = begun.config.clone();
            change(&mut plan.config);
            plan.check_same(&begun).unwrap_err().differs
        };
        assert_eq!(differs(&|config| config.options.base_url = Some("http://x".into())), "endpoint");
        assert_eq!(differs(&|config| config.options.allow_network = true), "choice of options");
        assert_eq!(differs(&|config| config.judge_mock_hash = Some("h".into())), "script of judges");
        let configured = differs(&|config| drop(config.settings.insert("model".into(), "m".into())));
        assert_eq!(configured, "configuration: `model`");
    }
}
