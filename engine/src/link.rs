//! Where a path leads, whether or not there is anything yet: what is replaced by rename must be the file, not a link to
//! it. Apart because `canonicalize` knows no answer for a link to what is still to be made.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// As many as the kernel follows.
const LINKS_MAX: usize = 40;

/// The path behind all links of its last part; the path itself where they lead in a circle.
pub fn target(path: &Path) -> PathBuf {
    let mut at = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&at) {
            Ok(next) => at = at.parent().unwrap_or(Path::new("/")).join(next),
            Err(_) => return at,
        }
    }
    path.to_owned()
}

/// Writes a small file of ours, which nobody links, by rename: a reader never sees half of it.
pub(crate) fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temp = NamedTempFile::new_in(file.parent().unwrap_or(Path::new(".")))?;
    temp.write_all(bytes)?;
    temp.persist(file)?;
    Ok(())
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
    }
}
