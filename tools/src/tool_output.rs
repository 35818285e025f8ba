//! `tool_output`: the full output of an earlier call, by its hash.
//!
//! What a command printed beyond what was shown is a file of this run, named after its hash; what an earlier run kept
//! is found by whoever opened the toolbox ([`crate::Outputs`]). It never reads a file by a path that a model gave.

use std::fs::File;
use std::io::{self, Read};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::{Facts, ToolOutput};
use crate::limits::{count, thousands};
use crate::outputs;
use crate::page::{self, Page, PageRequest};
use crate::read_file;
use crate::tool::{ToolContext, WorkspaceTool};

/// What is said of an output that is not all text.
const NOT_UTF8: &str = "not valid UTF-8: bytes shown as \u{FFFD} are others";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolOutputArgs {
    /// The 13 characters given where output was omitted
    hash: String,
    /// First line, from 1 (default 1)
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// Number of lines (default and most: 2000)
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

/// Why an output is not shown.
#[derive(Debug, thiserror::Error)]
enum OutputError {
    #[error(
        "there is no output `{hash}`: give the hash of a mark `[… omitted; read them with tool_output hash=…]`"
    )]
    Unknown { hash: String },
    #[error("line {offset} is past the end: the output has {}", count(*.lines, "line"))]
    PastEnd { offset: u64, lines: u64 },
    #[error("could not read the output `{hash}`: {source}")]
    Io { hash: String, source: io::Error },
}

pub(crate) fn tool() -> WorkspaceTool {
    let refused = |args: &ToolOutputArgs| format!("output {}: not shown", args.hash);
    WorkspaceTool::new("tool_output", include_str!("tool_output.md"), true, refused, read)
}

fn read(args: &ToolOutputArgs, context: &ToolContext) -> Result<ToolOutput, OutputError> {
    let hash = args.hash.trim();
    let failed = |source| OutputError::Io { hash: hash.to_owned(), source };
    let stream = open(hash, context).map_err(failed)?;
    let stream = stream.ok_or_else(|| OutputError::Unknown { hash: hash.to_owned() })?;
    let wanted = PageRequest::new((args.offset, args.limit), context.limits, true);
    let page = page::read(stream, wanted, context.limits, || context.deadline.may_go_on()).map_err(failed)?;
    if let Some(output) = read_file::cut_off(("output", hash), wanted.offset, &page, context) {
        return Ok(output);
    }
    match page.is_past(wanted.offset) {
        Some(lines) => Err(OutputError::PastEnd { offset: wanted.offset, lines }),
        None => Ok(answer(hash, wanted.offset, &page, context)),
    }
}

/// The output of this run, else of an earlier one.
fn open<'c>(hash: &str, context: &'c ToolContext) -> io::Result<Option<Box<dyn Read + 'c>>> {
    if hash.is_empty() || !hash.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(None);
    }
    match File::open(outputs::file(context.shell.spool_dir(), hash)) {
        Ok(file) => Ok(Some(Box::new(file))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => context.shell.outputs().find(hash),
        Err(error) => Err(error),
    }
}

fn answer(hash: &str, first: u64, page: &Page, context: &ToolContext) -> ToolOutput {
    let title = format!("output {hash} (lines {}–{})", thousands(first), thousands(page.last(first)));
    let facts = Facts { truncated: page.is_truncated(first), ..context.deadline.facts() };
    ToolOutput { facts, ..ToolOutput::done(title, read_file::text(first, page, context, NOT_UTF8)) }
}

#[cfg(test)]
#[path = "tool_output_tests.rs"]
mod tests;
