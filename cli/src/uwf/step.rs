//! `uwf step …`

mod ask;
mod diff;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use uwf_snapshot::TREE;
use uwf_store::{BLOB, Hash, Store};
use uwf_workflow::{ARTIFACTS, yaml};

use super::args::StepCommand;
use super::checkout::{self, CheckoutMoment};
use super::{changes, report, thread_id, utf8};
use crate::shell::{CliError, Session, render};
use crate::step_argument::StepArgument;
use uwf_engine::record;
use uwf_engine::thread;
use uwf_engine::view::{
    ForkedFrom, ListedNode, StepDocument, StepPrompt, StepView, ThreadForked, ThreadSteps, Unread,
};

pub(super) fn run(session: &mut Session<'_>, command: StepCommand) -> Result<u8, CliError> {
    match command {
        StepCommand::List { thread } => list(session, &thread),
        StepCommand::Show { step } => show(session, &step),
        StepCommand::Read { step, prompt: true, .. } => prompt(session, &step),
        StepCommand::Read { step, quota, .. } => read(session, &step, quota),
        StepCommand::Fork { step, worktree } => fork(session, &step, worktree.as_deref()),
        StepCommand::Ask(question) => ask::ask(session, &question),
        StepCommand::Diff { step, shape } => diff::diff(session, &step, shape),
    }
}

pub(super) fn list(session: &mut Session<'_>, thread: &str) -> Result<u8, CliError> {
    let (thread, store) = (thread_id(thread)?, session.store()?);
    let (listed, unread) = ThreadSteps::of(&store, &thread)?;
    for Unread { what, list, error } in unread {
        session.ui.warn(&format!("{what} in {list} cannot be read: {error}"));
    }
    session.ui.result(&listed, || {
        let steps = listed.steps.iter().enumerate();
        let done = steps.filter_map(|(at, node)| match node {
            ListedNode::Start(_) => None,
            ListedNode::Step(step) => Some(cells(at.to_string(), step)),
        });
        let failed = listed.failed.iter().map(|step| cells("-".to_owned(), step));
        let headings =
            ["#", "STEP", "ROLE", "STATUS", "DURATION", "TOKENS IN", "OUT", "FAILED CALLS", "FAILED BEFORE"];
        render::table(headings, &done.chain(failed).collect::<Vec<_>>())
    })
}

fn cells(number: String, step: &StepView) -> [String; 9] {
    let tokens =
        |pick: fn(&uwf_engine::Usage) -> u64| step.usage.as_ref().map(pick).unwrap_or_default().to_string();
    let failed = step.previous_attempts.as_ref().map_or(0, Vec::len) as u64;
    let some = |count: u64| if count == 0 { String::new() } else { count.to_string() };
    [
        number,
        step.hash.to_string(),
        step.role.clone(),
        status(step),
        render::duration(step.duration_ms),
        tokens(|usage| usage.input_tokens),
        tokens(|usage| usage.output_tokens),
        some(step.failed_calls.unwrap_or_default()),
        some(failed),
    ]
}

fn status(step: &StepView) -> String {
    let status = record::status(&step.output).unwrap_or("?");
    match step.undone {
        None => status.to_owned(),
        Some("part") => format!("{status} (undone in part)"),
        Some(_) => format!("{status} (undone)"),
    }
}

pub(super) fn show(session: &mut Session<'_>, text: &str) -> Result<u8, CliError> {
    let (named, store) = (StepArgument::parse(text)?, session.store()?);
    let hash = named.find(&store)?;
    let step = thread::step_node(&store, &hash)?;
    let mut detail = expanded(&store, &step.detail)?;
    let artifacts = thread::artifacts_of(&store, &step)?;
    if let Value::Object(fields) = &mut detail
        && !artifacts.is_empty()
    {
        fields.entry(ARTIFACTS).or_insert_with(|| json!(artifacts));
    }
    session.ui.result(&detail, || {
        let took = render::duration(step.duration_ms());
        format!(
            "# step {hash}: {} by {}, {took}; detail {}\n{}",
            step.role,
            step.agent,
            step.detail,
            yaml::write(&detail)
        )
    })
}

/// A node's payload with the nodes it refers to in their places; what those refer to stays a hash.
fn expanded(store: &Store, hash: &Hash) -> Result<Value, CliError> {
    let refs: BTreeSet<Hash> = store.refs(hash)?.into_iter().collect();
    let mut payload = store.get(hash)?.payload;
    expand(store, &refs, &mut payload)?;
    Ok(payload)
}

fn expand(store: &Store, refs: &BTreeSet<Hash>, value: &mut Value) -> Result<(), CliError> {
    match value {
        Value::String(text) => {
            if let Some(hash) = text.parse().ok().filter(|hash| refs.contains(hash)) {
                let node = store.get(&hash)?;
                match node.type_ {
                    // What a workspace had is told by `step diff`.
                    TREE => {}
                    BLOB => *value = changes::text(store, &hash)?.into(),
                    _ => *value = node.payload,
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                expand(store, refs, item)?;
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                expand(store, refs, field)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn read(session: &mut Session<'_>, text: &str, quota: Option<usize>) -> Result<u8, CliError> {
    let (named, store) = (StepArgument::parse(text)?, session.store()?);
    let step = named.find(&store)?;
    let document = StepDocument { step, markdown: report::step(&store, &step, quota)? };
    session.ui.document(&document, &document.markdown)
}

fn prompt(session: &mut Session<'_>, text: &str) -> Result<u8, CliError> {
    let (named, store) = (StepArgument::parse(text)?, session.store()?);
    let step = named.find(&store)?;
    let node = thread::step_node(&store, &step)?;
    let prompt = match node.assembled_prompt {
        Some(prompt) => StepPrompt { step, prompt: store.get(&prompt)?.payload, hint: None },
        None => StepPrompt::missing(step, &node),
    };
    session.ui.document(&prompt, &prompt.text())
}

fn fork(session: &mut Session<'_>, text: &str, worktree: Option<&Path>) -> Result<u8, CliError> {
    let named = StepArgument::parse(text)?;
    let store = session.store()?;
    let Some(dir) = worktree else {
        let node = named.find(&store)?;
        return fork_at(session, &node);
    };
    let step = named.in_thread(&store)?;
    step.works_where_its_thread_does(&store)?;
    utf8(session.cwd.join(dir))?;
    let cwd = utf8(checkout::write(session, &store, &step, (dir, CheckoutMoment::After))?.dir)?;
    let thread = thread::fork_into(&store, &step.hash, &cwd)?;
    told(session, ThreadForked { thread, forked_from: ForkedFrom { step: step.hash }, cwd: Some(cwd) })
}

/// A new thread with that head.
pub(super) fn fork_at(session: &mut Session<'_>, node: &Hash) -> Result<u8, CliError> {
    let thread = thread::fork(&session.store()?, node)?;
    told(session, ThreadForked { thread, forked_from: ForkedFrom { step: *node }, cwd: None })
}

fn told(session: &mut Session<'_>, forked: ThreadForked) -> Result<u8, CliError> {
    session.ui.result(&forked, || format!("{}\n", forked.thread))
}
