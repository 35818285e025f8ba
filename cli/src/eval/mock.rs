//! Mock scripts that are named on the command line.

use std::path::Path;

use uwf_agent::Script;

use crate::shell::CliError;

/// A script, and its text. Not of a pipe, which nobody may ever write to.
pub(super) fn read_script(path: &Path) -> Result<(Script, String), CliError> {
    let text = uwf_store::open_regular(path).and_then(std::io::read_to_string);
    let text = text
        .map_err(|error| CliError::said(format!("cannot read the mock script {}", path.display()), error))?;
    let script = Script::parse(&path.display().to_string(), &text);
    Ok((script.map_err(|error| CliError::user(error.to_string()))?, text))
}
