//! `!include`: what is spliced, what is refused, and that problems name the file they are in.

use std::os::unix::fs::symlink;

use super::files::{Files, fix_bug};
use crate::workflow::{hash_of, load};

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
    let workflow = load(&files.path("w.yaml")).unwrap();
    assert_eq!(workflow.roles["a"].goal, "Do it: {{now}}\n- [ ] all\n");
    assert_eq!(workflow.graph["$START"]["new"].prompt, "Begin.\n");
}

#[test]
fn splitting_a_workflow_does_not_change_its_hash() {
    let files = Files::new();
    let text = std::fs::read_to_string(fix_bug()).unwrap();
    let (head, graph) = text.split_once("graph:\n").unwrap();
    files.write("graph.yaml", graph);
    let path = files.write("w.yaml", &format!("{head}graph: !include graph.yaml\n"));
    assert_eq!(hash_of(&load(&path).unwrap()), hash_of(&load(&fix_bug()).unwrap()));
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
fn what_leads_out_or_round_is_refused() {
    let files = Files::new();
    let outside = Files::new();
    outside.write("secret.md", "secret");
    files.write("w/loop.yaml", "a: !include loop.yaml\n");
    files.write("w/ping.yaml", "!include sub/pong.yaml");
    files.write("w/sub/pong.yaml", "- !include ping.yaml");
    symlink("../ping.yaml", files.path("w/sub/ping.yaml")).unwrap();
    files.write("w/inside.md", "inside");
    files.write("up.md", "secret");
    symlink(outside.path("secret.md"), files.path("w/absolute.md")).unwrap();
    symlink("../up.md", files.path("w/relative.md")).unwrap();
    symlink("inside.md", files.path("w/inner.md")).unwrap();
    symlink(outside.root(), files.path("w/directory")).unwrap();
    std::fs::write(files.path("w/binary"), b"\xff").unwrap();
    files.write(
        "w/w.yaml",
        "name: !include inner.md\n\
         roles:\n\
         - !include ../up.md\n\
         - !include /etc/passwd\n\
         - !include absolute.md\n\
         - !include relative.md\n\
         - !include directory/secret.md\n\
         - !include sub\n\
         - !include missing.md\n\
         - !include binary\n\
         - !include [inside.md]\n\
         - !inculde inside.md\n\
         - !include w.yaml\n\
         - !include loop.yaml\n\
         - !include ping.yaml\n\
         - !include ''\n",
    );
    let problems = files.problems("w/w.yaml");
    assert!(!problems.contains("secret\n"));
    insta::assert_snapshot!(problems);
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

    files.write("big.md", &"x".repeat((4 << 20) + 1));
    files.write("big.yaml", "name: !include big.md\n");
    assert!(files.problems("big.yaml").contains("larger than 4194304 bytes"));
}
