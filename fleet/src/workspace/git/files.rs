//! The files of a commit as they are in it: no filters, no line endings changed, nothing outside of the directory.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::thread;

use super::command::{Said, run, started};
use crate::workspace::error::disk;
use crate::workspace::halt::Halting;
use crate::workspace::{Commit, WorkspaceError};

/// The mode of a directory that is another repository.
pub(super) const SUBMODULE: u32 = 0o160_000;
const SYMLINK: u32 = 0o120_000;
const EXECUTABLE: u32 = 0o100;

/// A line of `git ls-tree -r -z`.
pub(super) struct Listed {
    pub(super) mode: u32,
    id: String,
    pub(super) path: PathBuf,
}

/// What `git ls-tree -r -z` tells; what is no line of it is none.
pub(super) fn listed(out: &[u8]) -> impl Iterator<Item = Listed> {
    out.split(|byte| *byte == 0).filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b'\t')?;
        let front = std::str::from_utf8(&line[..at]).ok()?;
        let mut words = front.split(' ');
        let mode = u32::from_str_radix(words.next()?, 8).ok()?;
        let id = words.nth(1)?.to_owned();
        Some(Listed { mode, id, path: PathBuf::from(OsStr::from_bytes(&line[at + 1..])) })
    })
}

/// Whether a path stays in its directory and is nothing of git's own.
pub(super) fn is_plain(path: &Path) -> bool {
    let is_git = |name: &OsStr| name.as_bytes().eq_ignore_ascii_case(b".git");
    let mut parts = path.components();
    parts.all(|part| matches!(part, Component::Normal(name) if !is_git(name))) && !path.as_os_str().is_empty()
}

/// Writes the files of a commit into an empty directory. Gives what git says where it fails.
pub(super) fn write(
    halting: &Halting,
    (mut list, mut read): (Command, Command),
    commit: &Commit,
    dir: &Path,
) -> Result<Option<Said>, WorkspaceError> {
    list.args(["ls-tree", "-r", "-z", "--full-tree", commit.as_str()]);
    let said = run(halting, list, None)?;
    if !said.is_success {
        return Ok(Some(said));
    }
    let files: Vec<Listed> = listed(&said.out).filter(|file| is_plain(&file.path)).collect();
    read.args(["cat-file", "--batch"]);
    let mut child = started(&mut read, true)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let wanted: Vec<String> =
        files.iter().filter(|file| file.mode != SUBMODULE).map(|file| format!("{}\n", file.id)).collect();
    let done = thread::scope(|scope| {
        scope.spawn(move || {
            let mut stdin = stdin;
            wanted
                .iter()
                .try_for_each(|id| stdin.as_mut().map_or(Ok(()), |pipe| pipe.write_all(id.as_bytes())))
        });
        let mut out = BufReader::new(stdout.expect("it is piped"));
        let mut made = HashSet::new();
        let done = files.iter().try_for_each(|file| {
            halting.check()?;
            one(file, dir, &mut out, &mut made)
        });
        drop(out);
        done
    });
    child.kill().ok();
    child.wait().ok();
    done.map(|()| None)
}

fn one(
    file: &Listed,
    dir: &Path,
    out: &mut impl BufRead,
    made: &mut HashSet<PathBuf>,
) -> Result<(), WorkspaceError> {
    let path = dir.join(&file.path);
    let cannot = |error: io::Error| disk("write", &path)(error);
    directories(dir, file.path.parent().unwrap_or(Path::new("")), made)?;
    if file.mode == SUBMODULE {
        return directories(dir, &file.path, made);
    }
    let mut line = String::new();
    out.read_line(&mut line).map_err(cannot)?;
    let size: Option<u64> = line.trim_end().rsplit(' ').next().and_then(|size| size.parse().ok());
    let size = size.ok_or_else(|| cannot(io::Error::other("git does not give its content")))?;
    let mut content = out.by_ref().take(size);
    if file.mode == SYMLINK {
        let mut target = Vec::new();
        content.read_to_end(&mut target).map_err(cannot)?;
        symlink(std::ffi::OsString::from_vec(target), &path).map_err(cannot)?;
    } else {
        let mode = if file.mode & EXECUTABLE == 0 { 0o644 } else { 0o755 };
        // A symlink of that name would be something that exists.
        let mut written =
            OpenOptions::new().write(true).create_new(true).mode(mode).open(&path).map_err(cannot)?;
        io::copy(&mut content, &mut written).map_err(cannot)?;
    }
    out.read_exact(&mut [0]).map_err(cannot)
}

/// Makes directories, none of which is somebody else's symlink.
fn directories(dir: &Path, below: &Path, made: &mut HashSet<PathBuf>) -> Result<(), WorkspaceError> {
    let mut path = PathBuf::new();
    for part in below.components() {
        path.push(part);
        if !made.contains(&path) {
            let whole = dir.join(&path);
            DirBuilder::new().mode(0o755).create(&whole).map_err(disk("make the directory", &whole))?;
            made.insert(path.clone());
        }
    }
    Ok(())
}
