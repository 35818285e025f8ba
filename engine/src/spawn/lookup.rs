//! Which file a program's bare word stands for: looked up in `PATH` once, before anything runs, and never a file that
//! what runs may have made.
//!
//! An agent is not confined, and the commands of the step before it may have written whatever they like into the
//! thread's directory. So the directories of `PATH` that are relative do not count (they would be looked for there), and
//! neither does a file within the directories of a visit, be it reached over links. A program with a slash in it is
//! somebody's explicit choice and is left alone.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};

use super::SpawnError;

/// Where a system looks for programs when nobody says where.
const USUAL: &str = "/usr/bin:/bin";

/// More links than this on one way are a circle.
const LINKS: usize = 40;

/// The bare words that can be chosen in one command, and the files each of them may stand for, in the order of `PATH`.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    found: BTreeMap<String, Vec<String>>,
    /// Words that stand for a file whatever `PATH` has.
    own: BTreeMap<String, String>,
}

impl Programs {
    /// Looks these programs up now; those with a slash need no looking up.
    pub fn look_up<'a>(programs: impl IntoIterator<Item = &'a str>, path: Option<&OsStr>) -> Programs {
        let path = path.unwrap_or(OsStr::new(USUAL));
        let bare = programs.into_iter().filter(|program| !program.contains('/'));
        let found = bare.map(|program| (program.to_owned(), candidates(program, path))).collect();
        Programs { found, own: BTreeMap::new() }
    }

    /// The same where this word stands for this file: a program that calls itself is no matter of `PATH`.
    #[must_use]
    pub fn with_own(mut self, program: &str, file: Option<&Path>) -> Programs {
        let file = file.and_then(|file| file.to_str().map(str::to_owned));
        self.own.extend(file.map(|file| (program.to_owned(), file)));
        self
    }

    /// The file that is run for `program`: the first that does not lie in one of the directories `within`.
    ///
    /// # Errors
    /// [`SpawnError::Start`] when there is none, [`SpawnError::Inside`] when there are none but such.
    pub fn file_of(&self, program: &str, within: &[&Path]) -> Result<String, SpawnError> {
        if program.contains('/') {
            return Ok(program.to_owned());
        }
        if let Some(file) = self.own.get(program) {
            return Ok(file.clone());
        }
        let files = self.found.get(program).map(Vec::as_slice).unwrap_or_default();
        let within: Vec<PathBuf> = within.iter().filter_map(|dir| dir.canonicalize().ok()).collect();
        if let Some(file) = files.iter().find(|file| !leads_through(Path::new(file), &within)) {
            return Ok(file.clone());
        }
        let program = program.to_owned();
        Err(match files.first() {
            Some(file) => SpawnError::Inside { program, file: file.into() },
            None => SpawnError::Start {
                program,
                source: io::Error::new(io::ErrorKind::NotFound, "no absolute directory of PATH has it"),
            },
        })
    }

    /// The file of a program that is only reported and not run: wherever it is, if it exists.
    pub fn any_file_of(&self, program: &str) -> Option<String> {
        self.file_of(program, &[]).ok().filter(|file| can_run(Path::new(file)))
    }
}

/// The directories of `path` that count: the absolute ones that do not lie in one of the directories `within`, by whatever way.
pub fn outside(path: &OsStr, within: &[&Path]) -> OsString {
    let within: Vec<PathBuf> = within.iter().filter_map(|dir| dir.canonicalize().ok()).collect();
    let counts = |dir: &PathBuf| dir.is_absolute() && !leads_through(dir, &within);
    std::env::join_paths(std::env::split_paths(path).filter(counts)).unwrap_or_default()
}

/// Those whose names are text: commands are.
fn candidates(program: &str, path: &OsStr) -> Vec<String> {
    let dirs = std::env::split_paths(path).filter(|dir| dir.is_absolute());
    let files = dirs.map(|dir| dir.join(program)).filter(|file| can_run(file));
    files.filter_map(|file| file.into_os_string().into_string().ok()).collect()
}

/// Whether there is such a file, and it may be run.
pub fn can_run(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

/// Whether the way to an absolute path, link after link, comes through one of these directories: then whoever may write
/// there says where it ends. A way that cannot be followed is taken for one that does.
fn leads_through(path: &Path, within: &[PathBuf]) -> bool {
    let mut ahead: VecDeque<OsString> = names(path).collect();
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(&name);
        if within.iter().any(|dir| at.starts_with(dir)) {
            return true;
        }
        if !at.is_symlink() {
            continue;
        }
        links += 1;
        let Ok(target) = fs::read_link(&at) else { return true };
        if links > LINKS {
            return true;
        }
        match target.is_absolute() {
            true => at = PathBuf::from("/"),
            false => drop(at.pop()),
        }
        ahead = names(&target).chain(ahead).collect();
    }
    false
}

