//! What a workspace says of itself, for whoever tells a model of it: small text files, and which directories a path is in.
//!
//! Apart because no model asks for it. It reads as the file tools do, by the handle of the root, so that no path and no link
//! leads out, and no FIFO holds anybody up.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Dir, FileType};

use crate::open_flags::{LOOK, READ};
use crate::toolbox::Toolbox;
use crate::workspace::WorkspaceDir;
use crate::workspace::kind;

/// So many names of a directory are looked at.
const MAX_NAMES: usize = 1_000;

/// The beginning of a text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundText {
    /// Whole lines, where there is a line end.
    pub text: String,
    /// Whether there is more of it.
    pub is_cut: bool,
}

impl Toolbox {
    /// The text of a file in the workspace, of at most so many bytes; none where there is no such file, or it cannot be read,
    /// or it is no text.
    pub fn text_of(&self, path: &str, most: usize) -> Option<FoundText> {
        text_of(self.workspace(), path, most)
    }

    /// The names of the directories in a directory of the workspace, in order.
    pub fn directories_in(&self, path: &str) -> Vec<String> {
        directories_in(self.workspace(), path).unwrap_or_default().into_iter().collect()
    }

    /// The directories below the root that lead to `path`, itself if it is one, from the outermost: links resolved. What does
    /// not exist has those that it would be in.
    pub fn directories_to(&self, path: &str) -> Vec<String> {
        directories_to(self.workspace(), path)
    }
}

/// The same of a workspace that has no tools: `private` are directories in it that are no part of it.
pub fn text_in(root: &Path, private: &[&Path], path: &str, most: usize) -> Option<FoundText> {
    let private: Vec<PathBuf> = private.iter().map(|dir| dir.to_path_buf()).collect();
    text_of(&WorkspaceDir::open(root, &private).ok()?, path, most)
}

fn text_of(workspace: &WorkspaceDir, path: &str, most: usize) -> Option<FoundText> {
    let open = workspace.open_file(path).ok()?;
    let mut bytes = Vec::new();
    open.file.take(most as u64 + 1).read_to_end(&mut bytes).ok()?;
    let is_cut = bytes.len() > most;
    bytes.truncate(most);
    if bytes.contains(&0) {
        return None;
    }
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if is_cut {
        let end = text.rfind('\n').map_or(text.len(), |at| at + 1);
        text.truncate(end);
    }
    Some(FoundText { text, is_cut })
}

fn directories_in(workspace: &WorkspaceDir, path: &str) -> Option<BTreeSet<String>> {
    let real = workspace.open_dir(path).ok()?.1;
    let dir = Dir::new(workspace.beneath(&real, READ).ok()?).ok()?;
    let mut names = BTreeSet::new();
    for entry in dir.take(MAX_NAMES) {
        let entry = entry.ok()?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        let may_be_one =
            matches!(entry.file_type(), FileType::Directory | FileType::Symlink | FileType::Unknown);
        if may_be_one && name != "." && name != ".." {
            names.insert(name.to_owned());
        }
    }
    Some(names)
}

fn directories_to(workspace: &WorkspaceDir, path: &str) -> Vec<String> {
    let Ok(real) = workspace.real(path) else { return Vec::new() };
    let is_dir = workspace
        .beneath(&real, LOOK)
        .and_then(rustix::fs::fstat)
        .is_ok_and(|stat| kind(&stat) == FileType::Directory);
    let dir = if is_dir { real.as_path() } else { real.parent().unwrap_or(Path::new("")) };
    let mut paths = Vec::new();
    let mut so_far = String::new();
    for part in dir.components() {
        let Component::Normal(name) = part else { continue };
        let Some(name) = name.to_str() else { break };
        if !so_far.is_empty() {
            so_far.push('/');
        }
        so_far.push_str(name);
        paths.push(so_far.clone());
    }
    paths
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use crate::scratch::Scratch;

    #[test]
    fn a_path_is_in_the_directories_that_it_leads_through() {
        let scratch = Scratch::new();
        scratch.put("a/b/c.rs", "x");
        symlink("a/b", scratch.root().join("link")).unwrap();
        let to = |path: &str| scratch.toolbox.directories_to(path).join(" ");
        assert_eq!(to("a/b/c.rs"), "a a/b");
        assert_eq!(to("a/b"), "a a/b");
        assert_eq!(to("a/b/new/file.rs"), "a a/b a/b/new");
        assert_eq!(to("link/c.rs"), "a a/b");
        assert_eq!(to("a/../a/b/c.rs"), "a a/b");
        assert_eq!((to("c.rs"), to("."), to("../x"), to("")), Default::default());
        let absolute = scratch.root().join("a/b/c.rs");
        assert_eq!(to(absolute.to_str().unwrap()), "a a/b");
    }

    #[test]
    fn only_text_files_of_the_workspace_are_read_and_so_much_of_them() {
        let scratch = Scratch::new();
        scratch.put("text", "one\ntwo\nthree\n");
        scratch.put("binary", "a\0b");
        symlink("/etc/passwd", scratch.root().join("out")).unwrap();
        symlink("text", scratch.root().join("in")).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, scratch.root().join("fifo"), fifo, 0o600.into(), 0).unwrap();
        let text =
            |path: &str, most| scratch.toolbox.text_of(path, most).map(|found| (found.text, found.is_cut));
        assert_eq!(text("text", 100), Some(("one\ntwo\nthree\n".to_owned(), false)));
        assert_eq!(text("in", 9), Some(("one\ntwo\n".to_owned(), true)));
        for none in ["binary", "out", "fifo", ".", "missing", "../x"] {
            assert_eq!(text(none, 100), None, "{none}");
        }
    }

    #[test]
    fn the_directories_in_one_are_named_in_order() {
        let scratch = Scratch::new();
        for path in ["d/b/x", "d/a/x", "d/file"] {
            scratch.put(path, "x");
        }
        symlink("/", scratch.root().join("out")).unwrap();
        assert_eq!(scratch.toolbox.directories_in("d"), ["a", "b"]);
        assert!(scratch.toolbox.directories_in("missing").is_empty());
        assert!(scratch.toolbox.directories_in("out").is_empty());
    }
}
