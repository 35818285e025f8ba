//! Modules that import each other in a loop.
//!
//! Looked at among siblings: an import from `a::b` to `c::d` is one from `a` to `c`. A module and its own children may
//! name each other, as they are one room with drawers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use syn::visit::{self, Visit};

use crate::source::Crate;

type Path = Vec<String>;

/// Sets of sibling modules of which each reaches each other, with the imports that tie them.
pub(crate) struct Circles(Vec<Vec<String>>);

impl Circles {
    pub(crate) fn of(crates: &[Crate]) -> Circles {
        Circles(crates.iter().flat_map(of_crate).collect())
    }
}

impl fmt::Display for Circles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "circles of imports between modules: {}", self.0.len())?;
        for circle in &self.0 {
            writeln!(f, "  {}", circle.join(", "))?;
        }
        Ok(())
    }
}

fn of_crate(krate: &Crate) -> Vec<Vec<String>> {
    let known: BTreeSet<Path> = krate.modules.iter().map(|module| module.path.clone()).collect();
    // parent → module → siblings that it imports
    let mut siblings: BTreeMap<Path, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for module in &krate.modules {
        let mut imports = Imports { here: &module.path, found: Vec::new() };
        imports.visit_file(&module.ast);
        for found in imports.found {
            let Some(target) =
                (0..=found.len()).rev().map(|end| &found[..end]).find(|path| known.contains(*path))
            else {
                continue;
            };
            let common = module.path.iter().zip(target).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (module.path.get(common), target.get(common)) {
                let parent = siblings.entry(target[..common].to_vec()).or_default();
                parent.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    let named = |(parent, graph): (&Path, &BTreeMap<String, BTreeSet<String>>)| {
        let place = if parent.is_empty() { String::new() } else { format!("{}::", parent.join("::")) };
        let ties = |circle: &BTreeSet<String>| {
            let inside = graph.iter().filter(|(from, _)| circle.contains(*from));
            let ties = inside.flat_map(|(from, to)| to.intersection(circle).map(move |to| (from, to)));
            ties.map(|(from, to)| format!("{} {place}{from} -> {to}", krate.name)).collect()
        };
        loops(graph).iter().map(ties).collect::<Vec<_>>()
    };
    siblings.iter().flat_map(named).collect()
}

/// The strongly connected parts of a small graph that have more than one member.
fn loops(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|from| (from, reached(graph, from))).collect();
    let mut circles = Vec::new();
    for (from, reached) in &reach {
        let back = |to: &&&String| reach.get(**to).is_some_and(|back| back.contains(*from));
        let circle: BTreeSet<String> = reached.iter().filter(back).map(|to| (*to).clone()).collect();
        if circle.len() > 1 && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

/// Everything that `from` reaches, itself only in a loop.
fn reached<'a>(graph: &'a BTreeMap<String, BTreeSet<String>>, from: &'a String) -> BTreeSet<&'a String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(next) = open.pop() {
        open.extend(graph.get(next).into_iter().flatten().filter(|to| seen.insert(*to)));
    }
    seen
}

/// The paths that a file names, from the crate's root.
struct Imports<'a> {
    here: &'a [String],
    found: Vec<Path>,
}

impl Imports<'_> {
    /// `crate::a::b`, `self::a` and `super::a`; nothing for the names of other crates.
    fn add(&mut self, segments: &[String]) {
        let mut path = match segments.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self" | "super") => self.here.to_vec(),
            _ => return,
        };
        for segment in segments {
            match segment.as_str() {
                "crate" | "self" => {}
                "super" => drop(path.pop()),
                name => path.push(name.to_owned()),
            }
        }
        self.found.push(path);
    }

    fn tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.add(&with(&name.ident)),
            syn::UseTree::Rename(name) => self.add(&with(&name.ident)),
            syn::UseTree::Glob(_) => self.add(before),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(before, tree)),
        }
    }
}

impl<'ast> Visit<'ast> for Imports<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Path = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add(&segments);
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{edges, source};

    /// What two modules share belongs below both, in a module of its own.
    #[test]
    fn no_modules_of_this_repository_import_each_other() {
        let crates = source::read(&edges::repository()).unwrap();
        let circles = Circles::of(&crates);
        assert!(circles.0.is_empty(), "{circles}");
    }

    #[test]
    fn a_loop_is_found_and_a_line_is_none() {
        let graph = |edges: &[(&str, &str)]| {
            let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            edges.iter().for_each(|(from, to)| {
                graph.entry((*from).into()).or_default().insert((*to).into());
            });
            graph
        };
        assert!(loops(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
        let found = loops(&graph(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]));
        assert_eq!(found, [BTreeSet::from(["b".to_owned(), "c".to_owned()])]);
    }

    #[test]
    fn paths_are_taken_from_the_crates_root() {
        let here = ["a".to_owned(), "b".to_owned()];
        let mut imports = Imports { here: &here, found: Vec::new() };
        imports.visit_file(
            &syn::parse_file("use super::{c::D, super::e}; fn f() { crate::g::h(); std::i() }").unwrap(),
        );
        assert_eq!(imports.found, [vec!["a", "c", "D"], vec!["e"], vec!["g", "h"]]);
    }
}
