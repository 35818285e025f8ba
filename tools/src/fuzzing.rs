//! What the fuzz targets call: each function checks what must hold for any input, and panics when it does not.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::edit_file;
use crate::outputs::Outputs;
use crate::shell::capture::{Capture, Stream};
use crate::shell::spool::Spool;
use crate::workspace::WorkspaceDir;

/// An edit of `content` changes what it replaces and nothing else.
///
/// # Panics
/// When it does not.
pub fn edit(content: &str, old: &str, new: &str, all: bool) {
    if old.is_empty() {
        return;
    }
    let Some((after, replaced)) = edit_file::planned(content, old, new, all) else { return };
    assert!(all || replaced.len() == 1);
    let (mut from, mut to) = (0, 0);
    for (was, is) in replaced {
        assert!(was.start >= from, "two replacements overlap");
        assert_eq!(content[from..was.start], after[to..is.start]);
        (from, to) = (was.end, is.end);
    }
    assert_eq!(content[from..], after[to..]);
}

/// Whatever the path, and whatever symlinks are in the tree: what is opened has no content from outside.
///
/// # Panics
/// When something outside was opened.
pub fn path(path: &str, links: &[(String, String)]) {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let root = dir.path().join("root");
    fs::create_dir_all(root.join("sub")).expect("it is writable");
    fs::create_dir_all(dir.path().join("outside")).expect("it is writable");
    for (name, target) in links.iter().take(4) {
        // Names that are paths, or nothing, make no link: those are the path's business.
        if !name.contains(['/', '\0']) && name != ".." {
            let _ = std::os::unix::fs::symlink(target, root.join(name));
        }
    }
    let workspace = WorkspaceDir::open(&root, &[]).expect("it is there");
    let below = |real: &Path| {
        let fd = workspace.beneath(real, OFlags::PATH | OFlags::CLOEXEC).expect("it was just opened");
        let at = rustix::fs::readlinkat(rustix::fs::CWD, proc_path(&fd), Vec::new()).expect("it is open");
        let root = root.canonicalize().expect("it is there");
        assert!(Path::new(&*at.to_string_lossy()).starts_with(root), "{at:?}");
    };
    if let Ok((_, real)) = workspace.open_dir(path) {
        below(&real);
    }
    if let Ok(open) = workspace.open_file(path) {
        below(&open.real);
    }
    if let Ok(real) = workspace.real_for_writing(path) {
        assert!(real.is_relative() && !real.components().any(|part| part.as_os_str() == ".."));
    }
}

fn proc_path(fd: &std::os::fd::OwnedFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// How many bytes of an output are kept.
const LIMIT: u64 = 1 << 16;

/// What is shown is text within the budget, and something is said to be missing exactly when it is.
///
/// # Panics
/// When that is not so.
pub fn truncation(budget: usize, chunks: &[(bool, Vec<u8>)]) {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let spool = Spool::new(dir.path().to_owned(), LIMIT, Arc::new(Unnamed));
    let mut capture = Capture::new(budget, spool);
    for (out, chunk) in chunks {
        capture.push(if *out { Stream::Out } else { Stream::Err }, chunk);
    }
    let captured = capture.finish();
    let side = |out| chunks.iter().filter(move |(side, _)| *side == out).flat_map(|(_, chunk)| chunk.clone());
    let text = |out| String::from_utf8_lossy(&side(out).collect::<Vec<u8>>()).len();
    let length = text(true) + text(false);
    assert_eq!(captured.truncated, length > budget, "{length} bytes of text, {budget} to show");
    assert_eq!(captured.total, chunks.iter().map(|(_, chunk)| chunk.len() as u64).sum::<u64>());
    if captured.truncated {
        let output = captured.output.expect("it was kept");
        let kept = fs::read(output.path).expect("it can be read").len() as u64;
        assert!(
            kept == captured.total || captured.total > LIMIT,
            "{kept} of {} bytes are kept",
            captured.total
        );
        assert!(captured.text.contains(" omitted; "));
    } else {
        assert_eq!(captured.text.len(), length);
    }
}

#[derive(Debug)]
struct Unnamed;

impl Outputs for Unnamed {
    fn name(&self, _: &mut dyn Read) -> io::Result<String> {
        Ok("0".to_owned())
    }

    fn find(&self, _: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        Ok(None)
    }
}
