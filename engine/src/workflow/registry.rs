//! Names of workflows: the variables `@uwf/registry/<name>`, and the order in which a reference is tried.
//!
//! Apart because it joins the two worlds in which a workflow can be named, the store and the directories nearby.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use uwf_store::{Expect, Hash, Store, VarChange, suggest};
use uwf_workflow::is_name;

use super::{CheckedWorkflow, Workflow, WorkflowError, discover, get, load, put};

/// Where registered workflows live among the variables.
pub const REGISTRY: &str = "@uwf/registry/";

/// Where a reference led.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowOrigin {
    /// It is the hash of a stored workflow.
    Hash,
    /// It is the path of this file.
    File(PathBuf),
    /// It names this file beside the work.
    Local(PathBuf),
    /// It names a registered workflow.
    Registry,
}

impl WorkflowOrigin {
    /// One word: `hash`, `file`, `local` or `registry`.
    pub fn as_str(&self) -> &'static str {
        match self {
            WorkflowOrigin::Hash => "hash",
            WorkflowOrigin::File(_) => "file",
            WorkflowOrigin::Local(_) => "local",
            WorkflowOrigin::Registry => "registry",
        }
    }
}

/// What a reference stands for: a stored workflow, or a checked file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Resolved {
    /// The stored workflow; `None` for a file that this store does not hold yet.
    pub hash: Option<Hash>,
    /// The workflow's own name.
    pub name: String,
    /// Where it was found.
    pub origin: WorkflowOrigin,
    /// The checked file, if it was one.
    pub checked: Option<CheckedWorkflow>,
}

impl Resolved {
    /// The workflow as it is, or would be, stored.
    ///
    /// # Errors
    /// When the store fails.
    pub fn workflow(&self, store: &Store) -> Result<Workflow, WorkflowError> {
        match (&self.checked, &self.hash) {
            (Some(checked), _) => Ok(checked.to_stored()),
            (None, hash) => get(store, &hash.expect("what is no file was found by its hash")),
        }
    }

    /// The hash, after storing the workflow if it is a file.
    ///
    /// # Errors
    /// When the store fails.
    pub fn ensure_stored(&self, store: &Store) -> Result<Hash, WorkflowError> {
        match &self.checked {
            Some(checked) => put(store, checked),
            None => Ok(self.hash.expect("what is no file was found by its hash")),
        }
    }
}

/// A workflow that can be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWorkflow {
    /// What to call it by.
    pub name: String,
    /// `None` for a file, whose hash changes with it.
    pub hash: Option<Hash>,
    /// [`WorkflowOrigin::Local`] or [`WorkflowOrigin::Registry`].
    pub origin: WorkflowOrigin,
}

/// Stores the workflow and registers it under its name, in the place of an earlier one.
///
/// # Errors
/// When the store fails; then the name is what it was.
pub fn add(store: &Store, workflow: &CheckedWorkflow) -> Result<Hash, WorkflowError> {
    let hash = put(store, workflow)?;
    let name = format!("{REGISTRY}{}", workflow.name);
    let tags = store.vars().get(&name)?.map_or_else(BTreeMap::new, |variable| variable.tags);
    let schema = workflow.type_();
    let change = VarChange::Set { name, schema, value: hash, tags, expect: Expect::Any };
    store.vars().apply(&[change])?;
    Ok(hash)
}

/// The change that registers a stored workflow under a name that is free; it fails if the name is taken.
///
/// # Errors
/// When the name cannot be registered, and what [`get`] says of the node.
pub(crate) fn registration(store: &Store, name: &str, hash: &Hash) -> Result<VarChange, WorkflowError> {
    if !is_name(name) {
        return Err(WorkflowError::BadName { name: name.to_owned() });
    }
    let schema = get(store, hash)?.type_();
    let name = format!("{REGISTRY}{name}");
    Ok(VarChange::Set { name, schema, value: *hash, tags: BTreeMap::new(), expect: Expect::Absent })
}

/// Finds a workflow: a hash, a file's path, a name beside the work (from `cwd` upward), a registered name, in this
/// order. A file is read and checked, but not stored.
///
/// # Errors
/// [`WorkflowError::Unknown`] with all names there are; what [`load`] and [`get`] say of what was found.
pub fn resolve(store: &Store, reference: &str, cwd: &Path) -> Result<Resolved, WorkflowError> {
    if let Some(hash) = reference.parse().ok().filter(|hash| store.has(hash)) {
        let name = get(store, &hash)?.name;
        return Ok(Resolved { hash: Some(hash), name, origin: WorkflowOrigin::Hash, checked: None });
    }
    if let Some(path) = as_path(reference, cwd) {
        return from_file(store, &path, WorkflowOrigin::File(path.clone()));
    }
    if let Some(path) = discover::find(reference, cwd) {
        return from_file(store, &path, WorkflowOrigin::Local(path.clone()));
    }
    if let Some(hash) = registered(store, reference)? {
        let name = get(store, &hash)?.name;
        return Ok(Resolved { hash: Some(hash), name, origin: WorkflowOrigin::Registry, checked: None });
    }
    let known = list(store, cwd)?.into_iter().map(|listed| listed.name);
    Err(WorkflowError::Unknown { reference: reference.to_owned(), known: suggest::sorted(reference, known) })
}

/// The workflows that a name can mean here, by name. A file beside the work hides a registered one.
///
/// # Errors
/// When the store fails.
pub fn list(store: &Store, cwd: &Path) -> Result<Vec<ListedWorkflow>, WorkflowError> {
    let mut listed = BTreeMap::new();
    for variable in store.vars().list(REGISTRY)? {
        let name = variable.name[REGISTRY.len()..].to_owned();
        let entry = ListedWorkflow {
            name: name.clone(),
            hash: Some(variable.value),
            origin: WorkflowOrigin::Registry,
        };
        listed.insert(name, entry);
    }
    for (name, path) in discover::all(cwd) {
        listed.insert(name.clone(), ListedWorkflow { name, hash: None, origin: WorkflowOrigin::Local(path) });
    }
    Ok(listed.into_values().collect())
}

fn registered(store: &Store, name: &str) -> Result<Option<Hash>, WorkflowError> {
    if !is_name(name) {
        return Ok(None);
    }
    Ok(store.vars().get(&format!("{REGISTRY}{name}"))?.map(|variable| variable.value))
}

/// A reference as it means the same from every directory: what looks like a path counts from `base`, anything else is a name.
pub fn anchored(reference: &str, base: &Path) -> String {
    match looks_like_a_path(reference) {
        true => base.join(reference).to_string_lossy().into_owned(),
        false => reference.to_owned(),
    }
}

/// The file a reference means if it is a path: by its look, or because there is such a file.
fn as_path(reference: &str, cwd: &Path) -> Option<PathBuf> {
    let path = cwd.join(reference);
    if path.is_dir() && reference.contains('/') {
        return Some(discover::index(&path).unwrap_or(path));
    }
    (looks_like_a_path(reference) || path.is_file()).then_some(path)
}

fn looks_like_a_path(reference: &str) -> bool {
    reference.contains('/') || reference.ends_with(".yaml") || reference.ends_with(".yml")
}

fn from_file(store: &Store, path: &Path, origin: WorkflowOrigin) -> Result<Resolved, WorkflowError> {
    let checked = load(path)?;
    let hash = Some(checked.hash()).filter(|hash| store.has(hash));
    Ok(Resolved { hash, name: checked.name.clone(), origin, checked: Some(checked) })
}
