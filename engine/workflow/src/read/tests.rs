//! From text to what would be stored: the hash, the titles of schemas.

use serde_json::json;
use uwf_store::Hash;
use uwf_store::schema::builtin::META_SCHEMA;

use crate::fixture::{FIX_BUG, Files, checked};

#[test]
fn the_same_workflow_has_the_same_hash_everywhere() {
    let workflow = checked(FIX_BUG);
    // What another implementation of the format calls it.
    assert_eq!(workflow.hash(), Hash::from_static("C2363TE4DFMQ1"));
    let schemas = workflow.roles.values().map(|role| Hash::of(&META_SCHEMA, &role.schema).to_string());
    assert_eq!(schemas.collect::<Vec<_>>(), ["65XQDHGRZPK95", "C60CA0JA86VKP", "61JGBTZ1GAYJR"]);
}

#[test]
fn a_title_of_the_authors_stays() {
    let workflow = checked(&FIX_BUG.replace("      type: object\n", "      type: object\n      title: T\n"));
    assert_eq!(workflow.roles["fixer"].schema["title"], json!("T"));
    assert_eq!(workflow.roles["finder"].schema["title"], json!("fix-bug.finder"));
}

#[test]
fn a_thread_cannot_begin_by_being_suspended() {
    let files = Files::new();
    let text = "name: w\ndescription: d\nroles:\n  a:\n    goal: g\n    frontmatter: { type: object, required: [$status], properties: { $status: { const: done } } }\ngraph:\n  $START:\n    new: { role: $SUSPEND, prompt: Wait. }\n    resume: { role: a, prompt: Go. }\n  a:\n    done: { role: $END, prompt: Done. }\n";
    files.write("w.yaml", text);
    let problems = files.problems("w.yaml");
    assert!(problems.contains("w.yaml:9:18") && problems.contains("no role could be resumed"), "{problems}");
}
