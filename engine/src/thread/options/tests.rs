use super::*;
use crate::fixture::Place;

fn chosen() -> ThreadOptions {
    ThreadOptions {
        agent: Some(AgentCommand::new("mine", vec![])),
        model: Some("m".to_owned()),
        base_url: Some("http://127.0.0.1:1/v1".to_owned()),
        mock: Some("/m.yaml".to_owned()),
        mock_seed: Some(4),
        sandbox: Some("off".to_owned()),
        max_cost: Some(0.5),
        max_turns: Some(7),
        allow_network: true,
        fetch_hosts: Some(vec!["docs.rs".to_owned(), "*.example".to_owned()]),
        reasoning_effort: Some("low".to_owned()),
        temperature: Some(1.0),
        tools: Some(vec!["grep".to_owned(), "read_file".to_owned()]),
        mcp_servers: Some(vec!["files".to_owned(), "docs".to_owned()]),
        no_snapshots: true,
        max_rounds: Some(3),
    }
}

#[test]
fn the_type_is_that_of_its_schema_and_no_store_has_it_before() {
    assert_eq!(Hash::of(&META_SCHEMA, &schema()), UWF_OPTIONS);
    assert!(!crate::builtin::PROFILE.schemas.contains(&UWF_OPTIONS));
}

#[test]
fn what_is_kept_is_read_again_and_goes_with_the_thread() {
    let place = Place::new();
    let (store, thread, other) = (place.store(), place.flow_thread(), place.flow_thread());
    assert!(options(&store, &thread).unwrap().is_empty());
    keep_options(&store, &thread, &chosen()).unwrap();
    assert_eq!(options(&store, &thread).unwrap(), chosen());
    keep_options(&store, &other, &options(&store, &thread).unwrap()).unwrap();
    assert_eq!(options(&store, &other).unwrap(), chosen());
    keep_options(&store, &other, &ThreadOptions::default()).unwrap();
    assert!(store.vars().get(&variable(&other)).unwrap().is_none());
    super::super::remove(&store, &thread).unwrap();
    assert!(store.vars().get(&variable(&thread)).unwrap().is_none());
}

#[test]
fn a_node_of_several_threads_is_trusted_as_all_of_them_are() {
    let place = Place::new();
    let (store, thread) = (place.store(), place.flow_thread());
    let step = place.step(&thread, None, "writer", &serde_json::json!({"$status": "again"}));
    let start = super::super::head(&store, &thread).unwrap().hash;
    super::super::advance(&store, &thread, &start, &step, &super::super::Status::Idle).unwrap();
    assert!(options_of_node(&store, &step).unwrap().is_empty());
    keep_options(&store, &thread, &chosen()).unwrap();
    assert_eq!(options_of_node(&store, &step).unwrap(), chosen());
    let other = super::super::fork(&store, &step).unwrap();
    let bare = chosen().from_elsewhere().0;
    assert_eq!(options_of_node(&store, &step).unwrap(), bare, "nothing of it was chosen for the other one");
    keep_options(&store, &other, &chosen()).unwrap();
    assert_eq!(options_of_node(&store, &step).unwrap(), chosen());
    keep_options(&store, &thread, &ThreadOptions { sandbox: None, ..chosen() }).unwrap();
    assert_eq!(options_of_node(&store, &step).unwrap(), bare);
}

#[test]
fn what_is_typed_wins_over_what_is_kept() {
    let typed = ThreadOptions { model: Some("other".to_owned()), ..ThreadOptions::default() };
    // A script that is kept would play in the place of the model.
    let expected = ThreadOptions { model: Some("other".to_owned()), mock: None, mock_seed: None, ..chosen() };
    assert_eq!(typed.over(chosen()), expected);
    let script = ThreadOptions { mock: Some("/s.yaml".to_owned()), ..ThreadOptions::default() };
    let expected =
        ThreadOptions { mock: Some("/s.yaml".to_owned()), model: None, base_url: None, ..chosen() };
    assert_eq!(script.over(chosen()), expected);
    assert_eq!(ThreadOptions::default().over(chosen()), chosen());
}

#[test]
fn a_url_that_may_hold_a_key_is_not_kept() {
    let at = |url: &str| ThreadOptions { base_url: Some(url.to_owned()), ..ThreadOptions::default() }.check();
    for secret in ["https://me:hush@host/v1", "https://hush@host", "https://host/v1?sig=hush", "me:hush@host"]
    {
        let error = at(secret).unwrap_err();
        assert!(!error.to_string().contains("hush") && error.hint().is_some(), "{error}");
    }
    for plain in ["https://host/v1", "http://127.0.0.1:8000/v1", "https://host/a@b"] {
        at(plain).unwrap();
    }
}

#[test]
fn what_comes_from_elsewhere_names_no_program_and_weakens_nothing() {
    let (taken, left) = chosen().from_elsewhere();
    let not_taken = [
        "agent",
        "model",
        "baseUrl",
        "mock",
        "mockSeed",
        "sandbox",
        "maxCost",
        "maxTurns",
        "allowNetwork",
        "fetchHosts",
        "tools",
        "mcpServers",
        "noSnapshots",
    ];
    assert_eq!(left, not_taken);
    let ThreadOptions { reasoning_effort, temperature, max_rounds, .. } = chosen();
    let expected = ThreadOptions { reasoning_effort, temperature, max_rounds, ..ThreadOptions::default() };
    assert_eq!(taken, expected);
    let none = ThreadOptions { max_rounds: Some(0), ..ThreadOptions::default() };
    assert_eq!(none.from_elsewhere(), (ThreadOptions::default(), vec!["maxRounds"]));
    let strict = ThreadOptions { sandbox: Some("strict".to_owned()), ..ThreadOptions::default() };
    assert_eq!(strict.clone().from_elsewhere(), (strict, Vec::new()));
}

#[test]
fn the_builtin_agent_is_told_by_arguments_and_others_by_the_environment() {
    let args = chosen().to_builtin_args().join(" ");
    let expected = "--model m --base-url http://127.0.0.1:1/v1 --mock /m.yaml --mock-seed 4 --max-cost 0.5 --max-turns 7 \
                    --reasoning-effort low --temperature 1 --fetch-host docs.rs --fetch-host *.example --tools grep,read_file --mcp files,docs --allow-network --no-snapshots";
    assert_eq!(args, expected);
    let chosen = chosen();
    let told = [("UWF_MODEL", "m"), ("UWF_BASE_URL", "http://127.0.0.1:1/v1"), (SANDBOX, "off")];
    assert_eq!(chosen.to_env(), told);
    assert_eq!(chosen.of_builtin_alone().len(), 11);
}
