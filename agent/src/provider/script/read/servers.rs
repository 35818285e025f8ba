//! `mcp:` of a script.

use serde_json::{Map, Value};
use uwf_store::schema::pointer;

use super::ScriptReader;
use crate::provider::script::servers::{ScriptedResult, ScriptedServers, ScriptedTool};

const TOOL: &[&str] = &["name", "description", "input_schema", "read_only", "results"];

impl<'d> ScriptReader<'d> {
    /// The servers of the script; none where it says nothing of them.
    pub(super) fn servers(&mut self) -> ScriptedServers {
        let servers = match self.document.value.get("mcp") {
            None | Some(Value::Null) => return ScriptedServers::new(),
            Some(Value::Object(servers)) => servers,
            Some(other) => {
                self.mismatch("/mcp", "a mapping of servers", other);
                return ScriptedServers::new();
            }
        };
        let server = |(name, tools): (&'d String, &'d Value)| {
            let pointer = format!("/mcp/{}", pointer::escape(name));
            (name.clone(), self.items(&pointer, tools, Self::tool))
        };
        servers.iter().map(server).collect()
    }

    fn tool(&mut self, pointer: &str, value: &'d Value) -> Option<ScriptedTool> {
        let map = self.object(pointer, value, TOOL)?;
        let name = self.text(pointer, map, "name");
        if name.is_none() {
            self.problem(pointer, "`name` is missing".to_owned());
        }
        if !map.contains_key("results") {
            self.problem(pointer, "`results` is missing".to_owned());
        }
        let results = map
            .get("results")
            .map(|results| self.items(&format!("{pointer}/results"), results, Self::tool_result));
        let schema: Option<Map<String, Value>> =
            self.get(pointer, map, "input_schema", ("a mapping", |value| value.as_object().cloned()));
        Some(ScriptedTool {
            name: name?,
            description: self.text(pointer, map, "description").unwrap_or_default(),
            schema: schema.unwrap_or_default(),
            reads_only: self
                .get(pointer, map, "read_only", ("true or false", Value::as_bool))
                .unwrap_or_default(),
            results: results.unwrap_or_default(),
        })
    }

    fn tool_result(&mut self, pointer: &str, value: &'d Value) -> Option<ScriptedResult> {
        if let Value::String(text) = value {
            return Some(ScriptedResult { text: text.clone(), is_error: false });
        }
        let map = self.object(pointer, value, &["error"])?;
        let text = self.text(pointer, map, "error");
        if text.is_none() {
            self.problem(pointer, "expected a text, or `error` with one".to_owned());
        }
        Some(ScriptedResult { text: text?, is_error: true })
    }
}
