//! `uwf setup` without a terminal, and `uwf doctor`; the questions are asked end to end.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::command_line::CommandLine;
use uwf_engine::config;
use uwf_engine::fixture::Place;

#[test]
fn a_provider_and_a_model_are_all_it_needs() {
    let place = Place::new();
    let ran = place.uwf(&["setup", "--provider", "openai", "--model", "gpt-6.1-terra"]);
    assert_eq!((ran.exit, &ran.json()["apiKey"]), (0, &json!("$OPENAI_API_KEY")));
    assert!(ran.err.contains("warning: $OPENAI_API_KEY is not set now"), "{}", ran.err);
    let expected = json!({
        "providers": {"openai": {"baseUrl": "https://api.openai.com/v1", "apiKeyEnv": "OPENAI_API_KEY"}},
        "models": {"gpt-6.1-terra": {"provider": "openai", "name": "gpt-6.1-terra"}},
        "defaultModel": "gpt-6.1-terra",
    });
    assert_eq!(config::value(&place.homes().uwf).unwrap(), expected);
    let mode = fs::metadata(config::path(&place.homes().uwf)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(place.uwf(&["setup", "--provider", "ollama", "--model", "qwen3"]).json()["apiKey"], "none");
}

#[test]
fn every_preset_can_be_written() {
    let place = Place::new();
    let help = place.uwf(&["setup", "--help"]).out;
    for (provider, url) in [
        ("openai", "https://api.openai.com/v1"),
        ("anthropic", "https://api.anthropic.com/v1"),
        ("google", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("openrouter", "https://openrouter.ai/api/v1"),
        ("deepseek", "https://api.deepseek.com/v1"),
        ("moonshot", "https://api.moonshot.ai/v1"),
        ("zai", "https://api.z.ai/api/paas/v4"),
        ("minimax", "https://api.minimax.io/anthropic"),
        ("qwen", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
        ("xai", "https://api.x.ai/v1"),
        ("mistral", "https://api.mistral.ai/v1"),
        ("groq", "https://api.groq.com/openai/v1"),
        ("ollama", "http://127.0.0.1:11434/v1"),
        ("vllm", "http://127.0.0.1:8000/v1"),
        ("lmstudio", "http://127.0.0.1:1234/v1"),
        ("llama.cpp", "http://127.0.0.1:8080/v1"),
    ] {
        let place = Place::new();
        let ran = place.uwf(&["setup", "--provider", provider, "--model", "m"]);
        assert_eq!((ran.exit, &ran.json()["baseUrl"]), (0, &json!(url)), "{ran:?}");
        assert_eq!(config::load(&place.homes().uwf).unwrap().models["m"].provider, provider);
        assert!(help.contains(&format!("{provider},")), "{provider} is not in {help}");
    }
}

#[test]
fn what_is_deployed_on_azure_has_a_url_and_names_of_its_own() {
    let place = Place::new();
    let ran = place.uwf(&["setup", "--provider", "azure", "--model", "mine"]);
    assert_eq!((ran.exit, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("--base-url https://RESOURCE.openai.azure.com/openai/v1"), "{}", ran.err);
    let url = "https://mine.openai.azure.com/openai/v1";
    let ran = place.uwf(&["setup", "--provider", "azure", "--model", "mine", "--base-url", url]);
    assert_eq!((ran.exit, &ran.json()["apiKey"]), (0, &json!("$AZURE_OPENAI_API_KEY")), "{ran:?}");
    assert!(!ran.err.contains("catalogue"), "{}", ran.err);
    assert_eq!(place.uwf(&["setup", "--provider", "azure", "--model", "m2"]).json()["baseUrl"], url);
}

#[test]
fn a_model_that_the_catalogue_does_not_know_there_is_told_and_taken() {
    let place = Place::new();
    let told = |args: &[&str]| {
        let ran = place.uwf(&[&["setup"], args].concat());
        assert_eq!(ran.exit, 0, "{ran:?}");
        ran.err
    };
    let err = told(&["--provider", "openai", "--model", "gpt-6.1-tera"]);
    assert!(err.contains("has no model gpt-6.1-tera of openai; the nearest are gpt-6.1-terra, "), "{err}");
    let err = told(&["--provider", "minimax", "--model", "MiniMax-M2.7"]);
    assert!(err.contains("MiniMax-M2.7 is deprecated"), "{err}");
    let gateway = ["--provider", "openai", "--model", "m", "--base-url", "https://gateway.example/v1"];
    for quiet in [
        &["--provider", "openai", "--model", "gpt-6.1-terra"][..],
        &["--provider", "vllm", "--model", "m"],
        &gateway,
    ] {
        let err = told(quiet);
        assert!(!err.contains("catalogue"), "{err}");
    }
}

#[test]
fn the_rest_of_the_file_and_its_comments_stay() {
    let place = Place::new();
    fs::create_dir_all(place.homes().uwf).unwrap();
    let old = "# mine\ndefaultAgent: a   # who\nagents: { a: { command: x } }\nproviders:\n  # at work\n  work:\n    baseUrl: http://w/v1\n    apiKey: sk-w\nmodels:\n    m: { provider: work, name: big }\n";
    fs::write(config::path(&place.homes().uwf), old).unwrap();
    let ran = place.run(
        &["setup", "--provider", "anthropic", "--model", "m", "--api-key-file", "-"],
        "sk-new\n",
        false,
    );
    assert_eq!((ran.exit, &ran.json()["defaultModel"]), (0, &json!("anthropic-m")), "{ran:?}");
    assert!(!ran.err.contains("anew") && !format!("{ran:?}").contains("sk-new"), "{ran:?}");
    let text = fs::read_to_string(config::path(&place.homes().uwf)).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn a_key_stays_where_it_was_while_it_goes_where_it_went() {
    let place = Place::new();
    let setup = |args: &[&str], stdin| {
        let ran =
            place.run(&[&["setup", "--provider", "anthropic", "--model", "m"], args].concat(), stdin, false);
        ran.json()["apiKey"].as_str().unwrap().to_owned()
    };
    assert_eq!(setup(&["--api-key-file", "-"], "sk-1"), "in the file, readable for you only");
    assert_eq!(setup(&[], ""), "as it was");
    let key = ["config", "get", "providers.anthropic.apiKey", "--show-secrets"];
    assert_eq!(place.uwf(&key).json()["value"], "sk-1");
    assert_eq!(setup(&["--base-url", "https://elsewhere.example/v1"], ""), "$ANTHROPIC_API_KEY");
    assert!(!fs::read_to_string(config::path(&place.homes().uwf)).unwrap().contains("sk-1"));
}

#[test]
fn a_provider_of_the_file_keeps_its_url_and_its_key() {
    let place = Place::new();
    fs::create_dir_all(place.homes().uwf).unwrap();
    let old = "providers:\n  mine:\n    baseUrl: http://h/v1/\n    apiKey: sk-m\n  openai:\n    baseUrl: http://proxy/v1\n";
    fs::write(config::path(&place.homes().uwf), old).unwrap();
    for url in [&[][..], &["--base-url", "http://h/v1"], &["--base-url", "http://h/v1/"]] {
        let ran = place.uwf(&[&["setup", "--provider", "mine", "--model", "m"], url].concat());
        assert_eq!((ran.exit, &ran.json()["apiKey"]), (0, &json!("as it was")), "{ran:?}");
        assert_eq!(ran.json()["baseUrl"], "http://h/v1");
    }
    let ran = place.uwf(&["setup", "--provider", "openai", "--model", "m"]);
    assert_eq!(ran.json()["baseUrl"], "http://proxy/v1");
    let ran = place.uwf(&["setup", "--provider", "mine", "--model", "m", "--base-url", "http://other/v1"]);
    assert!(ran.err.contains("warning: the key stored for mine is no longer"), "{}", ran.err);
}

#[test]
fn an_alias_of_the_file_keeps_its_meaning() {
    let place = Place::new();
    let models = "models: { m: { provider: vllm, name: big } }\n";
    fs::create_dir_all(place.homes().uwf).unwrap();
    fs::write(config::path(&place.homes().uwf), models).unwrap();
    for _ in 0..2 {
        let ran = place.uwf(&["setup", "--provider", "vllm", "--model", "m"]);
        assert_eq!(ran.json()["defaultModel"], "vllm-m");
    }
    let models = config::load(&place.homes().uwf).unwrap().models;
    assert_eq!((models["m"].name.as_str(), models["vllm-m"].name.as_str()), ("big", "m"));
}

#[test]
fn what_wins_over_the_file_is_told() {
    let place = Place::new();
    fs::create_dir_all(place.homes().uwf.join("agents")).unwrap();
    fs::write(place.homes().uwf.join("agents/builtin.yaml"), "model: other\n").unwrap();
    fs::write(config::path(&place.homes().uwf), "modelOverrides: { agent: big }\n").unwrap();
    let ran = place.uwf(&["setup", "--provider", "vllm", "--model", "m"]);
    assert!(ran.err.contains("builtin.yaml says `model`, which wins over config.yaml"), "{}", ran.err);
    assert!(ran.err.contains("modelOverrides.agent is big, which wins"), "{}", ran.err);
}

#[test]
fn bad_input_is_told_and_changes_nothing() {
    let place = Place::new();
    let bad = [
        (&["--model", "m"][..], 2, "--provider must be given"),
        (&[], 2, "--provider and --model must be given"),
        (&["--provider", "opnai", "--model", "m"], 1, "no such provider: opnai"),
        (&["--provider", " ", "--model", "m", "--base-url", "http://h/v1"], 1, "provider's name is empty"),
        (&["--provider", "openai", "--model", " "], 1, "the model's name is empty"),
        (&["--provider", "x", "--model", "m", "--base-url", "x.example/v1"], 1, "must start with http"),
        (&["--provider", "x", "--model", "m", "--base-url", "http://a:b@h/v1"], 1, "user name or password"),
        (
            &["--provider", "x", "--model", "m", "--base-url", "http://h/chat/completions/"],
            1,
            "must end before",
        ),
        (&["--provider", "x", "--model", "m", "--base-url", "http://h/v1/messages"], 1, "before /messages"),
        (
            &["--provider", "x", "--model", "m", "--base-url", "http://h/v1/responses/"],
            1,
            "before /responses",
        ),
        (
            &[
                "--provider",
                "azure",
                "--model",
                "m",
                "--base-url",
                "https://RESOURCE.openai.azure.com/openai/v1",
            ],
            1,
            "in the place of RESOURCE",
        ),
        (&["--provider", "openai", "--model", "m", "--api-key-env", "sk-12-3"], 1, "must name a variable"),
        (&["--provider", "openai", "--model", "m", "--api-key-file", "none"], 1, "cannot read none"),
        (&["--provider", "openai", "--model", "m", "--api-key-file", "-"], 1, "stdin holds no key"),
    ];
    for (args, exit, words) in bad {
        let ran = place.uwf(&[&["setup"], args].concat());
        assert_eq!((ran.exit, ran.out.as_str()), (exit, ""), "{args:?}: {ran:?}");
        assert!(ran.err.contains(words) && !ran.err.contains("sk-12-3"), "{args:?}: {}", ran.err);
    }
    assert!(!config::path(&place.homes().uwf).exists());
}

#[test]
fn the_doctor_looks_at_everything_a_step_needs() {
    let place = Place::new();
    place.flow_thread();
    place.uwf(&["config", "set", "agents.mine.command", "sh"]);
    place.uwf(&["config", "set", "agents.gone.command", "no-such-program"]);
    // What the builtin agent says is tested end to end; here it may be there or not.
    let report = place.uwf(&["doctor"]);
    let value = report.json();
    assert_eq!((report.exit, &value["store"]["threads"]), (1, &json!(1)));
    assert_eq!(value["homes"][0]["from"], "$UWF_HOME");
    assert_eq!(value["agents"][1], json!({"name": "gone", "program": "no-such-program", "found": null}));
    let set = place.uwf(&["config", "set", "defaultAgent", "mine2"]);
    let told = "warning: no such agent: `mine2` (defaultAgent names it)\n";
    assert_eq!((set.exit, set.err.as_str()), (0, told), "it may be defined later");
    place.uwf(&["config", "set", "defaultagent", "mine"]);
    let text = place.uwf(&["doctor", "--format", "text"]).out;
    assert!(
        text.contains(
            "! config: nothing here reads `defaultagent` (did you mean `defaultAgent`?); there are "
        ),
        "{text}"
    );
    assert!(text.contains("✗ config: no such agent: `mine2` (defaultAgent names it)"), "{text}");
    assert!(
        text.contains("✓ agent mine: /") && text.contains("✗ agent gone: no program no-such-program"),
        "{text}"
    );
    fs::write(config::path(&place.homes().uwf), "agents: 5\n").unwrap();
    fs::write(place.homes().uwf.join(".env"), "sk words\n").unwrap();
    let text = place.uwf(&["doctor", "--format", "text"]).out;
    assert!(text.contains("✗ .env: ") && !text.contains("sk words"), "{text}");
    assert!(text.contains("✗ config: ") && text.contains("config.yaml:1:9: `agents`"), "{text}");
}

#[test]
fn setting_what_nobody_reads_or_everybody_sees_is_told() {
    let place = Place::new();
    let set = place.uwf(&["config", "set", "defaultagent", "mine"]);
    assert_eq!(set.exit, 0, "other programs keep theirs in the same file");
    assert!(
        set.err.contains("nothing here reads `defaultagent`") && set.err.contains("defaultAgent, "),
        "{}",
        set.err
    );
    place.uwf(&["config", "set", "agents.mine.command", "sh"]);
    place.uwf(&["config", "set", "agentOverrides.flow.writer", "mine"]);
    let unset = place.uwf(&["config", "unset", "agents.mine.command"]);
    let told = "warning: no such agent: `mine` (agentOverrides.flow.writer names it)\n";
    assert_eq!((unset.exit, unset.err.as_str()), (0, told));
    assert_eq!(place.uwf(&["config", "unset", "agentOverrides.flow.writer"]).err, "");
    let gone = place.uwf(&["config", "unset", "agentOverrides.flow.writer"]);
    assert!(gone.exit == 1 && gone.err.contains("has no `agentOverrides.flow.writer`"), "{}", gone.err);
    assert_eq!(place.uwf(&["config", "list"]).json(), json!({"defaultagent": "mine"}));
    place.uwf(&["config", "set", "providers.p", "{ baseUrl: 'http://h/v1' }"]);
    let set = place.uwf(&["config", "set", "providers.p.apiKey", "sk-hush"]);
    assert!(set.err.contains("shell's history; `apiKeyEnv`") && !set.err.contains("hush"), "{}", set.err);
    let set = place.uwf(&["config", "set", "providers.p.headers.X-Team", "hush"]);
    assert!(set.err.contains("write secret headers into the file"), "{}", set.err);
    let list = place.uwf(&["config", "list"]);
    assert_eq!(list.json()["providers"]["p"]["headers"], json!({"X-Team": "***"}));
    let clear = place.uwf(&["config", "get", "providers.p.headers.X-Team", "--show-secrets"]);
    assert_eq!((set.out.contains("hush"), clear.json()), (false, json!({"value": "hush"})));
}

#[test]
fn the_default_agent_is_set_by_its_name() {
    let place = Place::new();
    place.uwf(&["config", "set", "agents.mine.command", "/bin/sh"]);
    let named = |name: &str| place.uwf(&["setup", "--agent", name]);
    let ran = named("uwf-hermes");
    let file = place.homes().uwf.join("config.yaml");
    let warning = "there is no program uwf-hermes now: install it, or put it into PATH";
    let told =
        json!({"config": file, "configPath": file, "defaultAgent": "hermes", "adapterWarnings": [warning]});
    assert_eq!((ran.exit, ran.json(), ran.err), (0, told, format!("warning: {warning}\n")));
    let listed = place.uwf(&["config", "list"]).json();
    let agents = json!({"mine": {"command": "/bin/sh"}, "hermes": {"command": "uwf-hermes", "args": []}});
    assert_eq!(listed, json!({"agents": agents, "defaultAgent": "hermes"}));
    for (name, alias) in [("mine", "mine"), ("hermes", "hermes"), ("builtin", "builtin")] {
        assert_eq!(named(name).json()["defaultAgent"], alias);
    }
    let mine = named("uwf-mine");
    assert_eq!((mine.json()["adapterWarnings"].clone(), mine.err.as_str()), (json!([]), ""), "it is known");
    let listed = place.uwf(&["config", "list"]).json();
    assert_eq!(
        (&listed["agents"]["mine"], &listed["defaultAgent"]),
        (&json!({"command": "/bin/sh"}), &json!("mine"))
    );
    for (wrong, told) in [("codexx", "did you mean codex?"), ("command", "names no program")] {
        let ran = named(wrong);
        assert!(ran.exit == 1 && ran.err.contains(told), "{wrong}: {}", ran.err);
    }
    for odd in ["", "uwf-", "./agent", "two words", "--", "a/b"] {
        let ran = place.uwf(&["setup", &format!("--agent={odd}")]);
        assert_eq!((ran.exit, ran.out.as_str()), (1, ""), "{odd}");
        assert!(ran.err.contains("agents.mine.command"), "{odd}: {}", ran.err);
    }
    assert_eq!(place.uwf(&["config", "list"]).json(), listed);
    let both = place.uwf(&["setup", "--agent", "builtin", "--provider", "ollama", "--model", "m"]).json();
    assert_eq!((&both["defaultAgent"], &both["defaultModel"]), (&json!("builtin"), &json!("m")));
    let text = place.uwf(&["setup", "--agent", "mine", "--format", "text"]).out;
    assert_eq!(text, format!("default agent: mine\nwritten to {}\n", file.display()));
}
