//! Directories of a task: walked, checked, hashed, copied. A link that leads out of one is followed by nobody.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

/// No task has more files.
const MOST_FILES: u64 = 200_000;
/// No workspace that is copied.
const MOST_LEFT: u64 = 500_000;
/// Or more bytes.
const MOST_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Or is deeper.
const DEEPEST: usize = 128;

/// Why a directory cannot be used.
#[derive(Debug, Error)]
pub enum TreeError {
    /// The disk refuses.
    #[error("{}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// A link leads out of it.
    #[error("{} is a link that leads out of its directory, to {}", path.display(), target.display())]
    LeadsOut {
        /// The link.
        path: PathBuf,
        /// Where to.
        target: PathBuf,
    },
    /// It is neither file, directory nor link.
    #[error("{} is no file, directory or link", path.display())]
    Special {
        /// Which.
        path: PathBuf,
    },
    /// There is too much of it.
    #[error("{} has more than {what}", path.display())]
    TooMuch {
        /// The directory.
        path: PathBuf,
        /// Of what.
        what: &'static str,
    },
}

/// One thing in a directory.
enum Item {
    Dir,
    File,
    Link(PathBuf),
}

/// What a directory is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Part of a task: nothing in it leads out of it, or is special.
    Task,
    /// What programs have left: links are links, and what is special is passed over.
    Left,
}

/// What is in a directory, by its path there, and what each is.
type Walked = BTreeMap<PathBuf, (Item, Metadata)>;

/// Whether a directory can be copied.
///
/// # Errors
/// See [`TreeError`].
pub(super) fn check(dir: &Path) -> Result<(), TreeError> {
    if !dir.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return Err(TreeError::Special { path: dir.to_owned() });
    }
    walk(dir, Kind::Task).map(drop)
}

/// The hash of all that is in a directory: names, contents, and what may be run.
///
/// # Errors
/// See [`TreeError`].
pub(super) fn hash(dir: &Path) -> Result<String, TreeError> {
    let mut all = sha1_smol::Sha1::new();
    for (path, (item, meta)) in walk(dir, Kind::Task)? {
        let mut told = |kind: &[u8], content: &[u8]| {
            for part in [kind, path.as_os_str().as_bytes(), content] {
                all.update(&(part.len() as u64).to_le_bytes());
                all.update(part);
            }
        };
        match item {
            Item::Dir => told(b"dir", b""),
            Item::Link(target) => told(b"link", target.as_os_str().as_bytes()),
            Item::File => {
                let runs = meta.permissions().mode() & 0o100 != 0;
                let digest = of_file(&dir.join(&path))?;
                told(if runs { b"program" } else { b"file" }, digest.as_bytes());
            }
        }
    }
    Ok(all.digest().to_string())
}

fn of_file(path: &Path) -> Result<String, TreeError> {
    let failed = |source| TreeError::Io { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(failed)?;
    let (mut digest, mut buffer) = (sha1_smol::Sha1::new(), vec![0; 64 * 1024]);
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(digest.digest().to_string()),
            count => digest.update(&buffer[..count]),
        }
    }
}

/// Copies what is in a directory into another one, which is made and must not be there. The kernel shares the blocks of files
/// where the file system can.
///
/// # Errors
/// See [`TreeError`].
pub fn copy(from: &Path, to: &Path) -> Result<(), TreeError> {
    copy_all(from, to, Kind::Task)
}

/// The same of a directory as programs have left it: links stay what they are, sockets and the like are not copied.
///
/// # Errors
/// See [`TreeError`].
pub fn copy_left(from: &Path, to: &Path) -> Result<(), TreeError> {
    copy_all(from, to, Kind::Left)
}

fn copy_all(from: &Path, to: &Path, kind: Kind) -> Result<(), TreeError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| TreeError::Io { path, source }
    };
    fs::create_dir(to).map_err(failed(to))?;
    let walked = walk(from, kind)?;
    for (path, (item, _)) in &walked {
        let (source, target) = (from.join(path), to.join(path));
        match item {
            Item::Dir => fs::create_dir(&target).map_err(failed(&target))?,
            Item::Link(leads) => symlink(leads, &target).map_err(failed(&target))?,
            Item::File => fs::copy(&source, &target).map(drop).map_err(failed(&source))?,
        }
    }
    // Inner directories first: one that may not be written is closed when it is full.
    for (path, (_, meta)) in walked.iter().rev().filter(|(_, (item, _))| matches!(item, Item::Dir)) {
        let target = to.join(path);
        let mode = Permissions::from_mode(meta.permissions().mode() & 0o7777 | 0o700);
        fs::set_permissions(&target, mode).map_err(failed(&target))?;
    }
    Ok(())
}

