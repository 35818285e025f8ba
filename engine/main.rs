//! The `uwf` program: see `uwf_engine::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    uwf_engine::cli::main()
}
