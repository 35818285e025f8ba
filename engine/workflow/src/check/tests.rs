//! Every rule, by breaking a good workflow in one place; and a file with many mistakes at once.

use std::fmt::Write as _;

use proptest::prelude::*;

use crate::fixture::{FIX_BUG, Files};

fn good() -> String {
    FIX_BUG.to_owned()
}

/// What is said when `from` is replaced by `to` in the good workflow.
fn broken(from: &str, to: &str) -> String {
    let text = good();
    assert!(text.contains(from), "{from}");
    let files = Files::new();
    files.write("w.yaml", &text.replacen(from, to, 1));
    files.problems("w.yaml")
}

fn told(edits: &[(&str, &str)]) -> String {
    let mut told = String::new();
    for (from, to) in edits {
        let (from_line, to_line) = (from.replace('\n', "⏎"), to.replace('\n', "⏎"));
        writeln!(told, "# {from_line}  =>  {to_line}\n{}", broken(from, to)).unwrap();
    }
    told
}

#[test]
fn the_good_one_is_good() {
    assert_eq!(broken("Be strict.", "Be kind."), "");
}

#[test]
fn shape() {
    let told = told(&[
        ("name: fix-bug\n", ""),
        ("name: fix-bug", "name: 5"),
        ("name: fix-bug", "name: fix bug"),
        ("name: fix-bug", "nam: fix-bug"),
        ("description: Find a bug, mend it, have it reviewed.", "<<: { description: Merged. }"),
        ("    goal: You mend the bug.\n", ""),
        ("goal: You mend the bug.", "goal:"),
        ("goal: You mend the bug.", "goal: ' '"),
        ("goal: You mend the bug.", "goal: { a: 1 }"),
        ("capabilities: [file-edit, shell]", "capabilities: shell"),
        ("capabilities: [file-edit, shell]", "capabilities: [shell, true]"),
        ("rejected: { role: fixer, prompt: \"Rejected: {{{why}}}. Mend it again.\" }", "rejected: fixer"),
        ("role: reviewer, ", ""),
        ("prompt: Look again.", "promt: Look again."),
        ("prompt: Look again.", "prompt: Look again., location: 7"),
    ]);
    insta::assert_snapshot!(told);
}

/// What people are warned of when `from` is replaced by `to` in the good workflow, which is good and has the hash of the
/// one where it is replaced by `same`.
fn warned(from: &str, to: &str, same: &str) -> String {
    let files = Files::new();
    let [with, without] = [("w.yaml", to), ("same.yaml", same)].map(|(name, to)| {
        let text = good();
        assert!(text.contains(from), "{from}");
        files.write(name, &text.replacen(from, to, 1));
        files.read(name).unwrap()
    });
    assert_eq!(with.hash(), without.hash(), "{to}");
    files.warnings("w.yaml")
}

