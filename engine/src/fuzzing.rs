//! What the fuzz targets call: each function checks what must hold for any input, and panics when it does not.

use std::cell::OnceCell;
use std::fs;

use serde_json::Value;
use uwf_store::schema;

use crate::workflow::{self, Progress, WorkflowError};
use crate::{emit, template, yaml};

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

/// A template renders or says why not, whatever it is rendered with; without a tag it is its own text.
///
/// # Panics
/// When it does neither.
pub fn template(template: &str, data: &str) {
    let data: Value = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
    let (names, rendered) = (template::names(template), template::render(template, &data));
    match (&names, &rendered) {
        (Err(error), Err(other)) => assert_eq!(error, other),
        (Err(error), Ok(_)) => panic!("rendered though it does not parse: {error}"),
        (Ok(_), Err(error)) => assert!(error.offset() <= template.len()),
        (Ok(names), Ok(text)) => {
            assert!(names.iter().all(|name| template.is_char_boundary(name.offset)));
            assert!(template.contains("{{") || text == template);
        }
    }
}
