//! What the doctors of both programs report in the same way: homes, settings, and a line with a mark.

use std::path::Path;

use serde::Serialize;

use super::render;

/// A finding as a line for people.
pub(crate) fn line(good: bool, text: impl AsRef<str>) -> String {
    format!("{} {}", if good { "✓" } else { "✗" }, text.as_ref())
}

/// A directory that files are kept in.
#[derive(Debug, Serialize)]
pub(crate) struct HomeCheck {
    /// The variable that may name it.
    name: &'static str,
    path: String,
    /// Who says that it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    exists: bool,
    /// Whether it is a directory, or can become one.
    directory: bool,
    pub(crate) writable: bool,
}

impl HomeCheck {
    /// Looks. A directory that does not exist yet is made where it is to be.
    pub(crate) fn of(name: &'static str, path: &Path, from: Option<String>) -> HomeCheck {
        let there = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(path);
        let directory = there.is_dir();
        let writable = directory && rustix::fs::access(there, rustix::fs::Access::WRITE_OK).is_ok();
        HomeCheck { name, path: render::path(path), from, exists: path.exists(), directory, writable }
    }

    /// For people.
    pub(crate) fn line(&self) -> String {
        let state = match (self.directory, self.writable) {
            (false, _) => "no directory",
            (true, false) => "not writable",
            (true, true) => "writable",
        };
        let from = self.from.as_ref().map(|from| format!(" ({from})")).unwrap_or_default();
        line(self.writable, format!("{}: {}: {state}{from}", self.name, self.path))
    }
}

/// What a setting is, and who says so.
#[derive(Debug, Serialize)]
pub(crate) struct SettingCheck {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) from: String,
}

impl SettingCheck {
    /// For people.
    pub(crate) fn line(&self) -> String {
        format!("  {} = {} ({})", self.name, self.value, self.from)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_home_whose_name_is_no_text_is_checked_like_any_other() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join(OsStr::from_bytes(b"h\xff"));
        let check = HomeCheck::of("UWF_HOME", &home, None);
        let shown = format!("{}/h\u{fffd}", dir.path().display());
        assert_eq!(check.line(), format!("✓ UWF_HOME: {shown}: writable"));
        let expected =
            json!({"name": "UWF_HOME", "path": shown, "exists": false, "directory": true, "writable": true});
        assert_eq!(serde_json::to_value(&check).unwrap(), expected);
        std::fs::write(&home, "").unwrap();
        let check = HomeCheck::of("UWF_HOME", &home, Some("default".to_owned()));
        assert_eq!(check.line(), format!("✗ UWF_HOME: {shown}: no directory (default)"));
    }
}
