//! Where things lie, told by the environment: `$UWF_HOME`, `$OCAS_HOME` and the variables themselves as a value.
//!
//! Both programs hand their process environment in as an [`Env`]; nothing here reads or changes the real one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::dotenv;

/// The variables that say where [`Homes::uwf`] is, the first one set wins; the later ones are older names.
pub const UWF_HOME: [&str; 3] = ["UWF_HOME", "UWF_STORAGE_ROOT", "WORKFLOW_STORAGE_ROOT"];

/// The variables that say where [`Homes::ocas`] is.
pub const OCAS_HOME: [&str; 2] = ["OCAS_HOME", "OCAS_DIR"];

/// The environment of a process as a value. An empty variable counts as unset.
#[derive(Clone, Default)]
pub struct Env(BTreeMap<OsString, OsString>);

impl Env {
    /// The value of a variable, if it is set and not empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The value of a variable as text; none if it is unset, empty or not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str)
    }

    /// The first of these variables that is set.
    pub fn first(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.get(name).is_some())
    }

    /// Sets one variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.0.insert(name.into(), value.into());
    }

    /// This environment without a variable.
    #[must_use]
    pub fn without(&self, name: &str) -> Env {
        let mut others = self.clone();
        others.0.remove(OsStr::new(name));
        others
    }

    /// All variables, empty ones too, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// This environment with the variables of a `.env` file beneath it: what is already set is kept. A missing file
    /// adds nothing. A `${NAME}` in it is filled in from this environment, or from the lines before.
    ///
    /// # Errors
    /// The file is there and cannot be read, or a line of it is not `NAME=value`.
    pub fn with_dotenv(mut self, file: &Path) -> Result<Env, HomeError> {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(self),
            Err(source) => return Err(HomeError::UnreadableDotenv { file: file.to_owned(), source }),
        };
        let bad = |line| HomeError::BadDotenv { file: file.to_owned(), line };
        for (name, value) in dotenv::parse(&text, &|name| self.text(name)).map_err(bad)? {
            if self.get(&name).is_none() {
                self.set(name, value);
            }
        }
        Ok(self)
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Env {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Env {
        Env(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl fmt::Debug for Env {
    /// Names only: values may be keys.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.0.keys()).finish()
    }
}

/// Our own directory and the store's, both absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Homes {
    /// `$UWF_HOME`: configuration, locks, journals.
    pub uwf: PathBuf,
    /// `$OCAS_HOME`: the store.
    pub ocas: PathBuf,
}

/// What can be wrong with homes and `.env`.
#[derive(Debug, Error)]
pub enum HomeError {
    /// Neither the variable nor `HOME` is set.
    #[error("cannot tell where {what} is: neither {variable} nor HOME is set")]
    NoHome {
        /// What was looked for.
        what: &'static str,
        /// The variable that would have said so.
        variable: &'static str,
    },
    /// `.env` exists and cannot be read.
    #[error("cannot read {}", file.display())]
    UnreadableDotenv {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// `.env` is not a list of `NAME=value`.
    #[error("{}:{line}: not of the form NAME=value", file.display())]
    BadDotenv {
        /// The file.
        file: PathBuf,
        /// The number of the first line that is not; what it says may be a key.
        line: usize,
    },
}

impl HomeError {
    /// What to do about it, when that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            HomeError::NoHome { variable, .. } => Some(format!("set {variable} to a directory, or HOME")),
            HomeError::BadDotenv { .. } => Some(
                "one NAME=value a line; quote a value that holds blanks, and one that holds $ in '…'"
                    .to_owned(),
            ),
            HomeError::UnreadableDotenv { .. } => None,
        }
    }
}

impl Homes {
    /// The homes that `env` names. Relative ones are taken from `cwd`, so that an agent that runs elsewhere finds the
    /// same place.
    ///
    /// # Errors
    /// [`HomeError::NoHome`] when neither the variable of a home nor `HOME` is set.
    pub fn from_env(env: &Env, cwd: &Path) -> Result<Homes, HomeError> {
        let home = |dir: &str| env.get("HOME").map(|home| Path::new(home).join(dir));
        let named =
            |names: &[&'static str]| env.first(names).and_then(|name| env.get(name)).map(PathBuf::from);
        let missing = |what, variable| HomeError::NoHome { what, variable };
        Ok(Homes {
            uwf: cwd.join(
                named(&UWF_HOME)
                    .or_else(|| home(".uwf"))
                    .ok_or_else(|| missing("uwf's directory", "UWF_HOME"))?,
            ),
            ocas: cwd.join(
                named(&OCAS_HOME)
                    .or_else(|| home(".ocas"))
                    .ok_or_else(|| missing("the store", "OCAS_HOME"))?,
            ),
        })
    }
}

/// What to do when a file below `$UWF_HOME` cannot be written, where that can be said.
pub(crate) fn disk_hint(error: &io::Error, path: &Path) -> Option<String> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some(format!("free space on the file system of '{}'; nothing was changed", path.display()))
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Some(
            "UWF_HOME names the directory, which must be writable; `uwf doctor` tells which it is".to_owned(),
        ),
        _ => None,
    }
}

