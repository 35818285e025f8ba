//! The text that a role is to be told: typed, read from a file or from stdin, or written in a person's editor.
//!
//! The one way to it, for every command that takes one. An editor is opened only where a person sits before stdin and
//! stderr; everywhere else what is missing is an error that says what to type. Nothing is changed here.

use std::fs;
use std::io::Read;
use std::path::Path;

use super::editor::edit;
use super::error::{CliError, USAGE};
use super::input::Input;
use super::session::Session;

/// How long a text may be: far longer than any prompt, so that what has no end is noticed.
const LONGEST: u64 = 16 << 20;

/// How the line begins below which an editor's text is not part of the prompt.
const SCISSORS: &str = "# ------------------------ >8 ------------------------";

/// Where a text is from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PromptSource<'a> {
    /// It was typed.
    Typed(&'a str),
    /// It is in a file, or comes from stdin.
    File(&'a Path),
    /// Nobody has said so far.
    Nobody,
}

impl<'a> PromptSource<'a> {
    /// As `-p` and `-f` have it; one of them at most.
    pub(crate) fn of(prompt: Option<&'a str>, file: Option<&'a Path>) -> PromptSource<'a> {
        match (prompt, file) {
            (Some("-"), _) => PromptSource::File(Path::new("-")),
            (Some(text), _) => PromptSource::Typed(text),
            (None, Some(file)) => PromptSource::File(file),
            (None, None) => PromptSource::Nobody,
        }
    }

    /// Whether somebody has said where it is from.
    pub(crate) fn is_given(&self) -> bool {
        !matches!(self, PromptSource::Nobody)
    }
}

/// What the text is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedText<'a> {
    /// Its name: `task`, `question`, `answer`.
    pub(crate) name: &'a str,
    /// What people see below it in their editor.
    pub(crate) about: &'a str,
}

impl WantedText<'_> {
    /// The task of a thread.
    pub(crate) fn task() -> WantedText<'static> {
        WantedText { name: "task", about: "The text above this line is the task." }
    }
}

impl Session<'_> {
    /// The text, from wherever it is.
    ///
    /// # Errors
    /// It cannot be read, is not there where nobody can be asked for it, or a person has left it empty.
    pub(crate) fn prompt_text(
        &mut self,
        source: &PromptSource<'_>,
        wanted: &WantedText<'_>,
    ) -> Result<String, CliError> {
        match *source {
            PromptSource::Typed(text) => Ok(text.to_owned()),
            PromptSource::File(file) => self.text_of(file),
            PromptSource::Nobody => self.written(wanted),
        }
    }

    /// What a file holds, without the end of its last line.
    fn text_of(&mut self, file: &Path) -> Result<String, CliError> {
        let Input { name, reader } = Input::open(self.stdin, &self.cwd, file)?;
        let input =
            Input { name: name.clone(), reader: Box::new(std::io::BufReader::new(reader.take(LONGEST + 1))) };
        let text = input.text()?;
        if text.len() as u64 > LONGEST {
            return Err(CliError::user(format!("{name} is too long for a prompt"))
                .with_hint("write long text to a file and name the file in the prompt"));
        }
        Ok(text.trim_end_matches(['\n', '\r']).to_owned())
    }

    /// What a person writes.
    fn written(&mut self, wanted: &WantedText<'_>) -> Result<String, CliError> {
        let name = wanted.name;
        let missing = |hint: &str| CliError::Said {
            error: format!("no {name} is given").into(),
            hint: Some(hint.to_owned()),
            exit: USAGE,
        };
        if !self.has_person() {
            return Err(missing("say it with -p TEXT, or read it with -f FILE or, from stdin, -p -"));
        }
        let template = format!(
            "\n{SCISSORS}\n# {}\n# An empty text changes nothing.\n",
            wanted.about.replace('\n', "\n# ")
        );
        let text = above_scissors(&self.edited(&template)?).trim().to_owned();
        match text.is_empty() {
            true => Err(CliError::user(format!("the {name} is empty; nothing was changed"))),
            false => Ok(text),
        }
    }

    /// What becomes of a text in the person's editor.
    fn edited(&mut self, template: &str) -> Result<String, CliError> {
        let failed = |error| CliError::said("cannot write the text for the editor", error);
        let file = tempfile::Builder::new().prefix("uwf-").suffix(".md").tempfile().map_err(failed)?;
        fs::write(file.path(), template).map_err(failed)?;
        edit(self, file.path())?;
        fs::read_to_string(file.path()).map_err(|error| CliError::said("cannot read what was written", error))
    }
}

/// What stands above the line of the scissors.
fn above_scissors(text: &str) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(SCISSORS) {
            break;
        }
        end += line.len();
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_is_stdin_and_anything_else_is_typed() {
        assert!(
            matches!(PromptSource::of(Some("-"), None), PromptSource::File(file) if file == Path::new("-"))
        );
        assert!(matches!(PromptSource::of(Some("- a"), None), PromptSource::Typed("- a")));
        assert!(matches!(PromptSource::of(None, Some(Path::new("a"))), PromptSource::File(_)));
        assert!(!PromptSource::of(None, None).is_given());
    }

    #[test]
    fn headings_of_markdown_stay_and_what_is_below_the_scissors_goes() {
        let text = format!("# A task\n\nDo it.\n{SCISSORS}\n# about\n");
        assert_eq!(above_scissors(&text), "# A task\n\nDo it.\n");
        assert_eq!(above_scissors("no scissors\n"), "no scissors\n");
        assert_eq!(above_scissors(&format!("{SCISSORS}\nall below")), "");
    }
}
