//! The files that a task names: inside it alone, and what they must be.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// No text of a task is longer.
const LONGEST: u64 = 4 * 1024 * 1024;

/// Whether there is something, were it a link that leads nowhere.
pub(super) fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The file that a task names by a path relative to it.
///
/// # Errors
/// In words: it leads out of the task, or is no file.
pub(super) fn file(dir: &Path, named: &str) -> Result<PathBuf, String> {
    let relative = Path::new(named);
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if named.is_empty() || !plain {
        return Err(format!("`{named}` leads out of the task: name a file inside it"));
    }
    let path = dir.join(relative);
    let real = path.canonicalize().map_err(|_| format!("there is no file `{named}` in the task"))?;
    if !dir.canonicalize().is_ok_and(|dir| real.starts_with(dir)) {
        return Err(format!("`{named}` leads out of the task: it is a link to {}", real.display()));
    }
    if real.is_file() { Ok(path) } else { Err(format!("`{named}` is no file")) }
}

/// The same of a file that is to be run.
///
/// # Errors
/// In words; see [`file`]. Or nobody may run it.
pub(super) fn program(dir: &Path, named: &str) -> Result<PathBuf, String> {
    let path = file(dir, named)?;
    let mode = fs::metadata(&path).map_err(|error| format!("`{named}` cannot be read: {error}"))?;
    match mode.permissions().mode() & 0o111 {
        0 => Err(format!("`{named}` cannot be run: make it executable with chmod +x")),
        _ => Ok(path),
    }
}

/// The text of a plain file that is not too long.
///
/// # Errors
/// It cannot be read, is no plain file, is too long, or is no text.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let file = uwf_store::open_regular(path)?;
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other("it is longer than 4 MiB"));
    }
    Ok(text)
}