/// What is gone through for a path, `..` included.
fn names(path: &Path) -> impl Iterator<Item = OsString> {
    let passed = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    passed.map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A directory with programs called `agent` in these directories of it.
    fn place(dirs: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in dirs {
            let dir = root.join(name);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("agent"), "").unwrap();
            fs::set_permissions(dir.join("agent"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        (dir, root)
    }

    fn found(path: &[PathBuf], within: &Path) -> Result<PathBuf, SpawnError> {
        let path = std::env::join_paths(path).unwrap();
        Programs::look_up(["agent"], Some(&path)).file_of("agent", &[within]).map(PathBuf::from)
    }

    #[test]
    fn what_lies_in_the_threads_directory_is_passed_over() {
        let (_dir, root) = place(&["thread/.venv/bin", "bin"]);
        let (work, venv) = (root.join("thread"), root.join("thread/.venv/bin"));
        let both = [".venv/bin".into(), "".into(), venv.clone(), root.join("bin")];
        assert_eq!(found(&both, &work).unwrap(), root.join("bin/agent"));
        assert_eq!(found(&both, &root.join("elsewhere")).unwrap(), venv.join("agent"));
        let error = found(std::slice::from_ref(&venv), &work).unwrap_err();
        assert!(matches!(&error, SpawnError::Inside { file, .. } if *file == venv.join("agent")), "{error}");
        assert!(matches!(found(&[".".into()], &work), Err(SpawnError::Start { .. })));
    }

    #[test]
    fn of_a_path_the_directories_outside_are_left() {
        let (_dir, root) = place(&["thread/bin", "bin"]);
        symlink("thread/bin", root.join("linked")).unwrap();
        let dirs = ["bin".into(), "".into(), root.join("thread/bin"), root.join("linked"), root.join("bin")];
        let path = std::env::join_paths(&dirs).unwrap();
        assert_eq!(outside(&path, &[&root.join("thread")]), root.join("bin").into_os_string());
        assert_eq!(std::env::split_paths(&outside(&path, &[])).count(), 3);
    }

    #[test]
    fn a_way_over_links_counts_wherever_it_ends() {
        let (_dir, root) = place(&["thread/bin", "opt"]);
        let work = root.join("thread");
        let at = |name: &str| root.join(name);
        // A directory that is within, seen from without; a file that is; and ways that leave again.
        symlink("thread/bin", at("linked")).unwrap();
        fs::create_dir(at("files")).unwrap();
        symlink("../thread/bin/agent", at("files/agent")).unwrap();
        symlink(at("opt"), at("thread/out")).unwrap();
        symlink("thread/out", at("there-and-back")).unwrap();
        for dir in ["linked", "files", "there-and-back", "thread/out", "opt/../thread/bin"] {
            assert!(matches!(found(&[at(dir)], &work), Err(SpawnError::Inside { .. })), "{dir}");
            assert!(found(&[at(dir)], &at("other")).is_ok(), "{dir}");
        }
        // A directory that is itself reached over a link is the same directory.
        symlink("thread", at("alias")).unwrap();
        assert!(matches!(found(&[at("thread/bin")], &at("alias")), Err(SpawnError::Inside { .. })));
        assert_eq!(found(&[at("linked"), at("opt")], &work).unwrap(), at("opt/agent"));
    }

    #[test]
    fn it_is_looked_up_once_and_a_path_is_taken_as_it_is() {
        let (_dir, root) = place(&["late"]);
        let path = std::env::join_paths([root.join("early"), root.join("late")]).unwrap();
        let programs = Programs::look_up(["agent", "./x"], Some(&path));
        fs::create_dir(root.join("early")).unwrap();
        fs::copy(root.join("late/agent"), root.join("early/agent")).unwrap();
        assert_eq!(programs.file_of("agent", &[]).unwrap(), root.join("late/agent").to_str().unwrap());
        assert_eq!(programs.file_of("/a/b", &[Path::new("/a")]).unwrap(), "/a/b");
        assert!(Programs::look_up(["sh"], None).any_file_of("sh").is_some());
        let own = Programs::look_up(["sh"], None).with_own("sh", Some(Path::new("/a/sh")));
        assert_eq!(own.file_of("sh", &[Path::new("/a")]).unwrap(), "/a/sh");
    }
}
