//! The store as a whole, its types and its variables, and how each looks to a program.

use std::fmt::Display;

use serde::Serialize;
use uwf_store::{Finding, GcReport, Hash, Referrer, VerifyReport};

use crate::journals::LeftoversRemoved;
use crate::lost::Lost;

/// Whether a store is sound: `cas verify`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreVerified {
    /// Whether nothing is wrong that does harm.
    pub ok: bool,
    /// How many nodes were looked at.
    pub nodes: u64,
    /// How many variables were looked at.
    pub variables: u64,
    /// What is wrong.
    pub findings: Vec<FindingView>,
}

impl StoreVerified {
    /// What was found, and the threads that lost their names.
    pub fn of(report: &VerifyReport, findings: &[Finding], lost: Option<&Lost>) -> StoreVerified {
        // What a killed writer left behind harms nobody.
        let harmless = |finding: &Finding| matches!(finding, Finding::Stray { .. });
        let lost_threads = lost.iter().flat_map(|lost| &lost.threads);
        let lost_threads = lost_threads.map(|(start, last)| FindingView::lost(*start, *last));
        StoreVerified {
            ok: findings.iter().all(harmless) && lost.is_none(),
            nodes: report.nodes,
            variables: report.variables,
            findings: findings.iter().map(FindingView::of).chain(lost_threads).collect(),
        }
    }
}

/// Something that is wrong with a store. A field that says nothing about its kind is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingView {
    /// `corrupt`, `missing`, `invalid`, `variable`, `stray` or `lost`.
    pub kind: &'static str,
    /// The node; of a thread that lost its name its StartNode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<Hash>,
    /// The variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The file that is no node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The last step of a thread that lost its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_step: Option<Hash>,
    /// What is wrong, in words.
    pub message: String,
    /// What refers to it: hashes and variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referred_by: Option<Vec<String>>,
}

impl FindingView {
    fn of(finding: &Finding) -> FindingView {
        let bare = |kind| FindingView::bare(kind, finding);
        let node = |kind, hash: &Hash, referrers: &[Referrer]| {
            let referred_by = Some(referrers.iter().map(ToString::to_string).collect());
            FindingView { hash: Some(*hash), referred_by, ..bare(kind) }
        };
        match finding {
            Finding::Corrupt { hash, referred_by, .. } => node("corrupt", hash, referred_by),
            Finding::Missing { hash, referred_by } => node("missing", hash, referred_by),
            Finding::Invalid { hash, referred_by, .. } => node("invalid", hash, referred_by),
            Finding::Variable { name, .. } => {
                FindingView { name: Some(name.clone()), referred_by: Some(Vec::new()), ..bare("variable") }
            }
            Finding::Stray { path } => {
                FindingView { path: Some(path.display().to_string()), ..bare("stray") }
            }
        }
    }

    /// A thread that lost its name.
    fn lost(start: Hash, last_step: Hash) -> FindingView {
        let message = format!("thread at start {start} has lost its name; its last step is {last_step}");
        FindingView { hash: Some(start), last_step: Some(last_step), ..FindingView::bare("lost", message) }
    }

    fn bare(kind: &'static str, message: impl Display) -> FindingView {
        let message = message.to_string();
        FindingView { kind, hash: None, name: None, path: None, last_step: None, message, referred_by: None }
    }
}

/// What was removed from a store, or would be: `cas gc`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreCollected {
    /// How much.
    #[serde(flatten)]
    pub report: GcReport,
    /// Journals that nobody can come back to.
    pub journals: LeftoversRemoved,
    /// Forks of sessions that nobody asked for long.
    pub forks: LeftoversRemoved,
    /// What was known of workspaces that are gone.
    pub caches: LeftoversRemoved,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

/// What a store holds: `cas stats`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreStatsView {
    /// How many nodes.
    pub nodes: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many of them cannot be read.
    pub unreadable: u64,
    /// How many rows of variables.
    pub variables: usize,
    /// How many threads.
    pub threads: usize,
    /// How many workflows have a name.
    pub workflows: usize,
    /// Type by type, the one with the most nodes first.
    pub types: Vec<TypeStatsView>,
}

/// What a store holds of one type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TypeStatsView {
    /// The type.
    #[serde(rename = "type")]
    pub type_: Hash,
    /// What it calls itself, else what it can be called.
    pub name: Option<String>,
    /// How many nodes.
    pub nodes: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A type as a row of `cas schema list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SchemaRow {
    /// Its schema's node.
    pub hash: Hash,
    /// What it calls itself.
    pub title: Option<String>,
    /// What it can be called: variables, and words of the engine.
    pub names: Vec<String>,
}

/// What a variable stood for, as a row of `var history`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VariableValue {
    /// The node.
    pub value: Hash,
    /// Since when, in milliseconds since the epoch.
    pub set_at: u64,
}
