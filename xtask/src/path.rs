//! The files that somebody opens to follow one role run, from `main` to the stored step.
//!
//! Which these are is said in docs/ARCHITECTURE.md, in the table under "One role run": a line a station, with the file and
//! the function in it, as `` `agent/src/role_run.rs` `role_run` ``. Held against the source: a station that is not
//! there is named.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use syn::visit::Visit;

use crate::source::Crate;

/// Where the table is.
const MAP: &str = "docs/ARCHITECTURE.md";

/// The stations of one role run.
pub(crate) struct Stations {
    files: BTreeSet<String>,
    missing: Vec<String>,
}

impl Stations {
    pub(crate) fn of(root: &Path, crates: &[Crate]) -> Stations {
        let text = fs::read_to_string(root.join(MAP)).unwrap_or_default();
        let stations = stations(&text);
        let missing = stations.iter().filter(|station| !exists(crates, station));
        let missing = missing.map(|(file, function)| format!("{file} {function}")).collect();
        Stations { files: stations.into_iter().map(|(file, _)| file).collect(), missing }
    }
}

impl fmt::Display for Stations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stations { files, missing } = self;
        writeln!(f, "files to open for one role run: {}; not in the source: {}", files.len(), missing.len())?;
        missing.iter().try_for_each(|station| writeln!(f, "  {station}"))
    }
}

/// Each line of the table has a file and a function.
fn stations(text: &str) -> Vec<(String, String)> {
    let table = text.split("\n## ").find(|section| section.starts_with("One role run")).unwrap_or_default();
    let rows = table.lines().filter(|line| line.starts_with('|'));
    let station = |row: &str| {
        let mut quoted = row.split('`').skip(1).step_by(2).map(str::to_owned);
        let file = quoted.by_ref().find(|word| word.ends_with(".rs"))?;
        Some((file, quoted.next()?))
    };
    rows.filter_map(station).collect()
}

fn exists(crates: &[Crate], (file, function): &(String, String)) -> bool {
    let module = crates.iter().flat_map(|krate| &krate.modules).find(|module| module.file == Path::new(file));
    module.is_some_and(|module| {
        let mut finder = Finder { function, is_found: false };
        finder.visit_file(&module.ast);
        finder.is_found
    })
}

struct Finder<'a> {
    function: &'a str,
    is_found: bool,
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.is_found |= signature.ident == self.function;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{edges, source};

    #[test]
    fn every_station_on_the_map_is_in_the_source() {
        let root = edges::repository();
        let stations = Stations::of(&root, &source::read(&root).unwrap());
        assert_eq!(stations.missing, [""; 0]);
        assert!((1..=25).contains(&stations.files.len()), "{:?}", stations.files);
    }
}
