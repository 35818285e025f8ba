//! What is configured and not typed, as far as what comes of a case may depend on it: the same evaluation is one under the same
//! settings.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use uwf_agent::runtime::settings::{Flags, Settings, SettingsError};
use uwf_engine::config::masked;
use uwf_engine::home::Env;
use uwf_engine::thread::ThreadOptions;
use uwf_snapshot::{Options, Withheld};
use uwf_store::{Hash, sounds_secret};

use crate::shell::CliError;

/// Who plays, in `config.yaml`.
const AGENTS: [&str; 4] = ["agents", "agentOverrides", "defaultAgent", "maxDepth"];
/// Where models are served.
const MODELS: [&str; 4] = ["providers", "models", "defaultModel", "modelOverrides"];
/// What says nothing of what comes of a case: keys, how patient it is with an endpoint, and what that takes.
const NO_MATTER: [&str; 6] = [
    "provider.apiKey",
    "provider.apiKeyEnv",
    "provider.idleSeconds",
    "provider.retry.tries",
    "provider.retry.seconds",
    "prices",
];
/// The settings file of the builtin agent, which has these, too.
const BUILTIN: &str = "builtin.yaml";
/// Shorter values of variables that sound secret are no keys.
const SHORTEST: usize = 5;

/// The settings that hold under these options, by name. What has no short value is told by a hash, without the keys in it.
///
/// # Errors
/// A file cannot be read, or is not what it should be.
pub(super) fn settings(
    (env, home): (&Env, &Path),
    options: &ThreadOptions,
    is_scripted: bool,
) -> Result<BTreeMap<String, String>, CliError> {
    let scripted = Flags { mock: Some(PathBuf::new()), ..Flags::default() };
    let typed =
        Flags { model: options.model.clone(), base_url: options.base_url.clone(), ..Flags::default() };
    let loaded = match is_scripted {
        true => Settings::load(scripted, env, home)?,
        // Agents of other kinds do without a model of ours.
        false => with_any_key(typed, env, home).or_else(|_| Settings::load(scripted, env, home))?,
    };
    let rows = loaded.provenance.into_iter().filter(|row| !NO_MATTER.contains(&row.name));
    let mut settings: BTreeMap<String, String> = rows.map(|row| (row.name.to_owned(), row.value)).collect();
    let config = file(&home.join("config.yaml"))?;
    let part = |keys: &[&str]| -> Map<String, Value> {
        let known = keys.iter().filter_map(|key| Some(((*key).to_owned(), config.get(*key)?.clone())));
        known.collect()
    };
    let mut note = |name: String, value: Map<String, Value>| {
        if !value.is_empty() {
            settings.insert(name, hash(&Value::from(value)));
        }
    };
    note("agents in config.yaml".to_owned(), part(&AGENTS));
    if !is_scripted {
        note("models in config.yaml".to_owned(), part(&MODELS));
    }
    for entry in fs::read_dir(home.join("agents")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".yaml") {
            let mut told = file(&entry.path())?;
            if name == BUILTIN {
                // Whoever is told to write down prices can go on with what was begun without them.
                NO_MATTER.iter().for_each(|setting| remove(&mut told, setting));
            }
            note(format!("agents/{name}"), told);
        }
    }
    Ok(settings)
}

/// Removes a setting by its name, and what has nothing in it then.
fn remove(from: &mut Map<String, Value>, setting: &str) {
    let Some((section, rest)) = setting.split_once('.') else {
        from.remove(setting);
        return;
    };
    if let Some(Value::Object(below)) = from.get_mut(section) {
        remove(below, rest);
        if below.is_empty() {
            from.remove(section);
        }
    }
}

/// The settings as they are once the key is there, which says nothing of what is configured.
fn with_any_key(flags: Flags, env: &Env, home: &Path) -> Result<Settings, SettingsError> {
    match Settings::load(flags.clone(), env, home) {
        Err(SettingsError::NoKey(variable)) => {
            let mut env = env.clone();
            env.set(variable, "none");
            Settings::load(flags, &env, home)
        }
        loaded => loaded,
    }
}

/// What is kept of workspaces: as it is configured, and nothing that has a key in it.
///
/// # Errors
/// A file cannot be read, or is not what it should be.
pub(crate) fn snapshots((env, home): (&Env, &Path)) -> Result<Options, CliError> {
    let scripted = Settings::load(Flags { mock: Some(PathBuf::new()), ..Flags::default() }, env, home)?;
    let keys = Settings::load(Flags::default(), env, home).map(|settings| settings.secrets().values());
    let told = env.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    // A number of tokens sounds so, and is none.
    let is_key = |(name, value): &(&str, &str)| {
        sounds_secret(name) && value.len() >= SHORTEST && value.parse::<f64>().is_err()
    };
    let secrets: Vec<String> =
        told.filter(is_key).map(|(_, value)| value.to_owned()).chain(keys.unwrap_or_default()).collect();
    Ok(Options { withheld: Withheld::new(secrets), ..scripted.snapshots.options })
}

