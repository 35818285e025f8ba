//! The password of a login, from where libpq has it: PGPASSWORD, or the line of a file that is of this host, port, database
//! and user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use postgres::Config;
use postgres::config::Host;
use uwf_engine::Env;

use crate::error::FleetError;

/// The password of this login; none where nobody says one.
///
/// # Errors
/// The file is there, and others than its owner may read it, or it cannot be read.
pub(super) fn of(config: &Config, env: &Env) -> Result<Option<String>, FleetError> {
    if let Some(password) = env.text("PGPASSWORD") {
        return Ok(Some(password.to_owned()));
    }
    let named = env.get("PGPASSFILE").map(PathBuf::from);
    let file = named.or_else(|| env.get("HOME").map(|home| PathBuf::from(home).join(".pgpass")));
    let Some(file) = file else { return Ok(None) };
    let Ok(about) = fs::metadata(&file) else { return Ok(None) };
    let unusable = |why: String, hint: Option<String>| FleetError::Unreachable {
        place: file.display().to_string(),
        why,
        hint,
    };
    if !about.is_file() {
        return Ok(None);
    }
    if about.permissions().mode() & 0o077 != 0 {
        let hint = format!("chmod 600 {}", file.display());
        return Err(unusable("others may read this file of passwords".to_owned(), Some(hint)));
    }
    let text = fs::read_to_string(&file).map_err(|error| unusable(error.to_string(), None))?;
    Ok(text.lines().find_map(|line| matching(line, &wanted(config))))
}

/// Host, port, database, user.
fn wanted(config: &Config) -> [String; 4] {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        // As libpq has it: whatever socket it is.
        Some(Host::Unix(_)) => "localhost".to_owned(),
        None => config.get_hostaddrs().first().map_or_else(String::new, ToString::to_string),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default().to_owned();
    let database = config.get_dbname().unwrap_or(&user).to_owned();
    [host, port, database, user]
}

/// The password of a line, if the line is of this login.
fn matching(line: &str, wanted: &[String; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut rest = line;
    for wanted in wanted {
        let (field, behind) = field(rest)?;
        if rest.get(..rest.len() - behind.len()) != Some("*:") && field != *wanted {
            return None;
        }
        rest = behind;
    }
    // Behind the fourth colon all is the password, but that a backslash stands for what follows it.
    let (password, _) = until(rest, None);
    (!password.is_empty()).then_some(password)
}

/// A field, and what is behind its colon; none where there is no colon.
fn field(text: &str) -> Option<(String, &str)> {
    let (field, end) = until(text, Some(':'));
    text.get(end?..).map(|behind| (field, behind))
}

/// What is before this character, backslashes taken away, and where it goes on behind it.
fn until(text: &str, end: Option<char>) -> (String, Option<usize>) {
    let (mut out, mut characters) = (String::new(), text.char_indices());
    while let Some((at, character)) = characters.next() {
        if Some(character) == end {
            return (out, Some(at + character.len_utf8()));
        }
        match character {
            '\\' => out.extend(characters.next().map(|(_, next)| next)),
            character => out.push(character),
        }
    }
    (out, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, url: &str) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("passwords");
        fs::write(&path, file).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let env: Env = [("PGPASSFILE", path.as_os_str())].into_iter().collect();
        of(&url.parse().unwrap(), &env).unwrap()
    }

    #[test]
    fn the_first_line_of_this_login_counts() {
        let file = "# h:5432:d:anna:commented\nh:5432:d:bert:of-bert\nh:5433:*:anna:other-port\nh:*:d:anna:a\\:b\\\\c:d\n*:*:*:*:last\n";
        assert_eq!(found(file, "postgres://anna@h/d").unwrap(), "a:b\\c:d");
        assert_eq!(found(file, "postgres://anna@h:5433/x").unwrap(), "other-port");
        assert_eq!(found(file, "postgres://bert@h/d").unwrap(), "of-bert");
        assert_eq!(found(file, "postgres://cleo@%2Frun/d").unwrap(), "last");
        assert_eq!(found("h:5432:d:anna", "postgres://anna@h/d"), None);
        assert_eq!(found("localhost:5432:d:anna:s\n", "postgres://anna@%2Frun/d").unwrap(), "s");
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".pgpass");
        fs::write(&path, "*:*:*:*:s3cret\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let env: Env = [("HOME", dir.path().as_os_str())].into_iter().collect();
        let config = "postgres://anna@h/d".parse().unwrap();
        let error = of(&config, &env).unwrap_err();
        assert!(
            error.to_string().contains("others may read") && error.hint().unwrap().starts_with("chmod 600")
        );
        let env: Env = [("HOME", dir.path().as_os_str()), ("PGPASSWORD", "p".as_ref())].into_iter().collect();
        assert_eq!(of(&config, &env).unwrap().unwrap(), "p");
    }
}
