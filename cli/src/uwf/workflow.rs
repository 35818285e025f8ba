//! `uwf workflow …`

mod graph;

use std::path::Path;

use serde_json::Value;
use uwf_workflow::{json_schema, yaml};

use super::args::WorkflowCommand;
use crate::shell::{
    CliError, Column, OK, Session,
    input::{is_stdin, name_of},
    render,
};
use uwf_engine::view::{
    HistoryView, WorkflowAdded, WorkflowRemoved, WorkflowRolledBack, WorkflowRow, WorkflowValid, WorkflowView,
};
use uwf_engine::workflow::{self, Back, CheckedWorkflow, WorkflowError, WorkflowOrigin};

pub(super) fn run(session: &mut Session<'_>, command: WorkflowCommand) -> Result<u8, CliError> {
    match command {
        WorkflowCommand::Add { file } => add(session, &file),
        WorkflowCommand::Validate { file } => validate(session, &file),
        WorkflowCommand::Show { workflow } => show(session, &workflow),
        WorkflowCommand::List => list(session),
        WorkflowCommand::Rm { name } => remove(session, &name),
        WorkflowCommand::History { name } => history(session, &name),
        WorkflowCommand::Rollback { name, to } => rollback(session, &name, &to),
        WorkflowCommand::Schema => schema(session),
        WorkflowCommand::Graph { workflow, language, thread } => {
            graph::run(session, workflow.as_deref(), language, thread.as_deref())
        }
    }
}

/// A workflow file, or stdin for `-`; then what it includes lies in the current directory.
fn checked(session: &mut Session<'_>, file: &Path) -> Result<CheckedWorkflow, WorkflowError> {
    let checked = match is_stdin(file) {
        true => workflow::read(session.stdin, Path::new(&name_of(file)), &session.cwd),
        false => workflow::load(&session.cwd.join(file)),
    }?;
    session.ui.warn_of(&checked);
    Ok(checked)
}

fn add(session: &mut Session<'_>, file: &Path) -> Result<u8, CliError> {
    let checked = checked(session, file)?;
    let hash = workflow::add(&session.store()?, &checked)?;
    let added = WorkflowAdded { name: checked.name, hash };
    session.ui.result(&added, || format!("{} {hash}\n", added.name))
}

fn validate(session: &mut Session<'_>, file: &Path) -> Result<u8, CliError> {
    let checked = checked(session, file)?;
    let hash = checked.hash();
    let valid = WorkflowValid { valid: true, name: checked.name, hash };
    session.ui.result(&valid, || format!("{} is valid: {} {hash}\n", name_of(file), valid.name))
}

fn show(session: &mut Session<'_>, reference: &str) -> Result<u8, CliError> {
    let store = session.store()?;
    let resolved = workflow::resolve(&store, reference, &session.cwd)?;
    let (view, cwd) = (WorkflowView::of(&store, &resolved)?, session.cwd.clone());
    session.ui.result(&view, || {
        let from = view.path.as_ref().map_or(view.origin.to_owned(), |path| beside(path, &cwd));
        format!("# {}, from {from}\n{}", view.hash, yaml::write(&as_file(&view)))
    })
}

fn list(session: &mut Session<'_>) -> Result<u8, CliError> {
    let (store, cwd) = (session.store()?, session.cwd.clone());
    let listed = workflow::list(&store, &cwd)?;
    let rows: Vec<WorkflowRow> = listed.iter().map(WorkflowRow::from).collect();
    session.ui.result(&rows, || {
        let cells = rows.iter().map(|row| {
            let origin = row.path.as_ref().map_or(row.origin.to_owned(), |path| beside(path, &cwd));
            [row.name.clone(), row.hash.clone(), origin]
        });
        render::table(["NAME", "HASH", "ORIGIN"], &cells.collect::<Vec<_>>())
    })?;
    if rows.is_empty() && session.terminals.out {
        session.ui.note("no workflows; `uwf init` writes one into .workflow/");
    }
    Ok(OK)
}

/// A file as it is named from here, where it is in or below this directory.
fn beside(path: &str, cwd: &Path) -> String {
    Path::new(path).strip_prefix(cwd).map_or_else(|_| path.to_owned(), render::path)
}

/// A workflow as its author would write it: with the schemas in the place of their hashes, and without what says nothing.
fn as_file(view: &WorkflowView) -> Value {
    let mut workflow = view.payload.clone();
    let roles = workflow["roles"].as_object_mut().into_iter().flat_map(|roles| roles.values_mut());
    for role in roles {
        let schema = role["frontmatter"].as_str().and_then(|hash| view.schemas.get(&hash.parse().ok()?));
        if let Some(schema) = schema {
            role["frontmatter"] = schema.clone();
        }
    }
    drop_nulls(&mut workflow["graph"]);
    workflow
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn remove(session: &mut Session<'_>, name: &str) -> Result<u8, CliError> {
    let store = session.store()?;
    let hash = workflow::remove(&store, name).map_err(|error| {
        let listed = workflow::list(&store, &session.cwd).unwrap_or_default();
        let file = listed.into_iter().find_map(|listed| match listed.origin {
            WorkflowOrigin::Local(file) if listed.name == name => Some(file),
            _ => None,
        });
        match file {
            Some(file) => CliError::user(format!("workflow `{name}` is a file, and not registered"))
                .with_hint(format!("remove the file: rm {}", render::path(&file))),
            None => error.into(),
        }
    })?;
    let removed = WorkflowRemoved { name: name.to_owned(), hash, removed: true };
    session.ui.result(&removed, || format!("{name} is not registered any more; it was {hash}\n"))
}

fn history(session: &mut Session<'_>, name: &str) -> Result<u8, CliError> {
    let store = session.store()?;
    let past = workflow::history(&store, name)?;
    let views: Vec<_> = past.iter().enumerate().map(|(n, past)| HistoryView::of(&store, n, past)).collect();
    session.ui.result(&views, || {
        let cells = views.iter().map(|view| {
            let about = render::first_line(&view.description, 60);
            [view.n.to_string(), view.hash.to_string(), render::time(view.set_at), about]
        });
        render::table(
            [
                Column::new("N"),
                Column::new("HASH"),
                Column::new("SET (UTC)"),
                Column::new("DESCRIPTION").rank(2).cut(20),
            ],
            &cells.collect::<Vec<_>>(),
        )
    })
}

fn rollback(session: &mut Session<'_>, name: &str, to: &str) -> Result<u8, CliError> {
    let back = match to.parse() {
        // A hash may be all digits, but then it has thirteen of them.
        Ok(steps) if to.len() < 13 => Back::Steps(steps),
        _ => Back::To(session.node_hash(to)?),
    };
    let (hash, before) = workflow::rollback(&session.store()?, name, back)?;
    let rolled_back = WorkflowRolledBack { name: name.to_owned(), hash, before };
    session.ui.result(&rolled_back, || format!("{name} {hash} (was {before})\n"))
}

fn schema(session: &mut Session<'_>) -> Result<u8, CliError> {
    let schema = json_schema::schema();
    let text = serde_json::to_string_pretty(&schema).expect("a JSON value always serialises") + "\n";
    session.ui.document(&schema, &text)
}
