//! Counts what the house rules speak of, in the source itself: `cargo run -p xtask -- figures [DIR]`.
//!
//! | module | what it knows |
//! |---|---|
//! | [`source`] | which files are the product, found by following `mod` from each crate's root |
//! | [`figures`] | lengths, parameters, names, documented errors |
//! | [`circles`] | which modules import each other in a loop |
//! | [`path`] | the files of one role run, as docs/ARCHITECTURE.md lists them |
//! | [`edges`] | which crate may depend on which, held against the manifests by a test |

#![expect(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program for the people who work on this repository"
)]

mod circles;
mod edges;
mod figures;
mod path;
mod source;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "Usage: cargo run -p xtask -- figures [DIR]\n\n\
    figures  Count the product's source below DIR (default: this repository)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = match words[..] {
        ["figures"] => edges::repository(),
        ["figures", dir] => PathBuf::from(dir),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match source::read(&root) {
        Ok(crates) => {
            let (figures, circles) = (figures::Figures::of(&crates), circles::Circles::of(&crates));
            let stations = path::Stations::of(&root, &crates);
            match write!(io::stdout(), "{figures}{circles}{stations}") {
                // A reader that has seen enough closes the pipe.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    eprintln!("error: cannot write to stdout: {error}");
                    ExitCode::FAILURE
                }
                _ => ExitCode::SUCCESS,
            }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
