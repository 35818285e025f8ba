//! The `uwf-builtin` program: see `uwf_cli::builtin`.

use std::process::ExitCode;

fn main() -> ExitCode {
    uwf_cli::builtin::main(option_env!("UWF_COMMIT"))
}
