//! The two streams a person or a program reads, and the rules of what goes where: the result to `out`, words to `err`.
//!
//! What people see of texts that are not ours is freed of what would steer a terminal; what programs read is not.
//!
//! A reader that has gone away (`| head`) is no error: it ends the command quietly.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use uwf_store::json;
use uwf_workflow::yaml;

use super::args::Format;
use super::error::{CliError, OK};
use super::fields::{Fields, pretty};
use super::paint::{Paint, Reader};
use super::sanitise::sanitise;
use super::text::Text;
use uwf_engine::workflow::CheckedWorkflow;

/// Where a command writes, and how.
pub struct Ui<'a> {
    /// The result.
    pub out: &'a mut dyn Write,
    /// Everything else.
    pub err: &'a mut dyn Write,
    pub(crate) format: Format,
    /// Whether `--format` was given: commands whose result is a document print it as such otherwise.
    pub(crate) explicit_format: bool,
    /// Which fields of a result are printed, where that was said.
    pub(super) fields: Option<Fields>,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    /// Whether anybody reads remarks; otherwise stderr is for what goes wrong.
    pub(crate) remarks: bool,
    /// Whether stderr has colours.
    pub(crate) color: bool,
    /// Who reads stdout.
    pub(crate) reader: Reader,
}

/// Fields that a value has only where they say something: asked for by name, they are null there.
const KNOWN: &[&str] = &[
    "artifacts",
    "called",
    "child",
    "compact",
    "compactedBy",
    "earlier",
    "failed",
    "options",
    "parent",
    "pauseReason",
    "running",
    "summary",
    "undone",
];

