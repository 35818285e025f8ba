//! What is captured of the workspace: `snapshots:` of `agents/builtin.yaml` and `--no-snapshots`, and who says so.

use serde::Deserialize;
use serde_json::{Value, json};
use uwf_snapshot::{Options, SnapshotError};

use super::BUILTIN;
use super::provenance::{Provenance, SettingSource, first};

/// What is captured of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotSettings {
    /// Whether anything is.
    pub enabled: bool,
    /// What, and how much of it at most.
    pub options: Options,
}

/// `snapshots:` in `agents/builtin.yaml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FileSnapshots {
    enabled: Option<bool>,
    ignore: Option<Vec<String>>,
    ignored: Option<FileIgnored>,
    max_files: Option<u64>,
    max_bytes: Option<u64>,
    max_file_bytes: Option<u64>,
}

/// What becomes of files that git ignores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FileIgnored {
    Include,
    LeaveOut,
}

impl FileIgnored {
    fn word(ignored: bool) -> &'static str {
        if ignored { "include" } else { "leave-out" }
    }
}

impl Default for SnapshotSettings {
    fn default() -> SnapshotSettings {
        SnapshotSettings { enabled: true, options: Options::default() }
    }
}

impl SnapshotSettings {
    /// What holds: what was typed, else what the file says.
    ///
    /// # Errors
    /// What is wrong with the file, in words.
    pub(super) fn of(
        no_snapshots: bool,
        file: FileSnapshots,
        provenance: &mut Vec<Provenance>,
    ) -> Result<SnapshotSettings, String> {
        let default = Options::default();
        let mut from_file = |name, is_set: bool, value: Value| {
            let from = if is_set { SettingSource::File(BUILTIN) } else { SettingSource::Default };
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            provenance.push(Provenance::new(name, value, from));
        };
        let typed = no_snapshots.then_some(false);
        let (enabled, enabled_from) =
            first([(typed, SettingSource::Run), (file.enabled, SettingSource::File(BUILTIN))]);
        let enabled = enabled.unwrap_or(true);
        let options = Options {
            ignored: file.ignored.map_or(default.ignored, |ignored| ignored == FileIgnored::Include),
            withheld: default.withheld,
            leave_out: file.ignore.clone().unwrap_or(default.leave_out),
            max_entries: file.max_files.unwrap_or(default.max_entries),
            max_bytes: file.max_bytes.unwrap_or(default.max_bytes),
            max_file_bytes: file.max_file_bytes.unwrap_or(default.max_file_bytes),
        };
        uwf_snapshot::check(&options).map_err(|error| match error {
            SnapshotError::Pattern { pattern, why } => {
                format!("snapshots.ignore: {pattern:?} is no pattern: {why}")
            }
            error => error.to_string(),
        })?;
        from_file("snapshots.ignore", file.ignore.is_some(), json!(options.leave_out.join(" ")));
        from_file("snapshots.ignored", file.ignored.is_some(), json!(FileIgnored::word(options.ignored)));
        from_file("snapshots.maxFiles", file.max_files.is_some(), json!(options.max_entries));
        from_file("snapshots.maxBytes", file.max_bytes.is_some(), json!(options.max_bytes));
        from_file("snapshots.maxFileBytes", file.max_file_bytes.is_some(), json!(options.max_file_bytes));
        provenance.push(Provenance::new("snapshots.enabled", enabled, enabled_from));
        Ok(SnapshotSettings { enabled, options })
    }

    /// The settings as the journal and the record keep them.
    pub(super) fn describe(&self) -> Value {
        if !self.enabled {
            return json!({"enabled": false});
        }
        let Options { ignored, leave_out, max_file_bytes, max_bytes, max_entries, .. } = &self.options;
        json!({
            "enabled": true, "ignore": leave_out, "ignored": FileIgnored::word(*ignored), "maxFiles": max_entries,
            "maxBytes": max_bytes, "maxFileBytes": max_file_bytes,
        })
    }
}

/// The shape of `snapshots:`.
pub(super) fn shape() -> Value {
    let some = json!({"type": "integer", "minimum": 1});
    json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "enabled": {"type": "boolean"},
            "ignore": {"type": "array", "items": {"type": "string", "minLength": 1}},
            "ignored": {"enum": ["include", "leave-out"]},
            "maxFiles": some, "maxBytes": some, "maxFileBytes": some,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(no_snapshots: bool, file: Value) -> Result<(SnapshotSettings, Vec<Provenance>), String> {
        let mut provenance = Vec::new();
        let file = serde_json::from_value(file).unwrap();
        Ok((SnapshotSettings::of(no_snapshots, file, &mut provenance)?, provenance))
    }

    #[test]
    fn the_file_says_what_is_captured_and_what_is_typed_goes_before_it() {
        let file = json!({"enabled": true, "ignore": ["*.log"], "ignored": "include", "maxFiles": 7});
        let (settings, provenance) = of(false, file.clone()).unwrap();
        assert!(settings.enabled && settings.options.ignored);
        assert_eq!((settings.options.leave_out, settings.options.max_entries), (vec!["*.log".to_owned()], 7));
        assert_eq!(settings.options.max_bytes, Options::default().max_bytes);
        let rows: Vec<_> =
            provenance.iter().map(|row| (row.name, row.value.as_str(), row.from.to_string())).collect();
        assert!(rows.contains(&("snapshots.maxFiles", "7", "agents/builtin.yaml".to_owned())), "{rows:?}");
        assert!(
            rows.contains(&("snapshots.ignored", "include", "agents/builtin.yaml".to_owned())),
            "{rows:?}"
        );
        assert!(rows.contains(&("snapshots.maxFileBytes", "67108864", "default".to_owned())), "{rows:?}");
        let (off, provenance) = of(true, file).unwrap();
        assert_eq!(off.describe(), json!({"enabled": false}));
        assert_eq!(provenance.last().unwrap().from, SettingSource::Run);
    }

    #[test]
    fn a_pattern_that_is_none_is_refused() {
        let error = of(false, json!({"ignore": ["fine", "a[z-a]"]})).unwrap_err();
        assert!(error.starts_with("snapshots.ignore: \"a[z-a]\" is no pattern"), "{error}");
    }
}
