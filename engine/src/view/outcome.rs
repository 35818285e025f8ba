//! What a thread came to, beside where it stands: its last answer, what it took, where it worked.

use serde::Serialize;
use serde_json::Value;
use uwf_store::{Hash, Store};
use uwf_workflow::frontmatter;

use super::{RunsBeside, ThreadFacts};
use crate::record;
use crate::thread::{self, Head, StartNode, ThreadError, ThreadId};

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadOutcome {
    /// The directory it works in.
    pub directory: String,
    /// Its last step; null where there is none.
    pub result: Option<ThreadResult>,
    /// What it took.
    #[serde(flatten)]
    pub facts: ThreadFacts,
}

/// The last step of a thread, and what it says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadResult {
    /// The StepNode.
    pub step: Hash,
    /// Who played.
    pub role: String,
    /// What it puts out.
    pub output: Value,
    /// What it says below that; null where it says nothing.
    pub body: Option<String>,
}

impl ThreadOutcome {
    /// Of a thread that stands at `head` and began so.
    ///
    /// # Errors
    /// A step, or the record of one, cannot be read.
    pub fn of(
        store: &Store,
        thread: &ThreadId,
        head: &Head,
        start: &StartNode,
    ) -> Result<ThreadOutcome, ThreadError> {
        let result = head.step().map(|step| {
            let body = thread::answer_of(store, &step.detail)?.map(|answer| frontmatter::body(&answer));
            Ok::<_, ThreadError>(ThreadResult {
                step: head.hash,
                role: step.role.clone(),
                output: store.get(&step.output)?.payload,
                body: body.filter(|body| !body.trim().is_empty()),
            })
        });
        Ok(ThreadOutcome {
            directory: start.cwd.clone(),
            result: result.transpose()?,
            facts: ThreadFacts::of(store, &RunsBeside::of_thread(store, thread)?, thread, usize::MAX)?,
        })
    }
}

impl ThreadResult {
    /// Its status, and what it says in short: the first line of its text, else of the first text it puts out.
    pub fn in_short(&self) -> (&str, &str) {
        let texts = || {
            self.output
                .as_object()?
                .iter()
                .filter(|(name, _)| *name != "$status")
                .find_map(|(_, value)| value.as_str())
        };
        let text = self.body.as_deref().or_else(texts).unwrap_or_default();
        (record::status(&self.output).unwrap_or("-"), text.trim().lines().next().unwrap_or_default())
    }
}
