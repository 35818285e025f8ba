//! `uwf step …`

mod ask;
mod diff;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use uwf_snapshot::TREE;
use uwf_store::{BLOB, Hash, Store};
use uwf_workflow::{ARTIFACTS, yaml};

pub(super) use self::diff::changes_of;
use super::args::StepCommand;
use super::checkout::{self, CheckoutMoment};
use super::{changes, report, utf8};
use crate::names::StepArgument;
use crate::shell::{CliError, Column, Format, Session, render};
use uwf_engine::record;
use uwf_engine::thread::{self, SummaryPlace, ThreadError, ThreadId, ThreadOptions};
use uwf_engine::view::{
    ForkedFrom, ListedNode, PlayedBy, StepDocument, StepPrompt, StepView, StepsPage, ThreadForked,
    ThreadSteps, Unread,
};

pub(super) fn run(session: &mut Session<'_>, command: StepCommand) -> Result<u8, CliError> {
    match command {
        StepCommand::List { thread, before, take } => list(session, &thread, before.as_deref(), take),
        StepCommand::Show { step } => show(session, &step),
        StepCommand::Read { step, prompt: true, .. } => prompt(session, &step),
        StepCommand::Read { step, quota, .. } => read(session, &step, quota.filter(|quota| *quota > 0)),
        StepCommand::Fork { step, worktree } => fork(session, &step, worktree.as_deref()),
        StepCommand::Ask(question) => ask::ask(session, &question),
        StepCommand::Diff { step, shape } => diff::diff(session, &step, shape),
    }
}

/// Lists the steps of a thread, or those of a page: before a step as typed, so many at most.
pub(super) fn list(
    session: &mut Session<'_>,
    thread: &str,
    before: Option<&str>,
    take: Option<u32>,
) -> Result<u8, CliError> {
    let (thread, named) =
        (session.thread_id(thread)?, before.map(|step| session.step_argument(step)).transpose()?);
    if let Some(other) = named.and_then(StepArgument::thread).filter(|other| *other != thread) {
        let error = format!("{} names a step of thread {other}", before.unwrap_or_default());
        return Err(CliError::user(format!("{error}, and the steps of thread {thread} are to be listed"))
            .with_hint(format!("name a step of that thread: its hash, or {thread}:n")));
    }
    let store = session.store()?;
    let before = named.map(|named| named.find(&store)).transpose()?;
    let page = StepsPage { before, take: take.and_then(|take| take.try_into().ok()) };
    let (listed, unread) = ThreadSteps::of(&store, &thread, &page)?;
    for Unread { what, list, error } in unread {
        session.ui.warn(&format!("{what} in {list} cannot be read: {error}"));
    }
    let exit = session.ui.result(&listed, || {
        let numbers = PageNumbers::of(&listed, named);
        let steps = listed.steps.iter().enumerate();
        let done = steps.filter_map(|(at, node)| match node {
            ListedNode::Start(_) => None,
            ListedNode::Step(step) => Some(cells(numbers.number(at), step)),
        });
        let failed = listed.failed.iter().map(|step| cells("-".to_owned(), step));
        render::table(COLUMNS, &done.chain(failed).collect::<Vec<_>>())
    })?;
    let is_step = |node: &ListedNode| matches!(node, ListedNode::Step(_));
    if !listed.steps.iter().any(is_step) && listed.failed.is_empty() && session.terminals.out {
        session.ui.note(&format!("no steps yet; `uwf thread exec {thread}` makes one"));
    }
    if let (Some(first), Some(take), Format::Text) = (listed.earlier, take, session.ui.format) {
        session.ui.note(&format!(
            "the steps before these: `uwf step list {thread} --before {first} --take {take}`"
        ));
    }
    Ok(exit)
}

/// How the steps of a page are numbered, as far as that can be told without walking to the start.
enum PageNumbers {
    /// From the start: that of the node at place 0.
    FromStart(usize),
    /// From the end: that of the node at place 0.
    FromEnd(usize),
    Unknown,
}

impl PageNumbers {
    fn of(listed: &ThreadSteps, before: Option<StepArgument>) -> PageNumbers {
        let count = listed.steps.len();
        match (listed.earlier, before) {
            (None, _) => PageNumbers::FromStart(0),
            (Some(_), None) => PageNumbers::FromEnd(count),
            (Some(_), Some(StepArgument::Number(_, before))) => PageNumbers::FromStart(before - count),
            (Some(_), Some(StepArgument::FromEnd(_, before))) => PageNumbers::FromEnd(before + count),
            (Some(_), Some(StepArgument::Hash(_))) => PageNumbers::Unknown,
        }
    }

    fn number(&self, at: usize) -> String {
        match self {
            PageNumbers::FromStart(first) => (first + at).to_string(),
            PageNumbers::FromEnd(first) => format!("-{}", first - at),
            PageNumbers::Unknown => String::new(),
        }
    }
}

const COLUMNS: [Column; 12] = [
    Column::new("#"),
    Column::new("STEP").rank(3),
    Column::new("ROLE").rank(1),
    Column::new("STATUS").status().rank(2),
    Column::new("DURATION").rank(5),
    Column::new("TURNS").rank(6),
    Column::new("MODEL").rank(7),
    Column::new("TOKENS IN").rank(8),
    Column::new("OUT").rank(9),
    Column::new("COST").rank(4),
    Column::new("FAILED CALLS").rank(10),
    Column::new("FAILED BEFORE").rank(11),
];

