use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::*;

/// A home with that configuration.
fn home(text: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(path(home.path()), text).unwrap();
    home
}

fn problem(text: &str) -> String {
    let home = home(text);
    load(home.path()).unwrap_err().to_string().replace(&format!("{}/", home.path().display()), "")
}

const FULL: &str = "\
agents:
  mine: { command: ./bin/mine, args: [--fast] }
  other: { command: other }
defaultAgent: other   # who plays
agentOverrides: { flow: { fixer: mine, tester: ghost } }
providers: { local: { baseUrl: 'http://127.0.0.1:1', apiKey: sk-secret, region: eu } }
models: { small: { provider: local, name: s-1 } }
defaultModel: small
modelOverrides: null
theirs: [1, 2]
";

#[test]
fn every_documented_key_is_read_and_unknown_ones_are_left() {
    let home = home(FULL);
    let config = load(home.path()).unwrap();
    assert_eq!(config.providers["local"].api_key.as_deref(), Some("sk-secret"));
    assert_eq!(
        (config.models["small"].provider.as_str(), config.models["small"].name.as_str()),
        ("local", "s-1")
    );
    assert_eq!((config.default_model.as_deref(), config.model_overrides.len()), (Some("small"), 0));
    assert!(!format!("{config:?}").contains("sk-secret"));
}

#[test]
fn how_an_endpoint_and_a_model_are_asked_is_read_and_headers_are_not_shown() {
    let home = home(
        "providers:\n  p:\n    baseUrl: http://h\n    wire: messages\n    dialect: mine\n    headers: { X-Team: sk-team }\n\
         \x20   requestBody: { provider: { order: [a, b] }, api_key: sk-body, gone: null }\n\
         models: { m: { provider: p, name: n, requestBody: { seed: 7 }, contextWindow: 32000 } }\n",
    );
    let config = load(home.path()).unwrap();
    let provider = &config.providers["p"];
    assert_eq!((provider.wire.as_deref(), provider.dialect.as_deref()), (Some("messages"), Some("mine")));
    assert_eq!(provider.headers["X-Team"], "sk-team");
    assert_eq!(provider.request_body["provider"], json!({"order": ["a", "b"]}));
    assert!(!provider.request_body.contains_key("gone"), "null is absent throughout");
    let model = &config.models["m"];
    assert_eq!((model.request_body["seed"].as_u64(), model.context_window), (Some(7), Some(32_000)));
    let shown = format!("{config:?}");
    assert!(!shown.contains("sk-") && shown.contains("X-Team"), "{shown}");
}

#[test]
fn what_an_endpoint_or_a_model_cannot_be_is_told_with_its_place() {
    insta::assert_snapshot!(problem(
        "providers:\n  p:\n    baseUrl: http://h\n    wire: soap\n    headers: { X-Team: [sk-team] }\n    requestBody: text\n\
         models:\n  m: { provider: p, name: n, contextWindow: 999 }\n",
    ));
}

#[test]
fn no_file_and_an_empty_one_are_the_same() {
    let none = tempfile::tempdir().unwrap();
    assert!(load(none.path()).unwrap().agents.is_empty());
    assert!(load(home("# nothing yet\n").path()).unwrap().default_agent.is_none());
}

#[test]
fn overrides_win_over_the_default_and_paths_count_from_the_home() {
    let home = home(FULL);
    let config = load(home.path()).unwrap();
    let mine = config.agent_for("flow", "fixer").unwrap().unwrap();
    assert_eq!(mine.program, home.path().join("./bin/mine").to_str().unwrap());
    assert_eq!(mine.args, ["--fast"]);
    assert_eq!(config.agent_for("flow", "writer").unwrap().unwrap().program, "other");
    assert!(Config::default().agent_for("flow", "fixer").unwrap().is_none());
}

