//! Where each setting comes from, for people who wonder.
//!
//! Apart from the settings proper, which care for the values alone. Keys are told as set or not, never shown.

use std::path::Path;

use uwf_engine::spawn::protocol::SANDBOX;
use uwf_engine::{Env, catalogue};

use super::file::{File, FileProvider};
use super::{ContextWindow, Endpoint, Flags, ProviderSettings, Settings, SettingsError, WindowSource};

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its name, as in the file.
    pub name: &'static str,
    /// Its value, as text.
    pub value: String,
    /// The variable or file that says so, or `default`.
    pub from: String,
}

/// Whether each of these says something, first come first served.
fn first<'a>(sources: &[(bool, &'a str)], default: &'a str) -> String {
    sources.iter().find(|(says, _)| *says).map_or(default, |(_, name)| name).to_owned()
}

impl Settings {
    /// The settings of a run without options, with their origins.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub(crate) fn origins(env: &Env, home: &Path) -> Result<Vec<Origin>, SettingsError> {
        let settings = Settings::load(Flags::default(), env, home)?;
        let path = home.join("agents/builtin.yaml");
        let (file, path) = (File::load(&path)?, path.display().to_string());
        let config = home.join("config.yaml").display().to_string();
        let variable = |name: &str| env.text(name).is_some();
        let budget = settings.limits;
        let limit = |limit: Option<u64>| limit.map_or("none".to_owned(), |limit| limit.to_string());
        let here = |says: bool| first(&[(says, &path)], "default");
        let level = serde_json::to_value(settings.sandbox.level).unwrap_or_default();
        let mut origins = vec![
            Origin {
                name: "model",
                value: settings.model.clone(),
                from: first(&[(variable("UWF_MODEL"), "UWF_MODEL"), (file.model.is_some(), &path)], &config),
            },
            Origin {
                name: "budget.turns",
                value: budget.turns.to_string(),
                from: here(file.budget.turns.is_some()),
            },
            Origin {
                name: "budget.tokens",
                value: limit(budget.tokens),
                from: here(file.budget.tokens.is_some()),
            },
            Origin {
                name: "budget.seconds",
                value: limit(budget.time.map(|time| time.as_secs())),
                from: here(file.budget.seconds.is_some()),
            },
            Origin {
                name: "sandbox.level",
                value: level.as_str().unwrap_or_default().to_owned(),
                from: first(
                    &[(variable(SANDBOX), SANDBOX), (file.sandbox.level.is_some(), &path)],
                    "default",
                ),
            },
            Origin {
                name: "sandbox.network",
                value: settings.sandbox.network.to_string(),
                from: here(file.sandbox.network.is_some()),
            },
        ];
        if let ProviderSettings::Http(endpoint) = &settings.provider {
            origins.insert(1, window(settings.window));
            let places = Places { env, file: &file, path: &path, config: &config };
            origins.splice(1..1, places.endpoint(endpoint));
        }
        Ok(origins)
    }
}

/// The wire, and what says so.
fn wire(endpoint: &Endpoint) -> Origin {
    let dialect = endpoint.dialect();
    let from = match endpoint.wire {
        Some(_) => "set".to_owned(),
        None => format!("dialect {}", dialect.name),
    };
    Origin { name: "provider.wire", value: dialect.wire.to_string(), from }
}

/// The model's window, and who says so.
fn window(window: ContextWindow) -> Origin {
    let from = match window.from {
        WindowSource::Set => "set".to_owned(),
        WindowSource::Catalogue => format!("the catalogue of {}", catalogue::date()),
        WindowSource::Assumed => {
            "assumed: set contextWindow, or see what the server says with --online".to_owned()
        }
    };
    Origin { name: "contextWindow", value: window.size.to_string(), from }
}

/// Where the endpoint may be described.
struct Places<'a> {
    env: &'a Env,
    file: &'a File,
    path: &'a str,
    config: &'a str,
}

impl Places<'_> {
    fn endpoint(&self, endpoint: &Endpoint) -> [Origin; 6] {
        let Places { env, file, path, config } = *self;
        let described = if file.provider.is_some() { path } else { config };
        let url = first(&[(env.text("UWF_BASE_URL").is_some(), "UWF_BASE_URL")], described);
        let key = endpoint.key_from.clone().unwrap_or_else(|| "nothing".to_owned());
        let set = if endpoint.api_key.is_some() { "set" } else { "not set" };
        [
            Origin { name: "provider.baseUrl", value: endpoint.base_url.clone(), from: url },
            Origin { name: "provider.apiKey", value: set.to_owned(), from: key },
            wire(endpoint),
            self.own("provider.idleSeconds", endpoint.idle.as_secs(), |own| own.idle_seconds.is_some()),
            self.own("provider.retry.tries", endpoint.retry.tries.into(), |own| own.retry.tries.is_some()),
            self.own("provider.retry.seconds", endpoint.retry.budget.as_secs(), |own| {
                own.retry.seconds.is_some()
            }),
        ]
    }

    /// A figure that only the provider of the agent's own file can set.
    fn own(&self, name: &'static str, value: u64, says: fn(&FileProvider) -> bool) -> Origin {
        let from = first(&[(self.file.provider.as_ref().is_some_and(says), self.path)], "default");
        Origin { name, value: value.to_string(), from }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_its_origin_and_no_key_is_shown() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("agents")).unwrap();
        let file = home.path().join("agents/builtin.yaml");
        let text = "provider: { baseUrl: https://a.example/v1, apiKey: hush, retry: { tries: 2 } }\nmodel: m\nsandbox: { network: true }\n";
        std::fs::write(&file, text).unwrap();
        let env: Env = [("UWF_MODEL", "other")].into_iter().collect();
        let origins = Settings::origins(&env, home.path()).unwrap();
        let of = |name: &str| {
            let origin = origins.iter().find(|origin| origin.name == name).unwrap();
            (origin.value.as_str(), origin.from.as_str())
        };
        let file = file.display().to_string();
        assert_eq!(of("model"), ("other", "UWF_MODEL"));
        assert_eq!(of("provider.apiKey"), ("set", "agents/builtin.yaml (apiKey)"));
        assert_eq!(of("provider.wire"), ("chat", "dialect generic"));
        assert!(of("contextWindow").1.starts_with("assumed: set contextWindow"));
        assert_eq!(of("provider.retry.tries"), ("2", file.as_str()));
        assert_eq!(of("provider.idleSeconds"), ("120", "default"));
        assert_eq!(of("sandbox.network"), ("true", file.as_str()));
        assert_eq!((of("sandbox.level"), of("budget.turns")), (("strict", "default"), ("60", "default")));
        assert!(!format!("{origins:?}").contains("hush"));
    }
}
