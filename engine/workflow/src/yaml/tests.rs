//! Each rule of the dialect, and that no text can break the reader.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{MAX_DEPTH, Position, parse, parse_value};

fn value(text: &str) -> Value {
    parse_value(text).unwrap()
}

fn error(text: &str) -> String {
    parse_value(text).unwrap_err().to_string()
}

#[test]
fn plain_scalars_are_yaml_1_2_core() {
    for (text, expected) in [
        ("yes", json!("yes")),
        ("on", json!("on")),
        ("2026-06-09T10:00:00Z", json!("2026-06-09T10:00:00Z")),
        ("2026-06-09", json!("2026-06-09")),
        ("true", json!(true)),
        ("True", json!(true)),
        ("FALSE", json!(false)),
        ("tRUE", json!("tRUE")),
        ("null", json!(null)),
        ("~", json!(null)),
        ("nULL", json!("nULL")),
        ("1_000", json!("1_000")),
        ("1:30", json!("1:30")),
        ("infinity", json!("infinity")),
        ("nan", json!("nan")),
        ("1a", json!("1a")),
        ("-", json!([null])),
        ("--- 5", json!(5)),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn numbers_are_javascripts() {
    for (text, expected) in [
        ("42", json!(42)),
        ("+7", json!(7)),
        ("-3", json!(-3)),
        ("007", json!(7)),
        ("1.5", json!(1.5)),
        (".5", json!(0.5)),
        ("2.", json!(2)),
        ("1e3", json!(1000)),
        ("1.0", json!(1)),
        ("-0", json!(0)),
        ("0x1F", json!(31)),
        ("0o17", json!(15)),
        ("0x", json!("0x")),
        ("0xZ", json!("0xZ")),
        ("-0x1", json!("-0x1")),
        ("9007199254740991", json!(9_007_199_254_740_991_u64)),
        ("12345678901234567890", json!(12_345_678_901_234_567_890_f64)),
        ("1e21", json!(1e21)),
        (".", json!(".")),
        ("1e", json!("1e")),
        ("+", json!("+")),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn what_json_has_no_number_for_stays_text() {
    for text in [".inf", "-.INF", ".nan", "1e999"] {
        assert_eq!(value(text), json!(text));
    }
}

#[test]
fn quoted_and_block_scalars_are_strings() {
    assert_eq!(value("'42'"), json!("42"));
    assert_eq!(value(r#""\ud83e\udd80\/""#), json!("🦀/"), "escapes of JSON");
    assert_eq!(value("\"a\\nb\""), json!("a\nb"));
    assert_eq!(value("a: |\n  x\n    y\n\n  z\n"), json!({"a": "x\n  y\n\nz\n"}));
    assert_eq!(value("a: >-\n  x\n  y\n"), json!({"a": "x y"}));
    assert_eq!(value("a: |\r\n  x\r\n  y\r\n"), json!({"a": "x\ny\n"}));
}

#[test]
fn tags() {
    assert_eq!(value("!!str 42"), json!("42"));
    assert_eq!(value("!!int 42"), json!(42));
    assert_eq!(value("!!int x"), json!("x"));
    assert_eq!(value("!!bool true"), json!(true));
    assert_eq!(value("!foo bar"), json!("bar"));
    assert_eq!(value("!foo 42"), json!("42"));
    assert_eq!(value("!foo [1]"), json!([1]));
}

#[test]
fn keys_are_strings_as_in_a_javascript_object() {
    assert_eq!(value("1: a\n1.5: b\ntrue: c\n~: d\n0x10: e\n<<: {x: 1}\n__proto__: f"), {
        json!({"1": "a", "1.5": "b", "true": "c", "": "d", "16": "e", "<<": {"x": 1}, "__proto__": "f"})
    });
}

#[test]
fn empty_text_is_null() {
    for text in ["", "\n\n", "# only this\n", "---\n"] {
        assert_eq!(value(text), Value::Null, "{text:?}");
    }
}

#[test]
fn whole_documents() {
    assert_eq!(value("\u{feff}a: 1\n"), json!({"a": 1}), "a byte order mark");
    assert_eq!(value("$status: done\ntitle: t\n...\n"), json!({"$status": "done", "title": "t"}));
    assert_eq!(value("# hello\n$status: done # trailing\ntitle: t#x\nopt:\n"), {
        json!({"$status": "done", "title": "t#x", "opt": null})
    });
    assert_eq!(value("tags:\n- one\n- 'two: 2'\nmore: [a, \"b, c\", 'd']\n"), {
        json!({"tags": ["one", "two: 2"], "more": ["a", "b, c", "d"]})
    });
    assert_eq!(value("title: Größe ☂ 🦀 工\r\ncount: 3\r\n"), json!({"title": "Größe ☂ 🦀 工", "count": 3}));
    assert_eq!(value("$status: $SUSPEND\nreason: max turns"), {
        json!({"$status": "$SUSPEND", "reason": "max turns"})
    });
}

#[test]
fn anchors_and_aliases() {
    assert_eq!(value("a: &x {n: 1}\nb: *x\nc: [*x]"), json!({"a": {"n": 1}, "b": {"n": 1}, "c": [{"n": 1}]}));
    assert_eq!(value("&k a: 1\nb: *k"), json!({"a": 1, "b": "a"}));
}

#[test]
fn refused() {
    let cases = [
        "a: 1\nb: 2\na: 3",
        "1: a\n'1': b",
        "a: 1\n---\nb: 2",
        "a: b: c",
        "? [x]\n: 1",
        "a: *nowhere",
        "a: &x [*x]",
        "a: [1, 2",
        "a: \"x",
        "a: b\n c: d",
    ];
    let told: Vec<String> = cases.iter().map(|text| format!("{text:?}\n  {}", error(text))).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn an_unquoted_template_is_named_so() {
    for (text, line, column) in [
        ("a: {{ x }}", 1, 4),
        ("a: {{{ x }}}", 1, 4),
        ("a:\n  prompt: {{{x}}}\n  b: 1", 2, 11),
        ("a: {{x}} and more", 1, 4),
        ("a: {{#x}}y{{/x}}", 1, 4),
        ("a: {{^x}}y{{/x}}", 1, 4),
        ("a: {{&x}}", 1, 4),
        ("a: {{> x}}", 1, 4),
        ("a: {{! x }}", 1, 4),
        ("- {{x}}", 1, 3),
    ] {
        let error = parse_value(text).unwrap_err();
        assert!(error.message.contains("quote your template"), "{text}: {error}");
        assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
    }
    assert_eq!(value("a: Hi {{x}}"), json!({"a": "Hi {{x}}"}));
}

#[test]
fn positions() {
    let document = parse("a:\n  b/c: 1\n  list:\n    - x\n    - y: 2\n").unwrap();
    let position = |line, column| Position { line, column };
    assert_eq!(document.at("/a/b~1c"), position(2, 8));
    assert_eq!(document.at_key("/a/b~1c"), position(2, 3));
    assert_eq!(document.at("/a/list/1/y"), position(5, 10));
    assert_eq!(document.at("/a/list/0"), position(4, 7));
    assert_eq!(document.at_key("/a/list/0"), position(4, 7));
    assert_eq!(document.at_key("/a/missing"), position(1, 1), "the key of the mapping that misses it");
    assert_eq!(document.at("/a/missing"), position(2, 3));
    assert_eq!(document.at(""), position(1, 1));
}

#[test]
fn tags_of_applications_are_found_also_behind_an_alias() {
    let document = parse("a: &x !include one.md\nb: [*x, !include two.md]\nc: !other x").unwrap();
    let tags = document.tags();
    let tags: Vec<_> = tags.iter().map(|(pointer, tag)| (pointer.as_str(), tag.as_str())).collect();
    assert_eq!(tags, [("/a", "!include"), ("/b/0", "!include"), ("/b/1", "!include"), ("/c", "!other")]);
}

#[test]
fn nesting_is_bounded() {
    let flow = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&flow(MAX_DEPTH)).is_ok());
    assert!(error(&flow(MAX_DEPTH + 1)).contains("nested deeper"));
    assert!(parse(&flow(100_000)).is_err());
    assert!(error(&"- ".repeat(50_000)).contains("nested deeper"));
    let block: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert!(error(&block).contains("nested deeper"));
}

#[test]
fn aliases_cannot_blow_up_in_size_or_in_depth() {
    let mut laughs = String::from("l0: &l0 [lol, lol]\n");
    for level in 1..40 {
        let below = level - 1;
        laughs.push_str(&format!("l{level}: &l{level} [*l{below}, *l{below}]\n"));
    }
    assert!(error(&laughs).contains("expand to too much"));

    let long = format!("a: &a {}\nb: [{}]", "x".repeat(100_000), "*a, ".repeat(1_000));
    assert!(error(&long).contains("expand to too much"));

    let mut deep = String::from("l0: &l0 [x]\n");
    for level in 1..200 {
        let below = level - 1;
        deep.push_str(&format!("l{level}: &l{level} [*l{below}]\n"));
    }
    assert!(error(&deep).contains("nested deeper"));
}

proptest! {
    #[test]
    fn never_panics(text in "[-{}\\[\\]:#&*!|>'\"%@`,? \\n\\ta-c0-9.~<=\u{feff}☂]{0,80}") {
        let _ = parse(&text);
    }

    #[test]
    fn json_is_read_as_json(value in json_values()) {
        let text = value.to_string();
        prop_assert_eq!(super::parse_value(&text).unwrap(), value);
    }
}

fn json_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~☂é\n]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-z $/~]{1,6}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
