//! `uwf config …`

mod edit;

use std::path::Path;

use serde_json::Value;
use uwf_store::suggest;
use uwf_workflow::yaml;

use super::args::ConfigCommand;
use crate::shell::{CliError, Session};
use uwf_engine::config::{self, ConfigError, lookup, masked, masked_at};
use uwf_engine::view::{ConfigPath, ConfigSet, ConfigUnset, ConfigValue};

pub(super) fn run(session: &mut Session<'_>, command: ConfigCommand) -> Result<u8, CliError> {
    match command {
        ConfigCommand::List { show_secrets } => list(session, show_secrets),
        ConfigCommand::Get { key, show_secrets } => get(session, &key, show_secrets),
        ConfigCommand::Path => path(session),
        ConfigCommand::Edit => edit::edit(session),
        ConfigCommand::Set { key, value } => set(session, &key, &value),
        ConfigCommand::Unset { key } => unset(session, &key),
    }
}

fn path(session: &mut Session<'_>) -> Result<u8, CliError> {
    let file = config::path(&session.homes()?.uwf);
    let view = ConfigPath { path: file.display().to_string(), exists: file.is_file() };
    session.ui.result(&view, || format!("{}\n", view.path))
}

fn list(session: &mut Session<'_>, clear: bool) -> Result<u8, CliError> {
    let value = config::value(&session.homes()?.uwf)?;
    let value = if clear { value } else { masked(&value, "") };
    session.ui.yaml(&value)
}

fn get(session: &mut Session<'_>, key: &str, clear: bool) -> Result<u8, CliError> {
    let home = session.homes()?.uwf;
    config::check_key(key)?;
    let whole = config::value(&home)?;
    let found = if clear { lookup(&whole, key).cloned() } else { masked_at(&whole, key) };
    let value = found.ok_or_else(|| no_such_key(&home, &whole, key))?;
    let view = ConfigValue { value };
    session.ui.result(&view, || match &view.value {
        Value::String(text) => format!("{text}\n"),
        value => yaml::write(value),
    })
}

fn no_such_key(home: &Path, whole: &Value, key: &str) -> ConfigError {
    ConfigError::NoSuchKey { key: key.to_owned(), file: config::path(home), known: beside(whole, key) }
}

/// The keys where the search came to its end, the most similar first.
fn beside(whole: &Value, key: &str) -> Vec<String> {
    let mut value = whole;
    let mut known = "";
    let mut rest = key;
    while let Some((name, below)) = rest.split_once('.') {
        let Some(Value::Object(_)) = value.get(name) else { break };
        value = &value[name];
        known = &key[..key.len() - below.len()];
        rest = below;
    }
    let names = value.as_object().into_iter().flat_map(|fields| fields.keys());
    suggest::sorted(rest, names).into_iter().map(|name| format!("{known}{name}")).collect()
}

fn set(session: &mut Session<'_>, key: &str, text: &str) -> Result<u8, CliError> {
    let home = session.homes()?.uwf;
    let edited = config::set(&home, key, text)?;
    tell_of_comments(session, &home, edited.comments_lost);
    if let Some(known) = edited.unread {
        let known = known.join(", ");
        session.ui.warn(&format!(
            "nothing here reads `{key}`, which other programs may; what is read there: {known}"
        ));
    }
    let named_here = format!("({key} names it)");
    for unknown in
        config::load(&home)?.unknown_names().iter().filter(|unknown| unknown.ends_with(&named_here))
    {
        session.ui.warn(unknown);
    }
    let value = masked(&edited.value, key);
    if value != edited.value {
        let way_out = match key.contains(".headers") {
            true => "write secret headers into the file itself",
            false => "`apiKeyEnv` names a variable that holds it instead",
        };
        session.ui.warn(&format!("the secret may stay in your shell's history; {way_out}"));
    }
    let line = format!("{key}: {}", yaml::write(&value));
    session.ui.result(&ConfigSet { key: key.to_owned(), value }, || line)
}

fn unset(session: &mut Session<'_>, key: &str) -> Result<u8, CliError> {
    let home = session.homes()?.uwf;
    config::check_key(key)?;
    let whole = config::value(&home)?;
    if lookup(&whole, key).is_none() {
        return Err(no_such_key(&home, &whole, key).into());
    }
    let known = config::load(&home)?.unknown_names();
    let comments_lost = config::unset(&home, key)?;
    tell_of_comments(session, &home, comments_lost);
    // What was named by others is missed by them now.
    for unknown in config::load(&home)?.unknown_names().iter().filter(|unknown| !known.contains(unknown)) {
        session.ui.warn(unknown);
    }
    let view = ConfigUnset { key: key.to_owned(), unset: true };
    session.ui.result(&view, || format!("{key} is not set any more\n"))
}

/// Warns that the file was written anew, if it was.
pub(super) fn tell_of_comments(session: &mut Session<'_>, home: &Path, lost: bool) {
    if lost {
        session.ui.warn(&format!("{} was written anew, without its comments", config::path(home).display()));
    }
}