#[test]
fn keys_that_nobody_reads_are_told_and_not_stored() {
    let mut told =
        warned("name: fix-bug\n", "name: fix-bug\nversion: 1\nx-a: &a { b: c }\n", "name: fix-bug\n");
    for (from, to, same) in [
        ("    description: Mends it\n", "    desciption: Mends it\n", ""),
        ("goal: You mend the bug.", "goal: You mend the bug.\n    model: large", "goal: You mend the bug."),
        ("prompt: Look again.", "prompt: Look again., note: [x]", "prompt: Look again."),
    ] {
        told.push_str(&warned(from, to, same));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn what_is_not_there_when_a_thread_begins_renders_to_nothing() {
    let prompt = "prompt: Look again.";
    let mut told = String::new();
    for to in [
        "prompt: 'Work on {{repoPath}} of {{{owner.name}}}.'",
        "prompt: '{{#files}}{{.}}{{/files}}Go.'",
        "prompt: '{{{task}}}'",
        "prompt: Look again., location: 'sub/{{dir}}'",
    ] {
        told.push_str(&warned(prompt, to, to));
    }
    insta::assert_snapshot!(told);
    assert_eq!(warned(prompt, "prompt: 'It is {{$status}}.'", "prompt: 'It is {{$status}}.'"), "");
}

#[test]
fn optional_parts_may_be_absent() {
    for part in [
        "description: Find a bug, mend it, have it reviewed.\n",
        "    description: Mends it\n",
        "    capabilities: [file-edit, shell]\n",
        "    procedure: Be strict.\n",
        "    output: Verdict.\n",
        "    resume: { role: finder, prompt: Look again. }\n",
    ] {
        assert_eq!(broken(part, ""), "", "{part}");
    }
    assert_eq!(broken("procedure: Be strict.", "procedure:"), "");
    assert_eq!(broken("role: $END, prompt: Done.", "role: $SUSPEND, prompt: Done."), "");
    assert_eq!(broken("prompt: Done. }", "prompt: Done., location: '{{$status}}' }"), "");
}

#[test]
fn roles_and_schemas() {
    let told = told(&[
        ("$status: { const: fixed }", "status: { const: fixed }"),
        ("$status: { const: approved }", "x: {}"),
        ("$status: { const: fixed }", "$status: { const: true }"),
        ("lines: { type: integer }", "lines: { $ref: '#/x' }"),
        ("lines: { type: integer }", "lines: { type: int }"),
        ("lines: { type: integer }", "lines: { type: string, format: email }"),
        ("lines: { type: integer }", "lines: { pattern: '(' }"),
        ("    frontmatter:\n      type: object\n", "    frontmatter: text\n    x:\n"),
        ("required: [$status, summary]", "required: [$status, sumary, more]"),
        ("required: [$status, summary]", "minProperties: 9"),
        ("    frontmatter:\n      type: object\n", "    frontmatter:\n      type: string\n"),
    ]);
    insta::assert_snapshot!(told);
}

#[test]
fn a_schema_that_no_node_could_hold_is_refused() {
    let deep = format!("lines: {}{}", "{ not: ".repeat(70), "}".repeat(70));
    assert!(broken("lines: { type: integer }", &deep).contains("nested deeper than 64 levels"));
}

#[test]
fn when_a_thread_is_summed_up() {
    let rule = |typed: &str| {
        let files = Files::new();
        files.write("w.yaml", &good().replacen("graph:", &format!("compact: {typed}\ngraph:"), 1));
        match files.read("w.yaml") {
            Ok(checked) => {
                assert_eq!(checked.type_() == crate::WORKFLOW_2, checked.compact.is_some());
                checked.compact.map_or("none".to_owned(), |rule| format!("{} {}", rule.after, rule.keep))
            }
            Err(_) => files.problems("w.yaml").replace("w.yaml:", ""),
        }
    };
    let mut told = String::new();
    for typed in [
        "{ after: 20, keep: 5 }",
        "{ after: 6 }",
        "{ after: 6, keep: null }",
        "null",
        "{ after: 5 }",
        "{ after: 5, keep: 5 }",
        "{ after: 1, keep: 1 }",
        "{ keep: 5 }",
        "{ afer: 5, keep: 2 }",
        "{ after: null, keep: 2 }",
        "{ after: 0 }",
        "{ after: -3 }",
        "{ after: 2.5 }",
        "{ after: 5000000000 }",
        "{ after: twenty }",
        "{ after: 20, keep: [5] }",
        "{ after: 20, keep: 0 }",
        "20",
        "[20, 5]",
    ] {
        writeln!(told, "{typed}  =>  {}", rule(typed)).unwrap();
    }
    insta::assert_snapshot!(told);
}

#[test]
fn graph() {
    let told = told(&[
        ("  $START:\n", "  START:\n"),
        ("    new: {", "    begin: {"),
        ("  $START:\n", "  $START: {}\n  other:\n"),
        ("role: reviewer, ", "role: reviwer, "),
        ("role: reviewer, ", "role: deployer, "),
        ("role: $END, prompt: Done.", "role: END, prompt: Done."),
        ("  fixer:\n    fixed:", "  fixr:\n    fixed:"),
        ("  fixer:\n    fixed:", "  fixer: {}\n  $END:\n    fixed:"),
        ("    fixed: {", "    fixd: {"),
        ("    unclear: { role: $END, prompt: \"Asked: {{{question}}}\" }\n", ""),
        ("    approved: {", "    ok: {"),
        ("role: reviewer, prompt: \"Review: {{{summary}}}\"", "role: $END, prompt: x"),
        (
            "new: { role: finder, prompt: Find the cause of the bug. }\n    resume: { role: finder,",
            "new: { role: $END,",
        ),
    ]);
    insta::assert_snapshot!(told);
}

#[test]
fn templates() {
    let told = told(&[
        ("\"Review: {{{summary}}}\"", "\"Review: {{{sumary}}}\""),
        ("\"Review: {{{summary}}}\"", "\"{{a}}{{a}}{{#lines}}{{b}}{{/lines}}\""),
        ("\"Review: {{{summary}}}\"", "\"Review: {{{summary}}\""),
        ("\"Review: {{{summary}}}\"", "\"a\\n{{#summary}}\\nb\""),
        ("\"Review: {{{summary}}}\"", "' '"),
        ("\"Review: {{{summary}}}\"", "{{{summary}}}"),
        ("\"Review: {{{summary}}}\"", "Review: {{{summary}}}"),
        ("\"Asked: {{{question}}}\"", "\"Asked: {{{cause}}}\""),
        ("\"Rejected: {{{why}}}. Mend it again.\"", "\"Rejected: {{{why}}}.\", location: \"{{dir}}\""),
        ("prompt: Done.", "prompt: Done., location: \"{{dir}}\""),
    ]);
    insta::assert_snapshot!(told);
}

#[test]
fn all_problems_at_once_in_the_order_of_the_text() {
    let files = Files::new();
    let text = include_str!("../../testdata/workflows/broken.yaml");
    files.write("w.yaml", text);
    insta::assert_snapshot!(files.problems("w.yaml"));
}

#[test]
fn what_is_no_workflow_at_all() {
    let files = Files::new();
    for (text, expected) in [
        ("", "a workflow must be a mapping, got nothing"),
        ("- a", "a workflow must be a mapping, got a list"),
        ("name: x\nroles: []\ngraph: 5", "`roles` must be a mapping, got a list"),
        ("name: x\nname: y", "duplicate key `name`"),
    ] {
        files.write("w.yaml", text);
        let problems = files.problems("w.yaml");
        assert!(problems.contains(expected), "{text:?}: {problems}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Cutting lines out of a good file never breaks the checker, and a file without problems can be stored.
    #[test]
    fn never_panics(cut in prop::collection::vec(any::<bool>(), 70)) {
        let text: String = good().lines().zip(&cut).filter(|(_, keep)| **keep).map(|(line, _)| format!("{line}\n")).collect();
        let files = Files::new();
        files.write("w.yaml", &text);
        let _ = files.problems("w.yaml");
    }
}

/// A role's name is an argument of every agent, and a workflow's of every command that takes one.
#[test]
fn names_that_read_as_options_are_refused() {
    let said = good().replace("fixer:", "--help:").replace("role: fixer", "role: --help");
    let files = Files::new();
    files.write("w.yaml", &said);
    let problems = files.problems("w.yaml");
    assert!(problems.contains("role name `--help` cannot be stored"), "{problems}");
    assert!(problems.contains("and do not begin with `-`"), "{problems}");
    assert!(broken("name: fix-bug", "name: -x").contains("workflow name `-x` cannot be stored"));
}

/// As many statuses, roles and edges as a file has room for: each of these took minutes.
mod large {
    use super::*;

    const MANY: usize = 10_000;

    /// What is said of a workflow with these roles and this graph, and that it did not take minutes.
    fn said(roles: &str, graph: &str) -> String {
        let files = Files::new();
        files.write("w.yaml", &format!("name: w\nroles:\n{roles}graph:\n{graph}"));
        let begun = std::time::Instant::now();
        let said = match files.read("w.yaml") {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        assert!(begun.elapsed().as_secs() < 120, "{:?}", begun.elapsed());
        said
    }

    fn each(what: impl Fn(usize) -> String) -> String {
        (0..MANY).map(what).collect()
    }

    fn role(name: &str, schema: &str) -> String {
        format!("  {name}: {{ goal: g, frontmatter: {schema} }}\n")
    }

    const START: &str = "  $START: { new: { role: r, prompt: go } }\n";

    #[test]
    fn statuses_without_edges() {
        for schema in [
            format!("{{ properties: {{ $status: {{ enum: [{}] }} }} }}", each(|n| format!("s{n},"))),
            format!(
                "{{ oneOf: [{}] }}",
                each(|n| format!("{{ properties: {{ $status: {{ const: s{n} }} }} }},"))
            ),
        ] {
            let one =
                said(&role("r", &schema), &format!("{START}  r: {{ s0: {{ role: $END, prompt: x }} }}\n"));
            assert!(
                one.contains("has 9999 problems") && one.ends_with("\n  … and 9799 more"),
                "{}",
                one.len()
            );
            let misspelt = each(|n| format!("    z{n}: {{ role: $END, prompt: x }}\n"));
            let all = said(&role("r", &schema), &format!("{START}  r:\n{misspelt}"));
            assert!(all.contains(" problems") && all.len() < 200_000, "{}", all.len());
        }
    }

    #[test]
    fn edges_with_a_field_each() {
        let variant = |n| format!("{{ properties: {{ $status: {{ const: s{n} }}, f{n}: {{}} }} }},");
        let schema = format!("{{ oneOf: [{}] }}", each(variant));
        let edges = each(|n| format!("    s{n}: {{ role: $END, prompt: \"{{{{f{n}}}}}\" }}\n"));
        assert_eq!(said(&role("r", &schema), &format!("{START}  r:\n{edges}")), "");
    }

    #[test]
    fn roles_in_a_row() {
        let schema = "{ properties: { $status: { const: done } } }";
        let roles = each(|n| role(&format!("r{n}"), schema));
        let edge = |n: usize| format!("  r{n}: {{ done: {{ role: r{}, prompt: x }} }}\n", (n + 1) % MANY);
        let start = START.replace("role: r,", "role: r0,");
        assert_eq!(said(&roles, &format!("{start}{}", each(edge))), "");
        let astray = each(|n| format!("  r{n}: {{ done: {{ role: q{n}, prompt: x }} }}\n"));
        assert!(said(&roles, &format!("{start}{astray}")).contains(" has 19999 problems"));
    }
}
