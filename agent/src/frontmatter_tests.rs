//! Every golden case of the answer format, and the rules that the cases leave open.

use super::*;

#[derive(serde::Deserialize)]
struct Golden {
    schemas: std::collections::BTreeMap<String, GoldenSchema>,
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct GoldenSchema {
    schema: Value,
    hash: Hash,
}

#[derive(serde::Deserialize)]
struct Case {
    note: String,
    schema: String,
    raw: String,
    result: Option<Expected>,
    ours: String,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expected {
    via: String,
    body: String,
    output_hash: Hash,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../testdata/frontmatter.json")).unwrap()
}

fn check(case: &Case, got: &Result<Extracted, ExtractError>) {
    match (&case.result, got) {
        (None, got) => assert!(got.is_err(), "{}: accepted {got:?}", case.note),
        (Some(expected), Ok(got)) => {
            assert_eq!(got.schema == builtin::SUSPEND_OUTPUT, expected.via == "suspend", "{}", case.note);
            assert_eq!(got.body, expected.body, "{}", case.note);
            assert_eq!(Hash::of(&got.schema, &got.output), expected.output_hash, "{}: {got:?}", case.note);
        }
        (Some(_), Err(error)) => panic!("{}: {error}", case.note),
    }
}

#[test]
fn every_golden_case() {
    let golden = golden();
    for case in &golden.cases {
        let GoldenSchema { schema, hash } = &golden.schemas[&case.schema];
        let got = extract(&case.raw, schema, *hash);
        match case.ours.as_str() {
            "same" => check(case, &got),
            "as-LF" => {
                let lf = extract(&case.raw.replace("\r\n", "\n"), schema, *hash).unwrap();
                assert_eq!(got.unwrap(), lf, "{}", case.note);
            }
            "no-fence" => assert!(matches!(got, Err(ExtractError::NoFrontmatter(_))), "{}", case.note),
            "accept" => {
                let got = got.unwrap();
                assert_eq!(got.output, json!({"$status": "done", "title": "Hello"}), "{}", case.note);
                assert!(got.body.starts_with("# Body") || got.body == "body", "{}: {got:?}", case.note);
            }
            free => assert_eq!(free, "free", "{}", case.note),
        }
    }
    assert_eq!(golden.cases.len(), 67);
}

fn flat(raw: &str) -> Result<Extracted, ExtractError> {
    let golden = golden();
    let GoldenSchema { schema, hash } = &golden.schemas["flat"];
    extract(raw, schema, *hash)
}

#[test]
fn crlf_and_a_bom_leave_nothing_behind() {
    let got = flat("\u{feff}---\r\n$status: done\r\ntitle: Hello\r\n---\r\n\r\nBody\r\n").unwrap();
    assert_eq!(got.output, json!({"$status": "done", "title": "Hello"}));
    assert_eq!(got.body, "Body\n");
}

#[test]
fn a_rule_in_prose_is_not_taken_for_frontmatter() {
    let got = flat("Notes\n---\nmore\n---\n$status: done\ntitle: x\n---\nbody").unwrap();
    assert_eq!(got.output["title"], "x");
    assert_eq!(got.body, "body");
}

#[test]
fn a_code_block_in_the_body_stays() {
    let got = flat("---\n$status: done\ntitle: x\n---\n```\ncode\n```\n").unwrap();
    assert_eq!(got.body, "```\ncode\n```\n");
}

#[test]
fn each_reason_is_told_apart() {
    let error = |raw: &str| flat(raw).unwrap_err();
    assert!(matches!(error(""), ExtractError::NoFrontmatter("the text is empty")));
    assert!(
        matches!(error("---\n$status: done\n"), ExtractError::NoFrontmatter(why) if why.contains("only one"))
    );
    assert!(matches!(error("---\na: b: c\n---\n"), ExtractError::Yaml { line: 1, .. }));
    assert!(matches!(error("---\n- a\n---\n"), ExtractError::NotMapping { got: "a list" }));
    let ExtractError::Invalid { violations, .. } = error("---\n$status: done\ntitle: t\ncount: three\n---\n")
    else {
        panic!("not the violations")
    };
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].path, "/count");
}

#[test]
fn a_schema_that_names_nothing_keeps_every_field_but_wants_a_status() {
    let any = json!({});
    let hash = Hash::of(&builtin::META_SCHEMA, &any);
    let got = extract("---\n$status: done\nfoo: 1\n---\nb", &any, hash).unwrap();
    assert_eq!(got.output, json!({"$status": "done", "foo": 1}));
    assert!(matches!(extract("---\nfoo: 1\n---\nb", &any, hash), Err(ExtractError::Invalid { .. })));
}

#[test]
fn suspending_needs_a_reason_in_words() {
    let got = flat("---\n$status: $SUSPEND\nreason: which branch?\n---\n").unwrap();
    assert_eq!(got.schema, builtin::SUSPEND_OUTPUT);
    assert!(matches!(flat("---\n$status: $SUSPEND\nreason: [a]\n---\n"), Err(ExtractError::Invalid { .. })));
}

#[test]
fn what_any_part_of_the_schema_declares_is_kept() {
    let schema = json!({
        "properties": {"$status": {"enum": ["ok", "rejected"]}},
        "required": ["$status"],
        "if": {"properties": {"$status": {"const": "rejected"}}},
        "then": {"properties": {"why": {"type": "string"}}, "required": ["why"]},
        "oneOf": [{"properties": {"lines": {"type": "integer"}}}],
    });
    let hash = Hash::of(&builtin::META_SCHEMA, &schema);
    let answer = "---\n$status: rejected\nwhy: Too long.\nlines: 3\nmore: 1\n---\n";
    let output = extract(answer, &schema, hash).unwrap().output;
    assert_eq!(output, json!({"$status": "rejected", "why": "Too long.", "lines": 3}));
    assert!(extract("---\n$status: rejected\n---\n", &schema, hash).is_err());
}
