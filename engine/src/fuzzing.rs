//! What the fuzz targets call: each function checks what must hold for any input, and panics when it does not.

use std::cell::OnceCell;
use std::fs;

use uwf_store::schema;
use uwf_workflow::{emit, yaml};

use crate::workflow::{self, Progress, WorkflowError};

/// A workflow file is either good, and then it draws, hashes and passes for an editor, or every problem has a place.
///
/// # Panics
/// When neither is so.
pub fn workflow(text: &str) {
    thread_local! {
        static DIRECTORY: OnceCell<tempfile::TempDir> = const { OnceCell::new() };
    }
    let path = DIRECTORY.with(|cell| {
        let directory = cell.get_or_init(|| tempfile::tempdir().expect("a temporary directory can be made"));
        directory.path().join("w.yaml")
    });
    fs::write(&path, text).expect("it is writable");
    match workflow::load(&path) {
        Ok(checked) => {
            let stored = checked.to_stored();
            assert_eq!(workflow::hash_of(&checked), workflow::hash_of(&checked.clone()));
            workflow::mermaid(&stored, &Progress::default());
            workflow::dot(&stored, &Progress::default());
            let value = yaml::parse_value(text).expect("it was read");
            let editor = workflow::schema();
            // What is included is only there after reading.
            if !text.contains("!include") {
                let found = jsonschema::draft7::new(&editor).expect("it is a schema");
                assert!(found.is_valid(&value), "an editor would complain");
            }
            for role in checked.roles.values() {
                schema::check(&role.schema).expect("a checked schema can be stored");
            }
        }
        Err(WorkflowError::Invalid { problems, .. }) => {
            assert!(!problems.is_empty());
            assert!(problems.iter().all(|problem| problem.line > 0 && problem.column > 0));
        }
        Err(WorkflowError::Read { .. }) => {}
        Err(other) => panic!("{other}"),
    }
    if let Ok(value) = yaml::parse_value(text) {
        assert_eq!(yaml::parse_value(&emit::yaml(&value)).expect("our own YAML is YAML"), value);
    }
}
