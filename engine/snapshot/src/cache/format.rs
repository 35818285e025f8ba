//! The file of a cache: numbers of as many bytes as they need, and a checksum over everything behind it.
//!
//! Only this program reads it, so it may change with it: then the first line changes, and an older file is no cache.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use uwf_store::Hash;
use xxhash_rust::xxh64::xxh64;

use super::{Directory, Known};
use crate::stamp::{FileStamp, Moment};
use crate::tree::{MAX_LEVELS, PERMISSIONS, SnapshotEntry};

const HEAD: &[u8] = b"uwf workspace cache 2\n";

/// A file whose stamp is not known.
const FILE: u8 = 0;
const STAMPED_FILE: u8 = 1;
const SYMLINK: u8 = 2;
const DIRECTORY: u8 = 3;

pub(super) fn encode(workspace: &Path, root: &Directory) -> Vec<u8> {
    let mut out = HEAD.to_vec();
    write_bytes(&mut out, workspace.as_os_str().as_bytes());
    write_directory(&mut out, root);
    let sum = xxh64(&out, 0);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

/// The workspace, and what was found in it; none for what is no whole cache.
pub(super) fn decode(bytes: &[u8]) -> Option<(PathBuf, Directory)> {
    let (content, sum) = bytes.split_last_chunk::<8>()?;
    if xxh64(content, 0) != u64::from_le_bytes(*sum) {
        return None;
    }
    let mut rest = content.strip_prefix(HEAD)?;
    let workspace = read_path(&mut rest)?;
    let root = read_directory(&mut rest, MAX_LEVELS)?;
    rest.is_empty().then_some((workspace, root))
}

/// The workspace of a cache, told by its first bytes; none for what is no cache of this version.
pub(super) fn workspace(bytes: &[u8]) -> Option<PathBuf> {
    read_path(&mut bytes.strip_prefix(HEAD)?)
}

fn read_path(rest: &mut &[u8]) -> Option<PathBuf> {
    read_bytes(rest).map(|path| OsStr::from_bytes(path).into())
}

fn write_directory(out: &mut Vec<u8>, directory: &Directory) {
    out.extend_from_slice(directory.tree.as_str().as_bytes());
    write_number(out, directory.entries.len() as u64);
    for known in &directory.entries {
        write_bytes(out, &known.name);
        write_known(out, known);
    }
}

fn write_known(out: &mut Vec<u8>, known: &Known) {
    match (&known.entry, &known.below) {
        (SnapshotEntry::File { content, size, mode }, _) => {
            out.push(if known.stamp.is_some() { STAMPED_FILE } else { FILE });
            out.extend_from_slice(content.as_str().as_bytes());
            write_number(out, *size);
            write_number(out, u64::from(*mode));
            known.stamp.iter().for_each(|stamp| write_stamp(out, stamp));
        }
        (SnapshotEntry::Directory { mode, .. }, Some(below)) => {
            out.push(DIRECTORY);
            write_number(out, u64::from(*mode));
            write_directory(out, below);
        }
        (SnapshotEntry::Symlink { target }, _) => {
            out.push(SYMLINK);
            write_bytes(out, target.as_bytes());
        }
        (SnapshotEntry::Directory { .. }, None) => {
            unreachable!("a directory that was walked has what is in it")
        }
    }
}

fn write_stamp(out: &mut Vec<u8>, stamp: &FileStamp) {
    for number in [stamp.device, stamp.inode, stamp.size] {
        write_number(out, number);
    }
    for (seconds, nanos) in [stamp.modified, stamp.changed] {
        write_number(out, ((seconds << 1) ^ (seconds >> 63)) as u64);
        write_number(out, u64::from(nanos));
    }
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Seven bits a byte, the lowest first; the top bit says that there are more.
fn write_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read_directory(rest: &mut &[u8], levels: usize) -> Option<Directory> {
    let tree = read_hash(rest)?;
    let count = read_number(rest)?;
    let mut entries = Vec::with_capacity((count as usize).min(rest.len() / 4));
    for _ in 0..count {
        let name = read_bytes(rest)?.into();
        entries.push(read_known(rest, name, levels)?);
    }
    Some(Directory { tree, entries })
}

fn read_known(rest: &mut &[u8], name: Box<[u8]>, levels: usize) -> Option<Known> {
    let kind = take(rest, 1)?[0];
    match kind {
        FILE | STAMPED_FILE => {
            let entry = SnapshotEntry::File {
                content: read_hash(rest)?,
                size: read_number(rest)?,
                mode: read_mode(rest)?,
            };
            let stamp = if kind == FILE { None } else { Some(read_stamp(rest)?) };
            Some(Known { name, entry, stamp, below: None })
        }
        SYMLINK => {
            let target = OsString::from_vec(read_bytes(rest)?.to_vec());
            Some(Known { name, entry: SnapshotEntry::Symlink { target }, stamp: None, below: None })
        }
        DIRECTORY => {
            let mode = read_mode(rest)?;
            let below = read_directory(rest, levels.checked_sub(1)?)?;
            let entry = SnapshotEntry::Directory { tree: below.tree, mode };
            Some(Known { name, entry, stamp: None, below: Some(below) })
        }
        _ => None,
    }
}

fn read_stamp(rest: &mut &[u8]) -> Option<FileStamp> {
    let (device, inode, size) = (read_number(rest)?, read_number(rest)?, read_number(rest)?);
    Some(FileStamp { device, inode, size, modified: read_moment(rest)?, changed: read_moment(rest)? })
}

fn read_moment(rest: &mut &[u8]) -> Option<Moment> {
    let seconds = read_number(rest)?;
    let nanos = u32::try_from(read_number(rest)?).ok()?;
    Some(((seconds >> 1) as i64 ^ -((seconds & 1) as i64), nanos))
}

fn read_mode(rest: &mut &[u8]) -> Option<u32> {
    u32::try_from(read_number(rest)?).ok().filter(|mode| *mode <= PERMISSIONS)
}

fn read_hash(rest: &mut &[u8]) -> Option<Hash> {
    OsStr::from_bytes(take(rest, Hash::LENGTH)?).to_str()?.parse().ok()
}

fn read_bytes<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(read_number(rest)?).ok()?;
    take(rest, length)
}

fn read_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}
