//! What a role's `artifacts` say: which places of its output name files or nodes, and which files of its directory are kept
//! whatever the output says.
//!
//! A text that begins with `/` is a JSON pointer into the output; every other one is a glob of files, relative to the
//! directory of the step. A glob with `?` at its end need not match anything; the `?` is no part of it. Apart from the
//! check because the engine reads the same texts again when a step is done. Never looks at a file or an output.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use thiserror::Error;
use uwf_store::schema::pointer::{self, PointerFault};

/// The longest text that is read, in bytes.
const MAX_LENGTH: usize = 4_096;
/// A glob of more alternatives is nothing that anybody writes.
const MAX_BRACES: usize = 32;
/// Every directory and file, at any depth.
const ANY_DEPTH: &str = "**";
/// What a glob ends with that need not match anything.
const OPTIONAL: char = '?';

/// One entry of a role's `artifacts`.
#[derive(Debug)]
pub enum DeclaredArtifact {
    /// A place in the output that holds a path, the hash of a node, or a list of these.
    Pointer(ArtifactPointer),
    /// Files.
    Files(ArtifactGlob),
}

/// A JSON pointer into the output of a role.
#[derive(Debug, PartialEq, Eq)]
pub struct ArtifactPointer {
    /// As it is written.
    pub text: String,
    /// The keys that lead there.
    pub keys: Vec<String>,
}

/// A pattern of paths, part by part.
#[derive(Debug)]
pub struct ArtifactGlob {
    /// As it is written.
    pub text: String,
    /// Whether there need be no such file.
    pub optional: bool,
    /// What each part of a path must be; never empty.
    pub parts: Vec<GlobPart>,
}

/// What one part of a path must be.
#[derive(Debug)]
pub enum GlobPart {
    /// This name.
    Name(String),
    /// One that matches.
    Pattern(GlobSet),
    /// Any number of directories, none included; at the end: every file below.
    AnyDepth,
}

/// What is no pointer and no glob of files.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArtifactSyntax {
    /// Nothing at all.
    #[error("it is blank")]
    Blank,
    /// More than anybody writes.
    #[error("it is longer than {MAX_LENGTH} bytes")]
    Long,
    /// A character that no file's name has.
    #[error("it holds a NUL character")]
    Nul,
    /// It begins with `/` as a pointer does, and is none.
    #[error(transparent)]
    Pointer(PointerFault),
    /// The whole output is no artifact.
    #[error("it points to the whole output, which names no file")]
    Whole,
    /// A path that leads out of the directory.
    #[error("`..` leads out of the directory of the step")]
    Above,
    /// A directory is no file.
    #[error("it names a directory: `{0}**` are the files in it")]
    Directory(String),
    /// What globs do not allow.
    #[error("it is no glob: {0}")]
    Glob(String),
}

impl DeclaredArtifact {
    /// Reads one entry.
    ///
    /// # Errors
    /// It is neither a pointer nor a glob of files.
    pub fn parse(text: &str) -> Result<DeclaredArtifact, ArtifactSyntax> {
        match text {
            _ if text.trim().is_empty() => Err(ArtifactSyntax::Blank),
            _ if text.len() > MAX_LENGTH => Err(ArtifactSyntax::Long),
            _ if text.contains('\0') => Err(ArtifactSyntax::Nul),
            _ if text.starts_with('/') => ArtifactPointer::parse(text).map(DeclaredArtifact::Pointer),
            _ => ArtifactGlob::parse(text).map(DeclaredArtifact::Files),
        }
    }
}

impl ArtifactPointer {
    fn parse(text: &str) -> Result<ArtifactPointer, ArtifactSyntax> {
        let keys = pointer::keys(text).map_err(|fault| match fault {
            PointerFault::Whole => ArtifactSyntax::Whole,
            fault => ArtifactSyntax::Pointer(fault),
        })?;
        Ok(ArtifactPointer { text: text.to_owned(), keys })
    }
}

impl ArtifactGlob {
    fn parse(text: &str) -> Result<ArtifactGlob, ArtifactSyntax> {
        let pattern = text.strip_suffix(OPTIONAL);
        let (pattern, optional) = (pattern.unwrap_or(text), pattern.is_some());
        if pattern.trim().is_empty() {
            return Err(ArtifactSyntax::Blank);
        }
        if pattern.matches('{').count() > MAX_BRACES {
            return Err(ArtifactSyntax::Glob(format!("more than {MAX_BRACES} braces")));
        }
        let names: Vec<&str> = pattern.split('/').filter(|part| !["", "."].contains(part)).collect();
        if names.contains(&"..") {
            return Err(ArtifactSyntax::Above);
        }
        if names.is_empty() || pattern.ends_with('/') || pattern.ends_with("/.") {
            let directory: String = names.iter().map(|name| format!("{name}/")).collect();
            return Err(ArtifactSyntax::Directory(directory));
        }
        let parts = names.into_iter().map(GlobPart::parse).collect::<Result<_, _>>()?;
        Ok(ArtifactGlob { text: text.to_owned(), optional, parts })
    }
}

impl GlobPart {
    fn parse(name: &str) -> Result<GlobPart, ArtifactSyntax> {
        if name == ANY_DEPTH {
            return Ok(GlobPart::AnyDepth);
        }
        if !name.contains(['*', '?', '[', ']', '{', '}', '\\']) {
            return Ok(GlobPart::Name(name.to_owned()));
        }
        let fault = |error: globset::Error| ArtifactSyntax::Glob(error.kind().to_string());
        let glob = GlobBuilder::new(name).literal_separator(true).backslash_escape(true).build();
        // A set of one: a glob alone can only be compiled by what panics.
        let set = GlobSetBuilder::new().add(glob.map_err(fault)?).build().map_err(fault)?;
        Ok(GlobPart::Pattern(set))
    }
}

#[cfg(test)]
mod tests;
