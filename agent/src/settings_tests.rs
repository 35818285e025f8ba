//! The precedence of flags, environment and files, and where a key may go.

use secrecy::ExposeSecret;
use serde_json::Value;

use super::*;
use crate::provider::{IDLE, RetryPolicy};

struct Home(tempfile::TempDir);

impl Home {
    fn new(files: &[(&str, &str)]) -> Home {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("agents")).unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        Home(dir)
    }

    fn load(&self, flags: Flags, env: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let env: Env = env.iter().map(|(name, value)| (*name, *value)).collect();
        Settings::load(flags, &env, self.0.path())
    }

    fn endpoint(&self, flags: Flags, env: &[(&str, &str)]) -> (Endpoint, String) {
        let settings = self.load(flags, env).unwrap();
        let ProviderSettings::Http(endpoint) = settings.provider else { panic!("not an endpoint") };
        (*endpoint, settings.model)
    }
}

fn key(endpoint: &Endpoint) -> Option<&str> {
    endpoint.api_key.as_ref().map(ExposeSecret::expose_secret)
}

fn flags(base_url: &str) -> Flags {
    Flags { base_url: Some(base_url.into()), model: Some("m".into()), ..Flags::default() }
}

const BUILTIN: &str = "provider: { baseUrl: https://a.example/v1, apiKey: of-a, stream: false }\nmodel: from-file\nbudget: { turns: 7 }\n";
const CONFIG: &str = "providers: { p: { baseUrl: https://b.example/v1, apiKeyEnv: B_KEY } }\nmodels: { small: { provider: p, name: small-1 }, big: { provider: p, name: big-1 } }\ndefaultModel: small\n";

#[test]
fn nothing_configured_says_what_to_do() {
    let error = Home::new(&[]).load(Flags::default(), &[]).unwrap_err();
    assert!(matches!(error, SettingsError::NoModel));
    assert!(error.hint().unwrap().contains("--mock"));
}

#[test]
fn a_default_that_names_no_model_is_told_by_its_setting() {
    let config = CONFIG.replace("defaultModel: small", "defaultModel: smal");
    let error = Home::new(&[("config.yaml", &config)]).load(Flags::default(), &[]).unwrap_err();
    assert!(error.to_string().starts_with("config.yaml: defaultModel: there is no model smal,"), "{error}");
    assert!(error.hint().unwrap().contains("config set models"));
    // Where it does name one, and the other file asks for an endpoint without a model, that is not its fault.
    let files =
        [("config.yaml", CONFIG), ("agents/builtin.yaml", "provider: { baseUrl: https://a.example/v1 }\n")];
    let error = Home::new(&files).load(Flags::default(), &[]).unwrap_err();
    assert!(matches!(error, SettingsError::NoModel), "{error}");
}

#[test]
fn a_mock_needs_nothing_else() {
    let flags = Flags { mock: Some("script.yaml".into()), ..Flags::default() };
    let settings = Home::new(&[]).load(flags, &[]).unwrap();
    assert_eq!(settings.describe()["provider"]["mock"], "script.yaml");
    let limited = Home::new(&[("agents/builtin.yaml", "budget: { usd: 1 }\n")]);
    let flags = Flags { mock: Some("script.yaml".into()), ..Flags::default() };
    assert!(limited.load(flags, &[]).is_ok(), "it costs nothing");
    assert_eq!(settings.limits, Limits::default());
}

#[test]
fn the_file_wins_over_config_and_flags_over_both() {
    let home = Home::new(&[("agents/builtin.yaml", BUILTIN), ("config.yaml", CONFIG)]);
    let (endpoint, model) = home.endpoint(Flags::default(), &[]);
    assert_eq!(
        (endpoint.base_url.as_str(), key(&endpoint), endpoint.stream),
        ("https://a.example/v1", Some("of-a"), false)
    );
    assert_eq!(model, "from-file");
    let (_, model) = home.endpoint(Flags::default(), &[("UWF_MODEL", "from-env")]);
    assert_eq!(model, "from-env");
    let typed = Flags { model: Some("typed".into()), max_turns: Some(3), ..Flags::default() };
    let settings = home.load(typed, &[("UWF_MODEL", "from-env")]).unwrap();
    assert_eq!((settings.model.as_str(), settings.limits.turns), ("typed", 3));
    assert_eq!(home.load(Flags::default(), &[]).unwrap().limits.turns, 7);
}

