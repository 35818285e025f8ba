//! Workflow files: each problem with its line and column.

use super::{Case, uwf};

const VALIDATE: &[&str] = &["workflow", "validate", "w.yaml"];
const ADD: &[&str] = &["workflow", "add", "w.yaml"];
const START: &[&str] = &["thread", "start", "w.yaml", "-p", "x"];

/// A file with everything but what a case puts in the place of roles and graph.
macro_rules! flow {
    ($($rest:literal),*) => { concat!("name: w\ndescription: d\n", $($rest),*) };
}

macro_rules! role_a {
    () => {
        "roles:\n  a:\n    goal: g\n    frontmatter: { type: object, required: [$status], properties: { $status: { const: done } } }\n"
    };
}

macro_rules! graph {
    ($edge:literal) => {
        concat!(
            "name: w\ndescription: d\n",
            role_a!(),
            "graph:\n  $START:\n    new: { role: a, prompt: Go. }\n  a:\n    ",
            $edge,
            "\n"
        )
    };
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = texts();
    cases.extend(roles());
    cases.extend(graphs());
    cases.extend(artifacts());
    cases.extend(includes());
    cases
}

fn bad(text: &'static str, says: &'static [&'static str]) -> Case {
    uwf(VALIDATE, 1, says).file("work/w.yaml", text)
}

fn texts() -> Vec<Case> {
    vec![
        uwf(VALIDATE, 1, &["cannot read", "w.yaml"]),
        uwf(&["workflow", "validate", "."], 1, &["."]),
        uwf(&["workflow", "graph", "w.yaml", "--thread", "{idle}"], 1, &["the workflow one, not w", "leave"])
            .file("work/w.yaml", graph!("done: { role: $END, prompt: End. }")),
        uwf(VALIDATE, 1, &["w.yaml", "UTF-8"]).bytes("work/w.yaml", b"\xff\xfe\x00"),
        bad("", &["w.yaml:1:1"]),
        bad("# nothing\n", &["w.yaml:"]),
        bad("just words\n", &["w.yaml:1:1"]),
        bad("- a\n- b\n", &["w.yaml:1:1"]),
        bad("name: [\n", &["w.yaml:2"]),
        bad("name: a\n\tdescription: b\n", &["w.yaml:1:7", "a tab"]),
        bad("name: a\nname: b\n", &["w.yaml:2:1", "name"]),
        bad("name: a\n---\nname: b\n", &["w.yaml:2"]),
        bad("name: &a [*a]\n", &["w.yaml:1"]),
        bad("name: a: b\n", &["w.yaml:1", "quote"]),
        bad("<<<<<<< HEAD\nname: a\n=======\nname: b\n>>>>>>> x\n", &["w.yaml:"]),
    ]
}

fn roles() -> Vec<Case> {
    vec![
        bad("description: d\nroles: {}\ngraph: {}\n", &["w.yaml:1:1", "name"]),
        bad("name: a b\ndescription: d\nroles: {}\ngraph: {}\n", &["w.yaml:1:7", "a b"]),
        bad("name: 5\ndescription: d\nroles: {}\ngraph: {}\n", &["w.yaml:1:7", "name"]),
        bad("name: w\ndescription: d\nroles: 5\ngraph: {}\n", &["w.yaml:3:8", "roles"]),
        bad("name: w\ndescription: d\nroles: {}\ngraph: {}\nextra: 1\n", &["w.yaml:5:1", "extra"]),
        bad("name: w\ndescription: d\nrole: {}\ngraph: {}\n", &["w.yaml:3:1", "role", "roles"]),
        bad(flow!("roles:\n  a: 5\ngraph: {}\n"), &["w.yaml:4:6", "a"]),
        bad(flow!("roles:\n  a b: { goal: g }\ngraph: {}\n"), &["w.yaml:4:3", "a b"]),
        bad(flow!("roles:\n  a: { goal: g }\ngraph: {}\n"), &["w.yaml:4", "frontmatter"]),
        bad(flow!("roles:\n  a: { frontmatter: { type: object } }\ngraph: {}\n"), &["w.yaml:4", "goal"]),
        bad(
            flow!(
                "roles:\n  a: { goal: g, frontmatter: { type: object } }\ngraph:\n  $START: { new: { role: a, prompt: x } }\n  a: { done: { role: $END, prompt: x } }\n"
            ),
            &["w.yaml:4", "$status"],
        ),
        bad(flow!("roles:\n  a: { goal: g, frontmatter: { $ref: x } }\ngraph: {}\n"), &["w.yaml:4", "$ref"]),
        bad(flow!("roles:\n  a: { goal: g, frontmatter: 7 }\ngraph: {}\n"), &["w.yaml:4"]),
        bad(
            flow!("roles:\n  a: { goal: g, systemPrompt: h, frontmatter: {} }\ngraph: {}\n"),
            &["w.yaml:4:17", "`goal` counts", "remove `systemPrompt`"],
        ),
        bad(
            flow!("roles:\n  a: { goal: g, meta: {}, outputSchema: {} }\ngraph: {}\n"),
            &["w.yaml:4:17", "`outputSchema` counts", "remove `meta`"],
        ),
        bad(
            flow!("roles:\n  a: { systemPrompt: 5, meta: {} }\ngraph: {}\n"),
            &["`systemPrompt` must be text"],
        ),
        bad(flow!("roles:\n  a: { systemPrompt: g, meta: 7 }\ngraph: {}\n"), &["`meta` must be a mapping"]),
    ]
}

fn graphs() -> Vec<Case> {
    vec![
        bad(concat!("name: w\ndescription: d\n", role_a!()), &["w.yaml:", "graph"]),
        bad(concat!("name: w\ndescription: d\n", role_a!(), "graph: []\n"), &["w.yaml:7:8"]),
        bad(
            concat!(
                "name: w\ndescription: d\n",
                role_a!(),
                "graph:\n  a:\n    done: { role: $END, prompt: x }\n"
            ),
            &["$START"],
        ),
        bad(graph!("done: { role: b, prompt: x }"), &["w.yaml:11", "b"]),
        bad(graph!("don: { role: $END, prompt: x }"), &["w.yaml:11", "don", "done"]),
        bad(graph!("done: { role: $ENDE, prompt: x }"), &["w.yaml:11", "$ENDE", "$END"]),
        bad(graph!("done: { role: $END }"), &["w.yaml:11", "prompt"]),
        bad(graph!("done: { role: $END, prompt: '' }"), &["w.yaml:11", "prompt"]),
        bad(graph!("done: { role: $END, prompt: '{{x' }"), &["w.yaml:11"]),
        bad(graph!("done: { role: $END, prompt: '{{#x}}' }"), &["w.yaml:11", "x"]),
        bad(graph!("done: { role: $END, prompt: {{ x }} }"), &["w.yaml:11", "quote"]),
        bad(graph!("done: $END"), &["w.yaml:11"]),
        uwf(ADD, 1, &["w.yaml:11", "$ENDE"]).file("work/w.yaml", graph!("done: { role: $ENDE, prompt: x }")),
        uwf(START, 1, &["w.yaml:11", "$ENDE"])
            .file("work/w.yaml", graph!("done: { role: $ENDE, prompt: x }")),
        uwf(&["thread", "start", "w", "-p", "x"], 1, &["w.yaml:11", "$ENDE"])
            .file("work/.workflows/w.yaml", graph!("done: { role: $ENDE, prompt: x }")),
    ]
}

macro_rules! leaves {
    ($artifacts:literal) => {
        concat!(
            "name: w\ndescription: d\nroles:\n  a:\n    goal: g\n    artifacts: ",
            $artifacts,
            "\n    frontmatter: { type: object, required: [$status], properties: { $status: { const: done }, report: { type: string }, n: { type: integer } } }\n",
            "graph:\n  $START:\n    new: { role: a, prompt: Go. }\n  a:\n    done: { role: $END, prompt: End. }\n"
        )
    };
}

fn artifacts() -> Vec<Case> {
    vec![
        bad(leaves!("report.md"), &["w.yaml:6:16", "`artifacts` must be a list of texts"]),
        bad(leaves!("{ a: b }"), &["w.yaml:6:16", "`artifacts` must be a list of texts"]),
        bad(leaves!("[5]"), &["w.yaml:6:17", "must be text", "quote it"]),
        bad(leaves!("[[a]]"), &["w.yaml:6:17", "must be text"]),
        bad(leaves!("['']"), &["w.yaml:6:17", "of role `a` cannot be: it is blank"]),
        bad(leaves!("['?']"), &["w.yaml:6:17", "it is blank"]),
        bad(leaves!("[/]"), &["w.yaml:6:17", "the whole output"]),
        bad(leaves!("[/reprot]"), &["w.yaml:6:17", "no answer of role `a` has", "did you mean `/report`?"]),
        bad(
            leaves!("[/tmp/out.md]"),
            &["w.yaml:6:17", "names `tmp`", "relative to the directory of the step"],
        ),
        bad(leaves!("[/report/0]"), &["w.yaml:6:17", "names `0`, which `/report`"]),
        bad(leaves!("[/n]"), &["w.yaml:6:17", "admits neither a text nor a list of texts"]),
        bad(leaves!("[/$status~]"), &["w.yaml:6:17", "`~0` stands for `~`"]),
        bad(leaves!("[a.md, b.md, a.md]"), &["w.yaml:6:29", "`a.md` of role `a` is named twice"]),
        bad(leaves!("['../a.md']"), &["w.yaml:6:17", "`..` leads out"]),
        bad(leaves!("['a/../../b']"), &["w.yaml:6:17", "`..` leads out"]),
        bad(leaves!("[figures/]"), &["w.yaml:6:17", "`figures/**` are the files in it"]),
        bad(leaves!("['.']"), &["w.yaml:6:17", "names a directory"]),
        bad(leaves!("['a[0-9']"), &["w.yaml:6:17", "unclosed character class"]),
        bad(leaves!("['{a,b']"), &["w.yaml:6:17", "unclosed alternate group"]),
        bad(leaves!("['{a/b,c}']"), &["w.yaml:6:17", "unclosed alternate group"]),
        bad(leaves!("[\"a\\0b\"]"), &["w.yaml:6:17", "NUL"]),
        uwf(ADD, 1, &["w.yaml:6:17", "`..` leads out"]).file("work/w.yaml", leaves!("['../a.md']")),
        uwf(START, 1, &["w.yaml:6:17", "did you mean `/report`?"]).file("work/w.yaml", leaves!("[/reprot]")),
    ]
}

fn includes() -> Vec<Case> {
    vec![
        bad("name: w\ndescription: d\nroles: !include none.yaml\ngraph: {}\n", &["w.yaml:3", "none.yaml"]),
        bad(
            "name: w\ndescription: d\nroles: !include ../secret.yaml\ngraph: {}\n",
            &["w.yaml:3", "../secret.yaml"],
        )
        .file("secret.yaml", "a: sk-bad-4e1d9c\n"),
        bad(
            "name: w\ndescription: d\nroles: !include /etc/passwd\ngraph: {}\n",
            &["w.yaml:3", "/etc/passwd"],
        ),
        bad("name: w\ndescription: d\nroles: !include w.yaml\ngraph: {}\n", &["w.yaml:3", "w.yaml"]),
        bad("name: w\ndescription: d\nroles: !include part.yaml\ngraph: {}\n", &["part.yaml:2:1"])
            .file("work/part.yaml", "a: [\n"),
        bad("name: w\ndescription: !secret x\nroles: {}\ngraph: {}\n", &["w.yaml:2", "!secret"]),
    ]
}
