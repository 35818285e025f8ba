//! The hooks of a git directory, as they are.
//!
//! Apart because they are a directory with all below it: a hook may read others of its files.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::deadline::CheckDeadline;
use super::dir::{Content, Dir};
use super::read;

/// How many bytes of a directory's hooks are kept; those beyond are taken for files that may not be read.
const KEPT_BYTES: usize = 32 << 20;
/// How many levels below the directory hooks are looked for.
const DEPTH: usize = 8;

/// Stands among the hooks for a directory of hooks that is a symlink, whose files are not looked at.
pub(super) const LINK: &str = ".";

/// Where hooks are below their directory, and what they are; git's own samples are left out.
pub(super) type Hooks = BTreeMap<PathBuf, Content>;

/// The hooks of a git directory; `None` when there was no time for them all.
pub(super) fn hooks_in(dir: &Path, deadline: &CheckDeadline) -> Option<Hooks> {
    if let link @ Content::Link(_) = read(dir) {
        return Some(Hooks::from([(PathBuf::from(LINK), link)]));
    }
    let mut look = HookReader { found: Hooks::new(), left: KEPT_BYTES, deadline };
    look.below(dir, Path::new(""), DEPTH).then_some(look.found)
}

/// Reads the hooks of one directory.
struct HookReader<'a> {
    found: Hooks,
    /// How many bytes of hooks may still be kept.
    left: usize,
    deadline: &'a CheckDeadline<'a>,
}

impl HookReader<'_> {
    fn below(&mut self, path: &Path, below: &Path, depth: usize) -> bool {
        let Some(dir) = Dir::open(path) else { return true };
        let names: Vec<OsString> = dir.names();
        names.iter().filter(|name| !is_sample(name)).all(|name| {
            match if self.left == 0 { dir.unread(name) } else { dir.read(name) } {
                Content::Dir if depth > 0 => {
                    if !self.below(&path.join(name), &below.join(name), depth - 1) {
                        return false;
                    }
                }
                Content::Missing | Content::Dir | Content::Other => {}
                content => {
                    if let Content::File(bytes, _) = &content {
                        self.left = self.left.saturating_sub(bytes.len());
                    }
                    self.found.insert(below.join(name), content);
                }
            }
            !self.deadline.is_over()
        })
    }
}

fn is_sample(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".sample")
}
