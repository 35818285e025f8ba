//! What happened, as a report in markdown: a thread with its steps, a step with its turns.
//!
//! For people first; nothing reads it back. Long tool results are shortened, outputs and answers never are.

mod calls;
mod cut;
mod step;

use serde_json::Value;
use uwf_store::{Hash, Store};
use uwf_workflow::frontmatter;
use uwf_workflow::moderator::Target;

pub(super) use self::step::step;
use crate::shell::{
    CliError,
    render::{artifact_in_markdown, cost, duration, quotation, time, usage, yaml_block},
};
use uwf_engine::conditions::Judge;
use uwf_engine::record;
use uwf_engine::thread::{self, Chain, Status, StepNode, SummaryPlace, ThreadId};
use uwf_engine::workflow::{self, Workflow};

/// How many lines of a tool's result are shown.
const RESULT_LINES: usize = 30;

/// Which part of a thread is reported.
pub(super) struct ReportRange {
    /// About so many characters: the last steps that fit.
    pub(super) quota: Option<usize>,
    /// Only the steps before this one.
    pub(super) before: Option<Hash>,
    /// Whether the thread's task comes first.
    pub(super) with_task: bool,
}

/// A thread from its task to where it stands.
pub(super) fn thread(
    store: &Store,
    thread: &ThreadId,
    range: &ReportRange,
    judge: Judge<'_>,
) -> Result<String, CliError> {
    let head = thread::head(store, thread)?;
    let chain = thread::chain(store, &head.hash)?;
    let workflow = workflow::get(store, &chain.start.workflow)?;
    let head = head.settled(store, &workflow, judge);
    let mut sections = Vec::new();
    if range.with_task {
        let called = calls::above(store, thread, &chain.start)?;
        sections.push(task_section(thread, &workflow, &chain, range.quota) + &called);
    }
    let mut steps = Vec::new();
    for (at, (hash, step)) in chain.steps[..end(&chain, thread, range)?].iter().enumerate() {
        steps.push(step_section(store, &(at + 1).to_string(), hash, step)?);
    }
    let status_section = if range.before.is_none() {
        status_section(store, (thread, &head), &workflow, judge)?
    } else {
        String::new()
    };
    let used: usize = sections.iter().chain([&status_section]).map(|section| section.chars().count()).sum();
    // What is left of the quota; at least a part of it, however long the task and the question are.
    let room = range.quota.map(|quota| quota.saturating_sub(used).max(quota / 4));
    let skipped = skipped(&steps, room);
    if skipped > 0 {
        let noun = if skipped == 1 { "step" } else { "steps" };
        let first = chain.steps[skipped].0;
        let load = format!("uwf thread read {thread} --before {first}");
        sections.push(format!(
            "*({skipped} earlier {noun}, load with `{load}`; all of them with `--quota 0`)*\n"
        ));
    }
    let shown = steps.into_iter().zip(&chain.steps).skip(skipped);
    sections.extend(shown.map(|(section, (hash, _))| match room {
        Some(room) => cut::to(&section, room, &format!("uwf step read {hash}")),
        None => section,
    }));
    sections.extend(Some(status_section).filter(|text| !text.is_empty()));
    Ok(sections.join("\n---\n\n"))
}

fn task_section(thread: &ThreadId, workflow: &Workflow, chain: &Chain, quota: Option<usize>) -> String {
    let task = chain.start.prompt.trim_end();
    let task = match task.char_indices().nth(quota.unwrap_or(usize::MAX)) {
        Some((end, _)) => {
            let left = task[end..].chars().count();
            let all = format!("uwf cas get {}", chain.start_hash);
            format!("{}…\n\n*({left} more characters of the task, load with `{all}`)*", &task[..end])
        }
        None => task.to_owned(),
    };
    format!(
        "# Thread `{thread}`\n\n**Workflow:** {} (`{}`) | **Started:** {} UTC | **Directory:** `{}`\n\n## Task\n\n{}\n",
        workflow.name,
        chain.start.workflow,
        time(thread.time_ms()),
        chain.start.cwd,
        task,
    )
}

/// How many of the chain's steps are before the one asked for.
fn end(chain: &Chain, thread: &ThreadId, range: &ReportRange) -> Result<usize, CliError> {
    let Some(before) = range.before else { return Ok(chain.steps.len()) };
    chain.steps.iter().position(|(hash, _)| *hash == before).ok_or_else(|| {
        CliError::user(format!("{before} is not a step of thread {thread}"))
            .with_hint(format!("`uwf step list {thread}` shows them"))
    })
}

/// How many of the first sections go, so that the last ones fit; the very last is always told.
fn skipped(sections: &[String], room: Option<usize>) -> usize {
    let Some(room) = room else { return 0 };
    let mut used = 0;
    let fits = |section: &&String| {
        used += section.chars().count();
        used <= room
    };
    let kept = sections.iter().rev().take_while(fits).count().max(1);
    sections.len().saturating_sub(kept)
}

