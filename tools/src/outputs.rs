//! The full outputs that a call only shows a part of: how they are named, and found again.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The names of full outputs, and those that earlier runs kept. The toolbox itself knows no store.
pub trait Outputs: fmt::Debug + Send + Sync {
    /// The name under which the record will hold `text`, of `length` bytes of UTF-8: ASCII letters and digits.
    ///
    /// # Errors
    /// `text` cannot be read.
    fn name(&self, text: &mut dyn Read, length: u64) -> io::Result<String>;

    /// The text that an earlier run kept under this name; none when there is no such text.
    ///
    /// # Errors
    /// The text is there and cannot be read.
    fn find(&self, name: &str) -> io::Result<Option<Box<dyn Read>>>;
}

/// Where a run keeps the output of this name.
pub(crate) fn file(spool_dir: &Path, name: &str) -> PathBuf {
    spool_dir.join(format!("output-{name}.txt"))
}
