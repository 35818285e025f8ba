//! Agents that are described rather than programmed: a short file says how a command-line agent is called, and `uwf adapt NAME`
//! speaks the protocol for it.
//!
//! Their names alone are known here, so that a name on a command line or in the configuration can be told from a program's;
//! what is in a definition is read by whoever plays it. A name of the configuration goes before these.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The definitions that come with the program.
pub const SHIPPED: [&str; 10] =
    ["aider", "claude-code", "codex", "command", "cursor", "gemini", "goose", "hermes", "opencode", "pi"];

/// The one whose program is the first argument that is passed on.
pub const COMMAND: &str = "command";

/// The settings of `uwf-builtin`, which are beside the definitions.
const SETTINGS: &str = "builtin";

/// Where somebody's own definitions are.
pub fn directory(home: &Path) -> PathBuf {
    home.join("agents")
}

/// The file of somebody's own definition.
pub fn file(home: &Path, name: &str) -> PathBuf {
    directory(home).join(format!("{name}.yaml"))
}

/// Whether an agent of this name can be defined: a part of a path is none, and `builtin` is uwf-builtin.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name != SETTINGS && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain)
}

/// The names of all definitions, those of `home` among them; a directory that cannot be read has none.
pub fn names(home: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(directory(home)).into_iter().flatten().flatten();
    let own = files.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".yaml")?.to_owned()));
    own.filter(|name| is_name(name)).chain(SHIPPED.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_definitions_are_beside_the_settings_of_the_builtin_agent() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(names(home.path()), SHIPPED.map(str::to_owned).into());
        fs::create_dir(directory(home.path())).unwrap();
        for file in ["builtin.yaml", "mine.yaml", "mine.yml", ".hidden.yaml", "a b.yaml"] {
            fs::write(directory(home.path()).join(file), "").unwrap();
        }
        let own: Vec<_> = names(home.path()).into_iter().filter(|name| !SHIPPED.contains(&&**name)).collect();
        assert_eq!(own, ["mine"]);
        assert!(!is_name("../x") && !is_name("") && !is_name("builtin"));
    }
}
