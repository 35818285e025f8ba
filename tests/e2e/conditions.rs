//! What an expression cannot do to a thread: take for ever, take all memory, or lead it astray.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::site::{AGENT, Said, Site};

/// A workflow of one role, after which `condition` decides, and a thread of it where the role has played.
fn decided_by(site: &Site, expression: &str) -> String {
    let workflow = json!({
        "name": "decided",
        "roles": {"a": {"goal": "You play.", "frontmatter": {"type": "object", "properties": {"n": {"type": "integer"}}}}},
        "conditions": {"decisive": {"description": "It decides", "expression": expression}},
        "graph": {
            "$START": [{"role": "a", "condition": null}],
            "a": [{"role": "a", "condition": "decisive"}, {"role": "$END", "condition": null}],
        },
    });
    let file = site.write("decided.yaml", &workflow.to_string());
    let mock = site.write("decided.mock.yaml", "turns:\n  - content: |\n      ---\n      n: 1\n      ---\n");
    let thread = site.start(&file, "Play.");
    let agent = format!("{AGENT} --mock {mock}");
    site.uwf(&["thread", "exec", &thread, "--agent", &agent]).ok();
    thread
}

fn exec(site: &Site, thread: &str) -> Said {
    site.uwf(&["thread", "exec", thread])
}

fn head(site: &Site, thread: &str) -> Value {
    site.uwf(&["thread", "show", thread]).ok().json()["head"].clone()
}

#[test]
fn what_takes_too_much_is_ended_within_its_limits_and_the_head_stays() {
    let site = Site::new();
    for (expression, why) in [
        (
            "($f := function($n){ $f($n + 1) }; $f(0))",
            "it takes longer than the 2s that a condition may take",
        ),
        (
            "$length($pad('x', 2000000000)) > 1",
            "it needs more memory than the 400 MiB that a condition may take",
        ),
        ("$count($map([1..9000000], function($n){ [$n, $string($n)] })) > 1", "that a condition may take"),
        (
            "$length($reduce([1..40], function($a, $n){ $a & $a }, 'doubled')) > 1",
            "it needs more memory than the 400 MiB that a condition may take",
        ),
        (
            "$length($replace($pad('', 100000, 'x'), 'x', $pad('', 100000, 'y'))) > 1",
            "it needs more memory than the 400 MiB that a condition may take",
        ),
        (
            "($f := function($n){ 1 + $f($n + 1) }; $f(0)) > 1",
            "it needs more memory than the 400 MiB that a condition may take",
        ),
    ] {
        let begun = Instant::now();
        let thread = decided_by(&site, expression);
        let before = head(&site, &thread);
        let said = exec(&site, &thread).code(1);
        assert!(said.err.contains(why), "{expression}\n{}", said.err);
        assert!(said.err.contains("role `a`") && said.err.contains("condition `decisive`"), "{}", said.err);
        assert_eq!(head(&site, &thread), before, "{expression}");
        assert!(begun.elapsed() < Duration::from_secs(40), "{expression}: {:?}", begun.elapsed());
        // Nobody waits for it who looks at many threads.
        let begun = Instant::now();
        let listed = site.uwf(&["thread", "list"]).ok().json();
        assert_eq!((&listed[0]["currentRole"], &listed[0]["status"]), (&Value::Null, &json!("idle")));
        assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
    }
    site.verify();
}

#[test]
fn an_error_in_an_expression_is_an_error_of_the_step_with_its_place() {
    let site = Site::new();
    let thread = decided_by(&site, "steps[-1].output.n - \"one\" > 0");
    let said = exec(&site, &thread).code(1);
    let expected = "condition `decisive`, which decides what comes after role `a`, fails: at character 20: T2002: The right \
                    side of the - operator must evaluate to a number (in `steps[-1].output.n - \"one\" > 0`)";
    assert!(said.err.contains(expected), "{}", said.err);
    let shown = site.uwf(&["thread", "show", &thread]).ok().json();
    assert!(shown["hint"].as_str().unwrap().contains("at character 20"), "{shown}");
}

#[test]
fn where_none_is_true_the_error_names_the_role_and_the_values() {
    let site = Site::new();
    let workflow = site.write(
        "w.yaml",
        "name: w\nroles:\n  a:\n    goal: You play.\n    frontmatter: { type: object, properties: { n: { type: integer } } }\n\
         conditions: { two: { description: Two, expression: 'steps[-1].output.n = 2' } }\n\
         graph: { $START: [{ role: a, condition: null }], a: [{ role: $END, condition: two }] }\n",
    );
    let mock = site.write("mock.yaml", "turns:\n  - content: |\n      ---\n      n: 1\n      ---\n");
    let thread = site.start(&workflow, "Play.");
    site.uwf(&["thread", "exec", &thread, "--agent", &format!("{AGENT} --mock {mock}")]).ok();
    let before = head(&site, &thread);
    let said = exec(&site, &thread).code(1);
    let expected =
        "nothing comes after role `a`: none is true of the condition `two`; the output of `a` is {\"n\":1}";
    assert!(said.err.contains(expected), "{}", said.err);
    assert_eq!(head(&site, &thread), before);
    // Another output is another way.
    let two = site.write("two.yaml", "turns:\n  - content: |\n      ---\n      n: 2\n      ---\n");
    let poked = site
        .uwf(&["thread", "poke", &thread, "-p", "Two.", "--agent", &format!("{AGENT} --mock {two}")])
        .ok();
    assert_eq!(poked.json()["status"], "end");
    site.verify();
}

#[test]
fn what_is_no_question_is_refused() {
    let site = Site::new();
    let said = site.uwf(&["evaluate-conditions"]).code(1);
    assert!(said.err.starts_with("uwf evaluate-conditions: "), "{}", said.err);
    assert!(!site.uwf(&["--help"]).ok().out.contains("evaluate-conditions"));
}
