//! The `uwf-eval` program: see `uwf_cli::eval`.

use std::process::ExitCode;

fn main() -> ExitCode {
    uwf_cli::eval::main(option_env!("UWF_COMMIT"))
}
