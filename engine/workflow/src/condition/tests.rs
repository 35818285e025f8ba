//! What is refused with which words and where, what an expression refers to, and what conditions come to.

use serde_json::json;

use super::{Answer, Names, Question, Steps, answer, check, context};

/// An expression and what is wrong with it; the place as a mark below it.
fn refused(expression: &str) -> String {
    let error = check(expression).expect_err(expression);
    let mark = error.at.map_or_else(String::new, |at| format!("\n  {}^", " ".repeat(at)));
    format!("  {expression}{mark}\n{error}\n")
}

#[test]
fn what_does_not_parse_is_told_with_its_place() {
    let told: Vec<String> = [
        "steps[-1].",
        "steps[-1",
        "(1 + 2",
        "steps[-1].output.approved = ",
        "steps[-1] output",
        "steps[-1].output.'a",
        "\"never closed",
        "a +* b",
        "1 = = 2",
        "steps.`role",
        "{ \"a\": 1",
        "{ \"a\" 1 }",
        "[1, 2",
        "$count(steps",
        "function($x){ $x",
        "a ? b : ",
        "steps[role = 'x'] and",
        "a @ b",
        "/abc",
        "1e999",
        "\"\\q\"",
        ") ",
        "ä = ) 1",
        "a == 1",
        "a && b",
        "a || b",
        "!a",
        "not a",
        "a = \"x == 1\" b",
        "",
        "  \n ",
    ]
    .iter()
    .map(|expression| refused(expression))
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_clock_and_chance_are_refused_wherever_they_are_asked_for() {
    let told: Vec<String> = [
        "$now() > \"2020\"",
        "$millis() % 2 = 0",
        "$random() < 0.5",
        "$shuffle(steps)[0].role = \"a\"",
        "$map([1], $now)",
        "($clock := $millis; true)",
        "steps[-1].output.($random() < 0.5)",
        "function(){ $now() }()",
        "$now() = $now()",
        "$toMillis(\"12:00\", \"[H]:[m]\") > 0",
        "(\"12:00\" ~> $toMillis(\"[H]:[m]\")) > 0",
        "($p := \"[H]:[m]\"; $toMillis(\"12:00\", $p)) > 0",
        "$toMillis(\"12\", \"[[Y]][H]\") > 0",
        "$map([\"12\"], $toMillis)",
        "$eval(\"$toMillis('12:00', '[H]:[m]')\") > 0",
    ]
    .iter()
    .map(|expression| refused(expression))
    .collect();
    insta::assert_snapshot!(told.join("\n"));
    for fine in [
        "$toMillis(\"2020-01-01\") > 0",
        "$fromMillis(0, \"[Y]\") = \"1970\"",
        "now.random",
        "\"$now()\" = \"\"",
    ] {
        check(fine).unwrap();
    }
}

#[test]
fn what_is_called_must_be_there() {
    let told: Vec<String> = [
        "$cuont(steps) > 1",
        "steps[-1].output.($len(a) > 1)",
        "($f := function($x){ $x }; $g(1))",
        "$if(true)",
    ]
    .iter()
    .map(|expression| refused(expression))
    .collect();
    insta::assert_snapshot!(told.join("\n"));
    for fine in [
        "($f := function($x){ $x }; $f(1)) = 1",
        "$map([1], function($v){ $string($v) })",
        "($apply := function($f){ $f(1) }; $apply($not))",
        "$reduce([1], function($a, $b){ $a + $b }) = 1",
        "($count := $length; $count(\"a\") = 1)",
    ] {
        check(fine).unwrap();
    }
}

#[test]
fn a_long_expression_is_refused() {
    let error = check(&format!("\"{}\"", "x".repeat(super::LONGEST))).unwrap_err();
    assert_eq!(error.to_string(), "the expression has 16386 bytes: at most 16384 are read");
}

fn names(expression: &str) -> Names {
    check(expression).unwrap()
}

#[test]
fn what_an_expression_refers_to_is_told_as_far_as_it_can_be() {
    let field = |steps: Steps, field: &str| (steps, field.to_owned());
    for (expression, fields) in [
        ("steps[-1].output.approved = false", vec![field(Steps::Last, "approved")]),
        ("$exists(steps[-1].output.needs.more)", vec![field(Steps::Last, "needs")]),
        ("steps.output.a or steps[0].output.b", vec![field(Steps::Any, "a"), field(Steps::Any, "b")]),
        ("steps[role=\"x\"][-1].output.a", vec![field(Steps::Of("x".into()), "a")]),
        (
            "steps[role=\"x\" and output.n > 1].output.a",
            vec![field(Steps::Any, "n"), field(Steps::Of("x".into()), "a")],
        ),
        ("steps[-1].(output.a + output.b)", vec![field(Steps::Last, "a"), field(Steps::Last, "b")]),
        ("$$.steps[-1].output.`$status` = \"x\"", vec![field(Steps::Last, "$status")]),
        ("steps[-1].output.(a > 1 and b)", vec![field(Steps::Last, "a"), field(Steps::Last, "b")]),
        ("$sort(steps, function($l, $r){ $l.n > $r.n })[0].output.z", vec![]),
        ("($last := steps[-1]; $last.output.z)", vec![]),
        ("steps@$s.output.z", vec![]),
        ("steps.output.*", vec![]),
        ("steps^(output.n).output.a", vec![field(Steps::Any, "a"), field(Steps::Any, "n")]),
    ] {
        let found = names(expression);
        assert_eq!(found.fields.into_iter().collect::<Vec<_>>(), fields, "{expression}");
        assert!(found.unknown.is_empty(), "{expression}");
    }
    let roles =
        names("steps[-1].role = \"a\" or steps.role in [\"b\", \"c\"] or \"d\" != steps[0].role").roles;
    assert_eq!(roles.into_iter().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    let unknown = names("step[-1].output.x or start.promt or steps[-1].outptu.y").unknown;
    let unknown: Vec<String> =
        unknown.into_iter().map(|(place, name)| format!("{name} in {place}")).collect();
    assert_eq!(unknown, ["promt in `start`", "outptu in a step", "step in the context of a condition"]);
}

fn asked(expressions: &[&str]) -> Answer {
    let step = |role: &str, output| json!({"role": role, "output": output, "detail": "D", "agent": "x"});
    let steps = vec![
        step("planner", json!({"plan": "p"})),
        step("developer", json!({"files": ["a", "b"]})),
        step("reviewer", json!({"approved": false, "n": 0, "text": ""})),
    ];
    let expressions = expressions.iter().map(|text| (*text).to_owned()).collect();
    answer(&Question { expressions, context: context("W", "the task", steps) }, &mut |_| {})
}

#[test]
fn the_first_that_is_true_by_the_languages_cast_wins() {
    let of = |expressions: &[&str]| match asked(expressions) {
        Answer::First { index } => Some(index),
        Answer::None => None,
        failed => panic!("{failed:?}"),
    };
    assert_eq!(
        of(&["steps[-1].output.approved = true", "steps[-1].output.approved = false", "true"]),
        Some(1)
    );
    for (expression, is_true) in [
        ("1", true),
        ("0", false),
        ("\"x\"", true),
        ("\"\"", false),
        ("null", false),
        ("[]", false),
        ("[0]", false),
        ("[0, 0]", false),
        ("[0, 1]", true),
        ("{}", false),
        ("{\"a\": 0}", true),
        ("nothing_there", false),
        ("$sum", false),
        ("function($x){1}", false),
        ("steps", true),
        ("steps[5]", false),
        ("steps[-1].output.n", false),
        ("steps[-1].output.text", false),
        ("start.prompt = \"the task\"", true),
        ("start.workflow = \"W\"", true),
        ("$count(steps) = 3 and steps[0].role = \"planner\"", true),
        ("steps[-1].detail = \"D\"", true),
    ] {
        assert_eq!(of(&[expression]).is_some(), is_true, "{expression}");
    }
    assert_eq!(of(&["$exists(steps[-1].output.nothing)"]), None);
}

#[test]
fn an_expression_that_fails_is_told_with_its_place() {
    let told: Vec<String> = [
        "1 + \"a\"",
        "steps[0].role - 1 > 0",
        "$length(1)",
        "$nosuch(1)",
        "$error(\"as said\")",
        "$sum([1, \"a\"])",
        "start.prompt < 1",
        "$number(\"x\")",
        "$eval(\"$now()\")",
        "$eval(\"1 +\")",
        "\"a\" ~> 1",
        "$toMillis(\"x\")",
        "1 + \"a\" + \"b\"",
        "[1..1e10]",
    ]
    .iter()
    .map(|expression| match asked(&["false", expression]) {
        Answer::Failed { index: 1, error } => format!("{expression}\n  {:?}: {}", error.at, error.message),
        other => format!("{expression}\n  {other:?}"),
    })
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn deep_and_long_expressions_do_no_harm() {
    let many = |part: &str, last: &str| format!("{}{last}", part.repeat(super::LONGEST / part.len() - 2));
    for (part, last) in [
        ("(", "1"),
        ("[", "1"),
        ("{\"a\":", "1"),
        ("-", "1"),
        ("1+", "1"),
        ("a.", "b"),
        ("a[", "1"),
        ("a=", "1"),
        ("$f(", "1"),
        ("a?b:", "c"),
        ("a;", "b"),
        ("function(){", "1"),
        ("a and ", "b"),
        ("a~>$b~>", "$c"),
        ("\"a\"&", "1"),
        ("(a;", "1"),
        ("a^(", "b"),
        ("a{b:", "c"),
        ("|a|", "b"),
        ("function($x)<a<", "1"),
        ("/*", ""),
        ("`a`.", "b"),
        ("%.", "a"),
        ("a[0]", ""),
        ("**.", "a"),
    ] {
        let text = many(part, last);
        let begun = std::time::Instant::now();
        if let Ok(names) = check(&text) {
            drop(names);
            asked(&[&text]);
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{part}: {:?}", begun.elapsed());
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[a-z0-9$%@#^&|~?:;.,*/+=<>!\"'`\\[\\](){} -]{0,60}") {
        let found = check(&text).err().and_then(|error| error.at);
        proptest::prop_assert!(found.is_none_or(|at| at <= text.chars().count()));
    }
}

#[test]
fn a_signature_may_be_nested_so_far() {
    let nested = |levels: usize| format!("function($x)<{}s{}>{{1}}", "a<".repeat(levels), ">".repeat(levels));
    check(&nested(200)).unwrap();
    assert!(refused(&nested(4_000)).contains("nested deeper than 250 levels"));
}
