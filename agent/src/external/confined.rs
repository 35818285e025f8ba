//! What a confined agent may reach: what commands may, beside its own files and the network as its definition says.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uwf_engine::home::make_private;
use uwf_tools::sandbox::Level;

use super::definition::Definition;
use crate::confinement::SandboxSettings;

/// What stands before a line that tells what became of git, on the stderr of the process that confines a call.
pub const OF_GIT: &str = "uwf: git: ";

/// What is asked for, as it is handed to the process that confines a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    /// How much must be there.
    pub level: Level,
    /// Whether it may use the network.
    pub network: bool,
    /// What it may write beside the workspace.
    pub writable: Vec<PathBuf>,
    /// What it may read that others may not.
    pub readable: Vec<PathBuf>,
}

impl Confined {
    /// What the definition says, for the program in `file`; `home` is what `~` stands for, `uwf` where keys are.
    pub fn new(
        definition: &Definition,
        file: &Path,
        (level, home, uwf): (Level, Option<&Path>, &Path),
    ) -> Confined {
        let paths = |paths: &[PathBuf]| -> Vec<PathBuf> {
            paths.iter().filter_map(|path| absolute(path, home)).collect()
        };
        let needs = &definition.sandbox;
        let mut readable = paths(&needs.readable);
        readable.extend(belongs_to(file, home, uwf));
        Confined { level, network: needs.network, writable: paths(&needs.writable), readable }
    }

    /// Makes those of its own directories that are not there yet, as on its first run: what is not there cannot be left open to it.
    /// A name with an extension is that of a file, which the agent makes itself or does without.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn make_own_directories(&self) -> io::Result<()> {
        let missing = self.writable.iter().filter(|path| path.extension().is_none() && !path.exists());
        missing.into_iter().try_for_each(|path| make_private(path))
    }

    /// The same as settings of a sandbox.
    pub fn settings(self) -> SandboxSettings {
        let Confined { level, network, writable, readable } = self;
        SandboxSettings { level, network, writable, readable, ..SandboxSettings::default() }
    }
}

fn absolute(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix("~") {
        Ok(below) => home.map(|home| home.join(below)),
        Err(_) => path.is_absolute().then(|| path.to_owned()),
    }
}

/// Where a program lies with what belongs to it: the packages it is one of, else its directory; the file alone where
/// that would show a whole home, or keys.
fn belongs_to(file: &Path, home: Option<&Path>, uwf: &Path) -> Option<PathBuf> {
    let file = file.canonicalize().ok()?;
    let packages = file.ancestors().filter(|dir| dir.file_name().is_some_and(|name| name == "node_modules"));
    let dir = packages.last().or(file.parent())?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let uwf = real(uwf);
    let shows_more =
        home.is_some_and(|home| real(home).starts_with(dir)) || uwf.starts_with(dir) || dir.starts_with(&uwf);
    Some(if shows_more { file.clone() } else { dir.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_program_is_read_and_its_own_files_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let package = dir.join("lib/node_modules/@a/agent/node_modules/b/bin");
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("agent"), "").unwrap();
        std::os::unix::fs::symlink(package.join("agent"), dir.join("agent")).unwrap();
        let definition = Definition::find(&dir, "claude-code").unwrap();
        let confined =
            Confined::new(&definition, &dir.join("agent"), (Level::Strict, Some(&dir), &dir.join(".uwf")));
        assert_eq!(confined.readable, [dir.join("lib/node_modules")]);
        assert_eq!(confined.writable, [dir.join(".claude"), dir.join(".claude.json")]);
        assert!(confined.network);
        confined.make_own_directories().unwrap();
        assert!(dir.join(".claude").is_dir() && !dir.join(".claude.json").exists());
        let belongs_to = |file: &Path| belongs_to(file, Some(&dir), &dir.join(".uwf"));
        assert_eq!(belongs_to(&package.join("none")), None);
        // Not a home because a program lies in it, nor the file of keys beside one.
        for (place, shown) in
            [("mine", "mine"), (".uwf/agents/mine", ".uwf/agents/mine"), ("bin/mine", "bin")]
        {
            let file = dir.join(place);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
            assert_eq!(belongs_to(&file), Some(dir.join(shown)));
        }
    }
}
