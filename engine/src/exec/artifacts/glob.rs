//! The files that a glob matches, part by part: only directories that can hold one are listed.
//!
//! Directories behind links are entered where the glob names them, not where it only matches them; `.git` is entered by its
//! name alone, where uwf keeps its own files never, and what is too deep for the system to open neither. A link that matches
//! is given as it is: whoever opens it sees where it leads.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use rustix::fs::FileType;
use rustix::io::Errno;
use uwf_workflow::artifact::GlobPart;

use super::directory::{ListedEntry, StepDirectory};
use super::{ArtifactFault, MAX_ARTIFACTS};

/// How many names are looked at for one glob.
const MAX_SEEN: usize = 100_000;

/// The paths of all files that match, sorted.
pub(super) fn files(dir: &StepDirectory, parts: &[GlobPart]) -> Result<BTreeSet<String>, ArtifactFault> {
    let mut search = FileSearch { dir, found: BTreeSet::new(), seen: 0 };
    search.below("", parts)?;
    Ok(search.found)
}

struct FileSearch<'d> {
    dir: &'d StepDirectory,
    found: BTreeSet<String>,
    seen: usize,
}

impl FileSearch<'_> {
    /// What matches `parts` below the directory `at`.
    fn below(&mut self, at: &str, parts: &[GlobPart]) -> Result<(), ArtifactFault> {
        match parts {
            [] => Ok(()),
            [GlobPart::Name(name)] => self.exactly(joined(at, name)),
            [GlobPart::Name(name), rest @ ..] => self.below(&joined(at, name), rest),
            [GlobPart::Pattern(names), rest @ ..] => {
                for ListedEntry { name, kind } in self.entries(at)? {
                    if names.is_match(&name) {
                        self.next(path_of(at, &name)?, kind, rest)?;
                    }
                }
                Ok(())
            }
            [GlobPart::AnyDepth, rest @ ..] => {
                self.below(at, rest)?;
                for ListedEntry { name, kind } in self.entries(at)? {
                    let is_directory = kind == FileType::Directory;
                    if is_directory || rest.is_empty() {
                        self.next(path_of(at, &name)?, kind, if is_directory { parts } else { rest })?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Something that matches, with `rest` to come below it.
    fn next(&mut self, path: String, kind: FileType, rest: &[GlobPart]) -> Result<(), ArtifactFault> {
        // Some file systems do not tell what a name is.
        let kind = match kind {
            FileType::Unknown => self.dir.kind(&path).unwrap_or(kind),
            kind => kind,
        };
        match (kind, rest) {
            (FileType::Directory, _) if self.dir.is_withheld(&path)? => Ok(()),
            (FileType::Directory, rest) => self.below(&path, rest),
            (FileType::Symlink, []) if self.dir.kind(&path) == Ok(FileType::Directory) => Ok(()),
            (_, []) => self.add(path),
            (_, _) => Ok(()),
        }
    }

    /// The path itself, if there is anything: what cannot be told is for whoever opens it.
    fn exactly(&mut self, path: String) -> Result<(), ArtifactFault> {
        match self.dir.kind(&path) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Ok(()),
            _ => self.add(path),
        }
    }

    fn add(&mut self, path: String) -> Result<(), ArtifactFault> {
        self.found.insert(path);
        if self.found.len() > MAX_ARTIFACTS { Err(ArtifactFault::TooMany) } else { Ok(()) }
    }

    /// What is in a directory, as far as it is counted.
    fn entries(&mut self, at: &str) -> Result<Vec<ListedEntry>, ArtifactFault> {
        let mut entries = self.dir.entries(at)?;
        self.seen += entries.len();
        if self.seen > MAX_SEEN {
            return Err(ArtifactFault::TooWide { most: MAX_SEEN });
        }
        entries.retain(|entry| entry.name != ".git");
        Ok(entries)
    }
}

fn joined(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}/{name}") }
}

/// The path of something that matches.
fn path_of(at: &str, name: &OsStr) -> Result<String, ArtifactFault> {
    match name.to_str() {
        Some(name) => Ok(joined(at, name)),
        None => Err(ArtifactFault::Name { name: joined(at, &name.to_string_lossy()) }),
    }
}