/// Makes a directory, and those above it that are not there, for its owner alone: what is below `$UWF_HOME` may tell of
/// private work.
///
/// # Errors
/// A directory cannot be made.
pub fn make_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Removes what is there, with all that is in it, be it closed against its owner; nothing where nothing is. Follows no symlink.
///
/// # Errors
/// Something cannot be removed.
pub fn remove_directory(path: &Path) -> io::Result<()> {
    let is_directory = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?.is_dir(),
    };
    if !is_directory {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_to_owner(path);
            fs::remove_dir_all(path)
        }
        removed => removed,
    }
}

/// Opens directories to their owner, as far as they can be.
fn open_to_owner(dir: &Path) {
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        fs::set_permissions(&dir, Permissions::from_mode(0o700)).ok();
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(below.map(|entry| entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_goes_with_what_is_closed_in_it_and_what_it_links_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (whole, other) = (dir.path().join("whole"), dir.path().join("other"));
        make_private(&whole.join("closed/below")).unwrap();
        make_private(&other).unwrap();
        std::os::unix::fs::symlink(&other, whole.join("link")).unwrap();
        std::os::unix::fs::symlink(&other, dir.path().join("link")).unwrap();
        fs::set_permissions(whole.join("closed"), Permissions::from_mode(0o000)).unwrap();
        for path in [&whole, &dir.path().join("link"), &dir.path().join("none")] {
            remove_directory(path).unwrap();
            assert!(fs::symlink_metadata(path).is_err());
        }
        assert!(other.is_dir());
    }

    fn homes(pairs: &[(&str, &str)]) -> Homes {
        Homes::from_env(&pairs.iter().copied().collect(), Path::new("/here")).unwrap()
    }

    #[test]
    fn the_newer_name_wins_and_empty_is_unset() {
        let older =
            [("HOME", "/h"), ("UWF_STORAGE_ROOT", "/s"), ("WORKFLOW_STORAGE_ROOT", "/w"), ("OCAS_DIR", "/d")];
        assert_eq!(homes(&older), Homes { uwf: "/s".into(), ocas: "/d".into() });
        let newer = [("UWF_HOME", "/u"), ("UWF_STORAGE_ROOT", "/s"), ("OCAS_HOME", "/o"), ("OCAS_DIR", "/d")];
        assert_eq!(homes(&newer), Homes { uwf: "/u".into(), ocas: "/o".into() });
        let empty = [("HOME", "/h"), ("UWF_HOME", ""), ("OCAS_HOME", "")];
        assert_eq!(homes(&empty), Homes { uwf: "/h/.uwf".into(), ocas: "/h/.ocas".into() });
        let relative = [("UWF_HOME", "u"), ("OCAS_HOME", "o")];
        assert_eq!(homes(&relative), Homes { uwf: "/here/u".into(), ocas: "/here/o".into() });
    }

    #[test]
    fn without_any_home_the_missing_variable_is_named() {
        let error = Homes::from_env(&Env::default(), Path::new("/")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot tell where uwf's directory is: neither UWF_HOME nor HOME is set"
        );
    }

    #[test]
    fn dotenv_fills_gaps_and_never_overrides() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".env");
        std::fs::write(&file, "# keys\nA=from-file\nB='two words'\nC=filled\n").unwrap();
        let env: Env = [("A", "kept"), ("C", "")].into_iter().collect();
        let env = env.with_dotenv(&file).unwrap();
        assert_eq!(
            (env.text("A"), env.text("B"), env.text("C")),
            (Some("kept"), Some("two words"), Some("filled"))
        );
        assert!(Env::default().with_dotenv(&dir.path().join("none")).unwrap().0.is_empty());
    }

    #[test]
    fn dotenv_is_filled_in_from_the_value_and_not_from_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".env");
        std::fs::write(&file, "A=${PATH}:${OURS}\n").unwrap();
        let env: Env = [("OURS", "ours")].into_iter().collect();
        assert_eq!(env.with_dotenv(&file).unwrap().text("A"), Some(":ours"));
    }

    #[test]
    fn a_bad_dotenv_line_is_numbered_and_not_quoted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".env");
        std::fs::write(&file, "A=1\n\nsecret words\n").unwrap();
        let error = Env::default().with_dotenv(&file).unwrap_err().to_string();
        assert!(error.ends_with(".env:3: not of the form NAME=value"), "{error}");
        assert!(!error.contains("secret"));
    }

    #[test]
    fn debug_shows_no_values() {
        let env: Env = [("KEY", "sk-secret")].into_iter().collect();
        assert_eq!(format!("{env:?}"), r#"{"KEY"}"#);
    }
}
