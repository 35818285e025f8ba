//! A file that a command writes: whole or not at all. A pipe or a device is written into: it is somebody's.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use uwf_store::atomic_file::AtomicFile;

/// Why a file was not written.
pub(crate) enum Unwritten<E> {
    /// The disk refuses.
    File(io::Error),
    /// What was to be written, or the writing of it.
    Content(E),
}

/// Has `write` write a file.
pub(crate) fn write_file<T, E>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, Unwritten<E>> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => {
            let file = File::options().write(true).open(path).map_err(Unwritten::File)?;
            let mut out = BufWriter::new(file);
            let done = write(&mut out).map_err(Unwritten::Content)?;
            out.flush().map_err(Unwritten::File)?;
            Ok(done)
        }
        _ => {
            let mut out = BufWriter::new(AtomicFile::create(path, 0o666).map_err(Unwritten::File)?);
            let done = write(&mut out).map_err(Unwritten::Content)?;
            let whole = out.into_inner().map_err(|error| Unwritten::File(error.into_error()))?;
            whole.persist_whole().map_err(Unwritten::File)?;
            Ok(done)
        }
    }
}
