//! Lengths of files and functions, parameters, names that mean more than one thing, errors that are not documented.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ReturnType, Signature, Visibility};

use crate::source::{Crate, Module};

/// How many lines a function may have, and how many parameters.
const LONGEST: usize = 60;
const MOST_PARAMETERS: usize = 5;

/// What is counted.
#[derive(Default)]
pub(crate) struct Figures {
    /// By crate: its folder, how many lines of code it has, and in how many files.
    crates: Vec<(String, usize, usize)>,
    files: Vec<(usize, String)>,
    functions: Vec<(usize, String)>,
    parameters: Vec<(usize, String)>,
    /// Where each type's name is defined.
    types: BTreeMap<String, BTreeSet<String>>,
    undocumented: Vec<String>,
}

impl Figures {
    pub(crate) fn of(crates: &[Crate]) -> Figures {
        let mut figures = Figures::default();
        let code = |krate: &Crate| krate.modules.iter().map(|module| module.code).sum();
        figures.crates =
            crates.iter().map(|krate| (krate.name.clone(), code(krate), krate.modules.len())).collect();
        for module in crates.iter().flat_map(|krate| &krate.modules) {
            figures.files.push((module.lines, module.file.display().to_string()));
            let mut visitor = Visitor { figures: &mut figures, module };
            visitor.visit_file(&module.ast);
        }
        for list in [&mut figures.files, &mut figures.functions, &mut figures.parameters] {
            list.sort();
        }
        figures
    }

    /// Type names with more than one definition.
    fn ambiguous(&self) -> impl Iterator<Item = (&String, &BTreeSet<String>)> {
        self.types.iter().filter(|(_, places)| places.len() > 1)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code: usize = self.crates.iter().map(|(_, code, _)| code).sum();
        writeln!(f, "lines of code: {code}, in {} files", self.files.len())?;
        for (name, code, files) in &self.crates {
            writeln!(f, "  {name}: {code}, in {files} files")?;
        }
        for (what, list) in [("lines of a file", &self.files), ("lines of a function", &self.functions)] {
            let at = |share: usize| {
                list.get(list.len().saturating_sub(1) * share / 100).map_or(0, |(size, _)| *size)
            };
            let (longest, name) = list.last().cloned().unwrap_or_default();
            writeln!(f, "{what}: median {}, p95 {}, max {longest} ({name})", at(50), at(95))?;
        }
        for (what, list, most) in [
            ("functions over 60 lines", &self.functions, LONGEST),
            ("functions with more than 5 parameters", &self.parameters, MOST_PARAMETERS),
        ] {
            let over: Vec<_> =
                list.iter().filter(|(size, _)| *size > most).map(|(_, name)| name.as_str()).collect();
            writeln!(f, "{what}: {}{}", over.len(), named(&over))?;
        }
        writeln!(f, "type names with more than one meaning: {}", self.ambiguous().count())?;
        for (name, places) in self.ambiguous() {
            writeln!(f, "  {name}: {}", places.iter().map(String::as_str).collect::<Vec<_>>().join(", "))?;
        }
        let names: Vec<_> = self.undocumented.iter().map(String::as_str).collect();
        writeln!(f, "public functions with a Result and no `# Errors`: {}{}", names.len(), named(&names))
    }
}

fn named(names: &[&str]) -> String {
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

struct Visitor<'a> {
    figures: &'a mut Figures,
    module: &'a Module,
}

impl Visitor<'_> {
    fn function(&mut self, signature: &Signature, block: Option<&Block>, spanned: &impl Spanned) {
        let name = format!("{} {}", self.module.file.display(), signature.ident);
        if block.is_some() {
            let span = spanned.span();
            self.figures.functions.push((span.end().line - signature.span().start().line + 1, name.clone()));
        }
        self.figures.parameters.push((signature.inputs.len(), name));
    }

    fn errors(&mut self, is_public: bool, attributes: &[Attribute], signature: &Signature) {
        let ReturnType::Type(_, returned) = &signature.output else { return };
        let syn::Type::Path(returned) = &**returned else { return };
        let is_result = returned.path.segments.last().is_some_and(|segment| segment.ident == "Result");
        if is_public && is_result && !documents_errors(attributes) {
            self.figures.undocumented.push(format!("{} {}", self.module.file.display(), signature.ident));
        }
    }

    fn define(&mut self, name: &syn::Ident) {
        let place = self.module.file.display().to_string();
        self.figures.types.entry(name.to_string()).or_default().insert(place);
    }
}

fn documents_errors(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::NameValue(doc) if doc.path.is_ident("doc") => match &doc.value {
            syn::Expr::Lit(text) => {
                matches!(&text.lit, syn::Lit::Str(text) if text.value().contains("# Errors"))
            }
            _ => false,
        },
        _ => false,
    })
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, Some(&item.block), item);
        self.errors(matches!(item.vis, Visibility::Public(_)), &item.attrs, &item.sig);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, Some(&item.block), item);
        self.errors(matches!(item.vis, Visibility::Public(_)), &item.attrs, &item.sig);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.define(&item.ident);
        let is_public = matches!(item.vis, Visibility::Public(_));
        for item in &item.items {
            if let syn::TraitItem::Fn(item) = item {
                self.function(&item.sig, item.default.as_ref(), item);
                self.errors(is_public, &item.attrs, &item.sig);
            }
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.define(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.define(&item.ident);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.define(&item.ident);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{edges, source};

    #[test]
    fn code_is_told_crate_by_crate_and_adds_up() {
        let figures = Figures::of(&source::read(&edges::repository()).unwrap());
        let text = figures.to_string();
        let number = |line: &str| line.split([':', ',']).nth(1).unwrap().trim().parse::<usize>().unwrap();
        let mut lines = text.lines();
        let all = number(lines.next().unwrap());
        let crates: Vec<&str> = lines.take_while(|line| line.starts_with("  ")).collect();
        assert!(crates.iter().any(|line| line.starts_with("  engine/store: ")), "{text}");
        assert_eq!(crates.into_iter().map(number).sum::<usize>(), all);
    }
}
