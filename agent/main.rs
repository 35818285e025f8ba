//! The `uwf-builtin` program: see `uwf_agent::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    uwf_agent::cli::main()
}
