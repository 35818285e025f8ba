use super::*;
use crate::samples;
use serde_json::json;

#[test]
fn no_frontmatter() {
    let view = CorrectionView::NoFrontmatter { schema: &samples::choice() };
    insta::assert_snapshot!("no_frontmatter", correction(&view, 1, 2).unwrap());
}

#[test]
fn what_is_no_mapping_is_told_what_it_is() {
    let view = CorrectionView::NotMapping { got: "a list", schema: &samples::flat() };
    let text = correction(&view, 1, 2).unwrap();
    assert!(text.starts_with(
        "Your answer was refused: what stands between the `---` lines is a list, expected fields"
    ));
    assert!(text.contains("<example>\n---\n$status:"), "{text}");
}

#[test]
fn bad_yaml_shows_the_line() {
    let schema = samples::variants();
    let bad = |line| CorrectionView::BadYaml {
        line,
        column: 14,
        message: "mapping values are not allowed in this context",
        yaml: "$status: rejected\nwhy: parser: ```wrong```\n",
        schema: &schema,
    };
    insta::assert_snapshot!("bad_yaml", correction(&bad(2), 1, 2).unwrap());
    for line in [0, 3, 99] {
        assert!(!correction(&bad(line), 1, 2).unwrap().contains("wrong"), "line {line}");
    }
}

#[test]
fn violations_are_all_told_with_what_is_allowed() {
    let schema = samples::nested();
    let (line, missing) = (json!("12"), json!({"$status": "reviewed"}));
    let long = json!("é`".repeat(400));
    let violations = [
        ViolationView {
            path: "",
            message: "\"findings\" is a required property",
            expected: None,
            got: Some(&missing),
        },
        ViolationView {
            path: "/findings/0/line",
            message: "not an integer",
            expected: Some("integer"),
            got: Some(&line),
        },
        ViolationView { path: "/author/name", message: "does not match", expected: None, got: Some(&long) },
        ViolationView {
            path: "/source",
            message: "is valid under none of the given schemas",
            expected: None,
            got: None,
        },
    ];
    let view =
        CorrectionView::Violations { violations: &violations, status: Some("reviewed"), schema: &schema };
    insta::assert_snapshot!("violations", correction(&view, 2, 2).unwrap());
}

#[test]
fn only_the_form_of_the_status_is_shown() {
    let schema = samples::variants();
    let got = json!("high");
    let violations = [ViolationView {
        path: "/score",
        message: "not a number",
        expected: Some("number"),
        got: Some(&got),
    }];
    let correct = |status| {
        correction(&CorrectionView::Violations { violations: &violations, status, schema: &schema }, 1, 2)
    };
    insta::assert_snapshot!("violations_of_one_form", correct(Some("approved")).unwrap());
    assert!(correct(Some("unheard")).unwrap().contains("$status: rejected"));
    assert!(correct(None).unwrap().contains("$status: rejected"));
}

#[test]
fn an_unknown_status_is_told_all_that_are_allowed() {
    let schema = samples::variants();
    let got = json!("ok");
    let message = "`$status` must be one of `approved`, `rejected`";
    let violations = [ViolationView { path: "/$status", message, expected: None, got: Some(&got) }];
    let view = CorrectionView::Violations { violations: &violations, status: Some("ok"), schema: &schema };
    let text = correction(&view, 1, 2).unwrap();
    assert!(text.contains("- allowed: exactly `approved`, or exactly `rejected`\n"), "{text}");
}

#[test]
fn a_copied_placeholder() {
    let schema = samples::variants();
    let view = CorrectionView::Placeholder {
        path: "/why",
        placeholder: "<why>",
        status: Some("rejected"),
        schema: &schema,
    };
    insta::assert_snapshot!("placeholder", correction(&view, 1, 2).unwrap());
}

#[test]
fn a_rule_is_repeated_up_to_a_length() {
    let values: Vec<String> = (0..5_000).map(|n| format!("value {n}")).collect();
    let schema = json!({"properties": {"$status": {"const": "done"}, "list": {"items": {"enum": values}}}});
    let got = json!("x");
    let long = values.join(", ");
    let violation = ViolationView { path: "/list/0", message: &long, expected: Some(&long), got: Some(&got) };
    let view = CorrectionView::Violations { violations: &[violation], status: None, schema: &schema };
    let errors = render_errors(&view).unwrap();
    assert!(errors.len() < 3 * RULE + 1_000, "{}", errors.len());
    assert_eq!(errors.matches("[cut] 2000 of ").count(), 3);
}
