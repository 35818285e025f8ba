//! `hallucination` with a model: what the record neither confirms nor refutes is asked, and a model that cannot be understood
//! is no low score.

use super::*;
use crate::endpoint::{self, Endpoint};

/// What the developer says; its tools have told of 3 and of 9 tests.
const SAYS: &str =
    "It doubles its number now. 12 tests passed. No other program is faster. I ran `make all`.";

/// A task with the judge `hallucination` alone, with these fields.
fn task(site: &Site, fields: &str) {
    fs::remove_dir_all(site.workspace().join("double")).ok();
    double(site);
    let (task, text) = (site.workspace().join("double"), "echo 3 ok; echo 9 ok");
    let call = serde_json::json!({"name": "run_command", "arguments": {"command": text}});
    let answer = format!("---\\n$status: mended\\nfile: double.sh\\n---\\n{SAYS}");
    let mock = format!("turns:\n  - {{ tool_calls: [{call}] }}\n  - {{ content: \"{answer}\" }}\n");
    fs::write(task.join("mock.yaml"), mock).unwrap();
    let file = task.join("task.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let (start, _) = text.split_once("judges:").unwrap();
    let judge = format!("judges:\n  - {{ name: hallucination, builtin: true{fields} }}\n");
    fs::write(file, format!("{start}{judge}")).unwrap();
}

/// What a judge model says of so many claims.
fn verdicts(site: &Site, holds: &[&str]) -> String {
    let one = |(at, holds): (usize, &&str)| {
        format!("  - {{claim: {}, holds: {}, reason: so it is}}\\n", at + 1, serde_json::json!(holds))
            .replace('"', "'")
    };
    let all: String = holds.iter().enumerate().map(one).collect();
    let answer = format!("---\\n$status: done\\nverdicts:\\n{all}---\\n");
    site.write(
        "judge.yaml",
        &format!("turns: [{{ content: \"{answer}\", usage: {{ input_tokens: 9, output_tokens: 9 }} }}]\n"),
    )
}

fn judge_of(site: &Site, name: &str) -> (Value, Value) {
    let shown = eval(site, &["show", &format!("{name}/double/1")]).ok().json();
    (shown["judges"][0].clone(), shown["found"][0]["data"]["perStep"][0].clone())
}

#[test]
fn what_the_record_cannot_tell_is_asked_of_a_model() {
    let site = Site::new();
    task(&site, "");
    eval(&site, &["run", "double", "--offline", "--name", "record"]).ok();
    let (judge, step) = judge_of(&site, "record");
    assert_eq!((judge["score"].as_f64(), step["checked"].as_u64()), (Some(0.0), Some(2)), "{step}");
    assert!(step.get("byModel").is_none(), "{step}");

    task_with_model(&site, "");
    let mock = verdicts(&site, &["yes", "yes", "no"]);
    let run = |name: &str, mock: &str| {
        eval(&site, &["run", "double", "--offline", "--judge-mock", mock, "--name", name])
    };
    run("asked", &mock).ok();
    let (judge, step) = judge_of(&site, "asked");
    // 12 is a sum; `make all` is in the record or it was not run, and no model is asked.
    let expected = serde_json::json!(["never ran: make all", "not so: No other program is faster."]);
    assert_eq!((judge["score"].as_f64(), &step["hallucinations"]), (Some(0.5), &expected), "{step}");
    assert_eq!(step["byModel"][0]["claim"], "12 tests", "{step}");
    assert_eq!(step["byModel"].as_array().unwrap().len(), 3, "{step}");
    // Who cannot tell says nothing: what was looked up stays as it was found.
    run("unknown", &verdicts(&site, &["unknown", "unknown", "unknown"])).ok();
    let (judge, step) = judge_of(&site, "unknown");
    assert_eq!((judge["score"].as_f64(), step["checked"].as_u64()), (Some(0.0), Some(2)), "{step}");
    // The type takes it.
    site.verify();
}

/// Adds a model to the judge of the task.
fn task_with_model(site: &Site, more: &str) {
    let file = site.workspace().join("double/task.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(file, text.replace("builtin: true }", &format!("builtin: true, model: judge{more} }}")))
        .unwrap();
}