#[test]
fn config_models_are_aliases() {
    let home = Home::new(&[("config.yaml", CONFIG)]);
    let env = [("B_KEY", "of-b")];
    let (endpoint, model) = home.endpoint(Flags::default(), &env);
    assert_eq!((model.as_str(), key(&endpoint)), ("small-1", Some("of-b")));
    let wanted = |name: &str| Flags { model: Some(name.into()), ..Flags::default() };
    assert_eq!(home.endpoint(wanted("big"), &env).1, "big-1");
    assert_eq!(home.endpoint(wanted("other"), &env).1, "other");
    assert!(matches!(home.load(Flags::default(), &[]), Err(SettingsError::NoKey(name)) if name == "B_KEY"));
}

#[test]
fn a_key_never_goes_to_a_host_it_was_not_meant_for() {
    let home = Home::new(&[("agents/builtin.yaml", BUILTIN)]);
    let openai = [("OPENAI_API_KEY", "of-openai")];
    assert_eq!(key(&home.endpoint(flags("http://127.0.0.1:1/v1"), &openai).0), None);
    assert_eq!(key(&home.endpoint(flags("https://a.example/other"), &[]).0), Some("of-a"));
    assert_eq!(
        key(&home.endpoint(flags("http://a.example/v1"), &[]).0),
        None,
        "another scheme is another place"
    );
    assert_eq!(key(&home.endpoint(flags("https://api.openai.com/v1"), &openai).0), Some("of-openai"));
    assert_eq!(key(&home.endpoint(flags("https://api.openai.com.evil.example/v1"), &openai).0), None);
    assert_eq!(key(&home.endpoint(flags("http://127.0.0.1:1/v1"), &[("UWF_API_KEY", " k\n")]).0), Some("k"));
}

#[test]
fn bad_base_urls_are_named_without_their_secrets() {
    let home = Home::new(&[]);
    let error = |url: &str| home.load(flags(url), &[]).unwrap_err().to_string();
    assert!(!error("https://user:hunter2@a.example/v1").contains("hunter2"));
    assert!(error("ftp://a.example").contains("http://"));
    assert!(error("not a url").contains("is no URL"));
}

#[test]
fn a_broken_file_is_named_without_its_values() {
    let home = Home::new(&[("agents/builtin.yaml", "provider: sk-secret\n")]);
    let error = home.load(Flags::default(), &[]).unwrap_err().to_string();
    assert!(error.contains("builtin.yaml") && !error.contains("sk-secret"), "{error}");
    let home = Home::new(&[("agents/builtin.yaml", "a: b: c\n")]);
    assert!(home.load(Flags::default(), &[]).unwrap_err().to_string().contains("builtin.yaml:1:"));
    let home = Home::new(&[(
        "agents/builtin.yaml",
        "model: m\nprovider: { baseUrl: 'http://a/', stream: maybe }\n",
    )]);
    let error = home.load(Flags::default(), &[]).unwrap_err().to_string();
    assert!(error.contains("builtin.yaml:2:") && error.contains("provider.stream"), "{error}");
}

#[test]
fn no_description_holds_a_key() {
    let home = Home::new(&[("agents/builtin.yaml", BUILTIN)]);
    let settings = home.load(Flags::default(), &[]).unwrap();
    assert!(!settings.describe().to_string().contains("of-a"));
    assert!(!format!("{settings:?}").contains("of-a"));
    let more = "provider: { baseUrl: 'https://a.example/v1?api_key=in-query', apiKey: of-a-key, headers: { X-Auth: in-header, X-Title: title } }\nmodel: m\n";
    let settings = Home::new(&[("agents/builtin.yaml", more)]).load(Flags::default(), &[]).unwrap();
    assert_eq!(settings.secrets().values(), ["of-a-key", "in-header", "in-query"]);
    assert!(!settings.describe().to_string().contains("in-query"));
}

