//! `!include`: what is spliced, what is refused, and that problems name the file they are in.

use crate::fixture::{FIX_BUG, Files, checked};

const WORKFLOW: &str = "\
name: w
roles:
  a:
    goal: !include texts/goal.md
    frontmatter: !include schemas/a.json
graph: !include graph.yaml
";

fn files() -> Files {
    let files = Files::new();
    files.write("w.yaml", WORKFLOW);
    files.write("texts/goal.md", "Do it: {{now}}\n- [ ] all\n");
    files.write("schemas/a.json", "{\n\t\"properties\": {\"$status\": {\"const\": \"d\\u00f6ne\"}}\n}\n");
    files.write(
        "graph.yaml",
        "$START:\n  new: !include start/edge.yml\na:\n  döne: { role: $END, prompt: Done. }\n",
    );
    files.write("start/edge.yml", "role: a\nprompt: !include ./prompt.txt\n");
    files.write("start/prompt.txt", "Begin.\n");
    files
}

#[test]
fn files_are_spliced_relative_to_the_file_that_includes() {
    let files = files();
    assert_eq!(files.problems("w.yaml"), "");
    let workflow = files.read("w.yaml").unwrap();
    assert_eq!(workflow.roles["a"].goal, "Do it: {{now}}\n- [ ] all\n");
    assert_eq!(workflow.graph["$START"].ways_for("new")[0].prompt, Some("Begin.\n"));
}

#[test]
fn splitting_a_workflow_does_not_change_its_hash() {
    let files = Files::new();
    let (head, graph) = FIX_BUG.split_once("graph:\n").unwrap();
    files.write("graph.yaml", graph);
    files.write("w.yaml", &format!("{head}graph: !include graph.yaml\n"));
    assert_eq!(files.read("w.yaml").unwrap().hash(), checked(FIX_BUG).hash());
}

#[test]
fn problems_are_told_where_they_stand() {
    let files = files();
    files.write("start/edge.yml", "role: b\nprmpt: !include ./prompt.txt\n");
    files.write("schemas/a.json", "{\n  \"$ref\": \"#\"\n}\n");
    files.write("texts/goal.md", "\n");
    insta::assert_snapshot!(files.problems("w.yaml"));
}

#[test]
fn a_broken_include_is_one_problem() {
    let files = files();
    files.write("graph.yaml", "$START: {{ x }}\n");
    files.write("schemas/a.json", "{");
    insta::assert_snapshot!(files.problems("w.yaml"));
}

#[test]
fn inclusion_is_bounded() {
    let files = Files::new();
    for level in 0..20 {
        let next = format!("!include {}.yaml", level + 1);
        files.write(&format!("{level}.yaml"), &format!("[{next}]"));
    }
    assert!(
        files.problems("0.yaml").contains("8.yaml:1:2: cannot include `9.yaml`: files include each other")
    );

    let many = "  - !include a.md\n".repeat(300);
    files.write("a.md", "x");
    files.write("many.yaml", &format!("roles:\n{many}"));
    assert!(files.problems("many.yaml").contains("more than 256 files"));
}
