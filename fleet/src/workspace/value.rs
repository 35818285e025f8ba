//! What a thread's row at a remote says of the directory that it works in. Read strictly: what is not understood is an error
//! that names the field, not a default.

use std::fmt;
use std::path::{Component, Path};
use std::str::FromStr;

use serde_json::{Map, Value, json};
use uwf_store::Hash;

use super::WorkspaceError;
use super::repository::{Commit, Repository};

/// The directory that a thread works in, told so that every machine can have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workspace {
    /// A directory of a file system that the machines share.
    Shared(Shared),
    /// Files that are kept at the remote itself.
    Snapshot(Files),
    /// A branch of a git repository.
    Git(Branch),
}

/// See [`Workspace::Shared`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shared {
    /// The root: a name that each worker knows a directory for, or an absolute path that is the same everywhere. Without one
    /// the thread works where it was begun.
    pub root: Option<String>,
    /// Below the root.
    pub dir: Below,
}

/// See [`Workspace::Snapshot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// What the directory holds: a node of [`uwf_snapshot::TREE`].
    pub tree: Hash,
    /// Whether files are kept that `.gitignore` files name.
    pub ignored: bool,
    /// What is left out, as lines of a `.gitignore` at its root.
    pub leave_out: Vec<String>,
}

/// See [`Workspace::Git`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The repository.
    pub repository: Repository,
    /// The branch or commit that the thread's own branch begins at.
    pub base: Base,
    /// Where the thread's branch stands; none before its first step.
    pub commit: Option<Commit>,
    /// Below the root of the repository.
    pub dir: Below,
}

/// A path below a directory, which it does not leave; empty for the directory itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Below(String);

/// The name of a branch or tag, or a whole commit id, or `HEAD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base(String);

impl Below {
    /// The path.
    pub fn path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl FromStr for Below {
    type Err = String;

    fn from_str(text: &str) -> Result<Below, String> {
        let is_plain = Path::new(text).components().all(|part| matches!(part, Component::Normal(_)));
        match is_plain && !text.contains('\0') && text.len() <= 4096 {
            true => Ok(Below(text.to_owned())),
            false => Err(format!("is {text:?}, which is no path below a directory: no / in front, no ..")),
        }
    }
}

impl Base {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Base {
    type Err = String;

    fn from_str(text: &str) -> Result<Base, String> {
        let is_plain = |c: char| c.is_alphanumeric() || "/._-+@#=".contains(c);
        let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
        let is_name = text.chars().all(is_plain)
            && text.split('/').all(is_part)
            && !text.contains("..")
            && !text.starts_with(['-', '@'])
            && !text.ends_with('.')
            && text.len() <= 250;
        match is_name {
            true => Ok(Base(text.to_owned())),
            false => Err(format!("is {text:?}, which is no name of a branch and no commit")),
        }
    }
}

impl Default for Workspace {
    /// Where the thread was begun, on a file system that the machines share.
    fn default() -> Workspace {
        Workspace::Shared(Shared::default())
    }
}

impl Workspace {
    /// The word for its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Workspace::Shared(_) => "shared",
            Workspace::Snapshot(_) => "snapshot",
            Workspace::Git(_) => "git",
        }
    }

    /// The nodes that must be at the remote for it, with all that they refer to.
    pub fn roots(&self) -> Vec<Hash> {
        match self {
            Workspace::Snapshot(files) => vec![files.tree],
            Workspace::Shared(_) | Workspace::Git(_) => Vec::new(),
        }
    }

    /// As a row has it.
    pub fn to_value(&self) -> Value {
        let mut fields = Map::new();
        let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        set("kind", json!(self.kind()));
        match self {
            Workspace::Shared(shared) => {
                shared.root.as_ref().map(|root| set("root", json!(root)));
                set_below(&mut set, &shared.dir);
            }
            Workspace::Snapshot(files) => {
                set("tree", json!(files.tree.as_str()));
                set("ignored", json!(files.ignored));
                set("leave_out", json!(files.leave_out));
            }
            Workspace::Git(branch) => {
                set("repository", json!(branch.repository.as_str()));
                set("base", json!(branch.base.as_str()));
                branch.commit.as_ref().map(|commit| set("commit", json!(commit.as_str())));
                set_below(&mut set, &branch.dir);
            }
        }
        Value::Object(fields)
    }

    /// What a row says.
    ///
    /// # Errors
    /// [`WorkspaceError::Invalid`] for the first field that is missing, unknown, or not what it must be.
    pub fn of(value: &Value) -> Result<Workspace, WorkspaceError> {
        let Value::Object(fields) = value else {
            return Err(invalid("kind", format!("is missing: a workspace is an object, not {value}")));
        };
        let kind = fields.get("kind").ok_or_else(|| invalid("kind", "is missing".to_owned()))?;
        let known: &[&str] = match kind.as_str() {
            Some("shared") => &["kind", "root", "dir"],
            Some("snapshot") => &["kind", "tree", "ignored", "leave_out"],
            Some("git") => &["kind", "repository", "base", "commit", "dir"],
            _ => return Err(invalid("kind", format!("is {kind}, not shared, snapshot or git"))),
        };
        if let Some(unknown) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            let known = known.join(", ");
            return Err(invalid(unknown, format!("is unknown: this kind of workspace has {known}")));
        }
        let fields = Fields(fields);
        Ok(match kind.as_str() {
            Some("snapshot") => Workspace::Snapshot(Files {
                tree: fields.required("tree", |text| {
                    text.parse().map_err(|_| format!("is {text:?}, which is no hash of a node"))
                })?,
                ignored: fields.flag("ignored")?,
                leave_out: fields.texts("leave_out")?,
            }),
            Some("git") => Workspace::Git(Branch {
                repository: fields.required("repository", str::parse)?,
                base: fields.required("base", str::parse)?,
                commit: fields.optional("commit", str::parse)?,
                dir: fields.optional("dir", str::parse)?.unwrap_or_default(),
            }),
            _ => Workspace::Shared(Shared {
                root: fields.optional("root", root)?,
                dir: fields.optional("dir", str::parse)?.unwrap_or_default(),
            }),
        })
    }
}

