//! A task that is one file: unpacked to a directory of its own, and nowhere else.
//!
//! Directories and plain files alone: a link in an archive is how what comes after it is written elsewhere.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};
use tempfile::TempDir;

use super::{FILE, TaskError};

/// No archive holds more files.
const MOST_FILES: usize = 20_000;
/// Or more bytes, unpacked.
const MOST_BYTES: u64 = 1024 * 1024 * 1024;
/// How a compressed file begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Unpacks an archive into a fresh directory below `scratch`.
pub(super) fn unpack(path: &Path, scratch: &Path) -> Result<TempDir, TaskError> {
    unpacked(path, scratch).map_err(|why| TaskError::Archive { path: path.to_owned(), why })
}

/// Where the task is in what was unpacked: there, or in the one directory there is.
pub(super) fn root(dir: &Path) -> PathBuf {
    let mut entries = fs::read_dir(dir).into_iter().flatten().flatten();
    match (entries.next(), entries.next()) {
        (Some(only), None) if !dir.join(FILE).exists() && only.path().is_dir() => only.path(),
        _ => dir.to_owned(),
    }
}

fn unpacked(path: &Path, scratch: &Path) -> Result<TempDir, String> {
    let said = |error: io::Error| error.to_string();
    uwf_engine::home::make_private(scratch).map_err(said)?;
    let dir = TempDir::with_prefix_in("task-", scratch).map_err(said)?;
    let mut file = uwf_store::open_regular(path).map_err(said)?;
    let mut start = [0; 2];
    let is_compressed = file.read_exact(&mut start).is_ok() && start == GZIP;
    file.rewind().map_err(said)?;
    let file = BufReader::new(file);
    let bytes: Box<dyn Read> =
        if is_compressed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    // What the headers take counts, too: an archive of nothing else would have no end.
    entries(Archive::new(bytes.take(MOST_BYTES + 1)), dir.path())?;
    Ok(dir)
}

fn entries(mut archive: Archive<impl Read>, dir: &Path) -> Result<(), String> {
    let no_archive = |error: io::Error| format!("it is no archive: {error}");
    let (mut files, mut bytes) = (0, 0);
    for entry in archive.entries().map_err(no_archive)? {
        let mut entry = entry.map_err(no_archive)?;
        let named = entry.path().map_err(no_archive)?.into_owned();
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let target = dir.join(inside(&named)?);
        files += 1;
        bytes += entry.size();
        if files > MOST_FILES || bytes > MOST_BYTES {
            return Err("it holds more than 20 000 files, or more than 1 GiB".to_owned());
        }
        let said = |error: io::Error| format!("{}: {error}", named.display());
        match kind {
            EntryType::Directory => fs::create_dir_all(&target).map_err(said)?,
            EntryType::Regular | EntryType::Continuous => {
                let runs = entry.header().mode().unwrap_or(0) & 0o100 != 0;
                write(&mut entry, &target, runs).map_err(said)?;
            }
            _ => return Err(format!("{} is neither a directory nor a plain file", named.display())),
        }
    }
    if files == 0 { Err("it is empty".to_owned()) } else { Ok(()) }
}

/// The same path, if it stays below where it is unpacked.
fn inside(named: &Path) -> Result<PathBuf, String> {
    let plain = named.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if plain { Ok(named.components().collect()) } else { Err(format!("{} leads out of it", named.display())) }
}

fn write(entry: &mut impl Read, target: &Path, runs: bool) -> io::Result<()> {
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    // A second entry of a name would be written over the first, whatever that is by now.
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(target)?;
    io::copy(entry, &mut file)?;
    fs::set_permissions(target, Permissions::from_mode(if runs { 0o755 } else { 0o644 }))
}
