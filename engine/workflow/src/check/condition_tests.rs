//! Every rule of conditions, by breaking a good workflow that has both forms in one place.

use std::fmt::Write as _;

use crate::fixture::{CONDITIONS, Files, checked};
use crate::graph_export::{ThreadProgress, dot, mermaid};
use crate::values::{WORKFLOW, WORKFLOW_2};

/// What is said when `from` is replaced by `to`: what is wrong, or what is warned of.
fn told(edits: &[(&str, &str)]) -> String {
    let mut told = String::new();
    for (from, to) in edits {
        assert!(CONDITIONS.contains(from), "{from}");
        let files = Files::new();
        files.write("w.yaml", &CONDITIONS.replacen(from, to, 1));
        let (from_line, to_line) = (from.replace('\n', "⏎"), to.replace('\n', "⏎"));
        let problems = files.problems("w.yaml");
        let said =
            if problems.is_empty() { format!("(warning) {}", files.warnings("w.yaml")) } else { problems };
        writeln!(told, "# {from_line}  =>  {to_line}\n{said}").unwrap();
    }
    told
}

#[test]
fn both_forms_are_stored_as_they_were_meant() {
    let workflow = checked(CONDITIONS);
    assert_eq!((workflow.warnings.len(), workflow.type_()), (0, WORKFLOW_2));
    let payload = workflow.payload();
    let shown = serde_json::to_string_pretty(&uwf_store::json::sorted(serde_json::json!({
        "graph": payload["graph"], "conditions": payload["conditions"],
    })));
    insta::assert_snapshot!(shown.unwrap());
    let read: crate::Workflow = serde_json::from_value(payload).unwrap();
    assert_eq!(read, workflow.to_stored());
}

#[test]
fn a_list_of_one_edge_without_a_condition_is_that_edge() {
    let one =
        CONDITIONS.replace("made: { role: $END, prompt: Made. }", "made: [{ role: $END, prompt: Made. }]");
    assert_eq!(checked(&one).hash(), checked(CONDITIONS).hash());
    let flow = crate::fixture::FLOW;
    let listed = flow
        .replace("fine: { role: $END, prompt: Fine. }", "fine: [{ role: $END, prompt: Fine., when: null }]");
    assert_ne!(listed, flow);
    assert_eq!((checked(&listed).hash(), checked(&listed).type_()), (checked(flow).hash(), WORKFLOW));
}

#[test]
fn conditions_are_drawn_in_their_words_and_fallbacks_are_dashed() {
    let workflow = checked(CONDITIONS).to_stored();
    let none = ThreadProgress::default();
    insta::assert_snapshot!(format!("{}\n{}", mermaid(&workflow, &none), dot(&workflow, &none)));
}

#[test]
fn what_is_wrong_with_conditions_is_told_with_its_place() {
    let told = told(&[
        ("condition: asks", "condition: ask"),
        ("when: often", "when: oftn"),
        ("when: often", "when: [often]"),
        ("condition: asks", "condition: true"),
        ("condition: asks", "when: asks"),
        ("[-1].output.question)", "[-1].output.qestion)"),
        ("[-1].output.question)", "[-1].output.$question)"),
        ("[-1].output.question)", "[-1].outptu.question)"),
        ("$exists(steps[-1].output.question)", "step[-1].output.question"),
        ("$exists(steps[-1].output.question)", "start.promt = 'x'"),
        ("$exists(steps[-1].output.question)", "$exists(steps[-1].output.tries)"),
        ("$exists(steps[-1].output.question)", "$exists(steps[-1].output.question"),
        ("$exists(steps[-1].output.question)", "steps[-1]. = 1"),
        ("$exists(steps[-1].output.question)", "$now() > '2020'"),
        ("$exists(steps[-1].output.question)", ""),
        ("expression: \"$exists(steps[-1].output.question)\"", "expression: 7"),
        (", expression: \"$exists(steps[-1].output.question)\"", ""),
        ("steps[role = \"maker\"]", "steps[role = \"makr\"]"),
        ("[-1].output.tries > 3", "[-1].output.plan > 3"),
        ("description: There is a question", "text: There is a question"),
        ("conditions:\n", "conditions: [asks]\nx:\n"),
        ("        plan: { type: string }\n        question: { type: string }\n", "        {}\n"),
        ("conditions:\n", "conditons:\n"),
        ("    - { role: maker, condition: null }\n", ""),
        ("    - { role: $SUSPEND, condition: asks, prompt: '{{question}}' }\n", "    - { role: $END }\n"),
        ("      - { role: maker, prompt: Once more., location: '{{{dir}}}' }\n", ""),
        (
            "      - { role: planner, prompt: Plan anew., when: often }\n      - { role: maker, prompt: Once more., location: '{{{dir}}}' }",
            "      - { role: maker, prompt: Once more. }\n      - { role: planner, prompt: Plan anew., when: often }",
        ),
        ("    - { role: maker, condition: null }\n", "    - { role: makr, condition: null }\n"),
        ("    - { role: maker, condition: null }\n", "    - maker\n"),
        ("    - { role: maker, condition: null }\n", "    - { condition: null }\n"),
        ("prompt: '{{question}}'", "prompt: '{{qestion}}'"),
        ("prompt: '{{question}}'", "prompt: ' '"),
        ("prompt: '{{question}}'", "prompt: '{{#question}}'"),
        (", prompt: Plan anew., when", ", when"),
        ("$START: [{ role: planner, condition: null }]", "$START: []"),
        ("$START: [{ role: planner, condition: null }]", "$START: planner"),
        ("$START: [{ role: planner, condition: null }]", "$START: [{ role: $SUSPEND, condition: null }]"),
        ("    made: { role: $END, prompt: Made. }", "    made: { role: maker, prompt: Made. }"),
        (
            "    stuck:\n      - { role: planner, prompt: Plan anew., when: often }\n      - { role: maker, prompt: Once more., location: '{{{dir}}}' }",
            "    stuck: []",
        ),
    ]);
    insta::assert_snapshot!(told);
}

/// As above, where no run could ever end.
#[test]
fn runs_that_cannot_end_are_told() {
    let text = CONDITIONS
        .replace("    made: { role: $END, prompt: Made. }", "    made: { role: maker, prompt: Made. }")
        .replace("role: $SUSPEND, condition: asks", "role: maker, condition: asks");
    let files = Files::new();
    files.write("w.yaml", &text);
    let mut told = files.problems("w.yaml");
    let plain = crate::fixture::FLOW
        .replace("done: { role: $END", "done: { role: writer")
        .replace("waits: { role: $SUSPEND", "waits: { role: writer")
        .replace("fine: { role: $END", "fine: { role: writer");
    files.write("w.yaml", &plain);
    told += &format!("(warning) {}", files.warnings("w.yaml"));
    insta::assert_snapshot!(told);
}
