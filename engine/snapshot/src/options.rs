//! What of a workspace is kept, and how much of it at most.

use crate::withheld::Withheld;

/// What of a workspace is kept. The directories `.git` never are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether files are kept that the workspace's `.gitignore` files or `.git/info/exclude` name.
    pub ignored: bool,
    /// What is left out besides, as patterns of a `.gitignore` at the root. A store that is within the workspace must be
    /// among it: each snapshot would make it larger.
    pub leave_out: Vec<String>,
    /// What no file may hold that is kept.
    pub withheld: Withheld,
    /// A file of more bytes is left out, and said to be.
    pub max_file_bytes: u64,
    /// How many bytes all files may have together.
    pub max_bytes: u64,
    /// How many files, symlinks and directories there may be.
    pub max_entries: u64,
}

/// What programs make from what is kept.
const MADE: [&str; 7] =
    ["target/", "node_modules/", "__pycache__/", ".venv/", ".mypy_cache/", ".pytest_cache/", ".ruff_cache/"];

impl Default for Options {
    fn default() -> Options {
        Options {
            ignored: false,
            leave_out: MADE.map(str::to_owned).to_vec(),
            withheld: Withheld::default(),
            max_file_bytes: 64 << 20,
            max_bytes: 4 << 30,
            max_entries: 500_000,
        }
    }
}
