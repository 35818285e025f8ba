//! What a confined agent may reach: what commands may, beside its own files and the network as its definition says.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uwf_engine::home::make_private;
use uwf_tools::sandbox::{Level, ProcessLimits};

use super::definition::Definition;
use crate::confinement::{SandboxSettings, absolute};
use crate::settings::SharedSettings;

/// What stands before a line that tells what became of git, on the stderr of the process that confines a call.
pub const OF_GIT: &str = "uwf: git: ";

/// The exit status of that process where it could not run the program in the sandbox, or not keep it in: it says nothing of
/// the program.
pub const NOT_CONFINED: u8 = 125;

/// What is asked for, as it is handed to the process that confines a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    /// How much must be there.
    pub level: Level,
    /// Whether it may use the network.
    pub network: bool,
    /// What it may write of the workspace; `None` is all of it.
    pub within: Option<Vec<PathBuf>>,
    /// What it may write beside the workspace.
    pub writable: Vec<PathBuf>,
    /// What it may read that others may not.
    pub readable: Vec<PathBuf>,
    /// Whether it may change which programs git runs.
    pub git_programs: bool,
    /// What its processes may use up.
    pub limits: ProcessLimits,
}

impl Confined {
    /// What the definition says, for the program in `file`, and what is `shared` with commands; `home` is what `~` stands for, `uwf`
    /// where keys are.
    pub fn new(
        (definition, file): (&Definition, &Path),
        (shared, level): (&SharedSettings, Level),
        (home, uwf): (Option<&Path>, &Path),
    ) -> Confined {
        let needs = &definition.sandbox;
        let paths = |own: &[PathBuf], more: &[PathBuf]| -> Vec<PathBuf> {
            own.iter().filter_map(|path| absolute(path, home)).chain(more.iter().cloned()).collect()
        };
        let mut readable = paths(&needs.readable, &shared.sandbox.readable);
        readable.extend(belongs_to(file, home, uwf));
        Confined {
            level,
            network: needs.network,
            within: shared.within(),
            writable: paths(&needs.writable, &shared.sandbox.writable),
            readable,
            git_programs: shared.sandbox.git_programs,
            limits: shared.sandbox.limits,
        }
    }

    /// What a program has that is no agent: the workspace, and what it may read beside it.
    pub fn reading(level: Level, readable: Vec<PathBuf>) -> Confined {
        Confined {
            level,
            network: false,
            within: None,
            writable: Vec::new(),
            readable,
            git_programs: false,
            limits: ProcessLimits::default(),
        }
    }

    /// The same for a call that changes nothing of the workspace.
    pub fn read_only(self) -> Confined {
        Confined { within: Some(Vec::new()), ..self }
    }

    /// The same for a call that has these directories for itself.
    pub(super) fn with(&self, own: &[&Path]) -> Confined {
        let mut with = self.clone();
        with.writable.extend(own.iter().map(|dir| dir.to_path_buf()));
        with
    }

    /// The same as settings of a sandbox.
    pub fn settings(self) -> SandboxSettings {
        let Confined { level, network, within, writable, readable, git_programs, limits } = self;
        let env = Vec::new();
        SandboxSettings { level, network, within, writable, readable, git_programs, env, limits }
    }
}

/// How a call is confined: by this program, started again.
#[derive(Clone, Debug)]
pub struct ConfinedBy {
    /// The words that stand before what is asked for, and that before the agent's program.
    pub command: [String; 2],
    /// What is asked for.
    pub asked: Confined,
}

/// Makes those of an agent's own directories that are not there yet, as on its first run: what is not there cannot be left open to
/// it. A name with an extension is that of a file, which the agent makes itself or does without.
///
/// # Errors
/// The disk refuses.
pub fn make_own_directories(definition: &Definition, home: Option<&Path>) -> io::Result<()> {
    let own = definition.sandbox.writable.iter().filter_map(|path| absolute(path, home));
    let mut missing = own.filter(|path| path.extension().is_none() && !path.exists());
    missing.try_for_each(|path| make_private(&path))
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
        let uwf = dir.join(".uwf");
        std::fs::create_dir_all(uwf.join("agents")).unwrap();
        std::fs::write(
            uwf.join("agents/builtin.yaml"),
            "sandbox: { writable: [/opt/more], gitPrograms: true }\n",
        )
        .unwrap();
        let shared = SharedSettings::load(None, &uwf_engine::Env::default(), &uwf).unwrap();
        let (program, homes) = (dir.join("agent"), (Some(dir.as_path()), uwf.as_path()));
        let confined = Confined::new((&definition, &program), (&shared, Level::Strict), homes);
        assert_eq!(confined.readable, [dir.join("lib/node_modules")]);
        assert_eq!(confined.writable, [dir.join(".claude"), dir.join(".claude.json"), "/opt/more".into()]);
        assert!(confined.network && confined.git_programs && confined.within.is_none());
        let own = dir.join("own");
        assert_eq!(confined.with(&[&own]).writable.last(), Some(&own));
        assert_eq!(confined.read_only().within, Some(Vec::new()));
        make_own_directories(&definition, Some(&dir)).unwrap();
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
