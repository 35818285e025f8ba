//! Workflows that lie beside the work: `.workflows/` and `.workflow/`, from a directory upward to the repository's
//! root.
//!
//! Apart from the registry because it reads directories only, never a store and never a workflow file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::check::is_name;

/// In this order; a name in the first hides the same name in the second.
const DIRECTORIES: [&str; 2] = [".workflows", ".workflow"];
const EXTENSIONS: [&str; 2] = ["yaml", "yml"];

/// The nearest file for this name, if there is one.
pub(super) fn find(name: &str, cwd: &Path) -> Option<PathBuf> {
    if !is_file_name(name) {
        return None;
    }
    directories(cwd).flat_map(|directory| candidates(&directory, name)).find(|path| path.is_file())
}

/// All names that [`find`] finds, each with its file. A directory that cannot be read holds none.
pub(super) fn all(cwd: &Path) -> BTreeMap<String, PathBuf> {
    let entries = directories(cwd).filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
    let names = entries.filter_map(|entry| name_of(&entry.path()));
    names.filter_map(|name| find(&name, cwd).map(|path| (name, path))).collect()
}

/// The index file of a workflow that is a directory.
pub(super) fn index(directory: &Path) -> Option<PathBuf> {
    EXTENSIONS
        .iter()
        .map(|extension| directory.join(format!("index.{extension}")))
        .find(|path| path.is_file())
}

fn directories(cwd: &Path) -> impl Iterator<Item = PathBuf> {
    // A repository ends with the directory that has `.git`, which is a file in a linked worktree.
    let top = cwd.ancestors().position(|directory| directory.join(".git").exists());
    let inside = cwd.ancestors().take(top.map_or(usize::MAX, |top| top + 1));
    inside.flat_map(|directory| DIRECTORIES.map(|name| directory.join(name)))
}

fn candidates(directory: &Path, name: &str) -> Vec<PathBuf> {
    let file = EXTENSIONS.iter().map(|extension| directory.join(format!("{name}.{extension}")));
    file.chain(EXTENSIONS.iter().map(|extension| directory.join(name).join(format!("index.{extension}"))))
        .collect()
}

fn name_of(path: &Path) -> Option<String> {
    let is_yaml =
        path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known));
    let name = if is_yaml { path.file_stem() } else { path.file_name() };
    name?.to_str().map(str::to_owned)
}

/// `..` is made of the letters of a name, but leads elsewhere.
fn is_file_name(name: &str) -> bool {
    is_name(name) && name != "." && name != ".."
}

#[cfg(test)]
#[path = "discover_tests.rs"]
mod tests;
