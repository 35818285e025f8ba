//! What a definition says of a command-line agent: how it is called, how its reply is read, what it needs.
//!
//! Pure: a text becomes a checked value, and every mistake is told by its key. Nothing is started and no file is looked at but
//! by [`Definition::find`], which reads the one that is meant.

mod check;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;
use uwf_engine::config::defined;
use uwf_workflow::yaml;

use super::reply::{Format, Reply};

/// How long a visit may take where a definition does not say.
const TIMEOUT_SECONDS: u64 = 3_600;

/// The definitions that come with the program, by name.
const SHIPPED: [(&str, &str); defined::SHIPPED.len()] = [
    ("aider", include_str!("definitions/aider.yaml")),
    ("claude-code", include_str!("definitions/claude-code.yaml")),
    ("codex", include_str!("definitions/codex.yaml")),
    ("command", include_str!("definitions/command.yaml")),
    ("cursor", include_str!("definitions/cursor.yaml")),
    ("gemini", include_str!("definitions/gemini.yaml")),
    ("goose", include_str!("definitions/goose.yaml")),
    ("hermes", include_str!("definitions/hermes.yaml")),
    ("opencode", include_str!("definitions/opencode.yaml")),
    ("pi", include_str!("definitions/pi.yaml")),
];

/// Why there is no definition.
#[derive(Debug, Error)]
pub enum DefinitionError {
    /// Nobody has written one.
    #[error("no agent of that name is defined: `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// The names there are, the nearest first.
        known: Vec<String>,
    },
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The disk's reason.
        source: io::Error,
    },
    /// It says something that it may not say.
    #[error("{place}: {problem}")]
    Invalid {
        /// The file.
        place: String,
        /// What is wrong.
        problem: String,
    },
}

impl DefinitionError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            DefinitionError::Unknown { known, .. } => {
                Some(format!("agents defined: {}; `uwf agents` tells of each", known.join(", ")))
            }
            DefinitionError::Invalid { .. } => {
                Some("`uwf agents command --definition` prints one that is valid".to_owned())
            }
            DefinitionError::Io { .. } => None,
        }
    }
}

/// A command-line agent, as its definition describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Definition {
    /// What it is called.
    #[serde(skip)]
    pub name: String,
    /// Where its definition is; none of one that comes with the program.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
    /// The program, looked up in `PATH`; empty where the first argument that is passed on is the program.
    #[serde(default)]
    pub program: String,
    /// How it was tried: `real 2.1.0`, `recorded output`, `documentation`.
    #[serde(default)]
    pub tried: String,
    /// The arguments by which it tells its version.
    #[serde(default)]
    pub version: Vec<String>,
    /// What it needs.
    #[serde(default)]
    pub needs: Needs,
    /// Variables that are set for it, unless they are set already. Values are templates.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How it is given what it is told.
    pub prompt: PromptBy,
    /// Its arguments.
    #[serde(default)]
    pub args: Calls,
    /// How its reply is read.
    pub reply: Reply,
    /// What its exit codes mean.
    #[serde(default)]
    pub exit: ExitCodes,
    /// Where a session's id is from.
    #[serde(default)]
    pub session: SessionId,
    /// Texts by which it says that it does not know a session.
    #[serde(default)]
    pub unknown_session: Vec<String>,
    /// How long one call of it may take, in seconds.
    #[serde(default = "usual_timeout")]
    pub timeout_seconds: u64,
    /// Files of a project's own words that it reads by itself, such as `AGENTS.md`; others it is told.
    #[serde(default)]
    pub reads: Vec<String>,
    /// Whether it is confined, and what it must reach then.
    #[serde(default)]
    pub sandbox: SandboxNeeds,
}

/// The path without `.` and `..`, by its names alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            name => plain.push(name),
        }
    }
    plain
}

fn usual_timeout() -> u64 {
    TIMEOUT_SECONDS
}

/// What an agent needs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Needs {
    /// Variables that it takes keys from; what they hold is kept out of records.
    pub env: Vec<String>,
    /// How it is installed and signed in.
    pub hint: String,
}

/// How a program is given what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptBy {
    /// `{{prompt}}` in its arguments; or only a part of it, `{{task}}` or `{{edgePrompt}}`.
    Argument,
    /// On its standard input.
    Stdin,
    /// `{{promptFile}}` in its arguments.
    File,
}

/// The arguments of each kind of call. Those of `every` stand before the others.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Calls {
    /// Of every call.
    pub every: Vec<Arg>,
    /// Of a first visit, and of any call that begins a session.
    pub first: Vec<Arg>,
    /// Of a call that goes on with a session; none where it has no sessions.
    pub resume: Option<Vec<Arg>>,
    /// Of a call that begins a session with all that another one has; none where it cannot.
    pub fork: Option<Vec<Arg>>,
    /// Of a question, in the place of `first`: where it can be told to change nothing.
    pub ask: Option<Vec<Arg>>,
}