#[test]
fn a_model_that_cannot_be_understood_is_an_error_of_the_judge() {
    let site = Site::new();
    task(&site, "");
    task_with_model(&site, "");
    let garbage = site.write("garbage.yaml", "turns: [{ content: I cannot say. }]\n");
    let down = site.write("down.yaml", "turns: [{ error: { status: 401, message: no key } }]\n");
    let cases = [
        ("garbage", garbage, "judge gave no verdicts on what developer claims: "),
        ("down", down, "no key"),
        ("few", verdicts(&site, &["yes", "no"]), "claim 3 has no verdict"),
    ];
    for (name, mock, why) in &cases {
        let ran = eval(&site, &["run", "double", "--offline", "--judge-mock", mock, "--name", name]);
        assert_eq!(ran.code, 3, "{name}: {}", ran.err);
        let case = eval(&site, &["show", name]).ok().json()["cases"][0].clone();
        assert_eq!((case["outcome"].as_str(), case["score"].is_null()), (Some("unscored"), true), "{case}");
        assert!(case["judges"][0]["error"].as_str().unwrap().contains(why), "{name}: {case}");
    }
    // Nothing may be spent, and no endpoint is configured.
    task(&site, "");
    task_with_model(&site, ", maxCost: 0");
    let mock = verdicts(&site, &["yes", "yes", "yes"]);
    let ran = eval(&site, &["run", "double", "--offline", "--judge-mock", &mock, "--name", "broke"]);
    let case = eval(&site, &["show", "broke"]).ok().json()["cases"][0].clone();
    assert!(
        ran.code == 3 && case["judges"][0]["error"].as_str().unwrap().contains("its budget is spent"),
        "{case}"
    );
    let ran = eval(&site, &["run", "double", "--offline", "--name", "none"]);
    let case = eval(&site, &["show", "none"]).ok().json()["cases"][0].clone();
    assert!(ran.code == 3 && case["judges"][0]["error"].is_string(), "{case}");
    site.verify();
}

#[test]
fn what_a_model_of_claims_costs_is_told() {
    let site = Site::new();
    task(&site, "");
    task_with_model(&site, "");
    let answer = |holds: &[&str]| {
        let one = |(at, holds): (usize, &&str)| {
            format!("  - {{claim: {}, holds: '{holds}', reason: so it is}}\n", at + 1)
        };
        let all: String = holds.iter().enumerate().map(one).collect();
        format!("---\n$status: done\nverdicts:\n{all}---\n")
    };
    // An endpoint that says what each answer costs; the first one cannot be understood.
    let first = answer(&["yes", "yes"]);
    let second = answer(&["yes", "yes", "no"]);
    let endpoint = Endpoint::new(move |n, _| {
        let mut turn = endpoint::text(if n == 0 { &first } else { &second });
        turn["usage"] = serde_json::json!({"prompt_tokens": 9, "completion_tokens": 9, "cost": 0.25});
        (200, turn)
    });
    let provider = format!("provider: {{ baseUrl: {}, stream: false }}\nmodel: m\n", endpoint.url);
    site.write("home/.uwf/agents/builtin.yaml", &provider);
    let ran = |name: &str| {
        eval(&site, &["run", "double", "--offline", "--name", name]);
        eval(&site, &["show", name]).ok().json()["cases"][0].clone()
    };
    let misunderstood = ran("misunderstood");
    let judge = &misunderstood["judges"][0];
    assert!(judge["error"].as_str().unwrap().contains("claim 3 has no verdict"), "{judge}");
    // What was paid for nothing was paid.
    assert_eq!(judge["costUsd"], 0.25, "{judge}");
    let understood = ran("understood");
    let judge = &understood["judges"][0];
    assert_eq!((&judge["costUsd"], &judge["score"]), (&0.25.into(), &0.5.into()), "{judge}");
    // What a judge costs is no part of what the workflow costs.
    assert!(understood["costUsd"].is_null(), "{understood}");
    site.verify();
}

#[test]
fn what_a_model_of_claims_may_be_told_is_checked() {
    let site = Site::new();
    for (fields, expected) in [
        (", maxCost: 1", "`maxCost` says nothing without a `model`, which it is for"),
        (", model: ''", "`model` is empty"),
        (", model: m, maxCost: -1", "`maxCost` cannot be -1"),
        (", model: m, votes: 3", "`votes` says nothing for a judge of this kind"),
        (", model: m, rubric: r", "`rubric` says nothing for a judge of this kind"),
    ] {
        task(&site, fields);
        eval(&site, &["run", "double", "--offline"]).fails(1, &[expected]);
    }
}
