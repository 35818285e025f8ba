//! The full outputs that a call only shows a part of: how they are named, and found again.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The names of full outputs, and those that earlier runs kept. The toolbox itself knows no store.
pub trait Outputs: fmt::Debug + Send + Sync {
    /// The name under which the record will hold `output`: ASCII letters and digits.
    ///
    /// # Errors
    /// `output` cannot be read.
    fn name(&self, output: &mut dyn Read) -> io::Result<String>;

    /// The output that an earlier run kept under this name; none when there is no such output.
    ///
    /// # Errors
    /// The output is there and cannot be read.
    fn find(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>>;
}

/// Where a run keeps the output of this name.
pub(crate) fn file(spool_dir: &Path, name: &str) -> PathBuf {
    spool_dir.join(format!("output-{name}.txt"))
}