#[test]
fn patience_and_retries_are_settings_of_the_provider() {
    let file = |provider: &str| {
        Home::new(&[(
            "agents/builtin.yaml",
            &format!("provider: {{ baseUrl: https://a.example/v1{provider} }}\nmodel: m\n"),
        )])
    };
    let (endpoint, _) = file("").endpoint(Flags::default(), &[]);
    assert_eq!((endpoint.idle, endpoint.retry), (IDLE, RetryPolicy::default()));
    let (endpoint, _) =
        file(", idleSeconds: 7, retry: { tries: 2, seconds: 0 }").endpoint(Flags::default(), &[]);
    assert_eq!(endpoint.idle, Duration::from_secs(7));
    assert_eq!((endpoint.retry.tries, endpoint.retry.budget), (2, Duration::ZERO));
    for wrong in [", idleSeconds: 0", ", retry: { tries: 0 }", ", retry: { seconds: -1 }"] {
        assert!(file(wrong).load(Flags::default(), &[]).is_err(), "{wrong}");
    }
}

#[test]
fn prices_and_the_window_are_read_and_a_limit_in_money_needs_a_price() {
    let home = Home::new(&[(
        "agents/builtin.yaml",
        "model: m\nprovider: { baseUrl: http://h/v1 }\ncontextWindow: 32000\nprices: { m: { input: 1, output: 2.5, cachedInput: 0.1 } }\nbudget: { usd: 0.5 }\n",
    )]);
    let settings = home.load(Flags::default(), &[]).unwrap();
    assert_eq!(settings.window, WindowSize { size: 32_000, from: WindowSource::Set });
    assert_eq!(settings.prices.unwrap().cached_input, Some(0.1));
    assert_eq!(settings.limits.usd, Some(Usd::dollars(0.5)));
    let flags = Flags { model: Some("other".into()), max_cost: Some(2.0), ..Flags::default() };
    let error = home.load(flags, &[]).unwrap_err();
    assert_eq!(error.to_string(), "a limit of $2.00 is set, and there is no price for the model other");
    let wrong = Home::new(&[("agents/builtin.yaml", "prices: { m: { input: -1, output: cheap } }\n")]);
    let error = wrong.load(Flags::default(), &[]).unwrap_err().to_string();
    assert!(error.contains("prices.m.input") && error.contains("prices.m.output"), "{error}");
}

#[test]
fn the_extract_model_has_its_own_endpoint_and_key() {
    let config = format!("{CONFIG}modelOverrides: {{ extract: small }}\n");
    let home = Home::new(&[("agents/builtin.yaml", BUILTIN), ("config.yaml", &config)]);
    let of =
        |env: &[(&str, &str)]| home.load(Flags::default(), env).map(|settings| settings.extract.unwrap());
    let endpoint = of(&[("B_KEY", "of-b"), ("UWF_API_KEY", "of-this-run")]).unwrap();
    assert_eq!((endpoint.base_url.as_str(), endpoint.model.as_str()), ("https://b.example/v1", "small-1"));
    assert_eq!(key(&endpoint), Some("of-b"), "the run's own key is not for another host");
    assert!(matches!(of(&[]), Err(SettingsError::NoKey(_))));
    let settings = home.load(Flags::default(), &[("B_KEY", "of-b-long")]).unwrap();
    assert_eq!(settings.secrets().clean("of-b-long"), "***");
    let mock = Flags { mock: Some("s.yaml".into()), ..Flags::default() };
    assert!(home.load(mock, &[]).unwrap().extract.is_none(), "a scripted run asks nobody");
    let missing = format!("{CONFIG}modelOverrides: {{ extract: smal }}\n");
    let home = Home::new(&[("agents/builtin.yaml", BUILTIN), ("config.yaml", &missing)]);
    assert!(home.load(Flags::default(), &[]).unwrap_err().to_string().contains("no model smal"));
    let off = Home::new(&[("agents/builtin.yaml", BUILTIN), ("config.yaml", CONFIG)]);
    assert!(off.load(Flags::default(), &[]).unwrap().extract.is_none());
}

