//! `write_file`: a file's content as a whole.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::{Facts, ToolOutput};
use crate::limits::{bytes, count};
use crate::line_ends;
use crate::page::{self, PageRequest};
use crate::read_file;
use crate::read_state::Digest;
use crate::replace::{CurrentFile, WriteTarget};
use crate::tool::{ToolContext, WorkspaceTool};
use crate::workspace::PathError;

const BOM: &str = "\u{FEFF}";

/// What a comment begins with, in the languages one meets.
const LEADERS: &[&str] = &["//", "/*", "<!--", "--", "#", ";", "%", "*", "{/*", "\"\"\"", "'"];
/// What a model writes in the place of code it left out.
const LEFT_OUT: &[&str] =
    &["rest of", "existing", "remain", "unchanged", "same as before", "previous", "as before"];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFileArgs {
    /// File, relative to the workspace
    path: String,
    /// The complete content
    content: String,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(
        "nothing was written: line {line} (`{text}`) stands for content left out, and `{path}` has lines that would be \
         lost. Give the complete content, or change parts with edit_file (also to add such a line on purpose)"
    )]
    Placeholder { path: String, line: usize, text: String },
}

pub(crate) fn tool() -> WorkspaceTool {
    let refused = |args: &WriteFileArgs| format!("write {}: not done", args.path);
    WorkspaceTool::new("write_file", include_str!("write_file.md"), false, refused, write)
}

fn write(args: &WriteFileArgs, context: &ToolContext) -> Result<ToolOutput, WriteError> {
    context.change_file(&args.path, |target, present| match present {
        None => put(target, None, args.content.clone(), context),
        Some(present) => replace(args, target, &present, context),
    })
}

fn replace(
    args: &WriteFileArgs,
    target: &WriteTarget,
    present: &CurrentFile,
    context: &ToolContext,
) -> Result<ToolOutput, WriteError> {
    let old = std::str::from_utf8(&present.content).ok();
    let content = old.map_or_else(|| args.content.clone(), |old| with_ends_of(old, &args.content));
    if content.as_bytes() == present.content {
        return Ok(unchanged(args, target.real, &content, context));
    }
    let digest = Digest::of(&present.content);
    if !present.content.is_empty() && !context.read_states.is_whole(target.real, digest) {
        return Ok(unseen(args, target.real, &present.content, context));
    }
    if let Some((line, text)) = old.and_then(|old| placeholder(old, &content)) {
        return Err(WriteError::Placeholder { path: args.path.clone(), line, text: text.to_owned() });
    }
    put(target, Some(present), content, context)
}

fn put(
    target: &WriteTarget,
    present: Option<&CurrentFile>,
    content: String,
    context: &ToolContext,
) -> Result<ToolOutput, WriteError> {
    context.before_writing(target.path)?;
    let written = target.store(present, content.as_bytes())?;
    let (path, done) = (target.path, if present.is_some() { "replaced" } else { "created" });
    let size = format!("{}, {}", bytes(content.len() as u64), count(content.lines().count() as u64, "line"));
    let mut text = format!("{done} {path} ({size})");
    for note in written.note().into_iter().chain(kept(present, &content)) {
        text.push_str(&format!("; {note}"));
    }
    let read_state = context.read_states.whole(target.real, Digest::of(content.as_bytes()));
    let facts = target.facts(present, content, read_state);
    Ok(ToolOutput { facts, ..ToolOutput::done(format!("{done} {path} ({size})"), text) })
}

/// The new content with the byte order mark and the line ends of the old one, when it brings none of its own: the model
/// was never shown them, and lines it did not mean to change must not change.
fn with_ends_of(old: &str, new: &str) -> String {
    let (bom, old) = old.strip_prefix(BOM).map_or(("", old), |rest| (BOM, rest));
    let new = new.strip_prefix(BOM).unwrap_or(new);
    let keep_ends = old.contains("\r\n") && !new.contains("\r\n");
    let text = if keep_ends { line_ends::like(old, new) } else { new.to_owned() };
    format!("{bom}{text}")
}

