//! What the fuzz targets call: each function checks what must hold for any input, and panics when it does not.

use std::io;
use std::path::Path;

use serde_json::Value;
use uwf_store::schema;

use crate::graph_export::{self, ThreadProgress};
use crate::{WorkflowText, json_schema, template, yaml};

/// A workflow's text is either good, and then it draws, hashes and passes for an editor, or every problem has a place.
///
/// # Panics
/// When neither is so.
pub fn workflow(text: &str) {
    let (path, directory) = (Path::new("w.yaml"), Path::new(""));
    let open = |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound));
    match crate::read(&WorkflowText { text, called: path, path, directory, open: &open }) {
        Ok(checked) => {
            let stored = checked.to_stored();
            assert_eq!(checked.hash(), checked.clone().hash());
            graph_export::mermaid(&stored, &ThreadProgress::default());
            graph_export::dot(&stored, &ThreadProgress::default());
            let value = yaml::parse_value(text).expect("it was read");
            let found = jsonschema::draft7::new(&json_schema::schema()).expect("it is a schema");
            assert!(found.is_valid(&value), "an editor would complain");
            for role in checked.roles.values() {
                schema::check(&role.schema).expect("a checked schema can be stored");
            }
        }
        Err(invalid) => {
            assert!(!invalid.problems.is_empty());
            assert!(invalid.problems.iter().all(|problem| problem.line > 0 && problem.column > 0));
        }
    }
    if let Ok(value) = yaml::parse_value(text) {
        assert_eq!(yaml::parse_value(&yaml::write(&value)).expect("our own YAML is YAML"), value);
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
