//! Beyond the cases of the format (see the moderator's tests): standalone lines, delimiters, scopes, bounds.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{MAX_SECTIONS, TemplateError, names, render};

fn check(template: &str, data: Value, expected: &str) {
    assert_eq!(render(template, &data).as_deref(), Ok(expected), "{template:?}");
}

#[test]
fn values_print_as_in_javascript() {
    check("{{n}}", json!({"n": 0.1}), "0.1");
    check("{{n}}", json!({"n": 9_007_199_254_740_993_u64}), "9007199254740992");
    check("{{n}}", json!({"n": -0.0}), "0");
    check("{{l}}", json!({"l": [1, [2, null, {"a": 1}], true]}), "1,2,,[object Object],true");
    check("{{x}}{{{x}}}{{&x}}", json!({"x": "<&\">"}), "<&\"><&\"><&\">");
}

#[test]
fn lengths_count_utf16_units() {
    check("{{s.length}} {{l.length}}", json!({"s": "a🦀", "l": [1, 2]}), "3 2");
    check("{{#l}}{{length}}{{/l}}", json!({"l": [[1, 2]], "length": 9}), "2");
    check("{{#l}}{{length}}{{/l}}", json!({"l": ["ab"], "length": 9}), "9");
    check("{{s.length.length}}|{{n.length}}", json!({"s": "a", "n": 5}), "|");
}

#[test]
fn names_resolve_from_the_innermost_scope_outward() {
    check("{{#o}}{{x}}{{y}}{{/o}}", json!({"o": {"x": null}, "x": 1, "y": 2}), "2");
    check("{{#o}}{{p.q}}{{/o}}", json!({"o": {"p": 1}, "p": {"q": "outer"}}), "outer");
    check("{{l.1}}{{l.01}}{{l.9}}", json!({"l": ["a", "b"]}), "b");
    check("{{.x}}|{{a.}}", json!({".x": 1, "a": {"": 2}}), "1|2");
    check("{{#l}}{{#.}}{{.}}{{/.}};{{/l}}", json!({"l": [[1, 2], [3]]}), "12;3;");
    check("{{#l}}{{x}}{{/l}}", json!({"l": [null, 1, "s"], "x": "-"}), "---");
    check("{{}}", json!({"": "empty name"}), "empty name");
}

#[test]
fn standalone_lines_vanish_and_others_do_not() {
    check("a\n  {{#t}}  \nb\n  {{/t}}\nc", json!({"t": true}), "a\nb\nc");
    check("a\r\n{{! note }}\r\nb", json!({}), "a\r\nb");
    check("a\n{{#t}}{{/t}}\nb", json!({"t": true}), "a\nb");
    check("a\n{{#t}}\n{{x}}\n{{/t}}", json!({"t": true, "x": ""}), "a\n\n");
    check(" {{x}} \n", json!({"x": ""}), "  \n");
    check("- {{#t}}\nb{{/t}}", json!({"t": true}), "- \nb");
    check("  {{> part}}\nb", json!({}), "b");
    check("a\n\u{a0}{{! x }}\u{feff}\nb", json!({}), "a\nb");
}

#[test]
fn delimiters_can_be_set() {
    check("{{=<% %>=}}{{x}} <% x %> <%{x}%> <%& x %>", json!({"x": 1}), "{{x}} 1 1 1");
    check("{{= | | =}}\n|x|\n|={{ }}=|{{x}}", json!({"x": 1}), "1\n1");
    assert!(matches!(render("a{{=x=}}", &json!({})), Err(TemplateError::Delimiters { offset: 1, .. })));
}

#[test]
fn errors_say_where_and_what() {
    let told: Vec<String> = [
        "☂ {{name",
        "{{{x}}",
        "{{=x y}}",
        "a{{/b}}",
        "{{#a}}{{#b}}{{/a}}{{/b}}",
        "x\n{{#a}}y",
        "{{^a}}",
        "{{= x =}}",
    ]
    .iter()
    .map(|template| {
        let error = render(template, &json!({})).unwrap_err();
        format!("{template:?} at {}: {error}", error.offset())
    })
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn nesting_and_work_are_bounded() {
    let nested = |depth: usize| format!("{}x{}", "{{#a}}".repeat(depth), "{{/a}}".repeat(depth));
    check(&nested(MAX_SECTIONS), json!({"a": true}), "x");
    let offset = MAX_SECTIONS * "{{#a}}".len();
    assert_eq!(render(&nested(MAX_SECTIONS + 1), &json!({})), Err(TemplateError::TooDeep { offset }));
    let list = json!({"a": vec![1; 1_000]});
    assert!(matches!(render(&nested(8), &list), Err(TemplateError::TooMuch { .. })));
    let long = json!({"l": vec![0; 1_000], "s": "x".repeat(100_000)});
    assert!(matches!(render("{{#l}}{{s}}{{/l}}", &long), Err(TemplateError::TooMuch { .. })));
}

#[test]
fn names_come_with_their_sections() {
    let found: Vec<String> = names("{{a}} {{#list}}{{x.y}}{{^no}}{{.}}{{b}}{{/no}}{{/list}}{{! c }}{{{d}}}")
        .unwrap()
        .into_iter()
        .map(|name| format!("{}@{} {}", name.name, name.offset, name.within.join(">")))
        .collect();
    assert_eq!(found, ["a@0 ", "list@6 ", "x.y@15 list", "no@22 list", "b@34 list", "d@63 "]);
}

proptest! {
    #[test]
    fn never_panics(template in "([{}#^/=!&>. \\n\\r☂a-c]|\\{\\{|\\}\\}){0,40}", n in any::<f64>()) {
        let data = json!({"a": [1, {"b": n}], "b": {"c": "☂"}, "c": true});
        if let Err(error) = render(&template, &data) {
            prop_assert!(template.is_char_boundary(error.offset()));
        }
        prop_assert_eq!(names(&template).is_ok(), super::parse::parse(&template).is_ok());
    }

    #[test]
    fn text_without_tags_is_left_alone(text in "[^{]*") {
        prop_assert_eq!(render(&text, &json!({})), Ok(text));
    }
}