fn kept(present: Option<&CurrentFile>, content: &str) -> Option<String> {
    let old = present?;
    let crlf = old.content.windows(2).any(|pair| pair == b"\r\n") && content.contains("\r\n");
    let bom = old.content.starts_with(BOM.as_bytes());
    match (crlf, bom) {
        (false, false) => None,
        (true, false) => Some("CR LF line ends kept".to_owned()),
        (false, true) => Some("byte order mark kept".to_owned()),
        (true, true) => Some("CR LF line ends and byte order mark kept".to_owned()),
    }
}

fn unchanged(args: &WriteFileArgs, real: &Path, content: &str, context: &ToolContext) -> ToolOutput {
    let read_state = context.read_states.whole(real, Digest::of(content.as_bytes()));
    let text = format!("{} already has this content; nothing was written", args.path);
    let facts = Facts { read_state: Some(read_state), ..Facts::default() };
    ToolOutput { facts, ..ToolOutput::done(format!("write {} (no change)", args.path), text) }
}

/// The refusal shows the file, and so is the read that was missing.
fn unseen(args: &WriteFileArgs, real: &Path, present: &[u8], context: &ToolContext) -> ToolOutput {
    let read_state = context.read_states.whole(real, Digest::of(present));
    let exists =
        format!("nothing was written: {} exists with content that was not read whole in this run", args.path);
    let text = match read_file::binary_kind(present) {
        // edit_file would refuse it.
        Some(kind) => format!(
            "{exists}. Call write_file again to replace it.\n(binary: {kind}, {})",
            bytes(present.len() as u64)
        ),
        None => format!(
            "{exists}. It is shown here; call write_file again to replace it, or edit_file to change parts.\n{}",
            show(present, context)
        ),
    };
    let facts = Facts { read_state: Some(read_state), ..Facts::default() };
    ToolOutput { facts, ..ToolOutput::error(format!("write {}: not read before", args.path), text) }
}

fn show(present: &[u8], context: &ToolContext) -> String {
    let wanted = PageRequest::new((None, None), context.limits, true);
    match page::read(present, wanted, context.limits, || true) {
        Ok(page) => read_file::text(1, &page, context, read_file::NOT_UTF8),
        Err(error) => format!("(it cannot be shown: {error})"),
    }
}

/// The first line of `new` that stands for left-out content, when it is not in `old` and lines of `old` would be lost.
fn placeholder<'a>(old: &str, new: &'a str) -> Option<(usize, &'a str)> {
    let new_lines: std::collections::HashSet<&str> = new.lines().map(str::trim).collect();
    let old_lines: std::collections::HashSet<&str> = old.lines().map(str::trim).collect();
    let loses = old_lines.iter().any(|line| !line.is_empty() && !new_lines.contains(line));
    let mut lines = new.lines().map(str::trim).enumerate().map(|(at, line)| (at + 1, line));
    lines.find(|(_, line)| loses && stands_for_more(line) && !old_lines.contains(line))
}

/// `// ... rest of the code`, `# (existing code) …` and the like: an ellipsis first and such words after it, or a
/// comment that begins with such words and ends with an ellipsis.
fn stands_for_more(line: &str) -> bool {
    let comment = LEADERS.iter().find_map(|leader| line.strip_prefix(leader));
    let body = comment.unwrap_or(line).trim_start_matches(|c: char| c.is_whitespace() || "([{<*".contains(c));
    let body = body.to_lowercase();
    if body.starts_with("...") || body.starts_with('…') {
        return LEFT_OUT.iter().any(|words| body.contains(words));
    }
    let body = body.trim_end_matches(|c: char| c.is_whitespace() || ")]}>*/-".contains(c));
    let trails_off = body.ends_with("...") || body.ends_with('…');
    comment.is_some() && trails_off && LEFT_OUT.iter().any(|words| body.starts_with(words))
}

#[cfg(test)]
#[path = "write_file_tests.rs"]
mod tests;
