//! Values that hold a secret, whatever the variable is called.
//!
//! A second check: a name on the list of what is allowed says what a value should be, not what somebody put into it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::words::Words;

/// What keys begin with, and how long they are at least.
const KEY_BEGINNINGS: [(Words, usize); 2] = [
    (Words("sk- sk_live_ sk_test_ rk_live_ glpat- xoxb- xoxp- xapp- AKIA ASIA hf_ hvs."), 20),
    (Words("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ AIza ya29. npm_ pypi- gsk_ dop_v1_ eyJhbGci"), 30),
];

/// Settings within a value that set a secret: `-Dhttps.proxyPassword=…`, `//host/:_authToken=…`.
const SECRET_SETTINGS: &[&str] =
    &["password=", "passwd=", "passphrase=", "secret=", "token=", "apikey=", "api_key=", "api-key="];

/// Whether it looks like a key, sets one, or is an address with a password.
pub(super) fn holds_a_secret(value: &str) -> bool {
    let lower = value.to_lowercase();
    value.contains("-----BEGIN ")
        || value.split(is_between).any(is_a_key)
        || SECRET_SETTINGS.iter().any(|setting| lower.contains(setting))
        || value.match_indices("://").any(|(at, _)| is_an_address_with_a_secret(value, at))
}

/// Whether the value contains one of these, as they are.
pub(super) fn contains_any(value: &OsStr, parts: &[String]) -> bool {
    let contains = |part: &str| value.as_bytes().windows(part.len()).any(|bytes| bytes == part.as_bytes());
    parts.iter().filter(|part| !part.is_empty()).any(|part| contains(part))
}

/// Not `/`: parts of paths may begin as keys do.
fn is_between(c: char) -> bool {
    c.is_whitespace() || matches!(c, '=' | ',' | ';' | '"' | '\'')
}

fn is_a_key(word: &str) -> bool {
    let begins = |words: &Words| words.iter().any(|beginning| word.starts_with(beginning));
    KEY_BEGINNINGS.iter().any(|(words, least)| word.len() >= *least && begins(words))
}

/// `scheme://user:password@host`; and `https://TOKEN@host`, since nobody is a mere user to a web server. `at` is where
/// the `://` begins.
fn is_an_address_with_a_secret(value: &str, at: usize) -> bool {
    let (scheme, rest) = (value[..at].to_lowercase(), &value[at + 3..]);
    let end = rest.find(|c: char| is_between(c) || matches!(c, '/' | '?' | '#')).unwrap_or(rest.len());
    let Some((user, _)) = rest[..end].rsplit_once('@') else { return false };
    let is_web = scheme.ends_with("http") || scheme.ends_with("https");
    let has_password = user.split_once(':').is_some_and(|(_, password)| !password.is_empty());
    has_password || (is_web && !user.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_a_value_and_as_a_part_of_it() {
        for value in [
            "sk-abcdefghijklmnopqrstuvwxyz",
            "Bearer ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "--auth=glpat-abcdefghijklmnopqrst -v",
            r#"{"github.com":"gho_abcdefghijklmnopqrstuvwxyz0123456789"}"#,
            "-----BEGIN RSA PRIVATE KEY-----\nxxxx",
            "-Dhttps.proxyUser=me -Dhttps.proxyPassword=hunter2",
            "//registry.example/:_authToken=x",
        ] {
            assert!(holds_a_secret(value), "{value}");
        }
        for value in
            ["sk-short", "/opt/sk-learn-of-a-very-long-name/bin:/bin", "-Xmx2g -Dfile.encoding=UTF-8"]
        {
            assert!(!holds_a_secret(value), "{value}");
        }
    }

    #[test]
    fn an_address_is_a_secret_by_its_password_or_by_the_user_of_a_web_server() {
        for value in [
            "postgres://me:hunter3@db:5432/x",
            "http://me:hunter3@proxy:3128",
            "https://t0ken@pypi.example/simple",
            "https://t0ken:@pypi.example/simple",
            "https://first.example https://me:hunter3@second.example",
            "https://first.example,git+https://t0ken@second.example",
            "amqp://me:p@ss@mq",
        ] {
            assert!(holds_a_secret(value), "{value}");
        }
        for value in [
            "ssh://git@example.org:22/x",
            "https://example.org:8443/a@b:c",
            "http://proxy:3128",
            "https://@example.org",
            "a://b",
            "://",
        ] {
            assert!(!holds_a_secret(value), "{value}");
        }
    }

    #[test]
    fn hidden_values_are_found_within_bytes() {
        let hidden = ["hunter2".to_owned(), String::new()];
        assert!(contains_any(OsStr::from_bytes(b"\xffhunter2-and-more"), &hidden));
        assert!(!contains_any(OsStr::new("hunter3"), &hidden));
    }
}
