//! The editor of whoever sits at the terminal.
//!
//! Apart because it is the one place that gives the terminal to another program.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};

use super::error::CliError;
use super::session::Session;

/// The variables that name an editor, the first one set wins.
const EDITORS: [&str; 2] = ["VISUAL", "EDITOR"];

/// Has a file edited, and returns when that is done. Without a terminal there must be an editor that somebody named.
///
/// # Errors
/// There is no editor, or it failed.
pub(crate) fn edit(session: &Session<'_>, file: &Path) -> Result<(), CliError> {
    let named = EDITORS.iter().find_map(|name| session.env.get(name)).map(OsString::from);
    let is_person = session.has_person();
    let editor = named.or_else(|| is_person.then(|| "vi".into())).ok_or_else(|| {
        CliError::user("no editor: this is no terminal, and neither VISUAL nor EDITOR names one")
            .with_hint("run it at a terminal, or name a program: EDITOR=my-editor")
    })?;
    let shown = editor.to_string_lossy().into_owned();
    let failed = |why: String| {
        CliError::user(format!("the editor `{shown}` failed: {why}"))
            .with_hint("name another one: EDITOR=my-editor")
    };
    // As git does: the variable may hold options, and whatever a shell makes of it.
    let mut command = Command::new("sh");
    command.arg("-c").arg({
        let mut line = editor;
        line.push(" \"$@\"");
        line
    });
    // What is printed to stdout is a result: the editor draws on the terminal that stderr is.
    if !session.terminals.out && session.terminals.err {
        let terminal = std::io::stderr().as_fd().try_clone_to_owned();
        command.stdout(terminal.map_or_else(|_| Stdio::null(), Stdio::from));
    }
    let status = command
        .arg("editor")
        .arg(file)
        .current_dir(&session.cwd)
        .env_clear()
        .envs(session.env.iter())
        .status()
        .map_err(|error| failed(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
}
