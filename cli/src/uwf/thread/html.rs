//! `uwf thread read --html`: a thread as one page, in a file.

use std::error::Error;
use std::path::Path;

use uwf_store::atomic_file;
use uwf_web::{WebError, page_of};

use crate::shell::input::is_stdin;
use crate::shell::{CliError, Session};
use crate::uwf::serve;
use uwf_engine::view::ThreadWritten;

pub(super) fn write(session: &mut Session<'_>, thread: &str, file: &Path) -> Result<u8, CliError> {
    let thread = session.thread_id(thread)?;
    let page = page_of(&serve::site(session)?, &thread).map_err(said)?;
    if is_stdin(file) {
        return session.ui.bytes(&page, page.as_bytes(), |_| None);
    }
    let unwritten = |error| CliError::said(format!("cannot write {}", file.display()), error);
    atomic_file::replace(&session.cwd.join(file), page.as_bytes()).map_err(unwritten)?;
    let written = ThreadWritten { thread, file: file.display().to_string(), size: page.len() as u64 };
    session.ui.result(&written, || format!("{}\n", written.file))
}

/// The errors of pages as those of commands.
fn said(error: WebError) -> CliError {
    match error {
        WebError::Thread(error) => error.into(),
        WebError::Store(error) => error.into(),
        WebError::Workflow(error) => error.into(),
        other => {
            let source = other.source().map(ToString::to_string);
            CliError::because(other.to_string(), source.into_iter())
        }
    }
}
