//! A file that is named on the command line: the file, or stdin for `-`.
//!
//! Whoever reads otherwise (a workflow, with what it includes) asks here what `-` is and what people call it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::error::CliError;
use super::render;

/// What is read, not opened twice and not read whole unless somebody asks for that.
pub(crate) struct Input<'s> {
    /// As [`name_of`] says.
    pub(crate) name: String,
    pub(crate) reader: Box<dyn BufRead + 's>,
}

impl<'s> Input<'s> {
    /// Opens a file as typed in `cwd`.
    pub(crate) fn open(stdin: &'s mut dyn Read, cwd: &Path, file: &Path) -> Result<Input<'s>, CliError> {
        let name = name_of(file);
        if is_stdin(file) {
            return Ok(Input { name, reader: Box::new(BufReader::new(stdin)) });
        }
        let opened = File::open(cwd.join(file)).map_err(|error| unreadable(&name, error))?;
        Ok(Input { name, reader: Box::new(BufReader::with_capacity(1 << 16, opened)) })
    }

    /// All of it.
    pub(crate) fn text(mut self) -> Result<String, CliError> {
        let mut text = String::new();
        self.reader.read_to_string(&mut text).map_err(|error| unreadable(&self.name, error))?;
        Ok(text)
    }
}

/// Whether it stands for stdin.
pub(crate) fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// What people call it.
pub(crate) fn name_of(file: &Path) -> String {
    if is_stdin(file) { "stdin".to_owned() } else { render::path(file) }
}

/// What could not be read: a file, or a line of one.
pub(crate) fn unreadable(name: &str, error: std::io::Error) -> CliError {
    CliError::said(format!("cannot read {name}"), error)
}
