//! Evaluations, from the records in the store.

use uwf_eval::load;
use uwf_eval::report::{Difference, Report, ReportOptions};

use crate::error::WebError;
use crate::site::Site;

/// How many evaluations a page offers to compare with.
const OFFERED: usize = 12;

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

/// Two evaluations side by side, and each of them.
pub(crate) fn difference(site: &Site, names: [&str; 2]) -> Result<(Difference, [Report; 2]), WebError> {
    let options = ReportOptions::default();
    let [before, after] = [load(&site.store, names[0])?, load(&site.store, names[1])?];
    let sides = [Report::of(&before, &options), Report::of(&after, &options)];
    Ok((Difference::of(&before, &after, &options), sides))
}

/// The names of evaluations that share a task with this one, the latest first; those that cannot be read are left out.
pub(crate) fn comparable(site: &Site, found: &Report) -> Result<Vec<String>, WebError> {
    let mut others = Vec::new();
    for name in load::names(&site.store)?.into_iter().filter(|name| *name != found.name) {
        let Ok(other) = load::evaluation(&site.store, &name) else { continue };
        let is_of = |task: &str| found.tasks.iter().any(|known| known.task == task);
        if other.tasks.iter().any(|task| is_of(&task.name)) {
            others.push((other.started_at, name));
        }
    }
    others.sort_by(|one, other| other.cmp(one));
    Ok(others.into_iter().take(OFFERED).map(|(_, name)| name).collect())
}
