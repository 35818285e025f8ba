//! `read_file`: a page of a text file, with line numbers.

use std::fmt::Write as _;
use std::io::{Cursor, Read};
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::{Facts, ToolOutput};
use crate::call_deadline::Interruption;
use crate::limits::{bytes, count, thousands};
use crate::page::{self, Page, PageRequest};
use crate::read_state::ShownLines;
use crate::tool::{ToolContext, WorkspaceTool};
use crate::workspace::PathError;

/// Where a NUL byte makes a file count as binary.
const LOOKED_AT: u64 = 8 * 1024;

/// What is said of a file that is not all text.
pub(crate) const NOT_UTF8: &str =
    "not valid UTF-8: bytes shown as \u{FFFD} are others, and edit_file refuses this file";

/// Files that are known by how they begin.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG", "a PNG image"),
    (b"\xFF\xD8\xFF", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1F\x8B", "gzip data"),
    (b"\x28\xB5\x2F\xFD", "Zstandard data"),
    (b"\xFD7zXZ", "xz data"),
    (b"\x7FELF", "an ELF program or library"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\0asm", "a WebAssembly module"),
    (b"\xFF\xFE", "UTF-16 text"),
    (b"\xFE\xFF", "UTF-16 text"),
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFileArgs {
    /// File, relative to the workspace
    path: String,
    /// First line, from 1 (default 1)
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// Number of lines (default and most: 2000)
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

/// Why a file is not shown.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("`{path}` is binary ({kind}, {}) and cannot be shown as text", bytes(*.size))]
    Binary { path: String, kind: &'static str, size: u64 },
    #[error("line {offset} is past the end: `{path}` has {}", count(*.lines, "line"))]
    PastEnd { path: String, offset: u64, lines: u64 },
}

pub(crate) fn tool() -> WorkspaceTool {
    let refused = |args: &ReadFileArgs| format!("read {}: not done", args.path);
    WorkspaceTool::new("read_file", include_str!("read_file.md"), true, refused, read)
}

fn read(args: &ReadFileArgs, context: &ToolContext) -> Result<ToolOutput, ReadError> {
    let path = &args.path;
    let mut open = context.workspace.open_file(path)?;
    let size = open.len();
    let to_end = size <= context.limits.whole_file_bytes;
    let wanted = PageRequest::new((args.offset, args.limit), context.limits, to_end);
    let mut head = Vec::new();
    let failed = |source| PathError::io("read", path, source);
    open.file.by_ref().take(LOOKED_AT).read_to_end(&mut head).map_err(failed)?;
    if let Some(kind) = binary_kind(&head) {
        return Err(ReadError::Binary { path: path.clone(), kind, size });
    }
    let stream = Cursor::new(head).chain(open.file);
    let page = page::read(stream, wanted, context.limits, || context.deadline.may_go_on()).map_err(failed)?;
    if let Some(output) = cut_off(("read", path), wanted.offset, &page, context) {
        return Ok(output);
    }
    match page.is_past(wanted.offset) {
        Some(lines) => Err(ReadError::PastEnd { path: path.clone(), offset: wanted.offset, lines }),
        None => Ok(answer(path, &open.real, wanted.offset, &page, context)),
    }
}

fn answer(path: &str, real: &Path, first: u64, page: &Page, context: &ToolContext) -> ToolOutput {
    let last = page.last(first);
    let shown = |(total, digest)| context.read_states.shown(real, digest, ShownLines { first, last, total });
    let truncated = page.is_truncated(first);
    let facts = Facts { truncated, read_state: page.end.map(shown), ..context.deadline.facts() };
    let title = format!("read {path} ({})", count(page.lines, "line"));
    ToolOutput { facts, ..ToolOutput::done(title, text(first, page, context, NOT_UTF8)) }
}

/// A page with its end. `not_utf8` is said where it shows bytes that are none.
pub(crate) fn text(first: u64, page: &Page, context: &ToolContext, not_utf8: &str) -> String {
    format!("{}{}", page.text, footer(first, page, context, not_utf8))
}

/// What a page ends with: where it stands in the file, and how to go on.
fn footer(first: u64, page: &Page, context: &ToolContext, not_utf8: &str) -> String {
    let last = page.last(first);
    let mut text = match page.end {
        Some((total, _)) if last >= total => format!("(end of file, {}", count(total, "line")),
        Some((total, _)) => {
            format!("(lines {first}–{last} of {}; continue with offset={}", thousands(total), last + 1)
        }
        None => format!("(lines {first}–{last}; continue with offset={}", last + 1),
    };
    if let Some(reason) = context.deadline.reason() {
        let _ = write!(text, "; {reason}, what follows was not looked at");
    }
    if page.crlf {
        text.push_str("; line ends are CR LF");
    }
    if page.lossy {
        let _ = write!(text, "; {not_utf8}");
    }
    text.push(')');
    text
}

/// What kind of binary data begins like this; `None` for text.
pub(crate) fn binary_kind(head: &[u8]) -> Option<&'static str> {
    let looked_at = &head[..head.len().min(LOOKED_AT as usize)];
    let has_nul = looked_at.contains(&0);
    if !has_nul && std::str::from_utf8(looked_at).is_ok() {
        return None;
    }
    let known = MAGIC.iter().find(|(magic, _)| looked_at.starts_with(magic)).map(|(_, kind)| *kind);
    known.or_else(|| has_nul.then_some("it holds NUL bytes"))
}

/// The answer of a call that had to end before it came to the page, or that nobody waits for any more.
pub(crate) fn cut_off(
    (verb, what): (&str, &str),
    offset: u64,
    page: &Page,
    context: &ToolContext,
) -> Option<ToolOutput> {
    let text = match context.deadline.interruption()? {
        Interruption::Cancelled => "cancelled".to_owned(),
        Interruption::OutOfTime if page.lines > 0 => return None,
        Interruption::OutOfTime => {
            let (lines, read) = page.passed;
            format!(
                "{} before line {} could be shown: {} in {} were passed. Give an earlier offset, or use run_command \
                 (`tail -c`, `grep -n`)",
                context.deadline.reason().unwrap_or_default(),
                thousands(offset),
                count(lines, "line"),
                bytes(read)
            )
        }
    };
    let facts = context.deadline.facts();
    Some(ToolOutput { facts, ..ToolOutput::error(format!("{verb} {what}: not done"), text) })
}

#[cfg(test)]
#[path = "read_file_tests.rs"]
mod tests;
