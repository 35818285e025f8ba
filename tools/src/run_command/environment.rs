//! The environment of a command: what is inherited, less what looks like a secret, plus what keeps programs quiet.
//!
//! Pure: the environment to start from is a value.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Words of a name, between underscores, that make it a secret's.
const SECRET_WORDS: &[&str] = &[
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASS",
    "PASSWD",
    "PASSWORD",
    "PASSPHRASE",
    "PAT",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTH",
    "COOKIE",
    // Of programs that run their words together.
    "PGPASSWORD",
    "SSHPASS",
];

/// What the values of keys begin with, and how long they are at least.
const KEY_BEGINNINGS: &[(&str, usize)] = &[
    ("sk-", 20),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AKIA", 20),
    ("AIza", 30),
    ("hf_", 20),
    ("npm_", 30),
    ("pypi-", 30),
    ("gsk_", 30),
    ("eyJhbGci", 30),
    ("-----BEGIN ", 30),
];

/// No pager waits, no colours, no progress bars.
const QUIET: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("TQDM_DISABLE", "1"),
    ("PIP_PROGRESS_BAR", "off"),
];

/// The variables of `inherited` that a command may see, and the quiet ones. `hidden` values are never passed on, nor
/// any that contains one.
pub(crate) fn scrubbed(inherited: &[(OsString, OsString)], hidden: &[String]) -> Vec<(OsString, OsString)> {
    let passed = inherited.iter().filter(|(name, value)| {
        // The shell finds out where it is; what is inherited would be the agent's directory.
        let is_place = name == "PWD" || name == "OLDPWD";
        let is_proxy = name.to_string_lossy().to_lowercase().ends_with("_proxy");
        let is_secret = names_a_secret(name) || looks_like_a_key(value) || (has_password(value) && !is_proxy);
        !is_place && !is_secret && !is_hidden(value, hidden)
    });
    let quiet = QUIET.iter().map(|(name, value)| (name.into(), value.into()));
    passed.filter(|(name, _)| QUIET.iter().all(|(quiet, _)| name != quiet)).cloned().chain(quiet).collect()
}

/// The value of a variable.
pub(crate) fn value<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
}

fn names_a_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    name == "MYSQL_PWD" || name.split('_').any(|word| SECRET_WORDS.contains(&word))
}

fn is_hidden(value: &OsStr, hidden: &[String]) -> bool {
    let contains = |part: &str| value.as_bytes().windows(part.len()).any(|bytes| bytes == part.as_bytes());
    hidden.iter().filter(|part| !part.is_empty()).any(|part| contains(part))
}

fn looks_like_a_key(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    let value = value.trim().trim_start_matches("Bearer ");
    KEY_BEGINNINGS.iter().any(|(beginning, least)| value.starts_with(beginning) && value.len() >= *least)
}

/// `scheme://user:password@host`, as addresses of databases are. (What commands reach by a proxy is no secret to them.)
fn has_password(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    let authority = value.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    let user = authority.and_then(|authority| authority.rsplit_once('@'));
    user.and_then(|(user, _)| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(inherited: &[(&str, &str)], hidden: &[&str]) -> Vec<String> {
        let inherited: Vec<_> = inherited.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let hidden: Vec<_> = hidden.iter().map(|value| (*value).to_owned()).collect();
        let quiet = QUIET.len();
        let env = scrubbed(&inherited, &hidden);
        env[..env.len() - quiet].iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn names_of_secrets_are_left_out_by_whole_words() {
        let given = [
            ("OPENAI_API_KEY", "x"),
            ("github_token", "x"),
            ("SSH_AUTH_SOCK", "/s"),
            ("DB_PASSWORD", "x"),
            ("DB_PASS", "x"),
            ("PGPASSWORD", "x"),
            ("MYSQL_PWD", "x"),
            ("PASSAGE", "x"),
            ("KEYBOARD", "us"),
            ("AUTHOR", "me"),
            ("PATH", "/bin"),
        ];
        assert_eq!(names(&given, &[]), ["PASSAGE", "KEYBOARD", "AUTHOR", "PATH"]);
    }

    #[test]
    fn values_that_look_like_keys_and_hidden_ones_are_left_out() {
        let given = [
            ("A", "sk-abcdefghijklmnopqrstuvwxyz"),
            ("B", "Bearer ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
            ("C", "sk-short"),
            ("D", "prefix:hunter2-and-more"),
            ("DATABASE_URL", "postgres://me:hunter3@db:5432/x"),
            ("REPOSITORY", "ssh://git@example.org:22/x"),
            ("https_proxy", "http://me:hunter3@proxy:3128"),
            ("E", "-----BEGIN RSA PRIVATE KEY-----\nxxxx"),
        ];
        assert_eq!(names(&given, &["hunter2", ""]), ["C", "REPOSITORY", "https_proxy"]);
    }

    #[test]
    fn quiet_variables_replace_inherited_ones() {
        let env = scrubbed(&[("PAGER".into(), "less".into())], &[]);
        assert_eq!(value(&env, "PAGER"), Some(OsStr::new("cat")));
        assert_eq!(env.iter().filter(|(name, _)| name == "PAGER").count(), 1);
    }
}