#[test]
fn an_alias_that_is_not_defined_names_the_setting() {
    let config = load(home(FULL).path()).unwrap();
    let error = config.agent_for("flow", "tester").unwrap_err();
    assert_eq!(error.to_string(), "no such agent: `ghost` (agentOverrides.flow.tester names it)");
    let hint = error.hint().unwrap();
    assert!(hint.starts_with("agents known: goose, "), "{hint}");
    assert!(
        ["mine", "other", "uwf-builtin"].iter().all(|name| hint.contains(&format!(", {name}"))),
        "{hint}"
    );
    let config = load(home("defaultAgent: uwf-builtin\n").path()).unwrap();
    assert!(config.agent_for("flow", "tester").unwrap().is_none());
}

#[test]
fn an_agent_is_named_by_alias_or_command_line() {
    let config = load(home(FULL).path()).unwrap();
    let cwd = Path::new("/here");
    assert_eq!(config.named_agent("mine", cwd).unwrap().args, ["--fast"]);
    let typed = config.named_agent("./agent 'two words' -x", cwd).unwrap();
    assert_eq!(
        (typed.program.as_str(), typed.args.as_slice()),
        ("/here/./agent", &["two words".into(), "-x".into()][..])
    );
    assert_eq!(config.named_agent("from-path", cwd).unwrap().program, "from-path");
    for bad in ["", "'open"] {
        assert!(matches!(config.named_agent(bad, cwd), Err(ConfigError::BadCommand { .. })));
    }
}

#[test]
fn an_agent_may_ask_for_the_older_form() {
    let text =
        "agents:\n  old: { command: old, protocol: positional }\n  new: { command: new, protocol: flags }\n";
    let home = home(text);
    let config = load(home.path()).unwrap();
    let forms = ["old", "new"].map(|alias| config.named_agent(alias, Path::new("/")).unwrap().form);
    assert_eq!(forms, [CallForm::Positional, CallForm::Flags]);
    let whole = value(home.path()).unwrap();
    assert_eq!(masked(&whole, ""), whole, "it is no secret");
    set(home.path(), "agents.new.protocol", "positional").unwrap();
    assert_eq!(load(home.path()).unwrap().agents["new"].form, CallForm::Positional);
    let told: String = ["other", "positionl", "5", "[flags]"]
        .map(|word| problem(&format!("agents: {{ a: {{ command: a, protocol: {word} }} }}\n")) + "\n")
        .concat();
    insta::assert_snapshot!(told);
}

#[test]
fn mistakes_are_shown_with_their_place_and_without_values() {
    let text = problem("agents:\n  a: { command: 5 }\nproviders: { p: { apiKey: [sk-secret] } }\n");
    insta::assert_snapshot!(text);
    assert!(!text.contains("sk-secret"));
    insta::assert_snapshot!(problem("a: [\n"));
    insta::assert_snapshot!(problem("just words\n"));
}

#[test]
fn every_name_that_stands_for_nothing_is_told() {
    let home = home(
        "defaultAgent: minee\nagents: { mine: { command: m } }\nagentOverrides: { flow: { a: mine, b: uwf-builtin, c: other } }\n\
         models: { small: { provider: nowhere, name: s } }\ndefaultModel: big\nmodelOverrides: { extract: small, agent: huge }\n",
    );
    assert_eq!(
        load(home.path()).unwrap().unknown_names(),
        [
            "no such agent: `minee` (defaultAgent names it)",
            "no such agent: `other` (agentOverrides.flow.c names it)",
            "no such model: `big` (defaultModel names it)",
            "no such model: `huge` (modelOverrides.agent names it)",
            "no such provider: `nowhere` (models.small.provider names it)",
        ]
    );
}

#[test]
fn keys_that_nothing_reads_are_told_with_what_was_meant() {
    let text = FULL.replace("region: eu", "apikey: x, requestBody: { any: { thing: 1 } }");
    assert_eq!(
        unread(home(&text.replace("defaultModel:", "defaulModel:")).path()).unwrap(),
        [
            "nothing here reads `defaulModel` (did you mean `defaultModel`?); there are agentOverrides, agents, \
             defaultAgent, defaultModel, maxDepth, modelOverrides, models, providers",
            "nothing here reads `providers.local.apikey` (did you mean `apiKey`?); there are apiKey, apiKeyEnv, \
             baseUrl, dialect, headers, requestBody, wire",
            "nothing here reads `theirs`; there are agentOverrides, agents, defaultAgent, defaultModel, \
             maxDepth, modelOverrides, models, providers",
        ]
    );
    assert!(unread(home("agentOverrides: { any: { role: uwf-builtin } }\n").path()).unwrap().is_empty());
}

