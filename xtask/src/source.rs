//! The product's source: the files that `mod` leads to from each crate's root, without what is for tests alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::{Attribute, Item, ItemMod};

/// One library or program of the workspace.
pub(crate) struct Crate {
    /// As the folder is called, relative to the repository; `.` is the root package.
    pub name: String,
    pub modules: Vec<Module>,
}

/// One file.
pub(crate) struct Module {
    /// `["provider", "wires"]`; the crate's root is empty.
    pub path: Vec<String>,
    /// Relative to the repository.
    pub file: PathBuf,
    /// The file without what is compiled for tests alone.
    pub ast: syn::File,
    /// How many lines the file has, those for tests not counted.
    pub lines: usize,
    /// How many of them are neither blank nor a comment.
    pub code: usize,
}

/// Reads every crate below `root`.
///
/// # Errors
/// A file that `mod` names cannot be read, or is no Rust.
pub(crate) fn read(root: &Path) -> io::Result<Vec<Crate>> {
    let mut crates = Vec::new();
    for name in [
        ".",
        "engine",
        "engine/snapshot",
        "engine/store",
        "engine/workflow",
        "prompts",
        "tools",
        "agent",
        "eval",
        "fleet",
        "web",
        "cli",
    ] {
        let dir = root.join(name);
        let mut roots = vec![dir.join("src/lib.rs")];
        if name == "." {
            roots = ["cli/bin/uwf.rs", "cli/bin/uwf-builtin.rs", "cli/bin/uwf-eval.rs"]
                .map(|file| root.join(file))
                .into();
        }
        let mut modules = Vec::new();
        for file in roots.into_iter().filter(|file| file.exists()) {
            follow(root, &file, Vec::new(), &mut modules)?;
        }
        if !modules.is_empty() {
            crates.push(Crate { name: name.to_owned(), modules });
        }
    }
    Ok(crates)
}

/// Reads `file` and the files of the modules that it declares.
fn follow(root: &Path, file: &Path, path: Vec<String>, into: &mut Vec<Module>) -> io::Result<()> {
    let named = |error: String| io::Error::other(format!("{}: {error}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| named(error.to_string()))?;
    let mut ast = syn::parse_file(&text).map_err(|error| named(error.to_string()))?;
    let tests: Vec<_> = ast.items.extract_if(.., |item| is_for_tests(attributes(item))).collect();
    let (lines, code) = count(&text, &tests);
    let here = file.parent().unwrap_or(root);
    let is_root = path.is_empty() || file.file_name().is_some_and(|name| name == "mod.rs");
    let below = if is_root { here.to_owned() } else { here.join(file.file_stem().unwrap_or_default()) };
    for module in ast.items.iter().filter_map(declared) {
        let name = module.ident.to_string();
        let candidates = [below.join(format!("{name}.rs")), below.join(&name).join("mod.rs")];
        let Some(found) = candidates.into_iter().find(|file| file.exists()) else { continue };
        follow(root, &found, [path.clone(), vec![name]].concat(), into)?;
    }
    let file = file.strip_prefix(root).unwrap_or(file).to_owned();
    into.push(Module { path, file, ast, lines, code });
    Ok(())
}

/// A module in a file of its own.
fn declared(item: &Item) -> Option<&ItemMod> {
    match item {
        Item::Mod(module) if module.content.is_none() => Some(module),
        _ => None,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`, or a feature that opens things to tests: `fuzzing`, `fixture`, `conformance`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let condition = list.tokens.to_string();
        !condition.contains("not")
            && ["test", "fuzzing", "fixture", "conformance"].iter().any(|word| condition.contains(word))
    })
}

/// All lines, and those that are neither blank nor a comment, without the lines of `tests`.
fn count(text: &str, tests: &[Item]) -> (usize, usize) {
    let tests: Vec<_> =
        tests.iter().map(Item::span).map(|span| span.start().line..=span.end().line).collect();
    let is_test = |line: &usize| tests.iter().any(|lines| lines.contains(line));
    let kept = || (1..).zip(text.lines()).filter(|(number, _)| !is_test(number)).map(|(_, line)| line.trim());
    (kept().count(), kept().filter(|line| !line.is_empty() && !line.starts_with("//")).count())
}
