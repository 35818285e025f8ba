//! The settings of a run that goes on: what was typed now, else what its journal says.
//!
//! The rule. What the run is told and may spend (model, sampling, budget, endpoint or script) is the journal's unless it
//! is typed again; environment, files and defaults come after the journal, but for `UWF_BASE_URL`, which says where to
//! go now. What the run may do (sandbox, network, tools, permissions) is what is asked for now, whatever the journal says:
//! never weaker than that, and never a tool that its model was not told of. Keys are in no journal: they are looked up
//! again for the host.

use std::time::Duration;

use serde_json::Value;
use uwf_engine::record::RecordedSettings;

use super::Flags;
use crate::provider::message::Sampling;

/// Stands where the base URL of a journal had a query, which may hold a key and is not kept.
pub(super) const QUERY: &str = "?…";

impl Flags {
    /// The flags with what `super::Settings::describe_run` said of the run when it was begun.
    pub fn or_recorded(self, settings: &Value) -> Flags {
        let RecordedSettings { provider, model, budget, sampling, .. } =
            RecordedSettings::of(settings.clone());
        let budget_recorded = budget.is_some();
        let budget = budget.unwrap_or_default();
        let sampling: Sampling = serde_json::from_value(sampling).unwrap_or_default();
        let elsewhere = self.base_url.is_some();
        let mock = self.mock.or_else(|| provider.script().filter(|_| !elsewhere).map(Into::into));
        let mock_seed = self.mock_seed.or_else(|| provider.seed().filter(|_| !elsewhere));
        let seconds = || Duration::try_from_secs_f64(budget.seconds?.as_f64()?).ok();
        Flags {
            model: self.model.or(model),
            recorded_url: provider.base_url().map(str::to_owned),
            mock,
            mock_seed,
            max_turns: self.max_turns.or(budget.turns),
            max_tokens: self.max_tokens.or(budget.tokens),
            timeout: self.timeout.or_else(seconds),
            max_cost: self.max_cost.or(budget.usd),
            budget_recorded,
            sampling: Sampling {
                temperature: self.sampling.temperature.or(sampling.temperature),
                reasoning_effort: self.sampling.reasoning_effort.or(sampling.reasoning_effort),
                json_object: false,
            },
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use secrecy::ExposeSecret;
    use uwf_engine::Env;
    use uwf_tools::sandbox::Level;

    use super::super::{Endpoint, ProviderSettings, ScriptFile, Settings};
    use super::{Duration, Flags, Value};

    const FILE: &str = "\
provider: { baseUrl: 'https://a.example/v1', apiKey: key-of-a, stream: false }
model: m
budget: { turns: 7, seconds: 60 }
sandbox: { network: true }
";
    const CONFIG: &str = "\
providers: { b: { baseUrl: 'https://b.example/v1', apiKey: key-of-b } }
models: { big: { provider: b, name: big-1 } }
";

    fn home(file: &str) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("agents")).unwrap();
        std::fs::write(home.path().join("agents/builtin.yaml"), file).unwrap();
        std::fs::write(home.path().join("config.yaml"), CONFIG).unwrap();
        home
    }

    fn load(flags: Flags, env: &[(&str, &str)], home: &Path) -> Settings {
        Settings::load(flags, &env.iter().copied().collect::<Env>(), home).unwrap()
    }

    fn endpoint(settings: &Settings) -> (&str, Option<&str>) {
        let Endpoint { base_url, api_key, .. } = settings.provider.endpoint().unwrap();
        (base_url, api_key.as_ref().map(|key| key.expose_secret()))
    }

    #[test]
    fn the_journal_comes_after_what_is_typed_and_before_the_files() {
        let home = home(FILE);
        let recorded = load(Flags { max_turns: Some(3), ..Flags::default() }, &[], home.path()).describe();
        let changed = FILE.replace("model: m", "model: other").replace("7", "9").replace("60", "61");
        std::fs::write(home.path().join("agents/builtin.yaml"), changed).unwrap();
        let on = load(Flags::default().or_recorded(&recorded), &[("UWF_MODEL", "third")], home.path());
        assert_eq!((on.model.as_str(), on.limits.turns), ("m", 3));
        assert_eq!(on.limits.time, Some(Duration::from_secs(60)));
        assert_eq!(endpoint(&on), ("https://a.example/v1", Some("key-of-a")));
        let typed = Flags { model: Some("x".into()), max_turns: Some(5), ..Flags::default() };
        let on = load(typed.or_recorded(&recorded), &[], home.path());
        assert_eq!((on.model.as_str(), on.limits.turns), ("x", 5));
    }

