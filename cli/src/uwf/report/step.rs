//! A step as a report: how it came out, what was done, then the conversation.

use std::collections::BTreeMap;

use serde_json::Value;
use uwf_store::{Hash, Store, excerpt};
use uwf_workflow::markdown::code_span;

use super::{RESULT_LINES, answered, asked, calls, cut, facts, skipped, status, summary_line};
use crate::shell::CliError;
use crate::shell::render::{self, fenced, quotation};
use uwf_engine::record::{Detail, RecordedCall, Turn};
use uwf_engine::thread::{self, StepNode};

/// How many characters of what a call is about are shown in its line, and of why it failed.
const ABOUT: usize = 80;
const WHY: usize = 160;

/// The arguments that say best what a call is about.
const TELLING: [&str; 6] = ["description", "path", "command", "pattern", "query", "url"];

/// A step: how it came out, what was done, what was asked, and what was said turn by turn where its record keeps turns.
/// The opening messages are told apart.
pub(in crate::uwf) fn step(store: &Store, hash: &Hash, quota: Option<usize>) -> Result<String, CliError> {
    let step = thread::step_node(store, hash)?;
    let output = store.get(&step.output)?.payload;
    let conversation = Detail::read(store, &step.detail)?.conversation(store)?;
    let head = format!(
        "# Step `{hash}`\n\n{}**Role:** {} | **Status:** {}\n\n{}{}{}{}{}",
        summary_line(hash, &step),
        step.role,
        status(&output),
        facts(store, &step),
        calls::below(store, "", &step)?,
        answered(store, &step, &output)?,
        done(&conversation),
        asked(&step) + &opening(hash, &step),
    );
    let turns = turns(&conversation);
    let Some(quota) = quota else { return Ok(head + &turns.concat()) };
    let whole = format!("uwf step read {hash} --quota 0");
    let used = head.chars().count();
    if used > quota {
        return Ok(cut::to(&head, quota, &whole));
    }
    let room = quota - used;
    let skipped = skipped(&turns, Some(room));
    let gap = match skipped {
        0 => String::new(),
        count => format!("\n*({count} earlier turns left out: `{whole}`)*\n"),
    };
    Ok(head + &gap + &cut::to(&turns[skipped..].concat(), room, &whole))
}

/// Where the opening messages are, as they were sent.
fn opening(hash: &Hash, step: &StepNode) -> String {
    match step.assembled_prompt {
        Some(_) => format!("\n*(the opening messages as they were sent: `uwf step read {hash} --prompt`)*\n"),
        None => String::new(),
    }
}

/// The calls of tools, a line each; nothing where there were none.
fn done(conversation: &[Turn]) -> String {
    let result = |call: &RecordedCall| {
        let is_its = |turn: &&Turn| call.id.is_some() && turn.call_id == call.id;
        conversation.iter().find(is_its)
    };
    let line = |call: &RecordedCall| {
        let (name, about) = (call.name.as_deref().unwrap_or("?"), about(call));
        match result(call).filter(|result| failed(result).is_some()) {
            Some(result) => format!("- ✗ `{name}`{about}: {}\n", why(result)),
            None => format!("- ✓ `{name}`{about}\n"),
        }
    };
    let lines: String = conversation.iter().flat_map(Turn::calls).map(line).collect();
    if lines.is_empty() { lines } else { format!("\n**Done:**\n\n{lines}") }
}

/// What a call is about, by its arguments: a path, a command, or whatever text is the first.
fn about(call: &RecordedCall) -> String {
    let args: Value =
        call.args.as_deref().and_then(|args| serde_json::from_str(args).ok()).unwrap_or_default();
    let named = TELLING.iter().find_map(|name| args[*name].as_str());
    let first = || args.as_object()?.values().find_map(Value::as_str);
    let text = named.or_else(first).unwrap_or_default();
    let line = text.trim().lines().next().unwrap_or_default();
    if line.is_empty() {
        String::new()
    } else {
        format!(" {}", code_span(&render::name(&excerpt(line, ABOUT))))
    }
}

/// Why a call failed: its exit code, and the first line of what came back.
fn why(result: &Turn) -> String {
    let content = result.content.as_deref().unwrap_or_default().trim();
    // Without any output, a command's result is how it ended.
    let line = content.lines().next().filter(|line| !line.starts_with("(exit code")).unwrap_or_default();
    let line = render::name(&excerpt(line, WHY));
    match (failed(result).unwrap_or_default(), line.is_empty()) {
        (failed, true) => failed,
        (failed, false) => format!(
            "{}{line}",
            failed.strip_prefix("failed, ").map(|code| format!("{code}: ")).unwrap_or_default()
        ),
    }
}

