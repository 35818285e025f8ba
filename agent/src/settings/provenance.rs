//! Who says what a setting is: kept while the settings are made, for people who wonder.
//!
//! Apart so that precedence is written once: [`first`] takes a value and its source together, and whoever tells of the
//! source later tells of that very choice. Keys are told as set or not, never shown.

use std::fmt;
use std::path::Path;

use uwf_engine::{Env, catalogue};

use super::{WindowSize, WindowSource};

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Its name, as in the file.
    pub name: &'static str,
    /// Its value, as text.
    pub value: String,
    /// Who says so.
    pub from: SettingSource,
}

/// Who says what a setting is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingSource {
    /// An option, or the journal of the run that goes on.
    Run,
    /// A variable of the environment.
    Variable(String),
    /// A file below `$UWF_HOME`.
    File(&'static str),
    /// What is known of endpoints of that kind.
    Dialect(&'static str),
    /// The catalogue of models.
    Catalogue,
    /// Nobody; what can be done about it.
    Nobody(&'static str),
    /// Nobody, and that is well.
    Default,
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingSource::Run => f.write_str("this run"),
            SettingSource::Variable(name) => write!(f, "${name}"),
            SettingSource::File(name) => f.write_str(name),
            SettingSource::Dialect(name) => write!(f, "dialect {name}"),
            SettingSource::Catalogue => write!(f, "the catalogue of {}", catalogue::date()),
            SettingSource::Nobody(advice) => f.write_str(advice),
            SettingSource::Default => f.write_str("default"),
        }
    }
}

impl SettingSource {
    /// The same with the whole path of a file.
    pub fn shown(&self, home: &Path) -> String {
        match self {
            SettingSource::File(name) => home.join(name).display().to_string(),
            other => other.to_string(),
        }
    }
}

/// A value and who says so.
pub(super) type Sourced<T> = (Option<T>, SettingSource);

/// The first that is there, first come first served; where none is, the default counts.
pub(super) fn first<T, const N: usize>(sources: [Sourced<T>; N]) -> Sourced<T> {
    sources.into_iter().find(|(value, _)| value.is_some()).unwrap_or((None, SettingSource::Default))
}

/// What a variable says; one that is empty says nothing.
pub(super) fn variable(env: &Env, name: &str) -> Sourced<String> {
    (env.text(name).map(str::to_owned), SettingSource::Variable(name.to_owned()))
}

impl Provenance {
    pub(super) fn new(name: &'static str, value: impl fmt::Display, from: SettingSource) -> Provenance {
        Provenance { name, value: value.to_string(), from }
    }

    /// A limit that may be none.
    pub(super) fn limit(
        name: &'static str,
        value: Option<impl fmt::Display>,
        from: SettingSource,
    ) -> Provenance {
        Provenance::new(name, value.map_or("none".to_owned(), |value| value.to_string()), from)
    }
}

/// The model's window; `set` says who set it, if somebody did.
pub(super) fn window(window: WindowSize, set: SettingSource) -> Provenance {
    let from = match window.from {
        WindowSource::Set => set,
        WindowSource::Catalogue => SettingSource::Catalogue,
        WindowSource::Assumed => {
            SettingSource::Nobody("assumed: set contextWindow, or see what the server says with --online")
        }
    };
    Provenance::new("contextWindow", window.size, from)
}

#[cfg(test)]
mod tests {
    use super::super::{Flags, Settings};
    use super::*;

    fn provenance(home: &Path, env: &[(&str, &str)]) -> Vec<(&'static str, String, String)> {
        let env: Env = env.iter().copied().collect();
        let settings = Settings::load(Flags::default(), &env, home).unwrap();
        let shown = |origin: Provenance| {
            let from = origin.from.shown(home).replace(&format!("{}/", home.display()), "");
            (origin.name, origin.value, from)
        };
        settings.provenance.into_iter().map(shown).collect()
    }