#[test]
fn set_keeps_comments_and_layout_where_it_can() {
    let home = home(FULL);
    let edited = set(home.path(), "defaultAgent", "mine").unwrap();
    assert_eq!(edited, Edited { value: json!("mine"), comments_lost: false, unread: None });
    set(home.path(), "defaultLevel", "3").unwrap();
    let text = fs::read_to_string(path(home.path())).unwrap();
    assert_eq!(text, FULL.replace("other   # who plays", "mine   # who plays") + "defaultLevel: 3\n");
}

#[test]
fn keys_come_and_go_without_touching_the_rest() {
    let home = home(FULL);
    let edited = set(home.path(), "agents.third.command", "third").unwrap();
    assert!(!edited.comments_lost);
    let text = fs::read_to_string(path(home.path())).unwrap();
    assert_eq!(text, FULL.replace("agents:\n", "agents:\n  third:\n    command: third\n"));
    let names = |key: &str| key.split('.').map(str::to_owned).collect::<Vec<_>>();
    let changes = [
        (names("agents.third.args"), Some(json!(["-x"]))),
        (names("defaultAgent"), None),
        (names("nothing.there"), None),
        (names("new.a.b"), Some(json!(1))),
    ];
    assert!(!apply(home.path(), &changes).unwrap());
    let text = fs::read_to_string(path(home.path())).unwrap();
    let expected =
        FULL.replace("agents:\n", "agents:\n  third:\n    args:\n      - \"-x\"\n    command: third\n");
    let expected = expected.replace("defaultAgent: other   # who plays\n", "") + "new:\n  a:\n    b: 1\n";
    assert_eq!(text, expected);
    let invalid = [(names("models.m.name"), Some(json!("m"))), (names("models.m.provider"), None)];
    assert!(matches!(apply(home.path(), &invalid), Err(ConfigError::Unfit { .. })));
    assert_eq!(fs::read_to_string(path(home.path())).unwrap(), expected);
}

#[test]
fn what_is_set_is_taken_away_and_nothing_else() {
    let text = "# mine\nagents:\n  a:\n    command: x  # it\n\n    args: [-v]\n  # the other\n  b:\n    command: y\n\
                agentOverrides:\n  flow:\n    r: a   # for now\ndefaultModel: m\nmodels: { m: { provider: p, name: n } }\n";
    let after = |keys: &[&str]| {
        let home = home(text);
        let lost: Vec<bool> = keys.iter().map(|key| unset(home.path(), key).unwrap()).collect();
        (fs::read_to_string(path(home.path())).unwrap(), lost.contains(&true))
    };
    // The mappings that would be empty go, too.
    let flow = "agentOverrides:\n  flow:\n    r: a   # for now\n";
    assert_eq!(after(&["agentOverrides.flow.r"]), (text.replace(flow, ""), false));
    let (a, b) = ("  a:\n    command: x  # it\n\n    args: [-v]\n", "  b:\n    command: y\n");
    assert_eq!(after(&["agents.a"]), (text.replace(a, ""), false));
    assert_eq!(
        after(&["agents.b", "defaultModel"]),
        (text.replace(b, "").replace("defaultModel: m\n", ""), false)
    );
    let home = home(text);
    assert!(matches!(unset(home.path(), "models.m.name"), Err(ConfigError::Unfit { .. })));
    assert!(matches!(unset(home.path(), "agents.a.args.0"), Err(ConfigError::NoMapping { .. })));
    assert_eq!(fs::read_to_string(path(home.path())).unwrap(), text);
}

