//! What a model may do to a workspace: the tools, their limits and their confinement.
//!
//! One directory is the workspace. A [`Toolbox`] opens it, tells which tools there are ([`ToolSpec`], for the
//! model's request) and carries out their calls ([`Toolbox::call`]). A call never fails towards the caller: what
//! went wrong is the text of a [`ToolOutput`], written so that the model can repair its call.
//!
//! # Layout
//!
//! - `toolbox` — the list of tools and the way of a call through them; `tool` — what a tool is; `answer` — what a call comes
//!   to; `arguments` — JSON text to checked parameters
//! - `read_file`, `write_file`, `edit_file`, `list_dir`, `grep`, `glob`, `run_command`, `tool_output` — one tool each,
//!   same shape: `Args`, a function of `(&Args, &ToolContext)` to the answer or why there is none, and the words for the
//!   model in the `.md` beside it
//! - `shell` — where commands and servers run, and what becomes of their output and processes; `outputs` — full outputs by name
//! - `workspace` — the root as a directory handle: every path is resolved beneath it; `replace` — atomic writes;
//!   `open_flags` — how files are opened
//! - `writable` — which paths a role may write; `pattern` — globs; `walk` — walks that no ignore file can stop
//! - `read_state` — what this run knows of files, by content hash, and one lock a file; `page` — numbered lines of a stream
//! - `cancel`, `call_deadline` — whether a call may go on; `parallel` — work on many items, by threads or without; `wait`
//!   — for descriptors and conditions, with an end
//! - `process_table` — the processes that a /proc shows; `descendants` — those below this program; `run_dir` — the private directory of a run
//! - `project` — what a workspace says of itself, read as the file tools read
//! - `limits` — the caps, and numbers as they are shown; `similar_paths` — for "did you mean"; `line_ends` — CR LF and LF;
//!   `words` — lists of names as text
//! - `git_guard` — hooks, configuration and unfinished work of git that a command, a server or an agent
//!   changed, taken back
//! - `redact` — secrets taken out of what commands print, before anything is cut or kept
//! - [`sandbox`] — what commands, and the agent itself, may reach: policy in, enforced by the kernel, told promise by
//!   promise
//!
//! Modules import downwards only: no two of them name each other.
//!
//! # Invariants
//!
//! 1. No path string reaches anything outside the workspace: by `openat2(RESOLVE_BENEATH)`, not by comparison.
//! 2. A file is replaced whole or not at all, and the bytes an edit does not name stay as they are.
//! 3. A command's processes end with its time limit, with a cancel, or with the run, also when the agent is killed: by the
//!    kernel, which holds them together (a namespace, else a control group). Only where strict is given up they are looked
//!    for.
//! 4. Whatever is cut says so, with the right numbers.
//! 5. A command runs in the sandbox that was asked for or not at all: strict is every promise kept, by one means or another.
//!    What was enforced is told.
//!
//! Absent by intent: models, threads, the environment, the terminal. The environment of commands is a value given
//! by the caller; nothing is printed.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests are programs: they have an environment and a clock")
)]

#[cfg(not(target_os = "linux"))]
compile_error!("uwf-tools needs Linux: it confines paths with openat2 and commands with namespaces");

mod answer;
mod arguments;
mod call_deadline;
mod cancel;
mod descendants;
mod edit_file;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod git_guard;
mod glob;
mod grep;
mod limits;
mod line_ends;
mod list_dir;
mod lock;
mod open_flags;
mod outputs;
mod page;
mod parallel;
mod pattern;
mod process_table;
mod project;
mod read_file;
mod read_state;
mod redact;
mod replace;
mod run_command;
mod run_dir;
pub mod sandbox;
mod shell;
mod similar_paths;
mod tool;
mod tool_output;
mod toolbox;
mod wait;
mod walk;
mod words;
mod workspace;
mod writable;
mod write_file;

#[cfg(test)]
mod scratch;

pub use answer::{Facts, FileEdit, ToolOutput};
pub use cancel::Cancel;
pub use descendants::end_descendants;
pub use git_guard::{GitGuard, GitReport};
pub use limits::ToolLimits;
pub use outputs::Outputs;
pub use project::{FoundText, text_in};
pub use read_state::ReadState;
pub use redact::{Redactor, redact};
pub use run_dir::RunDir;
pub use shell::environment::{EnvironmentSurvey, survey_environment};
pub use shell::{NotStarted, ServerCommand, ServerProcess};
pub use tool::ToolSpec;
pub use toolbox::{Closed, Toolbox, ToolboxConfig, ToolboxError, check_names, specs};
pub use writable::writable_trees;