/// That a call failed, and how.
fn failed(turn: &Turn) -> Option<String> {
    let code = turn.exit_code.filter(|&code| code != 0);
    match (turn.failed, code) {
        // Older records have the code alone.
        (Some(true) | None, Some(code)) => Some(format!("failed, exit code {code}")),
        (Some(true), None) => Some("failed".to_owned()),
        _ => None,
    }
}

/// The conversation of a step, one section a message, without its opening; empty for records of another shape.
fn turns(conversation: &[Turn]) -> Vec<String> {
    let calls = conversation.iter().flat_map(Turn::calls);
    let names: BTreeMap<&str, &str> =
        calls.filter_map(|call| Some((call.id.as_deref()?, call.name.as_deref()?))).collect();
    let heading = |turn: &Turn| {
        let name = turn.call_id.as_deref().and_then(|id| names.get(id));
        heading(turn, name.copied())
    };
    // A turn goes by its number everywhere.
    let numbered = (1..).zip(conversation).filter(|(_, turn)| turn.kind.as_deref() != Some("opening"));
    numbered.map(|(number, turn)| turn_section(number, turn, &heading(turn))).collect()
}

fn role(turn: &Turn) -> &str {
    turn.role.as_deref().unwrap_or("?")
}

/// Who says it and why; of a result also the tool, and whether the call failed.
fn heading(turn: &Turn, tool: Option<&str>) -> String {
    let role = role(turn);
    let kind = turn.kind.as_deref().filter(|kind| *kind != role).map(|kind| format!(" ({kind})"));
    let about: Vec<String> = tool.map(|name| format!("`{name}`")).into_iter().chain(failed(turn)).collect();
    let about = if about.is_empty() { String::new() } else { format!(": {}", about.join(" ")) };
    format!("{role}{}{about}", kind.unwrap_or_default())
}

fn turn_section(number: usize, turn: &Turn, heading: &str) -> String {
    let mut text = format!("\n## {number}. {heading}\n");
    if let Some(reasoning) = turn.reasoning.as_deref().filter(|reasoning| !reasoning.trim().is_empty()) {
        text += &format!("\n*Reasoning:*\n\n{}", quotation(reasoning));
    }
    let content = turn.content.as_deref().unwrap_or_default().trim();
    if role(turn) == "tool" {
        text += &format!("\n{}", fenced("", &shortened(content)));
    } else if content.starts_with("---") {
        // Unfenced, a renderer would take it for a rule or a heading.
        text += &format!("\n{}", fenced("", content));
    } else if !content.is_empty() {
        text += &format!("\n{content}\n");
    }
    for call in turn.calls() {
        let (name, args) = (call.name.as_deref().unwrap_or("?"), call.args.as_deref().unwrap_or_default());
        text += &format!("\n**Calls** `{name}`\n\n{}", fenced("json", args));
    }
    text
}

/// The first lines and how many were left out.
fn shortened(text: &str) -> String {
    let count = text.lines().count();
    if count <= RESULT_LINES {
        return text.to_owned();
    }
    let kept: Vec<&str> = text.lines().take(RESULT_LINES).collect();
    format!("{}\n… {} more lines", kept.join("\n"), count - RESULT_LINES)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_names_its_tool_and_whether_it_failed() {
        let of = |failed: Value, code: Value, tool: Option<&str>| {
            let turn = json!({"role": "tool", "kind": "result", "failed": failed, "exitCode": code});
            heading(&Turn::of(turn), tool)
        };
        for (failed, code, said) in [
            (json!(false), json!(0), ": `x`"),
            (json!(true), json!(null), ": `x` failed"),
            (json!(true), json!(3), ": `x` failed, exit code 3"),
            // A record of the older type.
            (json!(null), json!(3), ": `x` failed, exit code 3"),
            (json!(null), json!(0), ": `x`"),
            (json!(null), json!(null), ": `x`"),
        ] {
            assert_eq!(of(failed, code, Some("x")), format!("tool (result){said}"));
        }
        assert_eq!(of(json!(true), json!(null), None), "tool (result): failed");
        let turn = Turn::of(json!({"role": "assistant", "kind": "turn"}));
        assert_eq!(heading(&turn, None), "assistant (turn)");
    }
}
