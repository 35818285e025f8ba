//! "Did you mean": the paths that resemble one that does not exist.
//!
//! Paths only, for errors. Nothing is ever done with one that was merely similar.

use std::path::Path;

use ignore::{DirEntry, WalkBuilder};
use uwf_store::suggest::likeness;

use crate::walk;

/// Below this, a name is no help (1 is equal).
pub(crate) const ALIKE: f64 = 0.6;
/// Entries looked at for a missing file; an error must not cost seconds in a huge tree.
const LOOKED_AT: usize = 10_000;
/// What all comparisons of names may cost: the product of the lengths, summed up.
const WORK: usize = 10 << 20;

/// The paths of up to three entries most like the missing `wanted`, best first: the same file name elsewhere, or a
/// similar name. `workspace` is its directory. Hidden entries are looked at, ignored ones are not.
pub(crate) fn below(workspace: &Path, wanted: &Path) -> Vec<String> {
    let wanted_name = wanted.file_name().unwrap_or_default().to_string_lossy();
    let wanted_path = wanted.to_string_lossy();
    let mut walk = WalkBuilder::new(workspace);
    walk.hidden(false);
    walk::guard(&mut walk, (workspace, Path::new("")), |entry| entry.file_name() != ".git");
    let wanted_length = wanted_name.len();
    let mut work = WORK;
    let affordable = |entry: &DirEntry| {
        work = work.saturating_sub(wanted_length * entry.file_name().len());
        work > 0
    };
    let mut scored: Vec<(f64, String)> = walk
        .build()
        .flatten()
        .skip(1)
        .take(LOOKED_AT)
        .take_while(affordable)
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(workspace).ok()?.to_str()?.to_owned();
            let score = likeness(&wanted_name, entry.file_name().to_str()?);
            // Among equal names, the path decides; it never makes up for a name that is not alike.
            (score >= ALIKE).then(|| (score + likeness(&wanted_path, &path) / 10.0, path))
        })
        .collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    scored.into_iter().take(3).map(|(_, path)| path).collect()
}
