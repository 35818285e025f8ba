use serde_json::json;

use super::*;
use crate::provider::message::{Message, MessageKind, Sampling, Speaker, ToolChoice};

fn parse(text: &str) -> Script {
    Script::parse("s.yaml", text).unwrap()
}

fn problems(text: &str) -> String {
    Script::parse("s.yaml", text).unwrap_err().to_string()
}

fn at(role: &str, visit: usize, step: usize) -> ScriptPosition<'_> {
    ScriptPosition { role, visit, step, prompt: None }
}

const FULL: &str = "
turns:
  - content: Hello
    reasoning: hm
    usage: {input_tokens: 7, output_tokens: 2, cached_tokens: 3, reasoning_tokens: 1}
    finish_reason: length
    delay_ms: 5
  - tool_calls:
      - {name: read_file, arguments: {path: README.md}}
      - {id: call_x, name: grep, arguments: '{\"pattern\": '}
      - {name: list_dir}
  - error: {status: 429, retry_after: 0.25, message: busy, code: rate_limit_exceeded}
  - {drop_after_bytes: 40, content: cut}
  - body: <html>
";

#[test]
fn every_key_of_an_entry_is_read() {
    let script = parse(FULL);
    let entries = script.visit(&at("any", 3, 9)).unwrap().entries;
    let first = entries[0].completion(0, "m");
    assert_eq!(first.content, "Hello");
    assert_eq!(first.reasoning.as_deref(), Some("hm"));
    assert_eq!(first.finish_reason.as_deref(), Some("length"));
    let usage = TokenUsage {
        input_tokens: 7,
        output_tokens: 2,
        cached_tokens: 3,
        reasoning_tokens: 1,
        ..TokenUsage::default()
    };
    assert_eq!(first.usage, Some(usage));
    assert_eq!(entries[0].delay, Duration::from_millis(5));
    let error = entries[2].error.as_ref().unwrap();
    assert_eq!((error.status, error.retry_after), (429, Some(Duration::from_millis(250))));
    assert_eq!(entries[3].ending, BodyEnding::Cut(40));
    assert_eq!(entries[4].body.as_deref(), Some("<html>"));
    assert_eq!(entries[4].at, "turns[4]");
}

