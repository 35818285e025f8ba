//! The file with a command's full output, made only when there is more than what is shown.
//!
//! It holds text, not bytes: what was not UTF-8 is U+FFFD already, and a last line says how much. So the file is, byte
//! for byte, the text that the record will hold, and can be named by the hash of that before there is a record.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::limits;
use crate::outputs::{self, Outputs};

/// Takes all output; writes a file once there is too much to show.
pub(crate) struct Spool {
    dir: PathBuf,
    /// How many bytes a file may hold.
    limit: u64,
    outputs: Arc<dyn Outputs>,
    /// What came before the file was made.
    first: String,
    state: SpoolState,
    /// Bytes written to the file.
    written: u64,
}

enum SpoolState {
    NotNeeded,
    Open(File, PathBuf),
    Full(File, PathBuf),
    Failed(io::Error),
}

/// An output in a file: where it is, and by which name it can be read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpooledOutput {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
}

/// What became of the full output; displays as the end of a sentence.
#[derive(Debug)]
pub(crate) enum FullOutput {
    Whole(SpooledOutput),
    /// Up to this many bytes.
    Cut(SpooledOutput, u64),
    Lost(io::Error),
    NotNeeded,
}

impl Spool {
    /// Files are made in `dir` and hold up to `limit` bytes each.
    pub(crate) fn new(dir: PathBuf, limit: u64, outputs: Arc<dyn Outputs>) -> Self {
        Self { dir, limit, outputs, first: String::new(), state: SpoolState::NotNeeded, written: 0 }
    }

    /// Takes the next text; `needed` once the output is longer than what can be shown.
    pub(crate) fn push(&mut self, text: &str, needed: bool) {
        if !needed {
            self.first.push_str(text);
            return;
        }
        if matches!(self.state, SpoolState::NotNeeded) {
            self.state = match create(&self.dir) {
                Ok((file, path)) => SpoolState::Open(file, path),
                Err(error) => SpoolState::Failed(error),
            };
            let first = std::mem::take(&mut self.first);
            self.write(&first);
        }
        self.write(text);
    }

    fn write(&mut self, text: &str) {
        let SpoolState::Open(file, _) = &mut self.state else { return };
        let left = usize::try_from(self.limit - self.written).unwrap_or(usize::MAX);
        let part = &text[..text.floor_char_boundary(left)];
        self.written += part.len() as u64;
        let result = file.write_all(part.as_bytes());
        let full = part.len() < text.len();
        self.state = match (std::mem::replace(&mut self.state, SpoolState::NotNeeded), result) {
            (_, Err(error)) => SpoolState::Failed(error),
            (SpoolState::Open(file, path), Ok(())) if full => SpoolState::Full(file, path),
            (state, Ok(())) => state,
        };
    }

    /// Writes what is to be said of the output below it, and gives the file its name. `invalid` bytes were not UTF-8.
    pub(crate) fn finish(self, invalid: u64) -> FullOutput {
        let (file, path, cut) = match self.state {
            SpoolState::NotNeeded => return FullOutput::NotNeeded,
            SpoolState::Failed(error) => return FullOutput::Lost(error),
            SpoolState::Open(file, path) => (file, path, None),
            SpoolState::Full(file, path) => (file, path, Some(self.limit)),
        };
        let mut end = String::new();
        if let Some(limit) = cut {
            end.push_str(&format!("\n[… cut after {}]\n", limits::bytes(limit)));
        }
        if invalid > 0 {
            end.push_str(&format!(
                "\n[{} of the output not UTF-8, shown as U+FFFD]\n",
                limits::bytes(invalid)
            ));
        }
        let name = name(file, &end, &*self.outputs);
        let named = name.and_then(|name| {
            let output = SpooledOutput { path: outputs::file(&self.dir, &name), name };
            fs::rename(&path, &output.path).map(|()| output)
        });
        match (named, cut) {
            (Ok(output), Some(limit)) => FullOutput::Cut(output, limit),
            (Ok(output), None) => FullOutput::Whole(output),
            (Err(error), _) => FullOutput::Lost(error),
        }
    }
}

impl FullOutput {
    pub(crate) fn into_output(self) -> Option<SpooledOutput> {
        match self {
            Self::Whole(output) | Self::Cut(output, _) => Some(output),
            Self::Lost(_) | Self::NotNeeded => None,
        }
    }
}

impl fmt::Display for FullOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNeeded => f.write_str("all of it was shown"),
            Self::Whole(output) => write!(f, "read them with tool_output hash={}", output.name),
            Self::Cut(output, limit) => {
                write!(f, "read the first {} with tool_output hash={}", limits::bytes(*limit), output.name)
            }
            Self::Lost(error) => write!(f, "the full output could not be kept: {error}"),
        }
    }
}

fn create(dir: &PathBuf) -> io::Result<(File, PathBuf)> {
    fs::create_dir_all(dir)?;
    let file = tempfile::Builder::new().prefix("output-").suffix(".part").tempfile_in(dir)?;
    file.keep().map_err(|error| error.error)
}

/// The name needs the length first, so the file is read once more when it is whole.
fn name(mut file: File, end: &str, outputs: &dyn Outputs) -> io::Result<String> {
    file.write_all(end.as_bytes())?;
    let length = file.stream_position()?;
    file.rewind()?;
    outputs.name(&mut io::BufReader::with_capacity(1 << 16, file.take(length)), length)
}
