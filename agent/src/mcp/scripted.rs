//! A server that a mock script plays: nothing is started.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::offered::ListedTool;
use crate::provider::script::ScriptedTool;

/// The tools of a server, and how often each was called.
#[derive(Debug)]
pub(super) struct Scripted {
    tools: Vec<ScriptedTool>,
    pub(super) listed: Arc<Vec<ListedTool>>,
    calls: Mutex<BTreeMap<String, usize>>,
}

impl Scripted {
    pub(super) fn new(tools: &[ScriptedTool]) -> Scripted {
        let listed = tools.iter().map(|tool| ListedTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            schema: Value::Object(tool.schema.clone()),
            reads_only: tool.reads_only,
        });
        Scripted { listed: Arc::new(listed.collect()), tools: tools.to_vec(), calls: Mutex::default() }
    }

    /// What the next call of this tool is answered.
    pub(super) fn next(&self, name: &str) -> Value {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let call = calls.entry(name.to_owned()).or_default();
        let results = self.tools.iter().find(|tool| tool.name == name).map(|tool| tool.results.as_slice());
        let results = results.unwrap_or_default();
        let result = results.get(*call).or(results.last());
        *call += 1;
        match result {
            Some(result) => {
                json!({"content": [{"type": "text", "text": result.text}], "isError": result.is_error})
            }
            None => json!({}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::script::ScriptedResult;

    #[test]
    fn answers_come_in_order_and_the_last_one_stays() {
        let result = |text: &str, is_error| ScriptedResult { text: text.to_owned(), is_error };
        let results = vec![result("one", false), result("two", true)];
        let scripted =
            Scripted::new(&[ScriptedTool { name: "t".to_owned(), results, ..ScriptedTool::default() }]);
        let next = || scripted.next("t")["content"][0]["text"].as_str().map(str::to_owned);
        let answers = [next(), next(), next()].map(Option::unwrap_or_default);
        assert_eq!(answers, ["one", "two", "two"]);
        assert_eq!(scripted.next("other"), json!({}));
        assert_eq!(scripted.listed.len(), 1);
    }
}
