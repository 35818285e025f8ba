//! `uwf-eval list`: the evaluations, the youngest first.

use serde::Serialize;
use uwf_eval::Evaluation;
use uwf_eval::load::{evaluation, names};

use crate::shell::{CliError, OK, Session, render};

/// An evaluation in a row.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    started_at: u64,
    /// `done` or `unfinished`.
    status: &'static str,
    tasks: Vec<String>,
    cases: usize,
    planned: usize,
    workflows: Vec<String>,
    agent: String,
    model: Option<String>,
}

pub(super) fn list(session: &mut Session<'_>) -> Result<u8, CliError> {
    let store = session.store()?;
    let mut rows = Vec::new();
    for name in names(&store)? {
        match evaluation(&store, &name) {
            Ok(evaluation) => rows.push(Row::of(evaluation)),
            Err(error) => session.ui.warn(&format!("evaluation {name} cannot be read: {error}")),
        }
    }
    rows.sort_by(|one, other| (other.started_at, &one.name).cmp(&(one.started_at, &other.name)));
    session.ui.result(&rows, || {
        let cells = |row: &Row| {
            [
                row.name.clone(),
                row.status.to_owned(),
                format!("{}/{}", row.cases, row.planned),
                row.workflows.join(", "),
                row.model.clone().unwrap_or_default(),
                render::time(row.started_at),
            ]
        };
        render::table(
            ["NAME", "STATUS", "CASES", "WORKFLOW", "MODEL", "STARTED"],
            &rows.iter().map(cells).collect::<Vec<_>>(),
        )
    })?;
    if rows.is_empty() && session.terminals.out {
        session
            .ui
            .note("no evaluations yet; `uwf-eval init DIR` makes a task, `uwf-eval run DIR` begins one");
    }
    Ok(OK)
}

impl Row {
    fn of(of: Evaluation) -> Row {
        let mut workflows: Vec<String> = of.tasks.iter().map(|task| task.workflow_name.clone()).collect();
        workflows.sort();
        workflows.dedup();
        Row {
            started_at: of.started_at,
            status: if of.finished_at.is_some() { "done" } else { "unfinished" },
            cases: of.cases.len(),
            planned: of.planned(),
            tasks: of.tasks.into_iter().map(|task| task.name).collect(),
            workflows,
            agent: of.config.agent,
            model: of.config.model,
            name: of.name,
        }
    }
}
