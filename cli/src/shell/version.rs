//! What `-V` and `--version` say: the program, and for whoever reports a fault what it was built from and what it finds.

use std::fs;

use uwf_agent::confinement::{Confinement, SandboxSettings};
use uwf_engine::home::{Env, Homes};
use uwf_tools::sandbox::Level;

/// The version of both programs.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// `uwf 0.1.0 (a51c6bf)`.
pub(super) fn short(program: &str, commit: Option<&str>) -> String {
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    format!("{program} {VERSION}{commit}\n")
}

/// The same, with the formats it reads and the sandbox that this kernel gives it, a line each.
pub(super) fn long(program: &str, commit: Option<&str>, env: &Env) -> String {
    let (store, journals) = (uwf_store::FORMAT, uwf_agent::journal::READABLE);
    format!(
        "{program} {VERSION}\ncommit   {}\nstore    format {store}, journals {} to {}\nsandbox  {}\n",
        commit.unwrap_or("unknown: built without git, or for development"),
        journals.start(),
        journals.end(),
        sandbox(env).unwrap_or_else(|why| format!("unknown: {why}"))
    )
}

/// What is enforced where nothing is in the way but the kernel.
fn sandbox(env: &Env) -> Result<String, String> {
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let within = |name: &str| place.path().join(name);
    let (homes, workspace) = (Homes { uwf: within("uwf"), ocas: within("ocas") }, within("work"));
    fs::create_dir(&workspace).map_err(|error| error.to_string())?;
    let prepare = |level| {
        let asked = SandboxSettings { level, ..SandboxSettings::default() };
        Confinement::prepare(&asked, &homes, &workspace, env).map_err(|error| error.to_string())
    };
    let landlock = |abi: Option<u32>| abi.map(|abi| format!(" (Landlock {abi})")).unwrap_or_default();
    let strict = prepare(Level::Strict)?;
    match strict.sandbox.refusal() {
        None => Ok(format!("strict{}", landlock(strict.sandbox.enforced().landlock))),
        Some(_) => {
            let less = prepare(Level::BestEffort)?;
            let enforced = less.sandbox.enforced();
            let why = "strict cannot be enforced, `uwf-builtin doctor` tells why";
            Ok(format!("best-effort{}: {why}", landlock(enforced.landlock)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_is_told_where_it_is_known() {
        assert_eq!(short("uwf", Some("a51c6bf")), format!("uwf {VERSION} (a51c6bf)\n"));
        assert_eq!(short("uwf", None), format!("uwf {VERSION}\n"));
        let text = long("uwf-builtin", Some("a51c6bf"), &Env::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], [&*format!("uwf-builtin {VERSION}"), "commit   a51c6bf"], "{text}");
        assert!(lines[2].starts_with("store    format 1, journals 2 to "), "{text}");
        let is_told =
            ["sandbox  strict", "sandbox  best-effort"].iter().any(|level| lines[3].starts_with(level));
        assert!(is_told, "{text}");
    }
}
