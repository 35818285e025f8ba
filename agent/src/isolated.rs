//! A copy of a workspace for one run: what a snapshot has of it, written into another directory.
//!
//! Apart from who decides that a run works so, where the copy lies and how long.

use std::path::Path;

use uwf_engine::Homes;
use uwf_snapshot::{Options, Withheld, checkout};
use uwf_store::{Hash, Store};

use crate::settings::Settings;
use crate::snapshots::{WorkspaceCapture, partial, recorded};

/// A workspace that was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedWorkspace {
    /// What it is like: a node of type `uwf-tree`.
    pub tree: Hash,
    /// How much of it is not in the copy; a directory counts as one.
    pub left_out: u64,
    /// What is left out though nobody said so, in words.
    pub partial: Option<String>,
}

/// Writes what a run of these settings captures of `workspace` into `into`, a directory that is empty.
///
/// # Errors
/// Why that cannot be done, for people.
pub fn copy_workspace(
    (settings, homes): (&Settings, &Homes),
    store: &Store,
    workspace: &Path,
    into: &Path,
) -> Result<CopiedWorkspace, String> {
    if !settings.snapshots.enabled {
        return Err("no snapshots of it are to be kept (`snapshots.enabled`, --no-snapshots)".to_owned());
    }
    let withheld = Withheld::new(settings.secrets().values());
    let options = Options { withheld, ..settings.snapshots.options.clone() };
    let capture = WorkspaceCapture::new((&homes.uwf, workspace), options, store.clone());
    let capture = capture.without([homes.uwf.as_path(), homes.ocas.as_path()].into_iter());
    let snapshot = capture.capture(true)?;
    checkout(store, &snapshot.tree, into).map_err(|error| error.to_string())?;
    let (left_out, partial) = (recorded(&snapshot).left_out, partial(&snapshot));
    Ok(CopiedWorkspace { tree: snapshot.tree, left_out, partial })
}