fn cells(number: String, step: &StepView) -> [String; 12] {
    let told = |pick: fn(&uwf_engine::Usage) -> u64| {
        step.usage.as_ref().map(|usage| pick(usage).to_string()).unwrap_or_default()
    };
    let failed = step.previous_attempts.as_ref().map_or(0, Vec::len) as u64;
    let some = |count: u64| if count == 0 { String::new() } else { count.to_string() };
    [
        number,
        step.hash.to_string(),
        step.role.clone(),
        status(step),
        render::duration(step.duration_ms),
        told(|usage| usage.turns),
        step.model.clone().unwrap_or_default(),
        told(|usage| usage.input_tokens),
        told(|usage| usage.output_tokens),
        render::cost(step.cost, 0),
        some(step.failed_calls.unwrap_or_default()),
        some(failed),
    ]
}

fn status(step: &StepView) -> String {
    let status = record::status(&step.output).unwrap_or("-");
    let undone = match step.undone {
        None => "",
        Some("part") => " (undone in part)",
        Some(_) => " (undone)",
    };
    let summary = if step.compact.is_some() { " (after a summary)" } else { "" };
    format!("{status}{undone}{summary}")
}

pub(super) fn show(session: &mut Session<'_>, text: &str) -> Result<u8, CliError> {
    let (named, store) = (session.step_argument(text)?, session.store()?);
    let hash = named.find(&store)?;
    let step = thread::step_node(&store, &hash)?;
    let mut detail = expanded(&store, &step.detail)?;
    let artifacts = thread::artifacts_of(&store, &step)?;
    if let Value::Object(fields) = &mut detail
        && !artifacts.is_empty()
    {
        fields.entry(ARTIFACTS).or_insert_with(|| json!(artifacts));
    }
    let played = PlayedBy::of(&store, &step)?.map(played_by).unwrap_or_default();
    session.ui.result(&detail, || {
        let took = render::duration(step.duration_ms());
        let summary = SummaryPlace::of(&hash, &step)
            .map(|place| format!("# after the summary {}{}\n", place.summary, by(&place)))
            .unwrap_or_default();
        format!(
            "# step {hash}: {} by {}, {took}; detail {}\n{summary}{played}{}",
            step.role,
            step.agent,
            step.detail,
            yaml::write(&detail)
        )
    })
}

/// That another thread made the step: what follows is the last step of that.
fn played_by(PlayedBy { workflow, thread }: PlayedBy) -> String {
    match thread {
        Some(thread) => format!(
            "# played by workflow `{workflow}` in thread {thread} (`uwf step list {thread}`), the last step of which this is\n"
        ),
        None => format!(
            "# played by workflow `{workflow}`, in a thread that was removed; this is its last step\n"
        ),
    }
}

/// Who made a summary.
pub(super) fn by(place: &SummaryPlace) -> String {
    place.by.map(|by| format!(", made by {by}")).unwrap_or_default()
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
    let (named, store) = (session.step_argument(text)?, session.store()?);
    let step = named.find(&store)?;
    let document = StepDocument { step, markdown: report::step(&store, &step, quota)? };
    session.ui.document(&document, &document.markdown)
}

fn prompt(session: &mut Session<'_>, text: &str) -> Result<u8, CliError> {
    let (named, store) = (session.step_argument(text)?, session.store()?);
    let step = named.find(&store)?;
    let node = thread::step_node(&store, &step)?;
    let prompt = match node.assembled_prompt {
        Some(prompt) => StepPrompt { step, prompt: store.get(&prompt)?.payload, hint: None },
        None => StepPrompt::missing(&store, step, &node)?,
    };
    session.ui.document(&prompt, &prompt.text())
}

fn fork(session: &mut Session<'_>, text: &str, worktree: Option<&Path>) -> Result<u8, CliError> {
    let named = session.step_argument(text)?;
    let store = session.store()?;
    let Some(dir) = worktree else {
        let node = named.find(&store)?;
        return fork_at(session, &node, named.thread());
    };
    let step = named.in_thread(&store)?;
    step.works_where_its_thread_does(&store)?;
    utf8(session.cwd.join(dir))?;
    let cwd = utf8(checkout::write(session, &store, &step, (dir, CheckoutMoment::After))?.dir)?;
    let options = inherited(&store, &step.hash, named.thread())?;
    let thread = thread::fork_into(&store, &step.hash, &cwd)?;
    thread::keep_options(&store, &thread, &options)?;
    told(session, ThreadForked { thread, forked_from: ForkedFrom { step: step.hash }, cwd: Some(cwd) })
}

/// The options that were chosen for what a fork is made from: a thread if that is known.
fn inherited(store: &Store, node: &Hash, from: Option<ThreadId>) -> Result<ThreadOptions, ThreadError> {
    match from {
        Some(from) => thread::options(store, &from),
        None => thread::options_of_node(store, node),
    }
}

/// A new thread with that head, made from a thread if that is known.
pub(super) fn fork_at(
    session: &mut Session<'_>,
    node: &Hash,
    from: Option<ThreadId>,
) -> Result<u8, CliError> {
    let store = session.store()?;
    let options = inherited(&store, node, from)?;
    let thread = thread::fork(&store, node)?;
    thread::keep_options(&store, &thread, &options)?;
    told(session, ThreadForked { thread, forked_from: ForkedFrom { step: *node }, cwd: None })
}

fn told(session: &mut Session<'_>, forked: ThreadForked) -> Result<u8, CliError> {
    session.ui.made(forked.thread.as_str(), &forked, || format!("{}\n", forked.thread))
}
