//! What the command lines of both programs share: the process as values, one command's surroundings, what it says and how
//! it fails.

mod args;
pub(crate) mod checks;
pub(crate) mod editor;
mod error;
pub(crate) mod fields;
pub(crate) mod input;
mod jq;
pub mod man_pages;
pub(crate) mod output;
mod paint;
pub(crate) mod prompt_text;
#[cfg(test)]
pub(crate) mod reference;
pub(crate) mod render;
mod sanitise;
mod session;
mod table;
mod text;
mod ui;
mod version;

pub use self::args::{
    Color, Completions, Format, GREATEST_SEED, Global, Man, SandboxLevel, dollars, some_time, temperature,
};
pub use self::error::{BUG, CliError, FAILED_STEP, OK, SUSPENDED, USAGE, USER};
pub use self::paint::{Paint, Reader};
pub use self::session::{ProcessContext, Session, Terminals, ignores_hangups, in_process};
pub use self::table::{Column, Table};
pub use self::text::{Text, status_painted};
pub use self::ui::Ui;
