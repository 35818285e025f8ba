//! A workflow file and what it includes, as one value whose every part knows its file.
//!
//! Apart because it is the only place that opens files on a workflow's behalf. `!include name` anywhere is replaced by
//! the named file: `.yaml`, `.yml` and `.json` are parsed, anything else becomes text. Names are relative to the file
//! that includes; the kernel resolves them beneath the workflow's directory (`openat2`), so no name and no symlink
//! leads out. Nesting, number and size are bounded. It never looks at what the value means.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use serde_json::Value;
use uwf_store::open_regular;
use uwf_workflow::yaml::{self, Document, Mark, YamlError};

use super::WorkflowError;
use super::problem::{Problem, kind, meant};

const TAG: &str = "!include";
/// Bytes of one file.
const MAX_BYTES: u64 = 4 << 20;
/// Files of one workflow, counted once per inclusion.
const MAX_FILES: usize = 256;
/// Files that include each other in a row.
const MAX_DEPTH: usize = 8;

/// A parsed file, with the files that stand in the place of its `!include`s.
pub(super) struct Source {
    file: PathBuf,
    document: Document,
    included: BTreeMap<String, Source>,
    missing: BTreeSet<String>,
}

impl Source {
    /// Reads a workflow file and all it includes. The problems returned are those of including; the source can be
    /// checked further all the same.
    ///
    /// # Errors
    /// When the file itself cannot be read or is not YAML.
    pub(super) fn load(path: &Path) -> Result<(Source, Vec<Problem>), WorkflowError> {
        let unreadable = |source| WorkflowError::Read { path: path.to_owned(), source };
        let text = open_regular(path).and_then(regular).map_err(unreadable)?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let loader = Loader::new(directory.unwrap_or(Path::new("."))).map_err(unreadable)?;
        let name = PathBuf::from(path.file_name().unwrap_or_default());
        loader.whole(name, path, &text)
    }

    /// The same of a text that is in no file, called `name`; what it includes is in `directory`.
    ///
    /// # Errors
    /// As [`Source::load`].
    pub(super) fn read(
        input: &mut dyn Read,
        name: &Path,
        directory: &Path,
    ) -> Result<(Source, Vec<Problem>), WorkflowError> {
        let unreadable = |source| WorkflowError::Read { path: name.to_owned(), source };
        let text = bounded(input).map_err(unreadable)?;
        let loader = Loader::new(directory).map_err(unreadable)?;
        loader.whole(PathBuf::new(), name, &text)
    }

    pub(super) fn value(&self) -> &Value {
        &self.document.value
    }

    /// The file and the position of the value at a pointer.
    pub(super) fn locate(&self, pointer: &str) -> (&Path, Mark) {
        match self.inside(pointer) {
            Some((source, rest)) => source.locate(rest),
            None => (&self.file, self.document.at(pointer)),
        }
    }

    /// The file and the position of the key at a pointer. The key of an included value stands in the including file.
    pub(super) fn locate_key(&self, pointer: &str) -> (&Path, Mark) {
        match self.inside(pointer) {
            Some((source, rest)) if !rest.is_empty() => source.locate_key(rest),
            _ => (&self.file, self.document.at_key(pointer)),
        }
    }

    /// Whether what belongs at the pointer could not be included.
    pub(super) fn is_missing(&self, pointer: &str) -> bool {
        self.missing.iter().any(|missing| below(pointer, missing).is_some())
            || self.inside(pointer).is_some_and(|(source, rest)| source.is_missing(rest))
    }

    fn inside<'p>(&self, pointer: &'p str) -> Option<(&Source, &'p str)> {
        self.included.iter().find_map(|(at, source)| below(pointer, at).map(|rest| (source, rest)))
    }
}

/// The rest of a pointer below another one.
fn below<'p>(pointer: &'p str, above: &str) -> Option<&'p str> {
    pointer.strip_prefix(above).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

struct Loader {
    root: File,
    /// The workflow's directory as the user named it.
    directory: PathBuf,
    /// The files being read, relative to the directory, outermost first.
    open: Vec<PathBuf>,
    files: usize,
    problems: Vec<Problem>,
}

impl Loader {
    fn new(directory: &Path) -> io::Result<Loader> {
        let (root, directory) = (File::open(directory)?, directory.to_owned());
        Ok(Loader { root, directory, open: Vec::new(), files: 0, problems: Vec::new() })
    }

    /// The outermost source, which people call `file`, and what could not be included.
    fn whole(
        mut self,
        name: PathBuf,
        file: &Path,
        text: &str,
    ) -> Result<(Source, Vec<Problem>), WorkflowError> {
        match self.source(name, file.to_owned(), yaml::parse(text)) {
            Ok(source) => Ok((source, self.problems)),
            Err(problem) => Err(WorkflowError::Invalid { path: file.to_owned(), problems: vec![problem] }),
        }
    }

    /// A parsed file by its name in the directory, and what it includes.
    fn source(
        &mut self,
        name: PathBuf,
        file: PathBuf,
        parsed: Result<Document, YamlError>,
    ) -> Result<Source, Problem> {
        let document = parsed.map_err(|error| Problem {
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

    fn resolve(&mut self, source: &mut Source, pointer: &str, tag: &str) -> Result<(), Problem> {
        let Mark { line, column } = source.document.at(pointer);
        let problem = |message: String, hint: Option<String>| Problem {
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
            return Err(problem(format!("{TAG} takes the name of a file, got {}", kind(value)), None));
        };
        let refused = |error: Refused| problem(format!("cannot include `{name}`: {error}"), error.hint());
        let path = self.path(name).map_err(refused)?;
        let text = self.open(&path).map_err(refused)?;
        let parsed = parse(&path, &text);
        let file = self.directory.join(&path);
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
        // Without NONBLOCK, opening a pipe would wait for its writer.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat2(&self.root, path, flags, Mode::empty(), ResolveFlags::BENEATH);
        let file = file.map_err(|error| match error {
            rustix::io::Errno::XDEV => Refused::Outside,
            error => Refused::Io(error.into()),
        })?;
        regular(File::from(file)).map_err(Refused::Io)
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

fn regular(mut file: File) -> io::Result<String> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    bounded(&mut file)
}

fn bounded(input: &mut dyn Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    input.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        io::Error::other(format!("it is not UTF-8 text: byte {}", error.utf8_error().valid_up_to()))
    })
}
