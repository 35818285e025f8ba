//! `list_dir`: what is in a directory, as a tree.

use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::ToolOutput;
use crate::call_deadline::Interruption;
use crate::limits::{bytes, count};
use crate::open_flags::LOOK;
use crate::tool::{ToolContext, WorkspaceTool};
use crate::walk;
use crate::workspace::{PathError, WorkspaceDir, kind, kind_name, shown, size};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListDirArgs {
    /// Directory (default: the workspace)
    path: Option<String>,
    /// Levels (default 2)
    #[schemars(range(min = 1))]
    depth: Option<u64>,
    /// Also what .gitignore names (default false)
    ignored: Option<bool>,
}

pub(crate) fn tool() -> WorkspaceTool {
    let refused = |args: &ListDirArgs| format!("list {}: not done", args.path());
    WorkspaceTool::new("list_dir", include_str!("list_dir.md"), true, refused, list)
}

impl ListDirArgs {
    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

fn list(args: &ListDirArgs, context: &ToolContext) -> Result<ToolOutput, PathError> {
    let path = args.path();
    let (_, real) = context.workspace.open_dir(path)?;
    let (entries, all) = entries(&real, args, context);
    if context.deadline.interruption() == Some(Interruption::Cancelled) {
        let facts = context.deadline.facts();
        return Ok(ToolOutput { facts, ..ToolOutput::error(format!("list {path}: cancelled"), "cancelled") });
    }
    let mut text = String::new();
    for entry in &entries {
        if let Some(line) = line(context.workspace, &real, entry) {
            text.push_str(&line);
        }
    }
    let left_out = all - entries.len() as u64;
    if all == 0 {
        text.push_str("(nothing to show)");
    }
    if left_out > 0 {
        let _ = write!(text, "({} more; narrow with path)", crate::limits::thousands(left_out));
    }
    if let Some(reason) = context.deadline.reason() {
        let _ = write!(text, "\n({reason}: not all directories were listed; narrow with path or depth)");
    }
    let mut facts = context.deadline.facts();
    facts.truncated |= left_out > 0;
    let title = format!("list {path} ({})", count(all, "entry"));
    Ok(ToolOutput { facts, ..ToolOutput::done(title, text) })
}

/// An entry on its way through the heap: the deepest, and among those the last, goes first when there are too many.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct TreeEntry {
    depth: usize,
    path: PathBuf,
}

/// The entries to show, in the order of the tree, with paths below `real`; and how many there are.
fn entries(real: &Path, args: &ListDirArgs, context: &ToolContext) -> (Vec<PathBuf>, u64) {
    let root = context.workspace.path().join(real);
    let depth = args.depth.unwrap_or(context.limits.list_depth);
    let ignored = args.ignored.unwrap_or(false);
    let mut walk = WalkBuilder::new(&root);
    walk.standard_filters(!ignored).hidden(false).require_git(false);
    walk.max_depth(Some(usize::try_from(depth).unwrap_or(usize::MAX)));
    walk::guard(&mut walk, (context.workspace.path(), real), |entry| {
        entry.depth() < 2 || !entry.path().parent().is_some_and(|dir| dir.ends_with(".git"))
    });
    let mut heap = BinaryHeap::new();
    let mut all = 0;
    for entry in walk.build().flatten().filter(|entry| entry.depth() > 0) {
        if !context.deadline.may_go_on() {
            break;
        }
        let Ok(path) = entry.path().strip_prefix(&root) else { continue };
        all += 1;
        heap.push(TreeEntry { depth: entry.depth(), path: path.to_owned() });
        if heap.len() > context.limits.list_entries {
            heap.pop();
        }
    }
    let mut paths: Vec<PathBuf> = heap.into_iter().map(|entry| entry.path).collect();
    paths.sort();
    (paths, all)
}

/// One line of the tree. Looked up beneath the workspace's handle, whatever way the walk took: an entry that is not
/// there (any more) is not shown.
fn line(workspace: &WorkspaceDir, real: &Path, entry: &Path) -> Option<String> {
    let fd = workspace.beneath(&real.join(entry), LOOK).ok()?;
    let stat = rustix::fs::fstat(&fd).ok()?;
    let name = shown(entry.file_name()?);
    let about = match kind(&stat) {
        FileType::Directory => "/".to_owned(),
        FileType::RegularFile => format!("  {}", bytes(size(&stat))),
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(&fd, "", Vec::new()).ok()?;
            format!(" → {}", shown(std::ffi::OsStr::from_bytes(target.as_bytes())))
        }
        other => format!("  ({})", kind_name(other)),
    };
    let indent = "  ".repeat(entry.components().count() - 1);
    Some(format!("{indent}{name}{about}\n"))
}

#[cfg(test)]
#[path = "list_dir_tests.rs"]
mod tests;
