//! A store that another implementation wrote: the same questions, the same facts.

use serde_json::{Value, json};
use uwf_store::Hash;

use super::command_line::CommandLine;
use uwf_engine::fixture::{Place, reply};
use uwf_engine::thread::{ThreadId, head};

const IDLE: &str = "06H001PZ6AWSX3WP7SZ64HX1AC";

/// What the other implementation answered: argument lists with JSON or text.
fn expected() -> Vec<Value> {
    serde_json::from_str(include_str!("../../../testdata/reference_expected.json")).unwrap()
}

/// Whether every fact of `expected` is in `found`; we may say more.
fn has_facts(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => expected
            .iter()
            // A text for people, made from the facts.
            .filter(|(name, _)| *name != "statusDisplay")
            .all(|(name, value)| found.get(name).is_some_and(|found| has_facts(found, value))),
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len()
                && found.iter().zip(expected).all(|(found, expected)| has_facts(found, expected))
        }
        (Value::Number(found), Value::Number(expected)) => found.as_f64() == expected.as_f64(),
        (found, expected) => found == expected,
    }
}

#[test]
fn every_json_answer_has_the_same_facts() {
    let place = Place::reference();
    let mut asked = 0;
    for case in expected() {
        let args: Vec<&str> =
            case["argv"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        let Some(expected) = case.get("json") else { continue };
        let ran = place.uwf(&args);
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{args:?}");
        let found = ran.json();
        assert!(has_facts(&found, expected), "{args:?}: {found:#}\nexpected {expected:#}");
        asked += 1;
    }
    assert!(asked > 15, "{asked}");
}

#[test]
fn every_read_tells_the_same_steps() {
    let place = Place::reference();
    for case in expected() {
        let args: Vec<&str> =
            case["argv"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        let Some(expected) = case["stdout"].as_str() else { continue };
        if args.contains(&"--quota") {
            // Ours says more of a step, so other steps fit.
            continue;
        }
        let ran = place.uwf(&args);
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{args:?}");
        let quoted = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let hashes = |text: &str| {
            quoted(text).into_iter().filter(|word| word.parse::<Hash>().is_ok()).collect::<Vec<_>>()
        };
        let found = hashes(&ran.out);
        let missing: Vec<_> = hashes(expected).into_iter().filter(|hash| !found.contains(hash)).collect();
        assert_eq!(missing, Vec::<String>::new(), "{args:?}: {}", ran.out);
        for word in ["uwf-mock", "finder", "fixer", "reviewer"] {
            assert!(!expected.contains(word) || ran.out.contains(word), "{args:?}: {word}");
        }
    }
}

#[test]
fn a_thread_with_a_failed_attempt_reads_well() {
    let place = Place::reference();
    insta::assert_snapshot!(place.uwf(&["thread", "read", IDLE]).out);
    insta::assert_snapshot!(place.uwf(&["thread", "read", IDLE, "--quota", "800"]).out);
    insta::assert_snapshot!(place.uwf(&["thread", "read", IDLE, "--before", "CWJFKM5CN118K"]).out);
    insta::assert_snapshot!(place.uwf(&["step", "read", "CQB62RE3Z7S50"]).out);
}

#[test]
fn the_store_verifies() {
    let place = Place::reference();
    let ran = place.uwf(&["cas", "verify"]);
    assert_eq!((ran.exit, ran.json()["ok"].as_bool()), (0, Some(true)), "{ran:?}");
}

#[test]
fn its_idle_thread_goes_on_to_the_end_and_what_was_there_stays() {
    let place = Place::reference();
    let thread: ThreadId = IDLE.parse().unwrap();
    let nodes = place.homes().ocas.join("nodes");
    let before: Vec<_> = std::fs::read_dir(&nodes).unwrap().map(|entry| entry.unwrap().path()).collect();
    let before: Vec<_> = before.into_iter().map(|path| (std::fs::read(&path).unwrap(), path)).collect();
    let old_head = head(&place.store(), &thread).unwrap().hash;

    let rejected =
        place.step(&thread, Some(old_head), "reviewer", &json!({"$status": "rejected", "why": "no test"}));
    let fixed =
        place.step(&thread, Some(rejected), "fixer", &json!({"$status": "fixed", "summary": "test added"}));
    let approved = place.step(&thread, Some(fixed), "reviewer", &json!({"$status": "approved"}));
    let agent = place.agent(&[
        reply(&rejected, "reviewer", None),
        fixed.to_string(),
        reply(&approved, "reviewer", None),
    ]);
    let elsewhere = place.uwf(&["thread", "exec", IDLE, "--agent", &agent]);
    assert_eq!(elsewhere.exit, 1);
    assert!(
        elsewhere.err.contains("/srv/demo/proj") && elsewhere.err.contains("--cwd DIR"),
        "{}",
        elsewhere.err
    );

    let ran = place.uwf(&["thread", "exec", IDLE, "--agent", &agent, "--until-end", "--cwd", "."]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{ran:?}");
    let told: Vec<_> = ran.json().as_array().unwrap().iter().map(|step| step["head"].clone()).collect();
    assert_eq!(told, [json!(rejected), json!(fixed), json!(approved)]);
    assert_eq!(ran.json()[2]["done"], true);
    assert!(place.calls()[1].contains("--role fixer --prompt Rejected: no test. Mend it again."));
    assert_eq!(place.uwf(&["thread", "show", IDLE]).json()["status"], "end");
    for (content, path) in before {
        assert_eq!(std::fs::read(&path).unwrap(), content, "{}", path.display());
    }
    assert_eq!(place.uwf(&["cas", "verify"]).exit, 0);
}