const EXTRACTS: &str = "models: { small: { provider: p, name: small-1 }, extract: { provider: p, name: reader }, default: { provider: p, name: usual } }\n";

#[test]
fn who_is_asked_for_fields_is_the_first_of_a_chain_and_off_unless_it_is_meant() {
    let config = |models: &str, rest: &str| {
        format!(
            "providers: {{ p: {{ baseUrl: https://b.example/v1, apiKey: of-b }} }}\n{models}defaultModel: small\n{rest}"
        )
    };
    let asked = |config: &str, builtin: &str| {
        let home = Home::new(&[("agents/builtin.yaml", builtin), ("config.yaml", config)]);
        home.load(Flags::default(), &[]).unwrap().extract.map(|endpoint| endpoint.model)
    };
    let named = config(EXTRACTS, "modelOverrides: { extract: small }\n");
    let alias = config(EXTRACTS, "");
    let default = config(&EXTRACTS.replace("extract:", "other:"), "");
    let last = config("models: { small: { provider: p, name: small-1 } }\n", "");
    for (config, on, off) in [
        (&named, Some("small-1"), Some("small-1")),
        (&alias, Some("reader"), Some("reader")),
        (&default, Some("usual"), None),
        (&last, Some("small-1"), None),
    ] {
        assert_eq!(asked(config, "extract: true\n").as_deref(), on, "{config}");
        assert_eq!(asked(config, "{}\n").as_deref(), off, "{config}");
        assert_eq!(asked(config, "extract: false\n"), None, "{config}");
    }
}

fn workflow() -> Workflow {
    serde_json::from_value(json!({
        "name": "w", "description": "", "graph": {},
        "roles": {"r": role(), "s": role()},
    }))
    .unwrap()
}

fn role() -> Value {
    let frontmatter = uwf_engine::builtin::TEXT;
    json!({"description": "", "goal": "", "capabilities": [], "procedure": "", "output": "", "frontmatter": frontmatter})
}

#[test]
fn a_role_may_have_a_model_of_its_own_and_what_is_typed_wins() {
    let roles =
        "roles: { w/r: { model: big, reasoningEffort: high, temperature: 1 }, w/s: { model: raw-name } }\n";
    let home = Home::new(&[("agents/builtin.yaml", &format!("{BUILTIN}{roles}")), ("config.yaml", CONFIG)]);
    let b_key = ("B_KEY", "of-b");
    let of = |flags: Flags, env: &[(&str, &str)], role: &str| {
        let settings = home.load(flags, env).unwrap().for_role(&workflow(), role).unwrap();
        let base_url = settings.provider.endpoint().unwrap().base_url.clone();
        (settings.model, base_url, settings.sampling.reasoning_effort)
    };
    let plain = |model: &str, url: &str, effort: Option<&str>| {
        (model.to_owned(), url.to_owned(), effort.map(str::to_owned))
    };
    assert_eq!(of(Flags::default(), &[b_key], "r"), plain("big-1", "https://b.example/v1", Some("high")));
    assert_eq!(of(Flags::default(), &[b_key], "s"), plain("raw-name", "https://a.example/v1", None));
    let typed = Flags { model: Some("typed".into()), ..Flags::default() };
    assert_eq!(of(typed, &[b_key], "r"), plain("typed", "https://a.example/v1", Some("high")));
    let env = [b_key, ("UWF_MODEL", "of-env")];
    assert_eq!(of(Flags::default(), &env, "r").0, "of-env");
    let key_of = |env: &[(&str, &str)], role: &str| {
        let settings = home.load(Flags::default(), env).unwrap().for_role(&workflow(), role).unwrap();
        key(settings.provider.endpoint().unwrap()).map(str::to_owned)
    };
    let env = [b_key, ("UWF_API_KEY", "of-this-run")];
    assert_eq!(key_of(&env, "r").as_deref(), Some("of-b"), "the run's own key is not for another host");
    assert_eq!(key_of(&env, "s").as_deref(), Some("of-this-run"));
    let env = [b_key, ("UWF_BASE_URL", "https://c.example/v1")];
    assert_eq!(of(Flags::default(), &env, "r").1, "https://c.example/v1", "it is said where to go");
    let missing = home.load(Flags::default(), &[]).unwrap().for_role(&workflow(), "r");
    assert!(matches!(missing, Err(SettingsError::NoKey(_))), "only the role that needs it wants the key");
}