/// What a settings file says; nothing where there is none.
fn file(path: &Path) -> Result<Map<String, Value>, CliError> {
    if !path.exists() {
        return Ok(Map::new());
    }
    let cannot = || format!("cannot read {}", path.display());
    let text = fs::read_to_string(path).map_err(|error| CliError::said(cannot(), error))?;
    match uwf_workflow::yaml::parse_value(&text).map_err(|error| CliError::said(cannot(), error))? {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

fn hash(value: &Value) -> String {
    let told = uwf_store::json::sorted(masked(value, ""));
    Hash::of(&uwf_engine::builtin::TEXT, &uwf_store::json::line(&told).into()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_may_change_a_case_is_a_setting_and_a_key_is_none() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            fs::create_dir_all(home.path().join("agents")).unwrap();
            fs::write(home.path().join(name), text).unwrap();
        };
        let options = ThreadOptions::default();
        let settings = |env: &[(&str, &str)], is_scripted| {
            settings((&env.iter().copied().collect(), home.path()), &options, is_scripted).unwrap()
        };
        let nothing = settings(&[], false);
        let models = |model: &str, key: &str| {
            format!(
                "providers: {{ p: {{ baseUrl: 'http://localhost:1/v1', apiKey: {key} }} }}\n\
                 models: {{ m: {{ provider: p, name: {model} }} }}\ndefaultModel: m\n"
            )
        };
        write("config.yaml", &models("one", "sk-11111"));
        let one = settings(&[], false);
        assert_eq!(one.get("model").map(String::as_str), Some("one"), "{one:?}");
        assert_ne!(one, nothing);
        write("config.yaml", &models("one", "sk-22222"));
        assert_eq!(settings(&[], false), one, "a key may be another one");
        let named = models("one", "k").replace("apiKey: k", "apiKeyEnv: K");
        write("config.yaml", &named);
        let with_key = settings(&[("K", "sk-33333")], false);
        assert_eq!(settings(&[], false), with_key, "whether it is there is no matter");
        assert_eq!(with_key.get("model").map(String::as_str), Some("one"));
        write("config.yaml", &models("two", "sk-22222"));
        assert_ne!(settings(&[], false), one);
        assert_eq!(settings(&[], true), nothing_scripted(home.path()), "scripts have no model");
        let file = settings(&[], true);
        write("agents/builtin.yaml", "prices: { m: { input: 0.25, output: 2 } }\n");
        assert_eq!(settings(&[], true), file, "prices may be told later");
        write("agents/builtin.yaml", "roles: { w/r: { readOnly: true } }\n");
        assert_ne!(settings(&[], true), file);
        let served =
            |more: &str| format!("provider: {{ baseUrl: 'http://localhost:1/v1'{more} }}\nmodel: m\n");
        write("agents/builtin.yaml", &served(""));
        let once = settings(&[], false);
        let patient = served(", apiKey: k, idleSeconds: 9, retry: { tries: 7 }");
        write("agents/builtin.yaml", &format!("{patient}prices: {{ m: {{ input: 1, output: 2 }} }}\n"));
        assert_eq!(settings(&[], false), once, "keys, patience and prices may be others");
        write("agents/builtin.yaml", &served(", stream: false"));
        assert_ne!(settings(&[], false), once);
        let off = settings(&[("UWF_BUILTIN_SANDBOX", "off")], true);
        assert_eq!(off.get("sandbox.level").map(String::as_str), Some("off"));
    }

    fn nothing_scripted(home: &Path) -> BTreeMap<String, String> {
        fs::remove_file(home.join("config.yaml")).unwrap();
        settings((&Env::default(), home), &ThreadOptions::default(), true).unwrap()
    }

    #[test]
    fn what_sounds_secret_is_kept_from_snapshots() {
        let home = tempfile::tempdir().unwrap();
        let options =
            |env: &[(&str, &str)]| snapshots((&env.iter().copied().collect(), home.path())).unwrap();
        let none = options(&[("MAX_TOKENS", "128000"), ("API_KEY", "x"), ("PLAIN", "something")]);
        assert_eq!(none.withheld, Withheld::default());
        assert_eq!(options(&[("MY_API_KEY", "sk-12345")]).withheld, Withheld::new(["sk-12345"]));
    }
}
