//! Whether an edit broke a JSON, TOML or YAML file.
//!
//! A note, never a refusal: a file may have to pass through a broken state. Other formats are not looked at.

use std::path::Path;

type Check = fn(&str) -> Result<(), String>;

/// What is wrong with `after`, when it does not parse and `before` did.
pub(crate) fn broken(path: &str, before: &str, after: &str) -> Option<String> {
    let extension = Path::new(path).extension()?.to_str()?;
    let (format, check) = match extension {
        "json" => ("JSON", json as Check),
        "toml" => ("TOML", toml as Check),
        "yaml" | "yml" => ("YAML", yaml as Check),
        _ => return None,
    };
    let error = check(after).err()?;
    check(before).ok()?;
    Some(format!("the file is no longer valid {format}: {}", error.trim()))
}

fn json(text: &str) -> Result<(), String> {
    let text = text.trim_start_matches('\u{FEFF}');
    serde_json::from_str::<serde::de::IgnoredAny>(text).map(drop).map_err(|error| error.to_string())
}

fn toml(text: &str) -> Result<(), String> {
    text.parse::<toml::Table>().map(drop).map_err(|error| error.to_string())
}

fn yaml(text: &str) -> Result<(), String> {
    use saphyr::LoadableYamlNode as _;
    saphyr::Yaml::load_from_str(text).map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_parsed_before_can_be_broken() {
        assert!(broken("a.json", "{}", "{").is_some_and(|note| note.contains("JSON")));
        assert!(broken("a.toml", "a = 1", "a = ").is_some_and(|note| note.contains("TOML")));
        assert!(broken("a.yml", "a: 1", "a: [").is_some_and(|note| note.contains("YAML")));
        assert_eq!(broken("a.json", "// comment\n{}", "// comment\n{"), None);
        assert_eq!(broken("a.json", "{}", "[]"), None);
        assert_eq!(broken("a.txt", "{}", "{"), None);
    }
}
