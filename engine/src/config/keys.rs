//! Dotted keys into the configuration's value, and the masking of what is secret in it.

use serde_json::Value;
use uwf_store::{sounds_secret, suggest};

use super::ConfigError;

/// What stands for a secret.
const MASK: &str = "***";

/// The name below which every value is secret.
const HEADERS: &str = "headers";

/// The name of an agent's arguments.
const ARGUMENTS: &str = "args";

/// Names of a dotted key; more would take time by the cube of their number.
pub(super) const MAX_NAMES: usize = 32;
/// Characters of a key that is too long which are shown.
const SHOWN: usize = 60;

/// Whether a text can be a key at all.
///
/// # Errors
/// [`ConfigError::BadKey`] and [`ConfigError::LongKey`].
pub fn check_key(key: &str) -> Result<(), ConfigError> {
    let names = key.split('.').count();
    if names > MAX_NAMES {
        return Err(ConfigError::LongKey { start: key.chars().take(SHOWN).collect(), names });
    }
    match key.split('.').any(str::is_empty) {
        true => Err(ConfigError::BadKey { key: key.to_owned() }),
        false => Ok(()),
    }
}

/// The value at a dotted key. Names may hold dots themselves (`models.gpt-5.1.name`): the longest name that exists
/// counts at every level.
pub fn lookup<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    resolve(value, key).iter().try_fold(value, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    })
}

/// Whether a value can be set there: names lead through mappings alone, and what is not there yet becomes one.
pub(super) fn check_way(value: &Value, names: &[String]) -> Result<(), ConfigError> {
    let mut place = Some(value);
    for (depth, name) in names.iter().enumerate() {
        place = match place {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Object(fields)) => fields.get(name),
            Some(_) => return Err(ConfigError::NoMapping { key: names[..depth].join(".") }),
        };
    }
    Ok(())
}

/// The names a dotted key consists of, as far as they exist longest first, beyond that one a dot.
pub(super) fn resolve(value: &Value, key: &str) -> Vec<String> {
    let parts: Vec<&str> = key.split('.').collect();
    let candidates = (1..=parts.len()).rev().map(|count| (count, parts[..count].join(".")));
    let existing = candidates.into_iter().find_map(|(count, name)| Some((count, value.get(&name)?, name)));
    match existing {
        Some((count, inner, name)) if count < parts.len() => {
            let mut names = vec![name];
            names.extend(resolve(inner, &parts[count..].join(".")));
            names
        }
        Some((_, _, name)) => vec![name],
        None => parts.into_iter().map(str::to_owned).collect(),
    }
}

/// Of names that lead to no place in `shape`: the keys that are in theirs, the nearest first.
pub(super) fn unread(shape: &Value, names: &[String]) -> Option<Vec<String>> {
    let mut place = shape;
    for (depth, name) in names.iter().enumerate() {
        if *place == Value::Bool(true) {
            return None;
        }
        match below(place, name) {
            Some(below) => place = below,
            // A text or a list has nothing below it, which is told as a mistake when it is written.
            None => {
                let before = names[..depth].iter().fold(String::new(), |before, name| before + name + ".");
                let known = suggest::sorted(name, known(place));
                return Some(known.into_iter().map(|name| before.clone() + &name).collect());
            }
        }
    }
    None
}

/// The part of a shape that is for what stands below `name`.
pub(super) fn below<'s>(place: &'s Value, name: &str) -> Option<&'s Value> {
    let of_list = place.get("items").filter(|_| name.parse::<usize>().is_ok());
    properties(place)
        .and_then(|known| known.get(name))
        .or_else(|| place.get("additionalProperties").filter(|open| **open != Value::Bool(false)))
        .or(of_list)
}

/// A mapping may be one of two things that a setting can be.
fn properties(place: &Value) -> Option<&serde_json::Map<String, Value>> {
    place["properties"].as_object().or_else(|| place["then"]["properties"].as_object())
}

/// The part of a shape that is for what these names lead to; null where it says nothing of it.
pub(super) fn place<'s>(shape: &'s Value, names: &[String]) -> &'s Value {
    names.iter().try_fold(shape, |place, name| below(place, name)).unwrap_or(&Value::Null)
}

/// The keys that a mapping has there.
pub(super) fn known(place: &Value) -> Vec<&str> {
    properties(place).into_iter().flat_map(|known| known.keys()).map(String::as_str).collect()
}