#[test]
fn what_an_endpoint_needs_beside_ours_is_set_per_provider_and_model() {
    let builtin = "provider: { baseUrl: https://a.example/v1, wire: responses, dialect: deepseek, requestBody: { a: 1, b: 1 } }\n\
                   model: m\nmodels: { m: { requestBody: { b: 2 }, contextWindow: 9000 } }\ncontextWindow: 5000\n";
    let settings = Home::new(&[("agents/builtin.yaml", builtin)]).load(Flags::default(), &[]).unwrap();
    let endpoint = settings.provider.endpoint().unwrap();
    assert_eq!(json!(endpoint.request_body), json!({"a": 1, "b": 2}));
    assert_eq!(settings.window, WindowSize { size: 9000, from: WindowSource::Set });
    let dialect = endpoint.dialect();
    assert_eq!((dialect.name, dialect.wire.as_str()), ("deepseek", "responses"));
    let config = "providers: { p: { baseUrl: https://b.example/v1, wire: messages, dialect: klingon, headers: { x-a: b }, requestBody: { c: 3 } } }\n\
                  models: { big: { provider: p, name: big-1, contextWindow: 7000, requestBody: { d: 4 } } }\ndefaultModel: big\n";
    let secret = builtin.replace("a: 1", "metadata: { api_key: hush-hush }");
    let kept = Home::new(&[("agents/builtin.yaml", &secret)]).load(Flags::default(), &[]).unwrap();
    assert!(
        !kept.describe().to_string().contains("hush") && !format!("{kept:?}").contains("hush"),
        "{kept:?}"
    );
    let error = Home::new(&[("config.yaml", config)]).load(Flags::default(), &[]).unwrap_err().to_string();
    assert!(error.starts_with("config.yaml: there is no dialect klingon; there are openai,"), "{error}");
    let home = Home::new(&[("config.yaml", &config.replace("klingon", "openrouter"))]);
    let settings = home.load(Flags::default(), &[]).unwrap();
    let endpoint = settings.provider.endpoint().unwrap();
    assert_eq!(json!(endpoint.request_body), json!({"c": 3, "d": 4}));
    assert_eq!((settings.window.size, endpoint.headers["x-a"].as_str()), (7000, "b"));
    assert_eq!(endpoint.dialect().wire.as_str(), "messages");
    let bad = builtin.replace("dialect: deepseek", "dialect: { echo: loudly }");
    let error =
        Home::new(&[("agents/builtin.yaml", &bad)]).load(Flags::default(), &[]).unwrap_err().to_string();
    assert!(error.contains("provider.dialect.echo"), "{error}");
}

