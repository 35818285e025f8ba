//! Which files a role may write: globs, checked after every symlink of a path is resolved.

use std::fmt;
use std::path::{Path, PathBuf};

use globset::GlobSet;

use crate::pattern::{self, BadGlob};

/// The globs of what may be written.
#[derive(Debug)]
pub(crate) struct Writable {
    globs: Vec<String>,
    matchers: Vec<GlobSet>,
}

impl Writable {
    /// Globs as `glob` takes them; one that ends in `/` is everything below.
    ///
    /// # Errors
    /// What is no glob, as it was given, and why.
    pub(crate) fn new(globs: &[String]) -> Result<Self, (String, BadGlob)> {
        let matcher = |glob: &String| {
            let all_below = if glob.ends_with('/') { "**" } else { "" };
            pattern::compile(&format!("{glob}{all_below}")).map_err(|error| (glob.clone(), error))
        };
        Ok(Self { globs: globs.to_owned(), matchers: globs.iter().map(matcher).collect::<Result<_, _>>()? })
    }

    /// Whether `real` may be written, a path below the root that is free of symlinks.
    pub(crate) fn allows(&self, real: &Path) -> bool {
        self.matchers.iter().any(|matcher| matcher.is_match(real))
    }
}

/// What of `globs` the kernel can hold commands to: whole trees (`src/`, `src/**`) and single paths, relative to the
/// workspace. Any other glob tells files by their names, which the kernel does not: commands get nothing by it.
pub fn writable_trees(globs: &[String]) -> Vec<PathBuf> {
    let tree = |glob: &String| {
        let tree = ["/**/*", "/**", "/"].iter().find_map(|all| glob.strip_suffix(all)).unwrap_or(glob);
        (!tree.is_empty() && !tree.contains(['*', '?', '[', '{', '\\'])).then(|| PathBuf::from(tree))
    };
    globs.iter().filter_map(tree).collect()
}

impl fmt::Display for Writable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let globs: Vec<String> = self.globs.iter().map(|glob| format!("`{glob}`")).collect();
        f.write_str(if globs.is_empty() { "nothing" } else { "" })?;
        f.write_str(&globs.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    use crate::scratch::{Scratch, config, limits};
    use crate::{Cancel, Toolbox, ToolboxConfig};

    fn open(scratch: &Scratch, globs: &[&str]) -> Result<Toolbox, crate::ToolboxError> {
        let writable = Some(globs.iter().map(|glob| (*glob).to_owned()).collect());
        Toolbox::open(ToolboxConfig { writable, ..config(scratch.outside(), limits()) })
    }

    #[test]
    fn only_what_the_globs_name_is_written_whatever_the_way_to_it() {
        let scratch = Scratch::new();
        scratch.put("src/a.rs", "old");
        scratch.put("docs/x", "");
        scratch.link("../src/a.rs", "docs/link.md");
        let toolbox = open(&scratch, &["docs/", "*.md"]).unwrap();
        let write = |path: &str| {
            let call = json!({"path": path, "content": "new"}).to_string();
            toolbox.call("write_file", &call, &Cancel::default())
        };
        for path in ["docs/deep/a.rs", "README.md", "src/NOTES.md"] {
            assert!(!write(path).is_error, "{path}: {}", write(path).text);
        }
        for path in ["src/b.rs", "docs/link.md", "docs/../c.rs"] {
            let text = write(path).text;
            assert!(text.contains("the rule `writable` allows `docs/`, `*.md` alone"), "{path}: {text}");
        }
        let call = json!({"path": "src/a.rs", "old_string": "old", "new_string": "new"}).to_string();
        assert!(toolbox.call("edit_file", &call, &Cancel::default()).is_error);
        assert_eq!(scratch.get("src/a.rs"), b"old");
    }

    #[test]
    fn no_globs_are_nothing_and_a_wrong_one_is_named() {
        let scratch = Scratch::new();
        let call = r#"{"path": "a", "content": ""}"#;
        let text = open(&scratch, &[]).unwrap().call("write_file", call, &Cancel::default()).text;
        assert!(text.contains("allows nothing alone"), "{text}");
        let error = open(&scratch, &["a{"]).unwrap_err().to_string();
        assert!(error.starts_with("the writable 'a{' is not a valid glob: "), "{error}");
        let error = open(&scratch, &[&"{a,b}".repeat(300)]).unwrap_err().to_string();
        assert!(error.ends_with("is not a valid glob: it has more than 100 braces"), "{error}");
    }

    #[test]
    fn whole_trees_and_single_paths_bind_commands_too() {
        let globs = ["src/", "docs/**", "a/b/**/*", "Cargo.toml", "*.md", "src/*.rs", "{a,b}/", "/", "**"];
        let trees = writable_trees(&globs.map(str::to_owned));
        assert_eq!(trees, ["src", "docs", "a/b", "Cargo.toml"].map(PathBuf::from));
    }
}