/// The words that a value can be there; none where it can be others.
pub(super) fn words(place: &Value) -> Vec<&str> {
    let words = place["enum"].as_array().or_else(|| place["else"]["enum"].as_array());
    words.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The value at `key` with everything secret in it replaced by `***`; the empty key is the whole file. Every value below
/// `headers` is taken for a secret: what a header is for is not always in its name.
pub fn masked(value: &Value, key: &str) -> Value {
    let last = key.rsplit('.').next().unwrap_or(key);
    match value {
        Value::Null => Value::Null,
        _ if key.split('.').any(|name| name == HEADERS) => all_masked(value),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), masked(value, name))).collect())
        }
        _ if is_secret(last, &value.to_string()) => Value::from(MASK),
        Value::String(text) => Value::from(masked_url(text)),
        Value::Array(items) if last == ARGUMENTS => masked_arguments(items),
        Value::Array(items) => items.iter().map(|item| masked(item, "")).collect(),
        value => value.clone(),
    }
}

/// The value at `key` of the whole file, with everything secret in it replaced: what an item of a list holds may be
/// told by the one before it. None where there is no such key.
pub fn masked_at(whole: &Value, key: &str) -> Option<Value> {
    lookup(whole, key)?;
    // What is secret as a whole has no parts any more.
    Some(lookup(&masked(whole, ""), key).cloned().unwrap_or_else(|| Value::from(MASK)))
}

/// The words of a command line: what follows `--api-key`, and the rest of `--token=…`, `NAME=…` or `Name: …`.
fn masked_arguments(items: &[Value]) -> Value {
    let option = |at: usize| {
        let word = items.get(at.checked_sub(1)?)?.as_str()?;
        (word.starts_with('-') && !word.contains('=')).then_some(word)
    };
    let shown = |(at, item): (usize, &Value)| {
        let option = option(at).unwrap_or_default();
        match item {
            Value::String(text) if text.starts_with("--") || !is_secret(option, text) => {
                Value::from(masked_pair(&masked_url(text)))
            }
            item => masked(item, option),
        }
    };
    items.iter().enumerate().map(shown).collect()
}

/// What is secret among the words of a command line, by their names: of what [`masked`] hides, what nobody may be shown
/// anywhere else either.
pub fn secret_arguments(words: &[String]) -> Vec<&str> {
    let option = |at: usize| {
        let word = words.get(at.checked_sub(1)?)?;
        (word.starts_with('-') && !word.contains('=')).then_some(word.as_str())
    };
    let secrets = words.iter().enumerate();
    secrets.filter_map(|(at, word)| secret_part(option(at).unwrap_or_default(), word)).collect()
}

fn secret_part<'w>(option: &str, word: &'w str) -> Option<&'w str> {
    if !word.starts_with("--") && is_secret(option, word) {
        return Some(word);
    }
    let Some((_, place)) = word.split_once("://") else { return secret_of_pair(word) };
    let end = place.find(['/', '?', '#']).unwrap_or(place.len());
    if let Some((user, _)) = place[..end].rsplit_once('@') {
        return Some(user.split_once(':').map_or(user, |(_, password)| password));
    }
    let query = place.split_once('?').map_or("", |(_, query)| query.split('#').next().unwrap_or_default());
    query.split('&').find_map(secret_of_pair)
}

fn secret_of_pair(text: &str) -> Option<&str> {
    let at = text.find(['=', ':'])?;
    let (name, value) = (&text[..at], &text[at + 1..]);
    if is_secret(name, value) { Some(value.trim()) } else { secret_of_pair(value) }
}

/// `NAME=value`, or `Name: value`, also as the value of an option.
fn masked_pair(text: &str) -> String {
    let Some(at) = text.find(['=', ':']) else { return text.to_owned() };
    let (name, value) = (&text[..at], &text[at + 1..]);
    let shown = if is_secret(name, value) { MASK.to_owned() } else { masked_pair(value) };
    format!("{}{shown}", &text[..=at])
}

/// Whether this, as the value of that name, is a secret: `maxTokens` and its like are numbers of tokens, not one of them.
fn is_secret(name: &str, value: &str) -> bool {
    let is_count = || name.to_lowercase().ends_with("tokens") && value.parse::<f64>().is_ok();
    !value.is_empty() && sounds_secret(name) && !is_count()
}

fn masked_url(text: &str) -> String {
    without_query(&without_password(text))
}

fn all_masked(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), all_masked(value))).collect())
        }
        _ => Value::from(MASK),
    }
}

/// A URL may hold a user and a password before its host.
fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((user, _)) => format!("{scheme}://{MASK}{}", &rest[user.len()..]),
        None => text.to_owned(),
    }
}