    fn home(builtin: &str, config: &str) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("agents")).unwrap();
        std::fs::write(home.path().join("agents/builtin.yaml"), builtin).unwrap();
        std::fs::write(home.path().join("config.yaml"), config).unwrap();
        home
    }

    const FILE: &str = "agents/builtin.yaml";
    const BUILTIN: &str = "\
provider: { baseUrl: 'https://a.example/v1', apiKey: hush, idleSeconds: 7, retry: { tries: 2 } }
model: m
sandbox: { network: true }
budget: { usd: 1 }
prices: { m: { input: 1, output: 1 }, other: { input: 1, output: 1 }, big-1: { input: 1, output: 1 } }
";
    const CONFIG: &str = "\
providers: { b: { baseUrl: 'https://b.example/v1?sig=hush', apiKeyEnv: B_KEY, wire: responses } }
models: { big: { provider: b, name: big-1, contextWindow: 9000 } }
defaultModel: big
";

    fn of<'a>(provenance: &'a [(&str, String, String)], name: &str) -> (&'a str, &'a str) {
        let (_, value, from) = provenance.iter().find(|(known, ..)| *known == name).unwrap();
        (value, from)
    }

    #[test]
    fn each_value_has_its_origin_and_no_key_is_shown() {
        let home = home(BUILTIN, "{}\n");
        let all = provenance(home.path(), &[("UWF_MODEL", "other")]);
        for (name, value, from) in [
            ("model", "other", "$UWF_MODEL"),
            ("provider.baseUrl", "https://a.example/v1", FILE),
            ("provider.apiKey", "set", FILE),
            ("provider.wire", "chat", "dialect generic"),
            ("provider.retry.tries", "2", FILE),
            ("provider.retry.seconds", "180", "default"),
            ("provider.idleSeconds", "7", FILE),
            ("prices", "$1 in, $1 out", FILE),
            ("budget.turns", "60", "default"),
            ("budget.tokens", "none", "default"),
            ("budget.usd", "$1.00", FILE),
            ("sandbox.network", "true", FILE),
            ("sandbox.level", "strict", "default"),
        ] {
            assert_eq!(of(&all, name), (value, from), "{name}");
        }
        assert!(of(&all, "contextWindow").1.starts_with("assumed: set contextWindow"));
        assert!(!format!("{all:?}").contains("hush"));
    }

    #[test]
    fn what_is_set_for_one_endpoint_is_not_told_of_another() {
        let home = home(BUILTIN, CONFIG);
        let env = [
            ("UWF_BASE_URL", "https://b.example/v1"),
            ("UWF_MODEL", "big-1"),
            ("B_KEY", "hush"),
            ("UWF_BUILTIN_SANDBOX", "best-effort"),
        ];
        let all = provenance(home.path(), &env);
        for (name, value, from) in [
            ("provider.baseUrl", "https://b.example/v1", "$UWF_BASE_URL"),
            ("provider.apiKey", "set", "$B_KEY"),
            ("provider.wire", "responses", "config.yaml"),
            ("provider.idleSeconds", "120", "default"),
            ("provider.retry.tries", "5", "default"),
            ("contextWindow", "9000", "config.yaml"),
            ("sandbox.level", "best-effort", "$UWF_BUILTIN_SANDBOX"),
        ] {
            assert_eq!(of(&all, name), (value, from), "{name}");
        }
        assert!(!format!("{all:?}").contains("hush"));
    }

    #[test]
    fn a_file_that_is_not_there_is_named_by_nothing() {
        let home = tempfile::tempdir().unwrap();
        let key = ("OPENAI_API_KEY", "hush");
        let openai = [("UWF_BASE_URL", "https://api.openai.com"), ("UWF_MODEL", "m"), key];
        let all = provenance(home.path(), &openai);
        assert_eq!(of(&all, "provider.apiKey"), ("set", "$OPENAI_API_KEY"));
        let local = [("UWF_BASE_URL", "http://localhost/v1"), ("UWF_MODEL", "m"), key];
        assert_eq!(
            of(&provenance(home.path(), &local), "provider.apiKey"),
            ("not set", "no key is configured for this host: apiKeyEnv of its provider, or $UWF_API_KEY")
        );
        assert!(!format!("{all:?}").contains(".yaml"), "{all:?}");
    }

    #[test]
    fn config_yaml_is_told_where_it_alone_says_so_and_a_query_is_not_shown() {
        let home = home("{}\n", CONFIG);
        let all = provenance(home.path(), &[("B_KEY", "hush")]);
        assert_eq!(of(&all, "model"), ("big-1", "config.yaml"));
        assert_eq!(of(&all, "provider.baseUrl"), ("https://b.example/v1?…", "config.yaml"));
        assert!(!format!("{all:?}").contains("hush"));
    }
}