impl Ui<'_> {
    /// From now on results are JSON, and have these fields.
    pub(crate) fn pick(&mut self, fields: Fields) {
        (self.format, self.explicit_format, self.fields) = (Format::Json, true, Some(fields));
    }

    /// Whether a field is asked for by name that `value` does not have.
    pub(crate) fn picks_beyond(&self, value: &impl Serialize) -> bool {
        self.fields.as_ref().is_some_and(|fields| fields.are_beyond(&tree(value), KNOWN))
    }

    /// Prints a result: the value for programs, or what `text` makes of it for people. Gives the exit status of a
    /// command whose work is done.
    ///
    /// # Errors
    /// stdout cannot be written to; that its reader has gone away ends the command quietly.
    pub fn result<T: Into<Text>>(
        &mut self,
        value: &(impl Serialize + ?Sized),
        text: impl FnOnce() -> T,
    ) -> Result<u8, CliError> {
        match self.format {
            Format::Text => self.print_text(text())?,
            Format::Json => {
                let text = match &self.fields {
                    Some(fields) => fields.print(tree(value), KNOWN)?,
                    None => pretty(&tree(value)),
                };
                self.print(&text)?;
            }
            Format::Yaml => self.print(&yaml::write(&tree(value)))?,
        }
        Ok(OK)
    }

    /// Prints a text for people to stdout, as whoever reads there can have it.
    ///
    /// # Errors
    /// stdout cannot be written to; that its reader has gone away ends the command quietly.
    pub fn print_text(&mut self, text: impl Into<Text>) -> Result<(), CliError> {
        let text = text.into().for_reader(&self.reader);
        self.write(text.as_bytes())
    }

    /// Prints a result that people read as YAML.
    ///
    /// # Errors
    /// stdout cannot be written to; that its reader has gone away ends the command quietly.
    pub fn yaml(&mut self, value: &impl Serialize) -> Result<u8, CliError> {
        self.result(value, || yaml::write(&tree(value)))
    }

    /// Prints a document as it is, unless another format was asked for: then the value. Gives the exit status of a
    /// command whose work is done.
    ///
    /// # Errors
    /// stdout cannot be written to; that its reader has gone away ends the command quietly.
    pub fn document(&mut self, value: &impl Serialize, text: &str) -> Result<u8, CliError> {
        if self.explicit_format && self.format != Format::Text {
            return self.result(value, String::new);
        }
        self.print(text)?;
        Ok(OK)
    }

    /// The same for a document that may be no text; on a terminal with colours its lines have those of `color_of`.
    ///
    /// # Errors
    /// stdout cannot be written to; that its reader has gone away ends the command quietly.
    pub fn bytes(
        &mut self,
        value: &impl Serialize,
        bytes: &[u8],
        color_of: fn(&str) -> Option<&'static str>,
    ) -> Result<u8, CliError> {
        if self.explicit_format && self.format != Format::Text {
            return self.result(value, String::new);
        }
        let shown: Cow<'_, [u8]> = match self.reader.is_terminal {
            false => bytes.into(),
            true => Cow::Owned(self.shown(&String::from_utf8_lossy(bytes), color_of).into_bytes()),
        };
        self.write(&shown)?;
        Ok(OK)
    }

    /// As a terminal may be given it, line by line.
    fn shown(&self, text: &str, color_of: fn(&str) -> Option<&'static str>) -> String {
        let shown = |line: &str| {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            match color_of(line).filter(|_| self.reader.color) {
                Some(color) => format!("\x1b[{color}m{}\x1b[0m{end}", sanitise(line)),
                None => format!("{}{end}", sanitise(line)),
            }
        };
        text.split_inclusive('\n').map(shown).collect()
    }

    /// Prints a text to stdout: as it is, or as a terminal may be given it.
    ///
    /// # Errors
    /// stdout cannot be written to; that its reader has gone away ends the command quietly.
    pub fn print(&mut self, text: &str) -> Result<(), CliError> {
        let text = self.reader.shown(text);
        self.write(text.as_bytes())
    }

    /// Prints bytes to stdout: as they are, or as a terminal may be given the text that they are.
    ///
    /// # Errors
    /// stdout cannot be written to; that its reader has gone away ends the command quietly.
    pub fn print_bytes(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        if self.reader.is_terminal { self.print(&String::from_utf8_lossy(bytes)) } else { self.write(bytes) }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.out.write_all(bytes).and_then(|()| self.out.flush()).map_err(CliError::from_stdout)
    }

    /// Tells people something, on a line of its own; nobody's reading is no error.
    pub fn note(&mut self, text: &str) {
        if self.remarks {
            writeln!(self.err, "{}", sanitise(text)).ok();
        }
    }

    /// The same of a text with words that have colours.
    pub fn note_text(&mut self, text: &Text) {
        if self.remarks {
            let reader = Reader { width: None, color: self.color, is_terminal: true };
            self.err.write_all(text.for_reader(&reader).as_bytes()).ok();
        }
    }

    /// Says something to the person who is to answer.
    ///
    /// # Errors
    /// stderr cannot be written to.
    pub fn say(&mut self, text: &str) -> Result<(), CliError> {
        let said = self.err.write_all(sanitise(text).as_bytes()).and_then(|()| self.err.flush());
        said.map_err(|error| CliError::said("cannot ask", error))
    }

    /// Prints what a command has made: its id alone with `--quiet`, which is for scripts, unless a format was asked for.
    /// Gives the exit status of a command whose work is done.
    ///
    /// # Errors
    /// stdout cannot be written to; that its reader has gone away ends the command quietly.
    pub fn made(
        &mut self,
        id: &str,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<u8, CliError> {
        if self.quiet && !self.explicit_format {
            self.print(&format!("{id}\n"))?;
            return Ok(OK);
        }
        self.result(value, text)
    }

    /// Adds to a warning what to do.
    pub fn hint(&mut self, text: &str) {
        if !self.quiet {
            writeln!(self.err, "  hint: {}", sanitise(text)).ok();
        }
    }

    /// Tells people who have asked for more.
    pub fn detail(&mut self, text: &str) {
        if self.verbose {
            self.note(text);
        }
    }

    /// Whether people have asked for more.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether people have asked for errors alone.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Warns; `--quiet` does not silence it, since the result is not what it seems.
    pub fn warn(&mut self, text: &str) {
        let label = self.painted("warning", "33");
        writeln!(self.err, "{label}: {}", sanitise(text)).ok();
    }

    /// Warns of what a workflow file says that is probably not meant.
    pub fn warn_of(&mut self, workflow: &CheckedWorkflow) {
        for warning in workflow.told_warnings() {
            self.warn(&warning);
        }
    }

    /// Passes on what an agent writes; where it is not, its last words are in the error when it fails.
    pub fn pass(&mut self, bytes: &[u8]) {
        if self.quiet {
            return;
        }
        self.err.write_all(bytes).and_then(|()| self.err.flush()).ok();
    }

    /// Says what went wrong: `error: …`, its causes, a hint.
    ///
    /// # Errors
    /// stderr cannot be written to.
    pub fn error(&mut self, error: &CliError) -> io::Result<()> {
        let label = self.painted("error", "31");
        writeln!(self.err, "{label}: {}", sanitise(&error.message()))?;
        for cause in error.causes() {
            writeln!(self.err, "  caused by: {}", sanitise(&cause))?;
        }
        if let Some(hint) = error.hint() {
            writeln!(self.err, "  hint: {}", sanitise(hint))?;
        }
        Ok(())
    }

    /// What a terminal at stderr is sent, with the mark of a finished call in its colour.
    pub(crate) fn marked(&self, text: String) -> String {
        let marks = [("✓", Paint::Good), ("✗", Paint::Bad)];
        let found = marks.into_iter().find(|(mark, _)| text.contains(&format!("  {mark} ")));
        match found.filter(|_| self.color) {
            Some((mark, paint)) => text.replacen(mark, &paint.on(mark), 1),
            None => text,
        }
    }

    fn painted(&self, word: &str, color: &str) -> String {
        if self.color { format!("\x1b[1;{color}m{word}\x1b[0m") } else { word.to_owned() }
    }
}

/// The value with the fields of every object in the order of their names, which is the order in which they are printed.
fn tree(value: &(impl Serialize + ?Sized)) -> Value {
    json::tree(value).expect("a view has names for fields, and texts that are UTF-8")
}