/// For people, in one line.
impl fmt::Display for Workspace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Workspace::Shared(Shared { root: None, .. }) => out.write_str("shared"),
            Workspace::Shared(Shared { root: Some(root), dir }) => {
                write!(out, "shared {}", Path::new(root).join(dir.path()).display())
            }
            Workspace::Snapshot(files) => write!(out, "snapshot {}", files.tree),
            Workspace::Git(branch) => {
                let at = branch.commit.as_ref().map_or(branch.base.as_str(), Commit::as_str);
                write!(out, "git {} at {at}", branch.repository)
            }
        }
    }
}

fn set_below(set: &mut impl FnMut(&str, Value) -> Option<Value>, dir: &Below) {
    if !dir.0.is_empty() {
        set("dir", json!(dir.0));
    }
}

/// A name of letters, digits, `_`, `-` and `.`, or an absolute path that leads nowhere else.
fn root(text: &str) -> Result<String, String> {
    let is_name = |text: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        !text.is_empty() && !text.starts_with('.') && text.chars().all(is_plain)
    };
    let is_path = Path::new(text).is_absolute()
        && !text.contains('\0')
        && !Path::new(text).components().any(|part| part == Component::ParentDir);
    match is_name(text) || is_path {
        true => Ok(text.to_owned()),
        false => Err(format!("is {text:?}, which is neither a name nor an absolute path")),
    }
}

fn invalid(field: &str, why: String) -> WorkspaceError {
    WorkspaceError::Invalid { field: field.to_owned(), why }
}

struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn optional<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, WorkspaceError> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => read(text).map(Some).map_err(|why| invalid(name, why)),
            Some(_) => Err(invalid(name, "is no text".to_owned())),
        }
    }

    fn required<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, WorkspaceError> {
        self.optional(name, read)?.ok_or_else(|| invalid(name, "is missing".to_owned()))
    }

    fn flag(&self, name: &str) -> Result<bool, WorkspaceError> {
        match self.0.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(invalid(name, "is neither true nor false".to_owned())),
        }
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, WorkspaceError> {
        let found = match self.0.get(name) {
            None => Some(Vec::new()),
            Some(Value::Array(all)) => all.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
            Some(_) => None,
        };
        found.ok_or_else(|| invalid(name, "is no list of texts".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "2JVA20Y10T049";
    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn what_is_written_is_read_again() {
        for value in [
            json!({"kind": "shared"}),
            json!({"kind": "shared", "root": "team", "dir": "a/b c"}),
            json!({"kind": "shared", "root": "/mnt/team"}),
            json!({"kind": "snapshot", "tree": TREE, "ignored": true, "leave_out": ["target/"]}),
            json!({"kind": "git", "repository": "https://example.org/a.git", "base": "feature/x-1"}),
            json!({"kind": "git", "repository": "git@example.org:a.git", "base": "HEAD", "commit": COMMIT, "dir": "sub"}),
        ] {
            let read = Workspace::of(&value).unwrap();
            assert_eq!(read.to_value(), value);
        }
        assert_eq!(Workspace::of(&json!({"kind": "shared"})).unwrap(), Workspace::default());
    }

    #[test]
    fn what_is_wrong_is_named_by_its_field() {
        let git = |field: &str, value: Value| {
            let mut whole = json!({"kind": "git", "repository": "/srv/a.git", "base": "main"});
            whole[field] = value;
            whole
        };
        let snapshot = |field: &str, value: Value| {
            let mut whole = json!({"kind": "snapshot", "tree": TREE});
            whole[field] = value;
            whole
        };
        for (value, field) in [
            (json!("shared"), "kind"),
            (json!({}), "kind"),
            (json!({"kind": "nfs"}), "kind"),
            (json!({"kind": 3}), "kind"),
            (json!({"kind": "shared", "tree": TREE}), "tree"),
            (json!({"kind": "shared", "root": "a/b"}), "root"),
            (json!({"kind": "shared", "root": "../x"}), "root"),
            (json!({"kind": "shared", "root": "/mnt/../etc"}), "root"),
            (json!({"kind": "shared", "dir": "/etc"}), "dir"),
            (json!({"kind": "shared", "dir": "a/../../b"}), "dir"),
            (json!({"kind": "shared", "dir": ["a"]}), "dir"),
            (json!({"kind": "snapshot"}), "tree"),
            (snapshot("tree", json!("no hash")), "tree"),
            (snapshot("ignored", json!("yes")), "ignored"),
            (snapshot("leave_out", json!([1])), "leave_out"),
            (json!({"kind": "git", "base": "main"}), "repository"),
            (json!({"kind": "git", "repository": "/srv/a.git"}), "base"),
            (git("base", json!("--upload-pack=x")), "base"),
            (git("base", json!("a..b")), "base"),
            (git("base", json!("a b")), "base"),
            (git("commit", json!("main")), "commit"),
            (git("commit", json!(&COMMIT[1..])), "commit"),
            (git("dir", json!("../x")), "dir"),
        ] {
            let error = Workspace::of(&value).unwrap_err();
            assert!(
                matches!(&error, WorkspaceError::Invalid { field: found, .. } if found == field),
                "{value}: {error}"
            );
        }
    }
}
