//! Documents of evaluations: what goes into them of the store, and where they go.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use uwf_eval::Case;
use uwf_eval::report::CaseDetail;
use uwf_store::Store;
use uwf_store::atomic_file::AtomicFile;

use crate::shell::input::is_stdin;
use crate::shell::{CliError, Session};

/// Prints a document, or writes it to a file.
pub(super) fn put(session: &mut Session<'_>, document: &str, file: Option<&Path>) -> Result<(), CliError> {
    match file.filter(|file| !is_stdin(file)) {
        None => session.ui.print(document),
        Some(file) => {
            let unwritten = |error| CliError::said(format!("cannot write {}", file.display()), error);
            write(&session.cwd.join(file), document.as_bytes()).map_err(unwritten)?;
            session.ui.note(&format!("written to {}", file.display()));
            Ok(())
        }
    }
}

/// A file as others may read it, whole or not at all; a pipe or a device is written into.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => fs::write(path, content),
        _ => {
            let mut file = AtomicFile::create(path, 0o666)?;
            file.write_all(content)?;
            file.persist_whole()
        }
    }
}

/// The steps of a case and what its judges found; none where its record is gone, which its page says.
pub(super) fn case_detail(store: &Store, case: &Case) -> Option<CaseDetail> {
    CaseDetail::read(store, &case.run.parse().ok()?).ok()
}
