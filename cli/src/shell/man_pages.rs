//! Manual pages, made from a command line's own description; for both programs.
//!
//! Apart from the nouns because it knows none of them: whatever can be typed is in the [`clap::Command`] it is given.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Command;

use super::args::Man;
use super::error::{CliError, OK};
use super::render;
use super::session::Session;

/// Prints the manual page of a program, or writes one page a command into a directory.
///
/// # Errors
/// When a file or stdout cannot be written to.
pub fn man(session: &mut Session<'_>, args: &Man, command: Command) -> Result<u8, CliError> {
    // Else there were a page of `help` for every page.
    let mut command = command.disable_help_subcommand(true);
    command.build();
    match &args.out {
        None => {
            let page = page(command).map_err(CliError::from_stdout)?;
            session.ui.print(&String::from_utf8_lossy(&page))?;
        }
        Some(dir) => {
            let dir = session.cwd.join(dir);
            let files = write_all(&dir, command).map_err(|error| {
                CliError::said(format!("cannot write pages to {}", dir.display()), error)
                    .with_hint("name a directory with --out DIR")
            })?;
            let files: Vec<String> = files.iter().map(|file| render::path(file)).collect();
            session.ui.result(&files, || files.iter().map(|file| format!("{file}\n")).collect::<String>())?;
        }
    }
    Ok(OK)
}

fn page(command: Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(page)
}

/// The page of a command and those of its commands, as `uwf-thread-exec.1`; gives the files in the order of the help.
fn write_all(dir: &Path, command: Command) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(dir)?;
    let source = format!("{} {}", command.get_name(), command.get_version().unwrap_or_default());
    let mut files = Vec::new();
    let mut waiting = vec![command];
    while let Some(command) = waiting.pop() {
        let below: Vec<Command> =
            command.get_subcommands().filter(|below| !below.is_hide_set()).cloned().collect();
        waiting.extend(below.into_iter().rev());
        files.push(clap_mangen::Man::new(command).source(&source).generate_to(dir)?);
    }
    Ok(files)
}
