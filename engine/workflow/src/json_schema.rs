//! The JSON Schema of workflow files, for editors: completion, descriptions, red lines while one types.
//!
//! Apart from the check, which is the judge: a schema sees the shape of a file, never whether an edge leads to a role or
//! a template names a field. It must not be stricter than the check, or editors would complain about good files: so keys
//! that nobody reads, of which the check only warns, are allowed.

use serde_json::Value;
use uwf_store::json::sorted;

/// The schema, draft-07. An `!include` counts as its file's name, which is what editors make of it.
pub fn schema() -> Value {
    let schema = include_str!("workflow.schema.json");
    sorted(serde_json::from_str(schema).expect("the file is part of this program"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use jsonschema::Validator;
    use serde_json::json;

    use super::*;
    use crate::fixture::{FLOW, Files};
    use crate::yaml;

    fn validator() -> Validator {
        jsonschema::draft7::new(&schema()).unwrap()
    }

    fn workflows_below(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                workflows_below(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "yaml") {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_workflow_that_is_good_is_good_for_an_editor() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        workflows_below(&root.join("../../examples"), &mut files);
        workflows_below(&root.join("testdata/workflows"), &mut files);
        let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
        let (mut good, mut bad) = (0, 0);
        let known = |text: &String| crate::condition::SUPPORTED || !text.contains("\nconditions:");
        for text in texts.filter(|text| text.contains("graph:")).filter(known) {
            let files = Files::new();
            files.write("w.yaml", &text);
            let value = yaml::parse_value(&text).unwrap();
            let errors: Vec<String> =
                validator().iter_errors(&value).map(|error| error.to_string()).collect();
            match files.read("w.yaml") {
                Ok(_) => assert_eq!(errors, [""; 0], "{text}"),
                Err(_) => assert_ne!(errors, [""; 0], "{text}"),
            }
            if errors.is_empty() { good += 1 } else { bad += 1 }
        }
        assert!(good >= 4 && bad >= 1, "{good} and {bad}");
    }

    #[test]
    fn what_the_shape_alone_tells_is_told() {
        let good = yaml::parse_value(FLOW).unwrap();
        let broken: [(&str, Value); 7] = [
            ("/name", json!("two words")),
            ("/roles/writer/goal", json!(" ")),
            ("/roles/writer/capabilities", json!("shell")),
            ("/roles/writer/frontmatter/properties/dir", json!({"$ref": "#/x"})),
            ("/roles/two words", good["roles"]["writer"].clone()),
            ("/graph/$START/begin", json!({"role": "writer", "prompt": "x"})),
            ("/graph/writer/done/prompt", json!("")),
        ];
        for (pointer, value) in broken {
            let (mut bad, (parent, key)) = (good.clone(), pointer.rsplit_once('/').unwrap());
            bad.pointer_mut(parent).unwrap()[key] = value;
            assert!(!validator().is_valid(&bad), "{pointer}");
        }
    }

    #[test]
    fn an_include_is_the_name_of_a_file() {
        let mut value = yaml::parse_value(FLOW).unwrap();
        value["roles"]["writer"] = json!("writer.yaml");
        value["roles"]["checker"]["frontmatter"] = json!("schemas/checker.json");
        assert!(validator().is_valid(&value));
        value["roles"]["checker"]["frontmatter"] = json!("a sentence");
        assert!(!validator().is_valid(&value));
    }

    #[test]
    fn a_frontmatter_schema_may_use_what_a_store_takes_and_the_engine_checks() {
        let known = &schema()["definitions"]["schema"]["properties"];
        let example = |keyword: &str| match keyword {
            "enum" | "examples" => json!([1]),
            "required" => json!(["a"]),
            "anyOf" | "oneOf" | "allOf" => json!([{}]),
            "type" => json!("string"),
            "format" => json!("ocas_ref"),
            "title" | "description" | "pattern" | "$comment" => json!("x"),
            "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => json!(true),
            _ if known[keyword]["type"] == "number" || known[keyword]["type"] == "integer" => json!(1),
            _ => json!({}),
        };
        for keyword in known.as_object().unwrap().keys() {
            let schema = json!({ keyword.as_str(): example(keyword) });
            uwf_store::schema::check(&schema).unwrap_or_else(|error| panic!("{keyword}: {error}"));
        }
        // The store's own keywords, but for the one that nothing can be validated against.
        assert_eq!(known.as_object().unwrap().len(), 39);
    }
}