#[test]
fn the_catalogue_knows_windows_and_prices_and_settings_win() {
    let at = |extra: &str| {
        let builtin = format!(
            "provider: {{ baseUrl: https://api.anthropic.com/v1, apiKey: k }}\nmodel: claude-opus-5-5\n{extra}"
        );
        Home::new(&[("agents/builtin.yaml", &builtin)])
            .load(Flags { max_cost: Some(1.0), ..Flags::default() }, &[])
    };
    let known = at("").unwrap();
    assert_eq!(known.window.from, WindowSource::Catalogue);
    assert!(known.prices.is_some_and(|prices| prices.cache_write > Some(prices.input)));
    let set = at(
        "prices: { claude-opus-5-5: { input: 1, output: 2, cacheWrite: 3, tiers: [{above: 10, input: 2, output: 4}] } }\n",
    );
    assert_eq!(set.unwrap().prices.unwrap().tiers.len(), 1);
    let elsewhere =
        |url: &str| Home::new(&[]).load(Flags { max_cost: Some(1.0), ..flags(url) }, &[]).map(|_| ());
    assert!(matches!(elsewhere("https://gateway.example/v1"), Err(SettingsError::NoPrice { .. })));
    assert!(elsewhere("https://openrouter.ai/api/v1").is_ok(), "it tells what each turn cost");
}

#[test]
fn the_sandbox_is_the_flags_then_the_variables_then_the_files() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("agents")).unwrap();
    std::fs::write(home.path().join("agents/builtin.yaml"), "sandbox: { level: best-effort }\n").unwrap();
    let load = |flag: Option<Level>, variable: &str| {
        let env: Env = [("UWF_BUILTIN_SANDBOX", variable)].into_iter().collect();
        let flags = Flags { mock: Some("/s.yaml".into()), sandbox: flag, ..Flags::default() };
        Settings::load(flags, &env, home.path()).map(|settings| settings.sandbox.level)
    };
    assert_eq!(load(None, "").unwrap(), Level::BestEffort);
    assert_eq!(load(None, "strict").unwrap(), Level::Strict);
    assert_eq!(load(None, "off").unwrap(), Level::Off);
    assert_eq!(load(Some(Level::Strict), "off").unwrap(), Level::Strict);
    assert_eq!(load(Some(Level::Strict), "nonsense").unwrap(), Level::Strict);
    let error = load(None, "Off").unwrap_err().to_string();
    assert!(
        error.starts_with("UWF_BUILTIN_SANDBOX: there is no sandbox \"Off\"; there are strict"),
        "{error}"
    );
}

/// What is written, and what is said of it.
const SLIPS: &[(&str, &str)] = &[
    (
        "budget: { usdd: 1 }\n",
        "builtin.yaml:1:11: `budget.usdd`: there is no such setting (did you mean `usd`?); there are seconds, tokens, turns, usd",
    ),
    (
        "model: m\nbudgett: { usd: 1 }\n",
        "builtin.yaml:2:1: `budgett`: there is no such setting (did you mean `budget`?); there are ",
    ),
    (
        "provider: { baseUrl: 'http://h', apikey: k }\n",
        "`provider.apikey`: there is no such setting (did you mean `apiKey`?); there are ",
    ),
    (
        "provider: { baseUrl: 'http://h', retry: { trys: 2 } }\n",
        "`provider.retry.trys`: there is no such setting; there are seconds, tries",
    ),
    (
        "provider: { baseUrl: 'http://h', dialect: { cach: none } }\n",
        "`provider.dialect.cach`: there is no such setting (did you mean `cache`?); there are ",
    ),
    (
        "prices: { m: { input: 1, output: 1, tiers: [{ above: 1, input: 1, outputt: 1 }] } }\n",
        "`prices.m.tiers.0.outputt`: there is no such setting (did you mean `output`?); there are ",
    ),
    (
        "models: { m: { window: 9000 } }\n",
        "`models.m.window`: there is no such setting; there are contextWindow, requestBody",
    ),
    (
        "sandbox: { limits: { procs: 3 } }\n",
        "`sandbox.limits.procs`: there is no such setting; there are diskBytes, ",
    ),
    (
        "roles: { w/r: { readonly: true } }\n",
        "builtin.yaml:1:17: `roles.w/r.readonly`: there is no such setting (did you mean `readOnly`?); there are ",
    ),
    (
        "roles: { w/r: { tools: [grepp] } }\n",
        "`roles.w/r.tools.0`: expected one of read_file, write_file, edit_file, list_dir, grep, glob, run_command, tool_output, fetch_url, got \"grepp\" (did you mean grep?)",
    ),
    ("roles: { w/r: { temperature: 3 } }\n", "`roles.w/r.temperature`: expected at most 2, got a number"),
    ("roles: { w/r: { writable: x } }\n", "`roles.w/r.writable`: expected array, got a string"),
    (
        "sandbox: { level: strikt }\n",
        "builtin.yaml:1:19: `sandbox.level`: expected one of strict, best-effort, got \"strikt\" (did you mean strict?); off is an option",
    ),
    (
        "sandbox: { level: off }\n",
        "`sandbox.level`: expected one of strict, best-effort, got another word; off is an option of a single run, --sandbox off",
    ),
    (
        "provider: { baseUrl: 'http://h', wire: sk-a-key }\n",
        "`provider.wire`: expected one of auto, chat, responses, messages, got another word",
    ),
    (
        "provider: { baseUrl: 'http://h', dialect: opena }\n",
        ", generic, got \"opena\" (did you mean openai?)",
    ),
    ("provider: { baseUrl: '' }\n", "`provider.baseUrl`: expected a text, got an empty string"),
    ("budget: { turns: -1 }\n", "`budget.turns`: expected at least 0, got a number"),
];

