//! The JSON Schema of mock scripts, for editors: completion, descriptions, red lines while one types.
//!
//! Apart from the reader, which is the judge and says more; a test holds that both refuse the same.

use serde_json::Value;
use uwf_store::json::sorted;

use super::Script;

impl Script {
    /// What a script may hold, as a JSON Schema of draft-07.
    pub fn schema() -> Value {
        let schema = include_str!("mock.schema.json");
        sorted(serde_json::from_str(schema).expect("the file is part of this program"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use jsonschema::Validator;
    use serde_json::json;
    use uwf_workflow::yaml;

    use super::*;

    fn validator() -> Validator {
        jsonschema::draft7::new(&Script::schema()).unwrap()
    }

    fn scripts_below(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                scripts_below(&path, found);
            } else if path.to_string_lossy().ends_with("mock.yaml") {
                found.push(path);
            }
        }
    }

    #[test]
    fn the_scripts_of_all_examples_are_good_for_an_editor() {
        let (validator, mut files) = (validator(), Vec::new());
        scripts_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples"), &mut files);
        for file in &files {
            Script::load(file).unwrap();
            let value = yaml::parse_value(&fs::read_to_string(file).unwrap()).unwrap();
            let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
            assert_eq!(errors, [""; 0], "{}", file.display());
        }
        assert!(files.len() >= 7, "{files:?}");
    }

    /// Scripts and what is none, each as one entry of `turns` but for the last ones.
    const ENTRIES: &str = r#"
- {content: a}
- {content: a, reasoning: null, usage: {input_tokens: 1, cached_tokens: null}, delay_ms: 5, finish_reason: length}
- {content: null}
- {reasoning: hm}
- {tool_calls: [{name: grep}, {id: a, name: b, arguments: '{"c'}, {name: d, arguments: {e: 1}}]}
- {error: {status: 429, retry_after: 0.25, message: busy, code: c, headers: {retry-after-ms: 5}}}
- {error: {status: 200}, body: {error: {message: no}}}
- {error: {status: 500}, drop_after_bytes: 1, stall_after_bytes: 2}
- {drop_after_bytes: 40, content: cut}
- {stall_after_bytes: 40}
- {body: <html>}
- {reset: true, delay_ms: 1}
- {content: a, expect: {last_contains: x, contains: [y, z], lacks: null, last_role: user, tools: [grep], system_contains: s}}
- {}
- {delay_ms: 5}
- {expect: {tools: a}}
- {contnt: a}
- {content: 5}
- {content: a, body: b}
- {reasoning: a, error: {status: 500}}
- {tool_calls: [{name: a}], reset: true}
- {reset: true, drop_after_bytes: 3}
- {reset: maybe}
- {content: a, drop_after_bytes: 1, stall_after_bytes: 1}
- {content: a, delay_ms: soon}
- {content: a, delay_ms: -1}
- {content: a, usage: {inputs: 3}}
- {content: a, usage: null}
- {content: a, expect: {last_contain: x}}
- {content: a, expect: {tools: [1]}}
- {tool_calls: []}
- {tool_calls: null}
- {tool_calls: [{nam: a}]}
- {tool_calls: [{name: null}]}
- {tool_calls: [{name: a, arguments: [1]}]}
- {error: {status: 42}}
- {error: {status: 600}}
- {error: {message: m}}
- {error: {status: 500, retry_after: -1}}
- {error: {status: 500, headers: [a]}}
- {error: null}
- just text
"#;

    const WHOLE: &str = r#"
- {turns: [{content: a}], name: n, description: d}
- {turns: [{content: a}], fetch: {"https://a/": {body: x, type: text/html, status: 404, address: 10.0.0.1}, "https://b/": {location: /c, body: null}}}
- {turns: [{content: a}], fetch: {"https://a/": {error: down}}}
- {turns: [{content: a}], fetch: {}}
- {fetch: {"https://a/": {body: x}}}
- {turns: [{content: a}], fetch: [a]}
- {turns: [{content: a}], fetch: {a: {body: x}}}
- {turns: [{content: a}], fetch: {"https://a/": x}}
- {turns: [{content: a}], fetch: {"https://a/": {bodi: x}}}
- {turns: [{content: a}], fetch: {"https://a/": {status: 99}}}
- {turns: [{content: a}], fetch: {"https://a/": {address: home}}}
- {roles: {r: [{turns: [{content: a}]}, {turns: [{content: b}]}]}}
- {roles: {}}
- {roles: {r: [{behaviours: [{name: a, turns: [{content: a}]}, {name: b, weight: 3, when: x, turns: [{content: b}]}]}, {turns: [{content: c}]}]}}
- {roles: {r: [{behaviours: [{name: a, weight: null, when: [x, y], turns: [{content: a}]}]}]}}
- {roles: {r: [{behaviours: []}]}}
- {roles: {r: [{behaviours: [{turns: [{content: a}]}]}]}}
- {roles: {r: [{behaviours: [{name: a}]}]}}
- {roles: {r: [{behaviours: [{name: a, turns: []}]}]}}
- {roles: {r: [{behaviours: [{name: 5, turns: [{content: a}]}]}]}}
- {roles: {r: [{behaviours: [{name: null, turns: [{content: a}]}]}]}}
- {roles: {r: [{behaviours: [{name: a, weight: 0, turns: [{content: a}]}]}]}}
- {roles: {r: [{behaviours: [{name: a, weight: 1000001, turns: [{content: a}]}]}]}}
- {roles: {r: [{behaviours: [{name: a, weight: -1, turns: [{content: a}]}]}]}}
- {roles: {r: [{behaviours: [{name: a, weight: 0.5, turns: [{content: a}]}]}]}}
- {roles: {r: [{behaviours: [{name: a, when: 5, turns: [{content: a}]}]}]}}
- {roles: {r: [{behaviours: [{name: a, chance: 5, turns: [{content: a}]}]}]}}
- {roles: {r: [{turns: [{content: a}], behaviours: [{name: a, turns: [{content: a}]}]}]}}
- {steps: [{role: r, output: text}, {role: r, output: {$status: done}, delay_ms: 1, usage: {}, expect: {contains: a}}]}
- {}
- [1]
- {turns: []}
- {turns: [{content: a}], steps: [{role: r, output: o}]}
- {turns: [{content: a}], more: 1}
- {roles: [a]}
- {roles: {r: []}}
- {roles: {r: [{}]}}
- {roles: {r: [{turns: [{content: a}], role: r}]}}
- {roles: {r: {turns: [{content: a}]}}}
- {steps: []}
- {steps: [{output: a}]}
- {steps: [{role: r}]}
- {steps: [{role: r, output: 5}]}
- {steps: [{role: r, output: a, content: b}]}
- {turns: [{content: a}], mcp: {s: [{name: t, results: [a, {error: b}]}, {name: u, description: d, input_schema: {}, read_only: true, results: [c]}]}}
- {turns: [{content: a}], mcp: null}
- {turns: [{content: a}], mcp: [a]}
- {turns: [{content: a}], mcp: {s: []}}
- {turns: [{content: a}], mcp: {s: [{name: t}]}}
- {turns: [{content: a}], mcp: {s: [{results: [a]}]}}
- {turns: [{content: a}], mcp: {s: [{name: t, results: []}]}}
- {turns: [{content: a}], mcp: {s: [{name: t, results: [5]}]}}
- {turns: [{content: a}], mcp: {s: [{name: t, results: [{text: a}]}]}}
- {turns: [{content: a}], mcp: {s: [{name: t, results: [a], read_only: 1}]}}
- {turns: [{content: a}], mcp: {s: [{name: null, results: [a]}]}}
"#;

    #[test]
    fn editors_refuse_what_the_program_refuses() {
        let entries = yaml::parse_value(ENTRIES).unwrap();
        let entries = entries.as_array().unwrap().iter().map(|entry| json!({ "turns": [entry] }));
        let whole = yaml::parse_value(WHOLE).unwrap();
        let (validator, mut good) = (validator(), 0);
        for script in entries.chain(whole.as_array().unwrap().iter().cloned()) {
            let read = Script::parse("s", &script.to_string());
            assert_eq!(validator.is_valid(&script), read.is_ok(), "{script}: {read:?}");
            good += usize::from(read.is_ok());
        }
        assert_eq!(good, 24);
    }
}
