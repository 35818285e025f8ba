//! Whether an edit broke a JSON, TOML or YAML file.
//!
//! A note, never a refusal: a file may have to pass through a broken state. Other formats are not looked at.

use std::path::Path;

use saphyr_parser::{Event, Parser};

/// Longer files are not looked at: reading them twice would take longer than the edit.
const LOOKED_AT: usize = 4 << 20;

type SyntaxCheck = fn(&str) -> Result<(), String>;

/// What is wrong with `after`, when it does not parse and `before` did.
pub(crate) fn broken(path: &str, before: &str, after: &str) -> Option<String> {
    if before.len().max(after.len()) > LOOKED_AT {
        return None;
    }
    let extension = Path::new(path).extension()?.to_str()?;
    let (format, check) = match extension {
        "json" => ("JSON", json as SyntaxCheck),
        "toml" => ("TOML", toml as SyntaxCheck),
        "yaml" | "yml" => ("YAML", yaml as SyntaxCheck),
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

/// Event by event: a tree of it would overflow the stack on deep nesting, and memory on aliases of aliases.
fn yaml(text: &str) -> Result<(), String> {
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        if event.map_err(|error| error.to_string())?.0 == Event::StreamEnd {
            break;
        }
    }
    Ok(())
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

    #[test]
    fn deep_nesting_and_aliases_of_aliases_are_no_danger() {
        let deep = format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000));
        for name in ["a.yaml", "a.json", "a.toml"] {
            broken(name, &deep, &format!("{deep}\nb: 1"));
            broken(name, "", &deep.replace("a: ", ""));
        }
        let nodes = (1..64).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1));
        let laughs: String = std::iter::once("a0: &a0 [x]\n".to_owned()).chain(nodes).collect();
        assert_eq!(broken("a.yaml", "a: 1", &laughs), None);
        assert!(broken("a.yaml", &laughs, &format!("{laughs}b: [")).is_some());
    }
}