#[test]
fn a_key_that_nobody_reads_is_an_error_that_names_what_was_meant() {
    let error = |text: &str| {
        let home = Home::new(&[("agents/builtin.yaml", text)]);
        let flags = Flags { mock: Some("/s.yaml".into()), ..Flags::default() };
        let error = home.load(flags, &[]).unwrap_err().to_string();
        error.replace(&format!("{}/agents/", home.0.path().display()), "")
    };
    for (text, expected) in SLIPS {
        let error = error(text);
        assert!(error.contains(expected), "{text}{error}");
        assert!(!error.contains("sk-a-key"), "{error}");
    }
    // Every problem has a line of its own.
    let both = error("budget: { usdd: 1, turn: 2 }\nroles: { w/r: { x: 1 } }\n");
    assert_eq!(both.lines().count(), 3, "{both}");
}

/// What the book shows is what the shape takes: all of its keys, and none is missing there.
#[test]
fn the_settings_of_the_book_are_taken() {
    let page = concat!(include_str!("../../docs/models.md"), include_str!("../../docs/sandbox.md"));
    let blocks = page.split("```yaml\n# ~/.uwf/agents/builtin.yaml\n").skip(1);
    let mut count = 0;
    for block in blocks {
        let text = block.split("```").next().unwrap();
        let home = Home::new(&[("agents/builtin.yaml", text)]);
        let env = [("OPENAI_API_KEY", "k"), ("HOME", "/home/u")];
        home.load(Flags::default(), &env)
            .map(drop)
            .or_else(|error| match error {
                SettingsError::NoModel => Ok(()),
                error => Err(error),
            })
            .unwrap();
        count += 1;
    }
    assert_eq!(count, 2);
}

/// It is in every record, and content decides what a node is called.
#[test]
fn the_settings_on_record_are_written_as_they_always_were() {
    let file = "provider: { baseUrl: 'https://a.example/v1?x=1', apiKey: k, requestBody: { top_k: 5 } }
model: m
prices: { m: { input: 1.5, output: 2 } }
budget: { turns: 7, tokens: 100, seconds: 60, usd: 0.5 }
";
    let home = Home::new(&[("agents/builtin.yaml", file)]);
    let half = Flags {
        timeout: Some(Duration::from_millis(1500)),
        tools: Some(vec!["grep".into()]),
        sampling: Sampling { temperature: Some(0.5), ..Sampling::default() },
        ..Flags::default()
    };
    let scripted = Flags { mock: Some("/s.yaml".into()), ..Flags::default() };
    let lines = [Flags::default(), half, scripted]
        .map(|flags| format!("{}\n", home.load(flags, &[]).unwrap().describe()));
    insta::assert_snapshot!("on_record", lines.concat());
}