fn step_section(store: &Store, number: &str, hash: &Hash, step: &StepNode) -> Result<String, CliError> {
    let output = store.get(&step.output)?.payload;
    let mut text = summary_line(hash, step);
    text +=
        &format!("## Step {number}: {} → {} `{hash}`\n\n{}", step.role, status(&output), facts(store, step));
    text += &asked(step);
    if let Some(attempts) = step.previous_attempts.as_deref().filter(|attempts| !attempts.is_empty()) {
        text += &format!("\n**Failed attempts before this one:**\n\n{}", attempt_lines(store, attempts)?);
    }
    text += &calls::below(store, number, step)?;
    Ok(text + &answered(store, step, &output)?)
}

/// That a summary stands before a step: roles are shown it in the place of what comes before here.
fn summary_line(hash: &Hash, step: &StepNode) -> String {
    let Some(place) = SummaryPlace::of(hash, step) else { return String::new() };
    let by = place.by.map(|by| format!(", made by `{by}`")).unwrap_or_default();
    format!("*(a summary of everything before this step: `uwf cas get {}`{by})*\n\n", place.summary)
}

fn status(output: &Value) -> &str {
    record::status(output).unwrap_or("-")
}

fn facts(store: &Store, step: &StepNode) -> String {
    // A record that cannot be read tells nothing.
    let detail = thread::detail_of(store, step).unwrap_or_default();
    let model = detail.model.as_deref().filter(|model| !model.is_empty());
    let model = model.map(|model| format!(" | **Model:** {model}")).unwrap_or_default();
    let cost = detail.cost.map(|usd| format!(", {}", cost(Some(usd), 0))).unwrap_or_default();
    let used =
        step.usage.as_ref().map(|used| format!(" | **Used:** {}{cost}", usage(used))).unwrap_or_default();
    let at = time(step.completed_at_ms);
    let took = duration(step.duration_ms());
    let failed = detail.failed_calls.filter(|&count| count > 0);
    let failed = failed.map(|count| format!(" | **Failed tool calls:** {count}")).unwrap_or_default();
    format!("**Agent:** {}{model} | **Time:** {at} UTC | **Duration:** {took}{used}{failed}\n", step.agent)
}

fn asked(step: &StepNode) -> String {
    if step.edge_prompt.trim().is_empty() {
        return String::new();
    }
    format!("\n**Asked:**\n\n{}", quotation(&step.edge_prompt))
}

fn answered(store: &Store, step: &StepNode, output: &Value) -> Result<String, CliError> {
    let mut text = format!("\n**Output:**\n\n{}", yaml_block(output));
    text += &kept(store, step)?;
    let answer = thread::answer_of(store, &step.detail)?;
    if let Some(body) = answer.as_deref().map(frontmatter::body).filter(|body| !body.is_empty()) {
        text += &format!("\n**Answer:**\n\n{body}\n");
    }
    Ok(text)
}

/// What is kept of a step; nothing where nothing is.
fn kept(store: &Store, step: &StepNode) -> Result<String, CliError> {
    let artifacts = thread::artifacts_of(store, step)?;
    if artifacts.is_empty() {
        return Ok(String::new());
    }
    let lines: String = artifacts.iter().map(|kept| format!("- {}\n", artifact_in_markdown(kept))).collect();
    Ok(format!("\n**Artifacts:**\n\n{lines}"))
}

fn attempt_lines(store: &Store, attempts: &[Hash]) -> Result<String, CliError> {
    let mut text = String::new();
    for hash in attempts {
        let step = thread::step_node(store, hash)?;
        let output = store.get(&step.output)?.payload;
        let phase = record::phase(&output).map(|phase| format!(" ({phase})")).unwrap_or_default();
        let error = record::error(&output).unwrap_or("no reason given");
        let mut lines = error.lines();
        text += &format!("- `{hash}`, {}{phase}: ", duration(step.duration_ms()));
        text += lines.next().unwrap_or_default();
        text += &lines.map(|line| format!("\n  {line}")).collect::<String>();
        text.push('\n');
    }
    Ok(text)
}

/// The last section: where the thread stands now.
fn status_section(
    store: &Store,
    (thread, head): (&ThreadId, &thread::Head),
    workflow: &Workflow,
    judge: Judge<'_>,
) -> Result<String, CliError> {
    let mut next = None;
    let mut text = match &head.status {
        Status::Suspended { role, message } => {
            format!("**Suspended:** {role} asks:\n\n{}", quotation(message))
        }
        Status::Ended { completed_at } => format!("**Ended** {} UTC\n", time(*completed_at)),
        Status::Cancelled { completed_at } => format!("**Cancelled** {} UTC\n", time(*completed_at)),
        Status::Idle => match thread::next(store, workflow, head, judge) {
            Ok(route) => match route.target {
                Target::Role(role) => format!("**Next:** {}\n", next.insert(role)),
                Target::End => "**Next:** the end\n".to_owned(),
                Target::Suspend => "**Next:** a question to you\n".to_owned(),
            },
            Err(error) => format!("**Next:** nobody: {error}\n"),
        },
    };
    let attempts = thread::retried(workflow, &head.status, next.as_deref()).map(|role| {
        let attempts = thread::failed_attempts(store, thread, &role)?;
        attempt_lines(store, &attempts)
    });
    let lines = attempts
        .map(|lines| lines.unwrap_or_else(|error| format!("they cannot be read: {}\n", error.message())));
    if let Some(lines) = lines.filter(|lines| !lines.is_empty()) {
        text += &format!("\n**Failed attempts so far:**\n\n{lines}");
    }
    Ok(text)
}