#[test]
fn set_writes_anew_where_it_must() {
    let home = home(FULL);
    let edited = set(home.path(), "models.big", "{ provider: local, name: b }").unwrap();
    assert!(edited.comments_lost, "a mapping on one line is not taken apart");
    assert_eq!(load(home.path()).unwrap().models.len(), 2);
    assert_eq!(value(home.path()).unwrap()["theirs"], json!([1, 2]));
    let again = set(home.path(), "agents.mine.args", "[a, '-b']").unwrap();
    assert_eq!(again, Edited { value: json!(["a", "-b"]), comments_lost: false, unread: None });
}

#[test]
fn set_understands_a_text_where_only_a_text_is_valid() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(
        set(home.path(), "providers.p", "{baseUrl: 'http://h'}").unwrap().value,
        json!({"baseUrl": "http://h"})
    );
    assert_eq!(set(home.path(), "providers.p.apiKey", "12345").unwrap().value, json!("12345"));
    let mode = fs::metadata(path(home.path())).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn nothing_is_set_below_a_list_or_a_single_value() {
    let home = home("theirs: [1, 2]\nname: x\n");
    for key in ["theirs.0", "name.first"] {
        let error = set(home.path(), key, "x").unwrap_err();
        assert!(error.to_string().contains("nothing can be set below it"), "{error}");
    }
    assert_eq!(fs::read_to_string(path(home.path())).unwrap(), "theirs: [1, 2]\nname: x\n");
    set(home.path(), "theirs", "[3]").unwrap();
}

#[test]
fn a_bad_value_changes_nothing() {
    let home = home(FULL);
    assert!(matches!(set(home.path(), "agents.mine", "[]"), Err(ConfigError::Unfit { .. })));
    assert!(matches!(set(home.path(), "agents..x", "1"), Err(ConfigError::BadKey { .. })));
    assert!(matches!(set(home.path(), "models.new.name", "x"), Err(ConfigError::Unfit { .. })));
    assert_eq!(fs::read_to_string(path(home.path())).unwrap(), FULL);
}

#[test]
fn a_linked_file_stays_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("dotfiles.yaml");
    fs::write(&target, "defaultModel: a\n").unwrap();
    std::os::unix::fs::symlink(&target, path(dir.path())).unwrap();
    set(dir.path(), "defaultModel", "b").unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "defaultModel: b\n");
    assert!(fs::symlink_metadata(path(dir.path())).unwrap().is_symlink());
}

/// Five thousand names took minutes, and the stack; a value that was read deep could not be read again.
#[test]
fn keys_and_values_without_end_are_refused() {
    let home = tempfile::tempdir().unwrap();
    set(home.path(), "theirs.a", "1").unwrap();
    let before = std::fs::read(path(home.path())).unwrap();
    let error = set(home.path(), &vec!["a"; 5_000].join("."), "1").unwrap_err().to_string();
    assert!(error.ends_with("…` is not a key: it has 5000 names, and at most 32 lead to a value"), "{error}");
    for depth in [64, 100, 127, 128, 100_000] {
        let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let error = set(home.path(), "theirs.b.c.d", &value);
        // What is no value at all any more is a text.
        assert!(depth > 128 || matches!(error, Err(ConfigError::Deep { .. })), "{depth}: {error:?}");
    }
    set(home.path(), "theirs.b", "x").unwrap();
    std::fs::write(path(home.path()), &before).unwrap();
    let deepest = format!("{}{}", "[".repeat(30), "]".repeat(30));
    set(home.path(), &vec!["a"; 32].join("."), &deepest).unwrap();
    set(home.path(), "theirs.a", "2").unwrap();
}

#[test]
fn what_is_secret_among_arguments_is_told_by_its_name() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let of = |line: &str| secret_arguments(&words(line)).join(" ");
    assert_eq!(of("-y server --port 80 --api-key hush --verbose"), "hush");
    assert_eq!(of("--token=hush --header Authorization:Bearer --name=x"), "hush Bearer");
    assert_eq!(of("https://me:hush@host/a https://host/?a=1&access_token=hush&b=2#c"), "hush hush");
    assert_eq!(of("--max-tokens 100 https://host/?page=2 /some/key-board --secret --other"), "");
}
