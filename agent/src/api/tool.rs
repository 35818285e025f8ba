//! Tools that a program adds: what a tool is, and how the loop calls one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::json;
use uwf_tools::Cancel;

use super::error::AgentError;
use super::model::BoxError;
use super::schema::arguments;
use crate::call_runtime;
use crate::own_tool::{OwnOutput, OwnTool};
use crate::provider::message::ToolDeclaration;

/// A tool of the program's own.
///
/// A call has a thread of its own with a tokio runtime (time and network) on it, so it may block as well as `.await`. When
/// the run's time is over, or its future is dropped, the call's future is dropped where it waits. A call that blocks
/// cannot be stopped so: the run then waits for its end.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use uwf_agent::{BoxError, Tool};
///
/// struct Rates;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Pair {
///     /// Three letters, such as EUR
///     from: String,
///     to: String,
/// }
///
/// impl Tool for Rates {
///     type Arguments = Pair;
///
///     fn name(&self) -> &str {
///         "exchange_rate"
///     }
///
///     fn description(&self) -> &str {
///         "What one unit of a currency is worth in another, as of yesterday."
///     }
///
///     async fn call(&self, pair: Pair) -> Result<String, BoxError> {
///         if pair.from == pair.to { Ok("1".into()) } else { Err(format!("no rate of {}", pair.from).into()) }
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// What the model gives it: an object. Its schema is what the model is told, with the comments of its fields; arguments
    /// that are none are answered with what is wrong, and the tool is not called. [`serde_json::Value`] is any object.
    type Arguments: DeserializeOwned + JsonSchema;

    /// What the model calls it by: letters, digits, `_` and `-`, at most 64, and no name that another tool has.
    fn name(&self) -> &str;

    /// What it is for, its limits and its errors, for the model.
    fn description(&self) -> &str;

    /// Whether it changes nothing: such calls may run side by side.
    fn reads_only(&self) -> bool {
        false
    }

    /// Runs it: the text for the model, of which 50,000 bytes are passed on.
    ///
    /// # Errors
    /// What went wrong, in words for the model: the run goes on.
    fn call(&self, arguments: Self::Arguments) -> impl Future<Output = Result<String, BoxError>>;
}

/// A tool as the loop has it.
pub(super) struct Declared<T> {
    declaration: ToolDeclaration,
    tool: T,
}

impl<T: Tool> Declared<T> {
    pub(super) fn new(tool: T) -> Declared<T> {
        let (name, description) = (tool.name().to_owned(), tool.description().to_owned());
        let declaration = ToolDeclaration { name, description, parameters: arguments::<T::Arguments>() };
        Declared { declaration, tool }
    }

    /// Runs the call until it is done or cancelled.
    fn run(&self, arguments: T::Arguments, cancel: &Cancel) -> Result<String, String> {
        call_runtime::run(self.tool.call(arguments), cancel)?.map_err(|error| error.to_string())
    }
}

impl<T: Tool> OwnTool for Declared<T> {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn reads_only(&self) -> bool {
        self.tool.reads_only()
    }

    fn call(&self, text: &str, cancel: &Cancel) -> OwnOutput {
        self.called(text, cancel).into()
    }
}

impl<T: Tool> Declared<T> {
    fn called(&self, text: &str, cancel: &Cancel) -> Result<String, String> {
        let name = &self.declaration.name;
        let text = if text.trim().is_empty() { "{}" } else { text };
        let arguments = serde_json::from_str(text).map_err(|error| {
            format!(
                "{name} was not run: {error}\nExpected JSON of this schema: {}",
                self.declaration.parameters
            )
        })?;
        // What panics is told to the model, as any other error is; the program's panic hook has heard of it.
        let called = catch_unwind(AssertUnwindSafe(|| self.run(arguments, cancel)));
        called.unwrap_or_else(|_| Err(format!("{name} failed: it panicked")))
    }
}

/// Whether these tools can be offered together.
pub(super) fn check(own: &[&ToolDeclaration]) -> Result<(), AgentError> {
    let built_in: Vec<&str> = uwf_tools::specs().iter().map(|spec| spec.name).collect();
    for (index, tool) in own.iter().enumerate() {
        let name = &tool.name;
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let is_name = (1..=64).contains(&name.len()) && name.chars().all(is_word);
        let is_taken =
            built_in.contains(&name.as_str()) || own[..index].iter().any(|other| other.name == *name);
        let why = match (is_name, is_taken, &tool.parameters["type"]) {
            (false, ..) => "its name must be 1 to 64 letters, digits, `_` or `-`".to_owned(),
            (_, true, _) => "another tool has this name".to_owned(),
            (.., kind) if *kind != json!("object") => format!("its arguments must be an object, not {kind}"),
            _ => continue,
        };
        return Err(AgentError::Tool { name: name.clone(), why });
    }
    Ok(())
}
