//! Why something that a role was to leave cannot be kept, and what to do about it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use uwf_store::StoreError;
use uwf_workflow::artifact::ArtifactSyntax;

use super::{MAX_ARTIFACT_BYTES, MAX_ARTIFACTS};

/// An artifact of a step that cannot be kept; the step is not made.
#[derive(Debug)]
pub struct ArtifactError {
    /// The role.
    pub role: String,
    /// The entry of its `artifacts`.
    pub declared: String,
    /// The path or hash that is meant, where it is not the entry itself.
    pub named: Option<String>,
    /// What is wrong.
    pub fault: ArtifactFault,
}

/// What keeps something from being kept, as the rest of a sentence about it.
#[derive(Debug, Error)]
pub enum ArtifactFault {
    /// The workflow says what nobody can read; one that this program added does not.
    #[error("cannot be: {0}")]
    Syntax(ArtifactSyntax),
    /// The output has something else there.
    #[error("is {kind} in the output: expected a path, the hash of a node, or a list of these")]
    NoText {
        /// What it is.
        kind: &'static str,
    },
    /// It names nothing.
    #[error("names no file: it is empty")]
    Blank,
    /// No path has that.
    #[error("holds a NUL character, which no path does")]
    Nul,
    /// A path from the root.
    #[error("is an absolute path: expected one relative to {}", dir.display())]
    Absolute {
        /// The directory of the step.
        dir: PathBuf,
    },
    /// A path with `..`.
    #[error("has `..` in it: expected a path below {}", dir.display())]
    Above {
        /// The directory of the step.
        dir: PathBuf,
    },
    /// A symbolic link on the way to it.
    #[error("is behind a symbolic link that leads out of {}", dir.display())]
    Outside {
        /// The directory of the step.
        dir: PathBuf,
    },
    /// What uwf keeps of threads is no artifact of theirs.
    #[error("is one of the files that uwf itself keeps")]
    Private,
    /// Whether it is one of those.
    #[error("is not opened, since which files are uwf's own cannot be told: {} cannot be read", place.display())]
    Doubtful {
        /// What would tell.
        place: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Nothing else keeps a path within a directory.
    #[error(
        "cannot be opened: the system does not allow the call `openat2`, which keeps a path within a directory"
    )]
    Unsupported {
        /// The system's reason.
        source: io::Error,
    },
    /// There is none.
    #[error("does not exist in {}", dir.display())]
    Missing {
        /// The directory of the step.
        dir: PathBuf,
    },
    /// It is no file.
    #[error("is {kind}, not a regular file")]
    NoFile {
        /// What it is.
        kind: &'static str,
    },
    /// Links that lead to each other.
    #[error("is behind too many symbolic links")]
    Links,
    /// A name that no JSON text can be.
    #[error("matches a file whose name is no UTF-8: {name:?}")]
    Name {
        /// The name, as well as it can be shown.
        name: String,
    },
    /// The system does not give it.
    #[error("cannot be read")]
    Unreadable {
        /// The system's reason.
        source: io::Error,
    },
    /// The directory of the step is not there any more, or one below it cannot be listed.
    #[error("cannot be looked for in {}", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A hash of nothing.
    #[error("is the hash of no node in the store")]
    NoNode,
    /// Nothing that the glob matches.
    #[error("matches no file in {}", dir.display())]
    NoMatch {
        /// The directory of the step.
        dir: PathBuf,
    },
    /// Two things under one name.
    #[error("is called `{}`, as another artifact of the step is", one_line(name))]
    SameName {
        /// The name.
        name: String,
    },
    /// More than a step can have.
    #[error("is one too many: a step has at most {MAX_ARTIFACTS} artifacts")]
    TooMany,
    /// More than a step can have.
    #[error("is too much: the artifacts of a step have at most {} MiB together, and would have {bytes} bytes", MAX_ARTIFACT_BYTES >> 20)]
    TooLarge {
        /// How many bytes it would be.
        bytes: u64,
    },
    /// A glob that leads through half a disk.
    #[error("leads through more than {most} files and directories")]
    TooWide {
        /// How many are looked at.
        most: usize,
    },
    /// The store.
    #[error("cannot be stored")]
    Store(#[from] StoreError),
}

impl std::fmt::Display for ArtifactError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ArtifactError { role, declared, named, fault } = self;
        match named.as_ref().filter(|named| *named != declared) {
            Some(named) => {
                let named = one_line(named);
                write!(f, "the artifact `{named}` of role `{role}`, named by `{declared}`,")?;
            }
            None => write!(f, "the artifact `{declared}` of role `{role}`")?,
        }
        write!(f, " {fault}; the head has not moved")
    }
}

/// A name that does not end the line it is told on.
fn one_line(name: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    name.chars().map(shown).collect()
}

impl std::error::Error for ArtifactError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.fault)
    }
}

impl ArtifactError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        const AGAIN: &str =
            "and run the same command again, which takes the answer that uwf-builtin has given";
        const ANEW: &str = "`--agent \"uwf-builtin --fresh\"` has the role answer anew";
        match &self.fault {
            ArtifactFault::Missing { .. } => format!("write the file, {AGAIN}; {ANEW}"),
            ArtifactFault::NoMatch { .. } => {
                format!("write such a file, {AGAIN}; a glob with `?` at its end need not match anything")
            }
            ArtifactFault::Unreadable { .. } | ArtifactFault::Directory { .. } => {
                format!("make it readable, {AGAIN}")
            }
            ArtifactFault::Doubtful { .. } => {
                format!("make that readable (`/proc` must be mounted), {AGAIN}")
            }
            ArtifactFault::Unsupported { .. } => {
                format!(
                    "use Linux 5.6 or later, allow `openat2` where a container's seccomp filter forbids it, {AGAIN}"
                )
            }
            ArtifactFault::NoFile { .. } => {
                format!("put a file in its place, {AGAIN}; `DIR/**` are all files below a directory")
            }
            ArtifactFault::Outside { .. } | ArtifactFault::Links => {
                format!("put a copy in the place of the link, {AGAIN}; {ANEW}")
            }
            ArtifactFault::NoNode => format!("store the node with `uwf cas put`, {AGAIN}; {ANEW}"),
            ArtifactFault::NoText { .. }
            | ArtifactFault::Blank
            | ArtifactFault::Nul
            | ArtifactFault::Absolute { .. }
            | ArtifactFault::Above { .. }
            | ArtifactFault::Private => format!("the answer must name another file: {ANEW}"),
            ArtifactFault::Name { .. } => format!("rename it, {AGAIN}"),
            ArtifactFault::TooMany | ArtifactFault::TooLarge { .. } | ArtifactFault::TooWide { .. } => {
                format!("remove what need not be kept, {AGAIN}; or name less in the role's `artifacts`")
            }
            ArtifactFault::SameName { .. } => {
                format!("rename the file, {AGAIN}; {ANEW}")
            }
            ArtifactFault::Syntax(_) => {
                "mend the workflow: `uwf workflow validate` tells what is wrong".to_owned()
            }
            ArtifactFault::Store(error) => {
                crate::thread::store_hint(error).unwrap_or_else(|| format!("mend the store, {AGAIN}"))
            }
        }
    }
}
