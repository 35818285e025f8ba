//! "Did you mean": the names nearest to one that does not exist.
//!
//! Names only, for errors. Nothing is ever done with a name that was merely similar.

use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

use crate::walk;

/// Below this, a name is no help (1 is equal).
const ALIKE: f64 = 0.6;
/// Entries looked at for a missing file; an error must not cost seconds in a huge tree.
const LOOKED_AT: usize = 10_000;
/// What all comparisons of names may cost: the product of the lengths, summed up.
const WORK: usize = 10 << 20;
/// Longer names and paths are like nothing, in bytes.
const COMPARED: usize = 300;

/// The name most like `wanted`, if any is alike.
pub(crate) fn name<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.map(|name| (likeness(wanted, name), name));
    scored
        .filter(|(score, _)| *score >= ALIKE)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, name)| name)
}

/// The paths of up to three entries most like the missing `wanted`, best first: the same file name elsewhere, or a
/// similar name. `workspace` is its directory. Hidden entries are looked at, ignored ones are not.
pub(crate) fn paths(workspace: &Path, wanted: &Path) -> Vec<String> {
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

/// Long names are compared in time by the product of their lengths, and are no slips of the pen.
fn likeness(left: &str, right: &str) -> f64 {
    if left.len().max(right.len()) > COMPARED {
        return 0.0;
    }
    strsim::normalized_damerau_levenshtein(&left.to_lowercase(), &right.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_name_is_found_and_a_stranger_is_not() {
        let known = ["read_file", "write_file", "grep"];
        assert_eq!(name("readfile", known.into_iter()), Some("read_file"));
        assert_eq!(name("xyz", known.into_iter()), None);
        assert_eq!(name(&"grep".repeat(1 << 20), known.into_iter()), None);
    }
}
