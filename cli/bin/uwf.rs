//! The `uwf` program: see `uwf_cli::uwf`.

use std::process::ExitCode;

fn main() -> ExitCode {
    uwf_cli::uwf::main(option_env!("UWF_COMMIT"))
}
