//! Workflow files, and the files they include, as texts.
//!
//! Apart because it is the only place that opens files on a workflow's behalf. The kernel resolves the names of included
//! files beneath the workflow's directory (`openat2`), so no name and no symlink leads out. Sizes are bounded.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use uwf_store::open_regular;
use uwf_workflow::WorkflowText;

use super::{CheckedWorkflow, WorkflowError};

/// Bytes of one file.
const MAX_BYTES: u64 = 4 << 20;

/// Reads and checks a workflow file. Nothing is stored.
///
/// # Errors
/// [`WorkflowError::Read`], or [`WorkflowError::Invalid`] with all problems at once.
pub fn load(path: &Path) -> Result<CheckedWorkflow, WorkflowError> {
    let unreadable = |source| WorkflowError::Read { path: path.to_owned(), source };
    let text = open_regular(path).and_then(regular).map_err(unreadable)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let root = File::open(directory).map_err(unreadable)?;
    let name = Path::new(path.file_name().unwrap_or_default());
    let open = |name: &Path| beneath(&root, name);
    Ok(uwf_workflow::read(&WorkflowText { text: &text, called: path, path: name, directory, open: &open })?)
}

/// Reads and checks a workflow that is not in a file: errors call it `name`, and its includes are in `directory`.
///
/// # Errors
/// [`WorkflowError::Read`], or [`WorkflowError::Invalid`] with all problems at once.
pub fn read(input: &mut dyn Read, name: &Path, directory: &Path) -> Result<CheckedWorkflow, WorkflowError> {
    let unreadable = |source| WorkflowError::Read { path: name.to_owned(), source };
    let text = bounded(input).map_err(unreadable)?;
    let root = File::open(directory).map_err(unreadable)?;
    let (path, open) = (Path::new(""), |name: &Path| beneath(&root, name));
    Ok(uwf_workflow::read(&WorkflowText { text: &text, called: name, path, directory, open: &open })?)
}

/// The text of a file in or below the directory.
fn beneath(root: &File, path: &Path) -> io::Result<String> {
    // Without NONBLOCK, opening a pipe would wait for its writer.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::openat2(root, path, flags, Mode::empty(), ResolveFlags::BENEATH)?;
    regular(File::from(file))
}

fn regular(mut file: File) -> io::Result<String> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    bounded(&mut file)
}

fn bounded(input: &mut dyn Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    input.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        io::Error::other(format!("it is not UTF-8 text: byte {}", error.utf8_error().valid_up_to()))
    })
}