/// One argument, or some that stand together and are left out where a value in one of them is empty.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Arg {
    /// A template.
    One(String),
    /// Templates.
    Group(Vec<String>),
}

impl Arg {
    fn templates(&self) -> &[String] {
        match self {
            Arg::One(template) => std::slice::from_ref(template),
            Arg::Group(templates) => templates,
        }
    }
}

/// What exit codes mean.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExitCodes {
    /// The answer is there.
    pub done: Vec<i32>,
    /// What others mean, in words for people.
    pub means: BTreeMap<String, String>,
}

impl Default for ExitCodes {
    fn default() -> ExitCodes {
        ExitCodes { done: vec![0], means: BTreeMap::new() }
    }
}

/// Where a session's id is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionId {
    /// Its reply tells it.
    #[default]
    Told,
    /// The adapter gives it: an id that the arguments hold as `{{session}}`, or a file of that name as `{{sessionFile}}`.
    Given,
}

/// Whether an agent is confined, and what it must reach then.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SandboxNeeds {
    /// Whether it can live confined: then it is, unless somebody says otherwise.
    pub confined: bool,
    /// Whether it needs the network; most do, for their models.
    pub network: bool,
    /// Its own files and directories that it must write.
    pub writable: Vec<PathBuf>,
    /// Those that it must read.
    pub readable: Vec<PathBuf>,
}

impl Definition {
    /// The definition of that name: the one in `home`, else the one that comes with the program.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn find(home: &Path, name: &str) -> Result<Definition, DefinitionError> {
        let unknown = || DefinitionError::Unknown {
            name: name.to_owned(),
            known: uwf_store::suggest::sorted(name, defined::names(home)),
        };
        if !defined::is_name(name) {
            return Err(unknown());
        }
        let path = defined::file(home, name);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let read = Definition::read(name, &text, &path.display().to_string())?;
                Ok(Definition { file: Some(path), ..read })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let shipped = SHIPPED.into_iter().find(|(shipped, _)| *shipped == name);
                let (_, text) = shipped.ok_or_else(unknown)?;
                Definition::read(name, text, name)
            }
            Err(source) => Err(DefinitionError::Io { path, source }),
        }
    }

    /// The text of the definition of that name.
    ///
    /// # Errors
    /// As [`Definition::find`].
    pub fn text(home: &Path, name: &str) -> Result<String, DefinitionError> {
        let definition = Definition::find(home, name)?;
        match definition.file {
            Some(path) => fs::read_to_string(&path).map_err(|source| DefinitionError::Io { path, source }),
            None => Ok(SHIPPED
                .into_iter()
                .find(|(shipped, _)| *shipped == name)
                .map_or("", |(_, text)| text)
                .to_owned()),
        }
    }

    /// Reads and checks a text; `place` is where it is from.
    ///
    /// # Errors
    /// [`DefinitionError::Invalid`].
    pub fn read(name: &str, text: &str, place: &str) -> Result<Definition, DefinitionError> {
        let invalid = |problem: String| DefinitionError::Invalid { place: place.to_owned(), problem };
        let value = yaml::parse_value(text).map_err(|error| invalid(error.to_string()))?;
        let read: Definition = serde_json::from_value(value).map_err(|error| invalid(error.to_string()))?;
        let definition = Definition { name: name.to_owned(), ..read };
        definition.check().map_err(invalid)?;
        Ok(definition)
    }

    /// Its program; one that is given by a relative path counts from where its definition is, and has no `..` left: a sandbox
    /// shows the file and not the directories on a way around.
    pub fn program_of(&self, home: &Path) -> String {
        match self.program.contains('/') {
            true => plain(&defined::directory(home).join(&self.program)).to_string_lossy().into_owned(),
            false => self.program.clone(),
        }
    }

    /// Whether it keeps a session in a file that it is given.
    pub(super) fn keeps_session_file(&self) -> bool {
        let Calls { every, first, resume, fork, ask } = &self.args;
        let own = [resume, fork, ask].into_iter().flatten().chain([every, first]).flatten();
        own.flat_map(Arg::templates).any(|text| text.contains("{{sessionFile}}"))
    }

    /// Whether it goes on with sessions.
    pub fn has_sessions(&self) -> bool {
        self.args.resume.is_some()
    }

    /// Whether its reply comes as events, so that what it does is seen while it does it.
    pub fn tells_events(&self) -> bool {
        self.reply.format == Format::Jsonl
    }
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;
