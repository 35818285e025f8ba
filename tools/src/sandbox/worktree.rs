//! The git directories of a linked worktree, which lie outside it and which git writes on every commit.
//!
//! A `.git` file is only text, and a model may write one in a workspace: it is believed when the directory it names
//! points back to it, which only `git worktree add` arranges. A symlink is not: it may lead to the `.git` file of somebody
//! else's worktree.

use std::fs;
use std::path::{Path, PathBuf};

/// The worktree's own git directory and the common one; none when `workspace`, free of symlinks, is no linked worktree.
pub(crate) fn git_directories(workspace: &Path) -> Vec<PathBuf> {
    linked(workspace).unwrap_or_default()
}

fn linked(workspace: &Path) -> Option<Vec<PathBuf>> {
    let file = workspace.join(".git");
    if !fs::symlink_metadata(&file).ok()?.is_file() {
        return None;
    }
    let own = named(&file, "gitdir: ")?;
    if named(&own.join("gitdir"), "")? != file {
        return None;
    }
    let common = named(&own.join("commondir"), "")?;
    let is_its_own = own.parent() == Some(&common.join("worktrees")) && common.join("HEAD").is_file();
    is_its_own.then(|| vec![own, common])
}

/// The path in a one-line file, after `prefix`, relative to the file's directory; free of symlinks.
fn named(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let path = text.strip_prefix(prefix)?.trim_end_matches('\n');
    file.parent()?.join(path).canonicalize().ok()
}
