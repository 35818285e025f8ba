//! `--json FIELDS` and `--jq EXPRESSION`: a result for programs, of which they get what they ask for; as `gh` has it.
//!
//! Apart because lists and shows of all nouns have it: it is added to the command line in one place, and done where a
//! result is printed.

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value};
use uwf_store::suggest;

use super::error::{CliError, USAGE};
use super::jq;

/// The id of `--json`: other commands may have a flag of that name.
const ID: &str = "json-fields";
/// That of `--jq`, and its name.
const JQ: &str = "jq";

/// What a program wants of a result.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// The names; all of them where none is typed.
    names: Vec<String>,
    /// What is made of them.
    filter: Option<String>,
}

/// A command line whose commands at these places take `--json` and `--jq`.
pub(crate) fn added_to(command: Command, places: &[&[&str]]) -> Command {
    let command = match places.iter().any(|place| place.is_empty()) {
        true => command.arg(json()).arg(jq()),
        false => command,
    };
    // In their places, and once for all: `mut_subcommand` would make them the last ones.
    command.mut_subcommands(|command| {
        let name = command.get_name();
        let below =
            places.iter().filter_map(|place| place.split_first().filter(|(first, _)| **first == name));
        let below: Vec<&[&str]> = below.map(|(_, below)| below).collect();
        if below.is_empty() { command } else { added_to(command, &below) }
    })
}

fn json() -> Arg {
    Arg::new(ID)
        .long("json")
        .value_name("FIELDS")
        .num_args(0..=1)
        .value_delimiter(',')
        .action(ArgAction::Append)
        .conflicts_with("format")
        .help("Print JSON with these fields alone (thread,status), or with all of them where none is named")
        .long_help(
            "Print JSON with these fields alone (thread,status), or with all of them where none is named. A name that is \
             none lists them. Lists tell more where it is asked for by name: fields that cost reads of their own",
        )
}

fn jq() -> Arg {
    Arg::new(JQ)
        .long(JQ)
        .value_name("EXPRESSION")
        .requires(ID)
        .help("With --json: print what this filter makes of it, in the language of jq")
        .long_help(
            "With --json: print what this filter makes of it, in the language of jq (--json thread,status --jq \
             '.[].thread'): each output on a line, strings without quotes",
        )
}

impl Fields {
    /// What was typed, behind whichever command; none where `--json` was not.
    pub(crate) fn typed(matches: &ArgMatches) -> Option<Fields> {
        let mut leaf = matches;
        while let Some((_, below)) = leaf.subcommand() {
            leaf = below;
        }
        let names = leaf.try_get_many::<String>(ID).ok().flatten();
        let is_there = leaf.try_contains_id(ID).unwrap_or(false);
        let names = names.into_iter().flatten().map(|name| name.trim().to_owned());
        is_there.then(|| Fields {
            names: names.filter(|name| !name.is_empty()).collect(),
            filter: leaf.get_one(JQ).cloned(),
        })
    }

    /// Whether one is asked for by name that this object does not have, nor may lack.
    pub(super) fn are_beyond(&self, object: &Value, known: &[&str]) -> bool {
        self.names.iter().any(|name| object.get(name).is_none() && !known.contains(&name.as_str()))
    }

    /// Of an object, or of each in a list, these fields; `known` are names that a value may lack.
    ///
    /// # Errors
    /// A name is of no field.
    fn pick(&self, value: Value, known: &[&str]) -> Result<Value, CliError> {
        if self.names.is_empty() {
            return Ok(value);
        }
        let objects: Vec<&Map<String, Value>> = match &value {
            Value::Array(items) => items.iter().filter_map(Value::as_object).collect(),
            Value::Object(fields) => vec![fields],
            _ => Vec::new(),
        };
        let mut there: Vec<&str> =
            objects.iter().flat_map(|fields| fields.keys().map(String::as_str)).collect();
        there.sort_unstable();
        there.dedup();
        let is_empty = matches!(&value, Value::Array(items) if items.is_empty());
        let is_known = |name: &str| there.contains(&name) || known.contains(&name);
        let unknown = self.names.iter().find(|name| !is_known(name));
        if let Some(unknown) = unknown.filter(|_| !is_empty) {
            return Err(no_field(unknown, &there));
        }
        Ok(match value {
            Value::Array(items) => items.into_iter().map(|item| self.of(item)).collect(),
            value => self.of(value),
        })
    }

    /// These fields as they are printed.
    ///
    /// # Errors
    /// As [`Fields::pick`]; or the filter cannot be read, or fails.
    pub(super) fn print(&self, value: Value, known: &[&str]) -> Result<String, CliError> {
        let picked = self.pick(value, known)?;
        match &self.filter {
            Some(filter) => jq::filtered(filter, &picked),
            None => Ok(pretty(&picked)),
        }
    }

    fn of(&self, value: Value) -> Value {
        let Value::Object(mut fields) = value else { return value };
        let field = |name: &String| (name.clone(), fields.remove(name).unwrap_or_default());
        Value::Object(self.names.iter().map(field).collect())
    }
}

/// A value as programs are given it.
pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value always serialises") + "\n"
}

fn no_field(unknown: &str, there: &[&str]) -> CliError {
    let meant = suggest::one(unknown, there).map(|name| format!("; did you mean `{name}`?"));
    CliError::Said {
        error: format!("no field `{unknown}`{}", meant.unwrap_or_default()).into(),
        hint: Some(match there {
            [] => "the result has no fields: leave the names out".to_owned(),
            names => format!("the fields are {}", names.join(", ")),
        }),
        exit: USAGE,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pick(names: &[&str], value: Value) -> Result<Value, CliError> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Fields { names, filter: None }.pick(value, &["parent"])
    }

    #[test]
    fn fields_are_picked_of_objects_and_of_each_in_a_list() {
        let rows = json!([{"a": 1, "b": 2}, {"a": 3}]);
        assert_eq!(pick(&["a"], rows.clone()).unwrap(), json!([{"a": 1}, {"a": 3}]));
        assert_eq!(pick(&["b", "parent"], rows.clone()).unwrap()[1], json!({"b": null, "parent": null}));
        assert_eq!(pick(&["a"], json!({"a": 1, "b": 2})).unwrap(), json!({"a": 1}));
        assert_eq!(pick(&[], rows.clone()).unwrap(), rows);
        assert_eq!(pick(&["x"], json!([])).unwrap(), json!([]));
    }

    #[test]
    fn a_name_that_is_none_lists_them_all() {
        let error = pick(&["statsu"], json!({"status": 1, "thread": 2})).unwrap_err();
        assert_eq!(
            (error.exit(), error.message()),
            (USAGE, "no field `statsu`; did you mean `status`?".to_owned())
        );
        assert_eq!(error.hint().unwrap(), "the fields are status, thread");
    }
}