fn walk(dir: &Path, kind: Kind) -> Result<Walked, TreeError> {
    let (mut found, mut open, mut bytes) = (Walked::new(), vec![(PathBuf::new(), 0)], 0);
    while let Some((below, depth)) = open.pop() {
        let place = dir.join(&below);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| TreeError::Io { path, source }
        };
        for entry in fs::read_dir(&place).map_err(failed(&place))? {
            let entry = entry.map_err(failed(&place))?;
            let (path, real) = (below.join(entry.file_name()), entry.path());
            let meta = real.symlink_metadata().map_err(failed(&real))?;
            let Some(item) = item(dir, (&path, &meta), kind)? else { continue };
            bytes += if matches!(item, Item::File) { meta.len() } else { 0 };
            if matches!(item, Item::Dir) {
                open.push((path.clone(), depth + 1));
            }
            found.insert(path, (item, meta));
            let much = |what| TreeError::TooMuch { path: dir.to_owned(), what };
            match () {
                () if kind == Kind::Task && found.len() as u64 > MOST_FILES => {
                    return Err(much("200 000 files"));
                }
                () if found.len() as u64 > MOST_LEFT => return Err(much("500 000 files")),
                () if bytes > MOST_BYTES => return Err(much("4 GiB")),
                () if depth > DEEPEST => return Err(much("128 levels")),
                () => {}
            }
        }
    }
    Ok(found)
}

/// What it is; none where it is passed over.
fn item(dir: &Path, (path, meta): (&Path, &Metadata), kind: Kind) -> Result<Option<Item>, TreeError> {
    let real = dir.join(path);
    if meta.is_dir() {
        return Ok(Some(Item::Dir));
    }
    if meta.is_file() {
        return Ok(Some(Item::File));
    }
    if !meta.is_symlink() {
        return if kind == Kind::Left { Ok(None) } else { Err(TreeError::Special { path: real }) };
    }
    let target = fs::read_link(&real).map_err(|source| TreeError::Io { path: real.clone(), source })?;
    if kind == Kind::Left {
        return Ok(Some(Item::Link(target)));
    }
    // By its text, and where it leads through other links.
    let is_inside = stays_inside(path, &target)
        && match (real.canonicalize(), dir.canonicalize()) {
            (Ok(leads), Ok(dir)) => leads.starts_with(dir),
            (Err(source), _) if !is_dangling(&source) => return Err(TreeError::Io { path: real, source }),
            _ => true,
        };
    if is_inside { Ok(Some(Item::Link(target))) } else { Err(TreeError::LeadsOut { path: real, target }) }
}

/// Whether a link leads nowhere, not in a circle or to what may not be looked at.
fn is_dangling(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether a link at `path` below a directory leads to what is below it, too; by its text alone.
fn stays_inside(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn what_programs_have_left_is_copied_as_it_is_and_no_task_is_so() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("bin")).unwrap();
        fs::write(from.join("bin/run"), "#!/bin/sh\n").unwrap();
        for (target, link) in [("/usr/bin/env", "bin/python"), ("../../out", "bin/out"), ("none", "none")] {
            symlink(target, from.join(link)).unwrap();
        }
        UnixListener::bind(from.join("socket")).unwrap();
        assert!(copy(&from, &dir.path().join("task")).is_err());
        copy_left(&from, &to).unwrap();
        assert_eq!(fs::read_link(to.join("bin/python")).unwrap(), Path::new("/usr/bin/env"));
        assert_eq!(fs::read_link(to.join("bin/out")).unwrap(), Path::new("../../out"));
        assert_eq!(fs::read(to.join("bin/run")).unwrap(), b"#!/bin/sh\n");
        assert!(to.join("socket").symlink_metadata().is_err());
    }
}
