//! The remotes that a home knows, by name: `remotes.json` of `$UWF_HOME`. Addresses only, never a password.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uwf_engine::Env;
use uwf_engine::home::make_private;
use uwf_store::atomic_file::AtomicFile;
use uwf_store::suggest;

use crate::schema::{self, Access, VERSIONS};
use crate::{Address, Connection, FleetError};

/// The file, in `$UWF_HOME`.
const FILE: &str = "remotes.json";

/// Held by whoever changes the file.
const LOCK: &str = "remotes.lock";

/// The longest name.
const LONGEST: usize = 64;

/// A remote of a home.
#[derive(Debug, Clone)]
pub struct Remote {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: Address,
}

impl Remote {
    /// A connection to it, with a schema that this program may use so.
    ///
    /// # Errors
    /// The server does not answer, or the schema is missing or of a version that does not fit.
    pub fn open(&self, env: &Env, access: Access) -> Result<Connection, FleetError> {
        let mut connection = Connection::open(&self.address, env)?;
        schema::ready(&mut connection, &VERSIONS, access)?;
        Ok(connection)
    }
}

/// The remotes of a home.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Remotes {
    remotes: BTreeMap<String, Entry>,
    /// What another version has written.
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    url: String,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// Where the remotes of a home are written.
pub fn path(home: &Path) -> PathBuf {
    home.join(FILE)
}

fn unusable(path: &Path, why: impl ToString) -> FleetError {
    FleetError::File { path: path.to_owned(), why: why.to_string() }
}

impl Remotes {
    /// Those of this `$UWF_HOME`; none where there is no file.
    ///
    /// # Errors
    /// The file cannot be read, or is not what it must be.
    pub fn load(home: &Path) -> Result<Remotes, FleetError> {
        let path = path(home);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| unusable(&path, error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Remotes::default()),
            Err(error) => Err(unusable(&path, error)),
        }
    }

    /// All of them, by name.
    ///
    /// # Errors
    /// [`FleetError::Address`]: somebody has changed the file by hand.
    pub fn all(&self) -> Result<Vec<Remote>, FleetError> {
        self.remotes.keys().map(|name| self.named(name)).collect()
    }

    /// Whether this is the name of one.
    pub fn has(&self, name: &str) -> bool {
        self.remotes.contains_key(name)
    }

    /// The one of this name.
    ///
    /// # Errors
    /// [`FleetError::NoRemote`], with the name that was probably meant.
    pub fn named(&self, name: &str) -> Result<Remote, FleetError> {
        let Some(entry) = self.remotes.get(name) else { return Err(self.unknown(name)) };
        Ok(Remote { name: name.to_owned(), address: entry.url.parse()? })
    }

    /// The one of this name; without a name the only one.
    ///
    /// # Errors
    /// [`FleetError::NoRemote`] where there is none of that name, or no name and not exactly one remote.
    pub fn pick(&self, name: Option<&str>) -> Result<Remote, FleetError> {
        match (name, self.remotes.keys().next()) {
            (Some(name), _) => self.named(name),
            (None, Some(only)) if self.remotes.len() == 1 => self.named(only),
            (None, _) if self.remotes.is_empty() => Err(none()),
            (None, _) => Err(FleetError::NoRemote {
                what: format!("there are {} remotes, and none is named", self.remotes.len()),
                hint: format!("name one of them: {}", self.names()),
            }),
        }
    }

    fn names(&self) -> String {
        self.remotes.keys().cloned().collect::<Vec<_>>().join(", ")
    }

    fn unknown(&self, name: &str) -> FleetError {
        if self.remotes.is_empty() {
            return none();
        }
        let hint = match suggest::one(name, self.remotes.keys()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the remotes are {}; `uwf remote add` adds one", self.names()),
        };
        FleetError::NoRemote { what: format!("there is no remote `{name}`"), hint }
    }

    fn write(&self, home: &Path) -> Result<(), FleetError> {
        let path = path(home);
        let text = serde_json::to_string_pretty(self).map_err(|error| unusable(&path, error))? + "\n";
        let write = || {
            let mut file = AtomicFile::create(&path, 0o600)?;
            file.write_all(text.as_bytes())?;
            file.persist_durably()
        };
        write().map_err(|error| unusable(&path, error))
    }
}

fn none() -> FleetError {
    FleetError::NoRemote {
        what: "no remote is known here".to_owned(),
        hint: "`uwf remote add NAME postgres://USER@HOST/DATABASE` adds one".to_owned(),
    }
}

/// Changes the remotes of a home; whoever does so at the same time waits.
fn change<T>(home: &Path, edit: impl FnOnce(&mut Remotes) -> Result<T, FleetError>) -> Result<T, FleetError> {
    let lock = home.join(LOCK);
    let locked = || {
        make_private(home)?;
        let file = File::options().create(true).append(true).open(&lock)?;
        file.lock()?;
        Ok(file)
    };
    let _locked: File = locked().map_err(|error: std::io::Error| unusable(&lock, error))?;
    let mut remotes = Remotes::load(home)?;
    let done = edit(&mut remotes)?;
    remotes.write(home)?;
    Ok(done)
}