    #[test]
    fn what_was_unlimited_stays_so() {
        let home = home(FILE);
        let recorded = load(Flags::default(), &[], home.path()).describe();
        let limited = FILE
            .replace("turns: 7", "turns: 7, tokens: 100, usd: 1")
            .replace("model: m", "prices: { m: { input: 1, output: 1 } }\nmodel: m");
        std::fs::write(home.path().join("agents/builtin.yaml"), limited).unwrap();
        let on = load(Flags::default().or_recorded(&recorded), &[], home.path());
        assert_eq!((on.limits.tokens, on.limits.usd), (None, None));
        let typed = Flags { max_tokens: Some(5), ..Flags::default() };
        assert_eq!(load(typed.or_recorded(&recorded), &[], home.path()).limits.tokens, Some(5));
        let on = load(Flags::default().or_recorded(&Value::Null), &[], home.path());
        assert_eq!(on.limits.tokens, Some(100), "a journal that says nothing of a budget");
    }

    #[test]
    fn each_host_gets_its_own_key_and_no_other() {
        let home = home(FILE);
        let at =
            |url: &str| Flags { base_url: Some(url.into()), model: Some("big-1".into()), ..Flags::default() };
        let recorded = load(at("https://b.example/v1"), &[], home.path()).describe();
        let on = load(Flags::default().or_recorded(&recorded), &[], home.path());
        assert_eq!(endpoint(&on), ("https://b.example/v1", Some("key-of-b")));
        let recorded = load(at("https://c.example/v1"), &[], home.path()).describe();
        let on = load(Flags::default().or_recorded(&recorded), &[], home.path());
        assert_eq!(endpoint(&on), ("https://c.example/v1", None));
        let now = [("UWF_BASE_URL", "https://a.example/v1")];
        let on = load(Flags::default().or_recorded(&recorded), &now, home.path());
        assert_eq!(
            endpoint(&on),
            ("https://a.example/v1", Some("key-of-a")),
            "the environment says where to go now"
        );
    }

    #[test]
    fn a_query_is_not_kept_and_is_asked_for() {
        let home = home(FILE);
        let url = "https://a.example/v2?api-version=1&sig=hush-hush";
        let typed = Flags { base_url: Some(url.into()), ..Flags::default() };
        let recorded = load(typed, &[], home.path()).describe();
        assert!(!recorded.to_string().contains("hush"), "{recorded}");
        let error = Settings::load(Flags::default().or_recorded(&recorded), &Env::default(), home.path())
            .unwrap_err();
        assert!(error.to_string().contains("pass --base-url again"), "{error}");
        std::fs::write(home.path().join("agents/builtin.yaml"), FILE.replace("https://a.example/v1", url))
            .unwrap();
        let on = load(Flags::default().or_recorded(&recorded), &[], home.path());
        assert_eq!(endpoint(&on).0, url, "the file has it whole");
    }

    #[test]
    fn the_sandbox_is_the_one_asked_for_now() {
        let home = home(FILE);
        let off = Flags { sandbox: Some(Level::Off), ..Flags::default() };
        let recorded = load(off, &[], home.path()).describe();
        std::fs::write(home.path().join("agents/builtin.yaml"), FILE.replace("true", "false")).unwrap();
        let on = load(Flags::default().or_recorded(&recorded), &[], home.path());
        assert_eq!((on.sandbox.level, on.sandbox.network), (Level::Strict, false));
    }

    #[test]
    fn a_script_is_played_on_unless_an_endpoint_is_typed() {
        let home = home(FILE);
        let mock = Flags {
            mock: Some("/s.yaml".into()),
            mock_seed: Some(9),
            timeout: Some(Duration::from_millis(1500)),
            ..Flags::default()
        };
        let recorded = load(mock, &[], home.path()).describe();
        let on = load(Flags::default().or_recorded(&recorded), &[], home.path());
        let script = ScriptFile::new("/s.yaml".into(), Some(9));
        assert!(matches!(&on.provider, ProviderSettings::Mock(file) if *file == script));
        let typed = Flags { mock_seed: Some(0), ..Flags::default() };
        let on = load(typed.or_recorded(&recorded), &[], home.path());
        assert!(matches!(&on.provider, ProviderSettings::Mock(file) if file.seed == Some(0)));
        assert_eq!(on.limits.time, Some(Duration::from_millis(1500)));
        let typed = Flags { base_url: Some("http://127.0.0.1:1/v1".into()), ..Flags::default() };
        assert_eq!(
            endpoint(&load(typed.or_recorded(&recorded), &[], home.path())).0,
            "http://127.0.0.1:1/v1"
        );
    }
}
