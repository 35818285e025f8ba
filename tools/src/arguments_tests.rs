//! Tests of `arguments`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Args {
    /// A path
    path: String,
    #[schemars(range(min = 1, max = 600))]
    limit: Option<u64>,
    all: Option<bool>,
}

fn check(text: &str) -> Result<Value, String> {
    parse(text, &schema::<Args>()).map_err(|error| error.to_string())
}

#[test]
fn the_schema_has_what_a_model_needs_and_no_more() {
    let expected = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "A path"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 600},
            "all": {"type": "boolean"},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    assert_eq!(schema::<Args>(), expected);
}

#[test]
fn no_parameters_still_give_properties_and_required() {
    #[derive(Deserialize, JsonSchema)]
    struct None {}
    let expected = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    assert_eq!(schema::<None>(), expected);
}

#[test]
fn every_problem_is_named_at_once() {
    let problems = check(r#"{"pth": "a", "limit": "5", "all": 1}"#).unwrap_err();
    insta::assert_snapshot!(problems, @"`all` must be a boolean, got a number; `limit` must be an integer, got a string; there is no parameter `pth` (did you mean `path`?); `path` is missing");
}

#[test]
fn numbers_are_held_to_their_range() {
    assert_eq!(check(r#"{"path": "a", "limit": 0}"#).unwrap_err(), "`limit` must be at least 1, got 0");
    assert_eq!(check(r#"{"path": "a", "limit": 601}"#).unwrap_err(), "`limit` must be at most 600, got 601");
    assert!(check(r#"{"path": "a", "limit": 1.5}"#).unwrap_err().contains("got a fraction"));
    assert!(check(r#"{"path": "a", "limit": 600}"#).is_ok());
}

#[test]
fn null_stands_for_an_absent_optional_alone() {
    assert!(check(r#"{"path": "a", "limit": null}"#).is_ok());
    assert_eq!(check(r#"{"path": null}"#).unwrap_err(), "`path` must be a string, got null");
}

#[test]
fn nothing_is_an_empty_object() {
    assert_eq!(check("").unwrap_err(), "`path` is missing");
    assert_eq!(check(" \n").unwrap_err(), "`path` is missing");
}

#[test]
fn what_is_no_object_or_no_json_is_said() {
    assert!(check("[1]").unwrap_err().contains("got an array"));
    let cut = check(r#"{"path": "src/main.rs", "limit": 1"#).unwrap_err();
    assert!(cut.contains("not valid JSON") && cut.contains(r#"limit": 1`"#), "{cut}");
    assert!(check("{\"path\": \"ñññññññññññññññññññññññññññ\", x}").unwrap_err().contains("near `"));
}

#[test]
fn the_shape_is_one_line_with_what_is_required_first() {
    assert_eq!(signature(&schema::<Args>()), r#"{"path": string, "all"?: boolean, "limit"?: integer}"#);
}

#[test]
fn of_problems_without_end_the_first_are_told() {
    let members: Vec<String> = (0..5_000).map(|n| format!("\"p{n}{}\": 1", "x".repeat(200))).collect();
    let problem = check(&format!("{{{}}}", members.join(", "))).unwrap_err();
    assert!(problem.starts_with("there is no parameter `p0xxx"), "{problem}");
    assert!(problem.ends_with("; and 4981 more problems") && problem.len() < 5_000, "{problem}");
    let deep = format!("{{\"path\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(check(&deep).unwrap_err().contains("recursion limit exceeded"));
}