/// Whether this can be the name of a remote: letters, digits, `-`, `_` and `.`, a letter first.
///
/// # Errors
/// [`FleetError::RemoteName`].
pub fn check_name(name: &str) -> Result<(), FleetError> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match name.as_bytes() {
        [first, rest @ ..] if first.is_ascii_alphabetic() && rest.len() < LONGEST => {
            rest.iter().copied().all(inner).then_some(())
        }
        _ => None,
    }
    .ok_or_else(|| FleetError::RemoteName { name: name.to_owned() })
}

/// Adds a remote. False where it is there with this address.
///
/// # Errors
/// [`FleetError::RemoteName`], [`FleetError::RemoteExists`] where the name has another address, or the file cannot be written.
pub fn add(home: &Path, name: &str, address: &Address) -> Result<bool, FleetError> {
    check_name(name)?;
    change(home, |remotes| {
        if let Some(entry) = remotes.remotes.get(name) {
            let url = entry.url.clone();
            let is_same = url == address.to_string();
            let exists = FleetError::RemoteExists { name: name.to_owned(), url };
            return if is_same { Ok(false) } else { Err(exists) };
        }
        let entry = Entry { url: address.to_string(), other: Map::new() };
        remotes.remotes.insert(name.to_owned(), entry);
        Ok(true)
    })
}

/// Forgets a remote; nothing at the remote changes.
///
/// # Errors
/// [`FleetError::NoRemote`], or the file cannot be written.
pub fn remove(home: &Path, name: &str) -> Result<(), FleetError> {
    change(home, |remotes| match remotes.remotes.remove(name) {
        Some(_) => Ok(()),
        None => Err(remotes.unknown(name)),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn remotes_are_kept_and_found_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        assert!(Remotes::load(&home).unwrap().all().unwrap().is_empty());
        assert!(add(&home, "team", &address("postgres://a@h/d")).unwrap());
        assert!(!add(&home, "team", &address("postgres://a@h/d")).unwrap());
        let error = add(&home, "team", &address("postgres://a@h/other")).unwrap_err();
        assert!(error.to_string().contains("postgres://a@h/d"), "{error}");
        assert_eq!(Remotes::load(&home).unwrap().pick(None).unwrap().name, "team");
        assert!(add(&home, "lab", &address("postgres://a@h/lab")).unwrap());
        let remotes = Remotes::load(&home).unwrap();
        let names: Vec<String> = remotes.all().unwrap().into_iter().map(|remote| remote.name).collect();
        assert_eq!(names, ["lab", "team"]);
        assert_eq!(remotes.named("tema").unwrap_err().hint().unwrap(), "did you mean `team`?");
        assert_eq!(remotes.pick(None).unwrap_err().hint().unwrap(), "name one of them: lab, team");
        assert_eq!(fs::metadata(path(&home)).unwrap().permissions().mode() & 0o777, 0o600);
        remove(&home, "lab").unwrap();
        assert!(remove(&home, "lab").unwrap_err().to_string().contains("`lab`"));
        remove(&home, "team").unwrap();
        let error = Remotes::load(&home).unwrap().pick(None).unwrap_err();
        assert_eq!(error.to_string(), "no remote is known here");
    }

    #[test]
    fn names_are_words_that_are_no_options() {
        for name in ["a", "team", "db-2.example_x", &"x".repeat(64)] {
            check_name(name).unwrap();
        }
        for name in ["", "-x", "1a", "@", "a/b", "a b", "ä", "a:b", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_another_version_wrote_stays() {
        let dir = tempfile::tempdir().unwrap();
        let text = r#"{"remotes": {"a": {"url": "postgres://a@h/d", "x": 1}}, "later": true}"#;
        fs::write(path(dir.path()), text).unwrap();
        add(dir.path(), "b", &address("postgres://a@h/b")).unwrap();
        let read: Value = serde_json::from_slice(&fs::read(path(dir.path())).unwrap()).unwrap();
        assert_eq!((&read["later"], &read["remotes"]["a"]["x"]), (&true.into(), &1.into()));
        fs::write(path(dir.path()), "{}").unwrap();
        let error = Remotes::load(dir.path()).unwrap_err();
        assert!(error.to_string().contains("remotes.json"), "{error}");
        fs::write(path(dir.path()), text.replace("a@h", "a:s3cret@h")).unwrap();
        let error = Remotes::load(dir.path()).unwrap().named("a").unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }

    #[test]
    fn several_who_add_at_once_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let home = dir.path();
                scope.spawn(move || add(home, &format!("r{n}"), &address("postgres://a@h/d")).unwrap());
            }
        });
        assert_eq!(Remotes::load(dir.path()).unwrap().all().unwrap().len(), 8);
    }
}
