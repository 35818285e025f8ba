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
    walk(dir).map(drop)
}

/// The hash of all that is in a directory: names, contents, and what may be run.
///
/// # Errors
/// See [`TreeError`].
pub(super) fn hash(dir: &Path) -> Result<String, TreeError> {
    let mut all = sha1_smol::Sha1::new();
    for (path, (item, meta)) in walk(dir)? {
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
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| TreeError::Io { path, source }
    };
    fs::create_dir(to).map_err(failed(to))?;
    let walked = walk(from)?;
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

fn walk(dir: &Path) -> Result<Walked, TreeError> {
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
            let item = item(dir, &path, &meta)?;
            bytes += if matches!(item, Item::File) { meta.len() } else { 0 };
            if matches!(item, Item::Dir) {
                open.push((path.clone(), depth + 1));
            }
            found.insert(path, (item, meta));
            let much = |what| TreeError::TooMuch { path: dir.to_owned(), what };
            match () {
                () if found.len() as u64 > MOST_FILES => return Err(much("200 000 files")),
                () if bytes > MOST_BYTES => return Err(much("4 GiB")),
                () if depth > DEEPEST => return Err(much("128 levels")),
                () => {}
            }
        }
    }
    Ok(found)
}

fn item(dir: &Path, path: &Path, meta: &Metadata) -> Result<Item, TreeError> {
    let real = dir.join(path);
    if meta.is_dir() {
        return Ok(Item::Dir);
    }
    if meta.is_file() {
        return Ok(Item::File);
    }
    if !meta.is_symlink() {
        return Err(TreeError::Special { path: real });
    }
    let target = fs::read_link(&real).map_err(|source| TreeError::Io { path: real.clone(), source })?;
    // By its text, and where it leads through other links.
    let is_inside = stays_inside(path, &target)
        && match (real.canonicalize(), dir.canonicalize()) {
            (Ok(leads), Ok(dir)) => leads.starts_with(dir),
            _ => true,
        };
    if is_inside { Ok(Item::Link(target)) } else { Err(TreeError::LeadsOut { path: real, target }) }
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