/// The values of a URL's query, any of which may be a key, but for the one that says which version is asked.
fn without_query(text: &str) -> String {
    let is_url = text.contains("://");
    let Some((place, rest)) = text.split_once('?').filter(|_| is_url) else { return text.to_owned() };
    let (query, fragment) = rest.split_once('#').map_or((rest, ""), |(query, _)| (query, "#…"));
    let shown = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if name != "api-version" => format!("{name}={MASK}"),
        Some(_) => pair.to_owned(),
        None if pair.is_empty() => String::new(),
        None => MASK.to_owned(),
    };
    let pairs: Vec<String> = query.split('&').map(shown).collect();
    format!("{place}?{}{fragment}", pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_that_nobody_reads_names_those_that_are_read() {
        let shape = crate::config::shape();
        let unread = |key: &str| super::unread(&shape, &resolve(&Value::Null, key));
        for key in [
            "defaultAgent",
            "agents.mine.command",
            "agentOverrides.flow.role",
            "providers.a.apiKey",
            "providers.a.headers.X-Title",
            "models.m.requestBody.provider.order",
        ] {
            assert_eq!(unread(key), None, "{key}");
        }
        assert_eq!(unread("defaultagent").unwrap()[0], "defaultAgent");
        assert_eq!(
            unread("agents.mine.comand").unwrap(),
            ["agents.mine.command", "agents.mine.args", "agents.mine.protocol", "agents.mine.workflow"]
        );
    }

    #[test]
    fn secrets_among_the_arguments_of_an_agent_are_masked() {
        let args = json!([
            "--api-key",
            "sk-1",
            "--token=t",
            "-H",
            "Authorization: Bearer b",
            "PASSWORD=p",
            "--env=MY_SECRET=s",
            "--no-auth",
            "--verbose",
            "--max-tokens",
            "100",
            "--url",
            "http://me:pw@h/v1?key=k",
            "--model",
            "m:7b",
            "x",
        ]);
        let shown = json!([
            "--api-key",
            "***",
            "--token=***",
            "-H",
            "Authorization:***",
            "PASSWORD=***",
            "--env=MY_SECRET=***",
            "--no-auth",
            "--verbose",
            "--max-tokens",
            "100",
            "--url",
            "http://***@h/v1?key=***",
            "--model",
            "m:7b",
            "x",
        ]);
        let whole =
            json!({"agents": {"mine": {"command": "c", "args": args}}, "providers": {"p": {"token": ["t"]}}});
        assert_eq!(masked(&whole, "")["agents"]["mine"]["args"], shown);
        assert_eq!(masked(&args, "agents.mine.args"), shown);
        assert_eq!(masked_at(&whole, "agents.mine.args.1"), Some(json!("***")), "what comes before it tells");
        assert_eq!(masked_at(&whole, "agents.mine.args.15"), Some(json!("x")));
        assert_eq!(masked_at(&whole, "providers.p.token.0"), Some(json!("***")));
        assert_eq!(masked_at(&whole, "agents.mine.args.16"), None);
    }

    #[test]
    fn keys_reach_into_names_with_dots_and_lists() {
        let value = json!({"models": {"gpt-5.1": {"name": "x"}}, "agents": {"a": {"args": ["p", "q"]}}});
        assert_eq!(lookup(&value, "models.gpt-5.1.name"), Some(&json!("x")));
        assert_eq!(lookup(&value, "agents.a.args.1"), Some(&json!("q")));
        assert_eq!(lookup(&value, "models.gpt-6.name"), None);
        assert_eq!(resolve(&value, "models.new.name"), ["models", "new", "name"]);
    }

    #[test]
    fn keys_are_masked_and_their_variables_are_not() {
        let value = json!({"providers": {"p": {
            "baseUrl": "http://h", "apiKey": "sk-1", "apiKeyEnv": "KEY", "headers": {"X-Api-Key": "k", "X-Title": "t", "X-None": null},
        }}});
        let expected = json!({"providers": {"p": {
            "baseUrl": "http://h", "apiKey": "***", "apiKeyEnv": "KEY", "headers": {"X-Api-Key": "***", "X-Title": "***", "X-None": null},
        }}});
        assert_eq!(masked(&value, ""), expected);
        assert_eq!(masked(&json!("sk-1"), "providers.p.apiKey"), json!("***"));
        assert_eq!(masked(&json!({"X-Title": "t"}), "providers.p.headers"), json!({"X-Title": "***"}));
        assert_eq!(masked(&json!("t"), "providers.p.headers.X-Title"), json!("***"));
        assert_eq!(
            masked(&json!({"x": {"seed": 1, "token": "t"}}), "requestBody")["x"],
            json!({"seed": 1, "token": "***"})
        );
        assert_eq!(
            masked(&json!({"max_tokens": 9, "cookie": "c"}), ""),
            json!({"max_tokens": 9, "cookie": "***"})
        );
        for (url, shown) in [
            ("http://h", "http://h"),
            ("http://me:pw@h/v1", "http://***@h/v1"),
            ("https://a@b@h:1/x@y", "https://***@h:1/x@y"),
            ("http://h/x@y", "http://h/x@y"),
            ("http://h/v1?api-version=1&key=k&sig=a%3D=", "http://h/v1?api-version=1&key=***&sig=***"),
            ("http://me:pw@h/v1?k#hush", "http://***@h/v1?***#…"),
            ("what? a=b", "what? a=b"),
        ] {
            assert_eq!(masked(&json!(url), "providers.p.baseUrl"), json!(shown));
        }
    }
}
