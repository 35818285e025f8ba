//! Evaluations, from the records in the store.

use uwf_eval::load;
use uwf_eval::report::{Report, ReportOptions};

use crate::error::WebError;
use crate::site::Site;

/// An evaluation in the list of all.
pub(crate) struct EvaluationRow {
    pub(crate) name: String,
    pub(crate) workflows: Vec<String>,
    pub(crate) tasks: usize,
    /// How many cases are finished, and how many there are to be.
    pub(crate) cases: (usize, usize),
    pub(crate) agent: String,
    pub(crate) model: Option<String>,
    pub(crate) started_at: u64,
}

/// All evaluations.
#[derive(Default)]
pub(crate) struct EvaluationList {
    /// The latest first.
    pub(crate) rows: Vec<EvaluationRow>,
    /// The names of those that cannot be read, and why.
    pub(crate) unread: Vec<(String, String)>,
}

/// All evaluations, the latest first.
pub(crate) fn evaluations(site: &Site) -> Result<EvaluationList, WebError> {
    let EvaluationList { mut rows, mut unread } = EvaluationList::default();
    for name in load::names(&site.store)? {
        match load::evaluation(&site.store, &name) {
            Ok(found) => {
                let mut workflows: Vec<String> = Vec::new();
                for task in &found.tasks {
                    if !workflows.contains(&task.workflow_name) {
                        workflows.push(task.workflow_name.clone());
                    }
                }
                rows.push(EvaluationRow {
                    name,
                    workflows,
                    tasks: found.tasks.len(),
                    cases: (found.cases.len(), found.tasks.len() * found.config.count as usize),
                    agent: found.config.agent,
                    model: found.config.model,
                    started_at: found.started_at,
                });
            }
            Err(error) => unread.push((name, error.to_string())),
        }
    }
    rows.sort_by(|one, other| other.started_at.cmp(&one.started_at).then_with(|| one.name.cmp(&other.name)));
    Ok(EvaluationList { rows, unread })
}

/// What an evaluation comes to, as far as it has come.
pub(crate) fn evaluation(site: &Site, name: &str) -> Result<Report, WebError> {
    Ok(Report::of(&load(&site.store, name)?, &ReportOptions::default()))
}
