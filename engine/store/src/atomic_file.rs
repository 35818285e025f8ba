//! Files that are replaced as a whole: written beside their place and renamed, so that a reader sees the old one or the new
//! one and a failure leaves what was there.
//!
//! Apart because configuration, exports and the small files of runs are all written so. The nodes of a store are not:
//! many of them are made durable together (see `fs`).

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// As many as the kernel follows.
const LINKS_MAX: usize = 40;

/// A file on its way to its place; gone without a trace when it is dropped before it is put there.
#[derive(Debug)]
pub struct AtomicFile {
    temp: NamedTempFile,
    target: PathBuf,
}

impl AtomicFile {
    /// Begins the file that is to be at `path`, with these permissions before the umask. A link there (into a dotfiles
    /// repository, say) stays one: what it leads to is replaced.
    ///
    /// # Errors
    /// There is no such directory, or it cannot be written.
    pub fn create(path: &Path, mode: u32) -> io::Result<AtomicFile> {
        let target = target(path);
        let permissions = PermissionsExt::from_mode(mode);
        let temp = tempfile::Builder::new().permissions(permissions).tempfile_in(directory(&target))?;
        Ok(AtomicFile { temp, target })
    }

    /// Puts it in its place. What was not synced is there for every reader now, and perhaps not after a power cut.
    ///
    /// # Errors
    /// It cannot be renamed; the old one stays.
    pub fn persist(self) -> io::Result<()> {
        self.temp.persist(&self.target)?;
        Ok(())
    }

    /// Syncs what is written and puts it in its place: after a power cut there is the one or the other, whole.
    ///
    /// # Errors
    /// It cannot be synced or renamed; the old one stays.
    pub fn persist_whole(self) -> io::Result<()> {
        self.temp.as_file().sync_all()?;
        self.persist()
    }

    /// [`AtomicFile::persist_whole`] where there is nothing yet.
    ///
    /// # Errors
    /// Something is there already; or it cannot be synced or renamed.
    pub fn persist_new(self) -> io::Result<()> {
        self.temp.as_file().sync_all()?;
        self.temp.persist_noclobber(&self.target)?;
        Ok(())
    }

    /// [`AtomicFile::persist_whole`], and it is there still after a power cut.
    ///
    /// # Errors
    /// It cannot be synced or renamed; or the directory cannot be synced, and the new one is there.
    pub fn persist_durably(self) -> io::Result<()> {
        let target = self.target.clone();
        self.persist_whole()?;
        File::open(directory(&target))?.sync_all()
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temp.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temp.flush()
    }
}

/// Replaces a small file, or what a link there leads to, for its owner to read; it need not survive a power cut.
///
/// # Errors
/// It cannot be written; the old one stays.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path, 0o600)?;
    file.write_all(bytes)?;
    file.persist()
}

/// The path behind all links of its last part, whether or not there is anything yet; the path itself where they lead in a
/// circle. `canonicalize` knows no answer for a link to what is still to be made.
pub fn target(path: &Path) -> PathBuf {
    let mut at = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&at) {
            Ok(next) => at = directory(&at).join(next),
            Err(_) => return at,
        }
    }
    path.to_owned()
}

/// The directory a file is in.
fn directory(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("/"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_to_what_is_there_or_is_to_be() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        symlink("two", at("one")).unwrap();
        symlink(at("three"), at("two")).unwrap();
        assert_eq!((target(&at("one")), target(&at("none"))), (at("three"), at("none")));
        symlink("round", at("round")).unwrap();
        assert_eq!(target(&at("round")), at("round"));
        assert_eq!(directory(Path::new("a")), Path::new("."));
    }

    #[test]
    fn it_takes_the_place_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        symlink("file", &link).unwrap();
        replace(&link, b"old").unwrap();
        let mut new = AtomicFile::create(&link, 0o644).unwrap();
        new.write_all(b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"old");
        drop(new);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2, "what is dropped leaves nothing");
        let mut new = AtomicFile::create(&link, 0o400).unwrap();
        new.write_all(b"new").unwrap();
        new.persist_durably().unwrap();
        assert_eq!((fs::read(&file).unwrap(), link.is_symlink()), (b"new".to_vec(), true));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o400);
        let late = AtomicFile::create(&link, 0o644).unwrap();
        assert_eq!(late.persist_new().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }
}
