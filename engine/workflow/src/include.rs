//! Reads a workflow file and what it includes.
//!
//! Apart because it alone asks for other files. `!include name` anywhere is replaced by
//! the named file: `.yaml`, `.yml` and `.json` are parsed, anything else becomes text. Names are relative to the file
//! that includes, and none leads out of the workflow's directory. Nesting and number are bounded; whoever gives the
//! texts bounds their size. It opens no file and never looks at what the value means.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::diagnostics::{Diagnostic, meant};
use crate::source::Source;
use crate::yaml::{self, Document, Position, YamlError};

const TAG: &str = "!include";
/// Files of one workflow, counted once per inclusion.
const MAX_FILES: usize = 256;
/// Files that include each other in a row.
const MAX_DEPTH: usize = 8;

/// A text to be read as a workflow, and how to get at what it includes.
pub struct WorkflowText<'a> {
    /// The text.
    pub text: &'a str,
    /// What errors call it.
    pub called: &'a Path,
    /// Its path in the directory; empty for a text that is in no file.
    pub path: &'a Path,
    /// The directory that its includes are in, as errors call it.
    pub directory: &'a Path,
    /// The text of a file by its path in the directory. An error of the kind `CrossesDevices` says that the path leads
    /// out of the directory, as the kernel's does.
    pub open: &'a dyn Fn(&Path) -> io::Result<String>,
}

impl Source {
    /// Reads a workflow's text and all it includes. The problems returned are those of including; the source can be
    /// checked further all the same.
    ///
    /// # Errors
    /// When the text itself is not YAML.
    pub(super) fn read(text: &WorkflowText<'_>) -> Result<(Source, Vec<Diagnostic>), Diagnostic> {
        let mut loader = Loader { from: text, open: Vec::new(), files: 0, problems: Vec::new() };
        let source = loader.source(text.path.to_owned(), text.called.to_owned(), yaml::parse(text.text))?;
        Ok((source, loader.problems))
    }
}

struct Loader<'a> {
    from: &'a WorkflowText<'a>,
    /// The files being read, relative to the directory, outermost first.
    open: Vec<PathBuf>,
    files: usize,
    problems: Vec<Diagnostic>,
}

impl Loader<'_> {
    /// A parsed file by its name in the directory, and what it includes.
    fn source(
        &mut self,
        name: PathBuf,
        file: PathBuf,
        parsed: Result<Document, YamlError>,
    ) -> Result<Source, Diagnostic> {
        let document = parsed.map_err(|error| Diagnostic {
            file: file.clone(),
            line: error.line,
            column: error.column,
            message: error.message,
            hint: None,
        })?;
        let mut source = Source { file, document, included: BTreeMap::new(), missing: BTreeSet::new() };
        self.open.push(name);
        for (pointer, tag) in source.document.tags() {
            if let Err(problem) = self.resolve(&mut source, &pointer, &tag) {
                self.problems.push(problem);
                source.missing.insert(pointer);
            }
        }
        self.open.pop();
        Ok(source)
    }

    fn resolve(&mut self, source: &mut Source, pointer: &str, tag: &str) -> Result<(), Diagnostic> {
        let Position { line, column } = source.document.at(pointer);
        let problem = |message: String, hint: Option<String>| Diagnostic {
            file: source.file.clone(),
            line,
            column,
            message,
            hint,
        };
        if tag != TAG {
            return Err(problem(format!("unknown tag `{tag}`"), meant(tag, [TAG])));
        }
        let value = source.document.value.pointer_mut(pointer).expect("tags are listed with their values");
        let Value::String(name) = value else {
            return Err(problem(format!("{TAG} takes the name of a file, got {}", yaml::kind(value)), None));
        };
        let refused = |error: Refused| problem(format!("cannot include `{name}`: {error}"), error.hint());
        let path = self.path(name).map_err(refused)?;
        let text = self.open(&path).map_err(refused)?;
        let parsed = parse(&path, &text);
        let file = self.from.directory.join(&path);
        let mut inner = self.source(path, file, parsed)?;
        *value = inner.document.value.take();
        source.included.insert(pointer.to_owned(), inner);
        Ok(())
    }

    /// The named file relative to the workflow's directory, without dots.
    fn path(&self, name: &str) -> Result<PathBuf, Refused> {
        let from = self.open.last().and_then(|file| file.parent()).unwrap_or(Path::new(""));
        let mut path = from.to_owned();
        for component in Path::new(name).components() {
            match component {
                Component::Normal(part) => path.push(part),
                Component::CurDir => {}
                _ => return Err(Refused::Outside),
            }
        }
        Ok(path)
    }

    fn open(&mut self, path: &Path) -> Result<String, Refused> {
        if self.open.iter().any(|open| open == path) {
            return Err(Refused::Cycle);
        }
        if self.open.len() > MAX_DEPTH {
            return Err(Refused::TooDeep);
        }
        self.files += 1;
        if self.files > MAX_FILES {
            return Err(Refused::TooMany);
        }
        (self.from.open)(path).map_err(|error| match error.kind() {
            io::ErrorKind::CrossesDevices => Refused::Outside,
            _ => Refused::Io(error),
        })
    }
}

#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("it is outside the workflow's directory")]
    Outside,
    #[error("it is being included already")]
    Cycle,
    #[error("files include each other more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("more than {MAX_FILES} files are included")]
    TooMany,
    #[error("{0}")]
    Io(io::Error),
}

impl Refused {
    fn hint(&self) -> Option<String> {
        matches!(self, Refused::Outside).then(|| {
            "name a file beside the workflow or below, without `..`; a link must stay there too".to_owned()
        })
    }
}

fn parse(name: &Path, text: &str) -> Result<Document, YamlError> {
    let parsed =
        name.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|e| extension == *e));
    if parsed { yaml::parse(text) } else { Ok(Document::text(text)) }
}

#[cfg(test)]
mod tests;
