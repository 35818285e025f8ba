//! From file to node: what is stored, how a name is found, what an include may do.

pub(super) mod files;
mod include;
mod lookup;

use crate::builtin::{META_SCHEMA, TEXT};
use serde_json::json;
use uwf_store::Hash;

use super::{WorkflowError, get, load, put};
use files::{Files, fix_bug, store};

/// What another implementation of the format calls the same workflow.
const FIX_BUG: Hash = Hash::from_static("C2363TE4DFMQ1");

#[test]
fn what_is_stored_reads_back() {
    let files = Files::new();
    let store = store(&files);
    let workflow = load(&fix_bug()).unwrap();
    assert_eq!(put(&store, &workflow).unwrap(), FIX_BUG);
    assert_eq!(put(&store, &workflow).unwrap(), FIX_BUG);
    let stored = get(&store, &FIX_BUG).unwrap();
    assert_eq!(stored, workflow.to_stored());
    let finder = &stored.roles["finder"].frontmatter;
    assert_eq!(store.schema_of(finder).unwrap()["title"], json!("fix-bug.finder"));
    assert_eq!(store.refs(&FIX_BUG).unwrap().len(), 3, "the workflow keeps its schemas alive");
}

#[test]
fn what_is_no_workflow_is_refused_by_name() {
    let files = Files::new();
    let store = store(&files);
    let text = store.put_text("hello").unwrap();
    let error = get(&store, &text).unwrap_err();
    assert!(matches!(&error, WorkflowError::NotAWorkflow { type_, .. } if *type_ == TEXT), "{error}");

    let later = store.put(&META_SCHEMA, &json!({"type": "object", "title": "uwf-workflow-2"})).unwrap();
    let error = get(&store, &store.put(&later, &json!({"name": "x"})).unwrap()).unwrap_err();
    assert!(error.to_string().contains("(uwf-workflow-2)"), "{error}");
    assert_eq!(error.hint().as_deref(), Some("it needs a newer engine"));

    assert!(matches!(get(&store, &Hash::from_static("0000000000000")), Err(WorkflowError::Store(_))));
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let files = Files::new();
    let missing = load(&files.path("none.yaml")).unwrap_err().to_string();
    assert!(missing.contains("none.yaml: No such file"), "{missing}");
    let directory = load(files.root()).unwrap_err().to_string();
    assert!(directory.contains("no regular file"), "{directory}");
    std::fs::write(files.path("latin.yaml"), b"name: caf\xe9").unwrap();
    let latin = load(&files.path("latin.yaml")).unwrap_err().to_string();
    assert!(latin.contains("not UTF-8 text: byte 9"), "{latin}");
}
