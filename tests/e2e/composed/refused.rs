//! What cannot be called, and what is wrong with what says so: each case with its message, and nothing is changed by it.

use super::{Stack, WORKS};
use crate::site::Site;

/// What `config.yaml` says in the place of what, and what is told.
const CALLS: [(&str, &str, &[&str]); 13] = [
    // A cycle at each length.
    (
        "inner: { workflow: inner }",
        "inner: { workflow: middle }",
        &["plays above it", "outer → middle → middle"],
    ),
    (
        "inner: { workflow: inner }",
        "inner: { workflow: outer }",
        &["plays above it", "outer → middle → outer", "give role"],
    ),
    ("middle: { workflow: middle }", "middle: { workflow: outer }", &["plays above it", "outer → outer"]),
    // Too deep.
    (
        "defaultAgent: mock",
        "defaultAgent: mock\nmaxDepth: 1",
        &["at most 1 threads", "outer → middle → inner", "config set maxDepth"],
    ),
    ("defaultAgent: mock", "defaultAgent: mock\nmaxDepth: 0", &["at most 0 threads", "outer → middle"]),
    // Workflows that are not there.
    ("middle: { workflow: middle }", "middle: { workflow: midle }", &["no workflow `midle`", "middle"]),
    (
        "middle: { workflow: middle }",
        "middle: { workflow: ./gone.yaml }",
        &["cannot read workflow file", "gone.yaml"],
    ),
    (
        "middle: { workflow: middle }",
        "middle: { workflow: '0000000000000' }",
        &["no workflow `0000000000000`"],
    ),
    // Settings that say nothing that can be.
    (
        "middle: { workflow: middle }",
        "middle: { workflow: middle, command: x }",
        &["config.yaml:2", "agents.middle"],
    ),
    (
        "middle: { workflow: middle }",
        "middle: { workflow: middle, args: [x] }",
        &["config.yaml:2", "agents.middle"],
    ),
    ("middle: { workflow: middle }", "middle: { workflow: 5 }", &["agents.middle"]),
    ("middle: { workflow: middle }", "middle: { args: [x] }", &["agents.middle"]),
    ("defaultAgent: mock", "defaultAgent: mock\nmaxDepth: -1", &["maxDepth"]),
];

#[test]
fn calls_that_cannot_be_made_are_told_before_anything_is_stored() {
    let stack = Stack::new(WORKS);
    let good = std::fs::read_to_string(stack.site.home().join(".uwf/config.yaml")).unwrap();
    for (from, to, words) in CALLS {
        let config = good.replace(from, to);
        assert_ne!(config, good, "{from}");
        let outer = stack.start();
        stack.site.write("home/.uwf/config.yaml", &config);
        let said = stack.site.uwf(&["thread", "exec", &outer]).fails(1, words);
        assert!(
            said.err.contains("hint: ")
                || said.err.contains("caused by: ")
                || said.err.contains("config.yaml:"),
            "{}",
            said.err
        );
        stack.site.write("home/.uwf/config.yaml", &good);
        assert_eq!(stack.show(&outer)["status"], "idle");
        assert_eq!(stack.steps(&outer).len(), 0);
    }
    stack.site.verify();
}

/// `output:` and `context:` of a workflow file.
#[test]
fn what_a_file_says_of_calls_is_checked() {
    let with = |text: &str| format!("{}{text}\n", super::flow("w"));
    let role = |text: &str| {
        super::flow("w").replace("    goal: Do it.\n", &format!("    goal: Do it.\n    {text}\n"))
    };
    let cases = [
        (with("output: 5"), "w.yaml:14:9: `output` must be a mapping"),
        (with("output: { w-rol: {} }"), "`output` names `w-rol`, which is no role"),
        (with("output: { w-role: [] }"), "the output of role `w-role` must be a mapping"),
        (with("output: { w-role: { txt: /text } }"), "the output of role `w-role` has no field `txt`"),
        (with("output: { w-role: { text: text } }"), "`text` is no JSON pointer"),
        (with("output: { w-role: { text: '/a~2' } }"), "`/a~2` is no JSON pointer"),
        (with("output: { w-role: { text: '' } }"), "is no JSON pointer"),
        (with("output: { w-role: { text: / } }"), "`/` is no JSON pointer to a field"),
        (with("output: { w-role: { text: 5 } }"), "the field `text` must be a JSON pointer or a mapping"),
        (with("output: { w-role: { text: { values: { a: b } } } }"), "`from` is missing"),
        (with("output: { w-role: { text: { from: 5 } } }"), "`from` must be text"),
        (with("output: { w-role: { text: { form: /a } } }"), "did you mean `from`?"),
        (with("output: { w-role: { text: { from: /a, values: 5 } } }"), "`values` must be a mapping"),
        (role("context: caller"), "`context` must be a list"),
        (role("context: [callers]"), "`context` knows no `callers`"),
        (role("context: [5]"), "an item of `context` must be text"),
        (role("context: [caller, caller]"), "`caller` is there twice"),
    ];
    let site = Site::new();
    for (text, told) in cases {
        site.write("work/w.yaml", &text);
        let said = site.uwf(&["workflow", "validate", "w.yaml"]).fails(1, &[told]);
        assert!(said.err.contains("w.yaml:"), "{}", said.err);
    }
}

#[test]
fn what_as_agent_cannot_play_is_told() {
    let stack = Stack::new(WORKS);
    let outer = stack.start();
    let of = |args: &[&str], code, words: &[&str]| {
        stack.site.uwf(&[&["as-agent"], args].concat()).fails(code, words);
    };
    of(&["gone", "--thread", &outer, "--role", "outer-role"], 1, &["no workflow `gone`", "inner"]);
    of(&["middle", "--thread", &outer, "--role", "nobody"], 1, &["has no role `nobody`", "outer-role"]);
    of(&["middle", "--thread", "01KAZZZZZZZZZZZZZZZZZZZZZZ", "--role", "outer-role"], 1, &["no such thread"]);
    of(&["outer", "--thread", &outer, "--role", "outer-role"], 1, &["outer → outer"]);
    for args in [&["middle"][..], &["middle", "--thread", &outer], &["middle", &outer]] {
        let said = stack.site.uwf(&[&["as-agent"], args].concat()).code(2);
        assert!(said.err.contains("Usage: "), "{}", said.err);
        let forms =
            ["as-agent <WORKFLOW> --thread <THREAD> --role <ROLE>", "as-agent <WORKFLOW> <THREAD> <ROLE>"];
        assert!(forms.iter().all(|form| said.err.contains(form)), "{}", said.err);
    }
    assert!(stack.show(&outer).get("child").is_none());
}
