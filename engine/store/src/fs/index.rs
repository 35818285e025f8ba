//! The per-type index of a store: `_index/<type>` lists the nodes of a type, `_index/_meta` those that are their own.
//!
//! Other programs append to these files while we do, so a byte that is there is never moved: lines are added at the
//! end, and a line that is wrong is overwritten in place by line ends, which readers skip. Apart from [`super`] for
//! that rule. Nothing here is synced: the index can be rebuilt from the nodes, see [`crate::Store::reindex`].

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::io_error;
use crate::error::StoreError;
use crate::hash::Hash;

/// The file of the nodes that are their own type.
pub(super) const META: &str = "_meta";

/// The directory of the index files.
pub(super) struct Index {
    directory: PathBuf,
}

impl Index {
    pub(super) fn at(directory: PathBuf) -> Index {
        Index { directory }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The names of all index files.
    pub(super) fn names(&self) -> Result<Vec<String>, StoreError> {
        let failed = || io_error("read the directory", &self.directory);
        let entries = fs::read_dir(&self.directory).map_err(failed())?;
        let names = entries.map(|entry| entry.map(|entry| entry.file_name().into_string()));
        // A name that is no text is nobody's index.
        names.filter_map(|name| name.map(Result::ok).transpose()).collect::<Result<_, _>>().map_err(failed())
    }

    /// The hashes in a file, in order, each once; none if there is no such file.
    pub(super) fn read(&self, name: &str) -> Result<Vec<Hash>, StoreError> {
        let mut seen = HashSet::new();
        let hashes = self.bytes(name)?;
        Ok(lines(&hashes).filter_map(|(_, line)| hash(line)).filter(|hash| seen.insert(*hash)).collect())
    }

    /// Adds lines with one write, so that lines of two programs never mix.
    pub(super) fn append(&self, name: &str, hashes: &[Hash]) -> Result<(), StoreError> {
        let path = self.directory.join(name);
        let lines: String = hashes.iter().map(|hash| format!("{hash}\n")).collect();
        let append = || File::options().append(true).create(true).open(&path)?.write_all(lines.as_bytes());
        append().map_err(io_error("append to", &path))
    }

    /// Ends a last line that a killed writer left open, so that the next one does not run into it.
    pub(super) fn end_last_line(&self, name: &str) -> Result<(), StoreError> {
        match self.bytes(name)?.last() {
            None | Some(b'\n') => Ok(()),
            Some(_) => {
                let path = self.directory.join(name);
                let end = || File::options().append(true).open(&path)?.write_all(b"\n");
                end().map_err(io_error("append to", &path))
            }
        }
    }

    /// Blanks every line that is no hash or a hash that `keep` does not want; says how many.
    pub(super) fn strike(&self, name: &str, keep: &mut dyn FnMut(&Hash) -> bool) -> Result<u64, StoreError> {
        let bytes = self.bytes(name)?;
        let wrong: Vec<_> = lines(&bytes)
            .filter(|(_, line)| !line.trim_ascii().is_empty() && !hash(line).is_some_and(|hash| keep(&hash)))
            .collect();
        if wrong.is_empty() {
            return Ok(0);
        }
        let path = self.directory.join(name);
        let failed = || io_error("write to", &path);
        let file = File::options().write(true).open(&path).map_err(failed())?;
        for (at, line) in &wrong {
            file.write_all_at(&b"\n".repeat(line.len()), *at as u64).map_err(failed())?;
        }
        Ok(wrong.len() as u64)
    }

    /// Removes the file of a type that is gone; no error if there is none.
    pub(super) fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.directory.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", &path)(error)),
            _ => Ok(()),
        }
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let path = self.directory.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(io_error("read", &path)(error)),
        }
    }
}

/// Each line without its end, and where it begins.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut next = 0;
    bytes.split(|byte| *byte == b'\n').map(move |line| {
        let at = next;
        next += line.len() + 1;
        (at, line)
    })
}

fn hash(line: &[u8]) -> Option<Hash> {
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Hash = Hash::from_static("0000000000001");
    const B: Hash = Hash::from_static("0000000000002");

    fn index(content: &str) -> (tempfile::TempDir, Index) {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("x"), content).unwrap();
        let index = Index::at(directory.path().to_owned());
        (directory, index)
    }

    #[test]
    fn blanks_and_repeats_are_skipped() {
        let (_directory, index) = index("\n0000000000002\r\n\n0000000000001\n0000000000002\nnonsense\n");
        assert_eq!(index.read("x").unwrap(), [B, A]);
        assert_eq!(index.read("none").unwrap(), []);
        assert_eq!(index.names().unwrap(), ["x"]);
    }

    #[test]
    fn a_struck_line_becomes_blank_and_nothing_moves() {
        let (directory, index) = index("0000000000001\n00000\n\n0000000000002\n000000000");
        assert_eq!(index.strike("x", &mut |hash| *hash == B).unwrap(), 3);
        let text = fs::read_to_string(directory.path().join("x")).unwrap();
        let expected = [&"\n".repeat(14 + 6 + 1), "0000000000002\n", &"\n".repeat(9)].concat();
        assert_eq!(text, expected);
        assert_eq!(index.strike("x", &mut |hash| *hash == B).unwrap(), 0);
        assert_eq!(index.strike("none", &mut |_| false).unwrap(), 0);
    }

    #[test]
    fn an_open_last_line_is_ended_once() {
        let (_directory, index) = index("0000000000001");
        index.end_last_line("x").unwrap();
        index.end_last_line("x").unwrap();
        index.append("x", &[B]).unwrap();
        assert_eq!(index.read("x").unwrap(), [A, B]);
        index.remove("x").unwrap();
        index.remove("x").unwrap();
        assert_eq!(index.names().unwrap(), [""; 0]);
    }
}
