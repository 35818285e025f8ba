//! Documents of evaluations: what goes into them of the store, and where they go.

use std::path::Path;

use uwf_eval::Case;
use uwf_eval::report::CaseDetail;
use uwf_store::Store;

use crate::shell::input::is_stdin;
use crate::shell::output::{Unwritten, write_file};
use crate::shell::{CliError, Session};

/// Prints a document, or writes it to a file.
pub(super) fn put(session: &mut Session<'_>, document: &str, file: Option<&Path>) -> Result<(), CliError> {
    match file.filter(|file| !is_stdin(file)) {
        None => session.ui.print(document),
        Some(file) => {
            let written = write_file(&session.cwd.join(file), |out| out.write_all(document.as_bytes()));
            written.map_err(|error| match error {
                Unwritten::File(error) | Unwritten::Content(error) => {
                    CliError::said(format!("cannot write {}", file.display()), error)
                }
            })?;
            session.ui.note(&format!("written to {}", file.display()));
            Ok(())
        }
    }
}

/// The steps of a case and what its judges found; none where its record is gone, which its page says.
pub(super) fn case_detail(store: &Store, case: &Case) -> Option<CaseDetail> {
    CaseDetail::read(store, &case.run.parse().ok()?).ok()
}