#[test]
fn tool_calls_have_ids_and_arguments_as_text() {
    let script = parse(FULL);
    let completion = script.visit(&at("any", 0, 0)).unwrap().entries[1].completion(1, "m");
    let calls: Vec<(&str, &str, &str)> = completion
        .tool_calls
        .iter()
        .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [
            ("m00010000", "read_file", r#"{"path":"README.md"}"#),
            ("call_x", "grep", r#"{"pattern": "#),
            ("m00010002", "list_dir", "{}"),
        ]
    );
    assert_eq!(completion.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(completion.usage, Some(TokenUsage::default()), "no usage is zeros, never a guess");
}

#[test]
fn visits_of_a_role_follow_one_another_and_the_last_repeats() {
    let script =
        parse("roles: {r: [{turns: [{content: a}, {content: b}]}, {turns: [{content: c}, {content: d}]}]}");
    let first = |visit| script.visit(&at("r", visit, 0)).unwrap().entries[0].content.clone().unwrap();
    assert_eq!([first(0), first(1), first(2), first(7)], ["a", "c", "c", "c"]);
    let arrived = |n| script.arrival(Some("r"), n).unwrap().content.clone().unwrap();
    assert_eq!((0..8).map(arrived).collect::<String>(), "abcdcdcd");
    assert!(script.visit(&at("x", 0, 0)).unwrap_err().to_string().contains("role x, only for r"));
    assert!(script.arrival(None, 0).unwrap_err().to_string().contains("names no role"));
}

const DRAWN: &str = "
roles:
  developer:
    - behaviours:
        - {name: right, weight: 7, turns: [{content: a}, {content: b}]}
        - {name: wrong, weight: 3, turns: [{content: c}]}
    - turns: [{content: d}]
  reviewer:
    - behaviours:
        - {name: approves, when: adds all, turns: [{content: e}]}
        - {name: rejects, when: [adds, three], turns: [{content: f}]}
";

#[test]
fn a_seed_draws_the_behaviour_of_a_visit() {
    let names = |seed| {
        let script = parse(DRAWN).with_seed(seed);
        let part = script.visit(&at("developer", 0, 0)).unwrap();
        (part.behaviour.unwrap().to_owned(), part.entries.len())
    };
    assert_eq!(names(0), ("wrong".to_owned(), 1));
    assert_eq!(names(7), ("right".to_owned(), 2));
    assert_eq!(parse(DRAWN).visit(&at("developer", 0, 0)).unwrap().behaviour, Some("wrong"), "the seed is 0");
    let rights = (0..100).filter(|seed| names(*seed).0 == "right").count();
    assert!((60..=80).contains(&rights), "{rights} of 100");
    assert_eq!(parse(DRAWN).visit(&at("developer", 1, 0)).unwrap().behaviour, None, "there is one way to go");
}

#[test]
fn a_behaviour_fits_what_its_role_is_asked_for() {
    let script = parse(DRAWN);
    let asked = |prompt| {
        let position = ScriptPosition { prompt: Some(prompt), ..at("reviewer", 0, 0) };
        script.visit(&position).map(|part| part.behaviour.unwrap().to_owned())
    };
    assert_eq!(asked("Review: it adds all of them.").unwrap(), "approves");
    assert_eq!(asked("Review: it adds the first three.").unwrap(), "rejects");
    let error = asked("Look.").unwrap_err().to_string();
    assert!(
        error.contains("no behaviour for role reviewer whose `when` is in its prompt: \"Look.\""),
        "{error}"
    );
}

#[test]
fn requests_that_arrive_play_what_is_drawn_for_each_visit() {
    let script = parse(DRAWN).with_seed(7);
    let arrived = |n| script.arrival(Some("developer"), n).unwrap().content.clone().unwrap();
    assert_eq!((0..5).map(arrived).collect::<String>(), "abddd");
    let error = script.arrival(Some("reviewer"), 0).unwrap_err().to_string();
    assert!(error.contains("a request does not tell what its visit is asked for"), "{error}");
}

#[test]
fn what_is_wrong_with_behaviours_is_told() {
    let text = "
roles:
  r:
    - behaviours:
        - {name: a, weight: 0, turns: [{content: x}]}
        - {weight: 1, turns: [{content: x}]}
        - {name: a, when: 3, turns: [{content: x}]}
        - {name: b, wait: 3}
    - {turns: [{content: x}], behaviours: [{name: a, turns: [{content: x}]}]}
";
    insta::assert_snapshot!(problems(text), @r"
    mock script s.yaml: 7 problems:
      line 4: roles.r[0].behaviours: two behaviours are called a
      line 5: roles.r[0].behaviours[0].weight: expected a number from 1 to 1000000, got 0
      line 6: roles.r[0].behaviours[1]: `name` is missing
      line 7: roles.r[0].behaviours[2].when: expected a text or a list of texts, got 3
      line 8: roles.r[0].behaviours[3].wait: unknown key, expected one of `name`, `weight`, `when`, `turns`
      line 8: roles.r[0].behaviours[3]: `turns` is missing
      line 9: roles.r[1]: `turns` and `behaviours` exclude each other
    ");
}

#[test]
fn steps_answer_the_steps_of_a_thread() {
    let script = parse(
        "steps:
  - {role: planner, output: {$status: ready, 'a b': [1, \"x\"], 'null': no}}
  - {role: worker, output: \"---\\n$status: done\\n---\\nFine.\"}",
    );
    let answer =
        |role, step| script.visit(&at(role, 0, step)).map(|part| part.entries[0].content.clone().unwrap());
    let planned = answer("planner", 0).unwrap();
    assert_eq!(planned, "---\n$status: \"ready\"\n\"a b\": [1,\"x\"]\n\"null\": \"no\"\n---\n");
    let back = uwf_workflow::yaml::parse_value(planned.trim_end().trim_end_matches("---")).unwrap();
    assert_eq!(back, json!({"$status": "ready", "a b": [1, "x"], "null": "no"}));
    assert!(answer("worker", 1).unwrap().ends_with("Fine."));
    assert!(
        answer("worker", 0)
            .unwrap_err()
            .to_string()
            .contains("steps[0] is for role planner, and worker came")
    );
    assert!(answer("worker", 2).unwrap_err().to_string().contains("has 2 entries"));
    assert!(script.arrival(None, 1).is_ok());
    assert!(script.arrival(Some("planner"), 1).is_err());
}

#[test]
fn json_is_read_too() {
    let script = parse(r#"{"turns": [{"content": "hi"}]}"#);
    assert_eq!(script.visit(&at("r", 0, 0)).unwrap().entries[0].content.as_deref(), Some("hi"));
}

#[test]
fn all_problems_are_named_with_their_place() {
    let text = "
turns:
  - contnt: Hello
  - tool_calls: [{nam: read_file}]
    delay_ms: soon
  - error: {status: 42}
  - {content: a, body: b}
  - expect: {last_contain: x, tools: [1]}
    usage: {inputs: 3}
    content: 5
  - just text
";
    insta::assert_snapshot!(problems(text), @r#"
    mock script s.yaml: 12 problems:
      line 3: turns[0].contnt: unknown key, did you mean `content`?
      line 3: turns[0]: says nothing: give `content`, `tool_calls`, `error` or `body`
      line 4: turns[1].tool_calls[0].nam: unknown key, did you mean `name`?
      line 4: turns[1].tool_calls[0]: `name` is missing
      line 5: turns[1].delay_ms: expected a number of milliseconds, got "soon"
      line 6: turns[2].error.status: expected 200 or a status from 300 to 599, got 42
      line 7: turns[3]: `content` and `body` exclude each other
      line 8: turns[4].expect.last_contain: unknown key, did you mean `last_contains`?
      line 8: turns[4].expect.tools: expected a text or a list of texts, got a list
      line 9: turns[4].usage.inputs: unknown key, expected one of `input_tokens`, `output_tokens`, `cached_tokens`, `reasoning_tokens`
      line 10: turns[4].content: expected a text, got 5
      line 11: turns[5]: expected a mapping, got "just text"
    "#);
}

#[test]
fn faults_that_exclude_each_other_are_told() {
    for (entry, words) in [
        ("{reset: true, content: a}", "`content` and `reset` exclude each other"),
        ("{reset: true, error: {status: 500}}", "`reset` and `error` exclude each other"),
        (
            "{drop_after_bytes: 1, stall_after_bytes: 1, content: a}",
            "`drop_after_bytes` and `stall_after_bytes`",
        ),
        ("{reset: maybe}", "turns[0].reset: expected true or false, got \"maybe\""),
        (
            "{error: {status: 429, headers: {'no header': 1}}}",
            "expected a mapping of texts that headers may be",
        ),
        ("{stall_after_bytes: -1, content: a}", "expected a number of bytes, got -1"),
    ] {
        let problems = problems(&format!("turns: [{entry}]"));
        assert!(problems.contains(words), "{problems}");
    }
    assert!(Script::parse("s", "turns: [{stall_after_bytes: 1, content: a}, {reset: true}]").is_ok());
}

#[test]
fn a_script_is_one_of_three_kinds() {
    assert!(
        problems("turns: []").contains("line 1: turns: expected a list that is not empty, got an empty list")
    );
    assert!(problems("{}").contains("expected one of `turns`, `roles`, `steps`"));
    assert!(problems("turns: [{content: a}]\nsteps: []").contains("expected one of"));
    assert!(problems("[1]").contains("expected a mapping, got a list"));
    assert!(problems("roles: {r: [{}]}").contains("roles.r[0]: `turns` is missing, or `behaviours`"));
    assert!(problems("roles: {r: []}").contains("roles.r: expected a list that is not empty"));
    assert!(problems("steps: [{output: a}, {role: r}]").contains("steps[0]: `role` is missing"));
    assert!(problems("turns: [").contains("script s.yaml: line "));
    assert!(Script::load(Path::new("/nowhere/s.yaml")).unwrap_err().to_string().contains("cannot be read"));
}

fn check(expect: &str, messages: &[Message]) -> Result<(), String> {
    let script = parse(&format!("turns: [{{content: a, expect: {expect}}}]"));
    let tools = [];
    let sampling = Sampling::default();
    let request =
        Request { messages, tools: &tools, tool_choice: ToolChoice::Auto, model: "m", sampling: &sampling };
    script.arrival(None, 0).unwrap().check(&request)
}

#[test]
fn what_is_expected_of_a_request_is_checked() {
    let messages = [
        Message::text(Speaker::System, MessageKind::Opening, "You review."),
        Message::text(Speaker::User, MessageKind::Opening, "Review the patch"),
    ];
    let check = |expect| check(expect, &messages);
    assert_eq!(check("{last_contains: [Review, patch], last_role: user, system_contains: You}"), Ok(()));
    assert_eq!(check("{contains: review, lacks: secret}"), Ok(()));
    let missing = check("{last_contains: Fix}").unwrap_err();
    assert_eq!(missing, r#"turns[0] expects the last message to contain "Fix", it is "Review the patch""#);
    for wrong in
        ["{system_contains: x}", "{contains: x}", "{lacks: patch}", "{last_role: tool}", "{tools: grep}"]
    {
        assert!(check(wrong).is_err(), "{wrong}");
    }
}
