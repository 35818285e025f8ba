//! Which git repository: a URL or a path, with nothing secret in it, and of a transport that runs no program of the URL's choice.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// Where a repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository(String);

/// The id of a commit, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit(String);

impl Repository {
    /// As git takes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where it is on this machine, if it is no matter of the network.
    pub fn path(&self) -> Option<PathBuf> {
        let path = self.0.strip_prefix("file://").unwrap_or(&self.0);
        path.starts_with('/').then(|| PathBuf::from(path))
    }
}

impl FromStr for Repository {
    type Err = String;

    fn from_str(text: &str) -> Result<Repository, String> {
        const FORMS: &str = "a repository is such as https://example.org/team/project.git, ssh://git@example.org/project.git, \
                             git@example.org:project.git or /srv/git/project.git";
        let is_odd = |c: char| c.is_control() || c.is_whitespace();
        if text.is_empty() || text.starts_with('-') || text.contains(is_odd) || text.len() > 2048 {
            return Err(format!("cannot be read: {FORMS}"));
        }
        if let Some(path) = text.strip_prefix("file://").or(text.starts_with('/').then_some(text)) {
            // git decodes a URL: the path that is checked must be the one that it opens.
            if path != text && path.contains('%') {
                return Err("has a % in it: give the path as it is, without file://".to_owned());
            }
            let leaves = Path::new(path).components().any(|part| part == Component::ParentDir);
            return match path.starts_with('/') && !leaves {
                true => Ok(Repository(text.to_owned())),
                false => Err(format!("is no absolute path: {FORMS}")),
            };
        }
        let is_web = ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme));
        let (login, host) = match text.split_once("://") {
            Some(("https" | "http" | "ssh", rest)) => {
                let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
                authority.rsplit_once('@').map_or((None, authority), |(login, host)| (Some(login), host))
            }
            Some(_) => return Err(format!("has an unknown scheme: {FORMS}")),
            None => {
                // `user@host:path`; a helper of git's is `name::address`.
                let (front, path) = text.split_once(':').ok_or_else(|| format!("is no URL: {FORMS}"))?;
                if front.contains('/') || path.is_empty() || path.starts_with([':', '-']) {
                    return Err(format!("is no URL: {FORMS}"));
                }
                // A colon in front of an @ is that of a password.
                let login = path.contains('@').then_some(":");
                front.rsplit_once('@').map_or((login, front), |(login, host)| (Some(login), host))
            }
        };
        let has_secret = login.is_some_and(|login| is_web || login.contains([':', '%', '@']));
        if has_secret || text.contains(['?', '#']) {
            return Err(
                "has a login or a query in it: leave it out, each worker has credentials of its own \
                        (git's credential helper, or a key of ssh)"
                    .to_owned(),
            );
        }
        match host.is_empty() || host.starts_with('-') || login.is_some_and(|login| login.starts_with('-')) {
            true => Err(format!("names no host: {FORMS}")),
            false => Ok(Repository(text.to_owned())),
        }
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Commit {
    /// Its hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Commit {
    type Err = String;

    fn from_str(text: &str) -> Result<Commit, String> {
        let is_id = matches!(text.len(), 40 | 64)
            && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        match is_id {
            true => Ok(Commit(text.to_owned())),
            false => Err(format!("is {text:?}, which is no whole id of a commit")),
        }
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_named_as_git_does() {
        for text in [
            "https://example.org/a/b.git",
            "https://example.org:8443/b",
            "ssh://git@example.org:2222/b.git",
            "git@example.org:a/b.git",
            "example.org:b.git",
            "/srv/git/b.git",
            "file:///srv/git/b.git",
        ] {
            assert_eq!(text.parse::<Repository>().unwrap().as_str(), text);
        }
        let path = |text: &str| text.parse::<Repository>().unwrap().path();
        assert_eq!(path("file:///srv/b"), Some("/srv/b".into()));
        assert_eq!(path("/srv/b"), Some("/srv/b".into()));
        assert_eq!(path("https://example.org/b"), None);
    }

    #[test]
    fn secrets_and_programs_are_refused_and_not_told() {
        for text in [
            "https://anna:s3cret@example.org/b",
            "https://s3cret@example.org/b",
            "https://x:s3cret@example.org@y/b",
            "ssh://git:s3cret@example.org/b",
            "git:s3cret@example.org:b",
            "https://example.org/b?token=s3cret",
            "https://example.org/b#s3cret",
            "ext::sh -c s3cret",
            "ext::s3cret",
            "fd::17/s3cret",
            "--upload-pack=s3cret",
            "-s3cret:x",
            "ssh://-s3cret/x",
            "a:-s3cret",
            "git://example.org/s3cret",
            "s3cret",
            "./s3cret",
            "/srv/../s3cret",
            "file:///srv/%2e%2e/s3cret",
            "file:///srv/%2E./s3cret",
            "file:///s3cret%2Fx",
            "",
            "https:///s3cret",
            "https://example.org/s3cret\nx",
        ] {
            let error = text.parse::<Repository>().unwrap_err();
            assert!(!error.contains("s3cret"), "{text}: {error}");
        }
    }
}
