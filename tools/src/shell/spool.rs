//! The file with a command's full output, made only when there is more than what is shown.
//!
//! It holds what the record will hold, byte for byte: what was printed, be it text or not, without secrets. So it can be
//! named by the hash of that before there is a record.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
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
    first: Vec<u8>,
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
        Self { dir, limit, outputs, first: Vec::new(), state: SpoolState::NotNeeded, written: 0 }
    }

    /// Takes what comes next; `needed` once the output is longer than what can be shown.
    pub(crate) fn push(&mut self, bytes: &[u8], needed: bool) {
        if !needed {
            self.first.extend_from_slice(bytes);
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
        self.write(bytes);
    }

    fn write(&mut self, bytes: &[u8]) {
        let SpoolState::Open(file, _) = &mut self.state else { return };
        let left = usize::try_from(self.limit - self.written).unwrap_or(usize::MAX);
        let part = &bytes[..whole_characters(bytes, left)];
        self.written += part.len() as u64;
        let result = file.write_all(part);
        let full = part.len() < bytes.len();
        self.state = match (std::mem::replace(&mut self.state, SpoolState::NotNeeded), result) {
            (_, Err(error)) => SpoolState::Failed(error),
            (SpoolState::Open(file, path), Ok(())) if full => SpoolState::Full(file, path),
            (state, Ok(())) => state,
        };
    }

    /// Writes below the output that it is cut, if it is, and gives the file its name.
    pub(crate) fn finish(self) -> FullOutput {
        let (file, path, cut) = match self.state {
            SpoolState::NotNeeded => return FullOutput::NotNeeded,
            SpoolState::Failed(error) => return FullOutput::Lost(error),
            SpoolState::Open(file, path) => (file, path, None),
            SpoolState::Full(file, path) => (file, path, Some(self.limit)),
        };
        let end = cut.map(|limit| format!("\n[… cut after {}]\n", limits::bytes(limit))).unwrap_or_default();
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

/// How many of the first `most` bytes are taken so that no character is cut.
fn whole_characters(bytes: &[u8], most: usize) -> usize {
    if bytes.len() <= most {
        return bytes.len();
    }
    let goes_on = |at: &usize| bytes[*at] & 0xC0 == 0x80;
    (most.saturating_sub(3)..=most).rev().find(|at| !goes_on(at)).unwrap_or(most)
}

fn create(dir: &PathBuf) -> io::Result<(File, PathBuf)> {
    fs::create_dir_all(dir)?;
    let file = tempfile::Builder::new().prefix("output-").suffix(".part").tempfile_in(dir)?;
    file.keep().map_err(|error| error.error)
}

/// What it is called follows from all of it, so the file is read once more when it is whole.
fn name(mut file: File, end: &str, outputs: &dyn Outputs) -> io::Result<String> {
    file.write_all(end.as_bytes())?;
    file.rewind()?;
    outputs.name(&mut file)
}
