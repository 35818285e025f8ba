//! Opening files that must be files: what waits for a writer, as a FIFO does, would be waited for without end.
//!
//! Apart because a store, a workflow file and the journals of runs are all read from directories that others write to.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file to be read, if it is one: what waits for a writer, as a FIFO does, would be waited for without end.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    only_regular(File::options().read(true), path)
}

/// Opens a regular file with these options, for more than reading.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub fn only_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// To open it waits for a writer; ended by the time limit of the test runner else.
    #[test]
    fn only_a_file_is_opened_as_one() {
        let dir = tempfile::tempdir().unwrap();
        let (file, fifo) = (dir.path().join("file"), dir.path().join("fifo"));
        std::fs::write(&file, "x").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .unwrap();
        assert_eq!(io::read_to_string(open_regular(&file).unwrap()).unwrap(), "x");
        for other in [fifo.as_path(), dir.path()] {
            assert_eq!(open_regular(other).unwrap_err().to_string(), "it is no regular file");
        }
    }
}
