//! Workflows that lie beside the work: in `.workflow/` and `.workflows/` of the nearest directory that has either, from
//! a directory upward to the file system's root.
//!
//! A script for the mock provider may lie beside its workflow, as `NAME.mock.yaml`: it is none itself.
//!
//! Apart from the registry because it reads directories only, never a store and never a workflow file.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use uwf_workflow::is_name;

/// In this order; a name in the first hides the same name in the second.
const DIRECTORIES: [&str; 2] = [".workflow", ".workflows"];
const EXTENSIONS: [&str; 2] = ["yaml", "yml"];

/// The file for this name, if there is one.
pub(super) fn find(name: &str, cwd: &Path) -> Option<PathBuf> {
    if !is_file_name(name) || is_mock(name) {
        return None;
    }
    let directories = directories(cwd).into_iter();
    directories.flat_map(|directory| candidates(&directory, name)).find(|path| path.is_file())
}

/// All names that [`find`] finds, each with its file. A directory that cannot be read holds none.
pub(super) fn all(cwd: &Path) -> BTreeMap<String, PathBuf> {
    let directories = directories(cwd).into_iter();
    let entries = directories.filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
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

/// The directories of the nearest place that has any: what is farther up belongs to other work. One that belongs neither to
/// us, nor to root, nor to whom `cwd` belongs is passed over: anybody may make one in /tmp.
pub fn directories(cwd: &Path) -> Vec<PathBuf> {
    let owner = |path: &Path| fs::metadata(path).ok().filter(Metadata::is_dir).map(|found| found.uid());
    let trusted = [Some(geteuid().as_raw()), Some(0), owner(cwd)];
    let is_trusted = |path: &PathBuf| owner(path).is_some_and(|owner| trusted.contains(&Some(owner)));
    let of = |place: &Path| DIRECTORIES.map(|name| place.join(name)).into_iter().filter(is_trusted);
    let mut places = cwd.ancestors().map(|place| of(place).collect::<Vec<_>>());
    places.find(|found: &Vec<PathBuf>| !found.is_empty()).unwrap_or_default()
}

/// Whether a file of that name, without its extension, is a script for the mock provider.
pub fn is_mock(name: &str) -> bool {
    name.ends_with(".mock")
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
