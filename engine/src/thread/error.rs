//! What can go wrong with a thread, for people.

use thiserror::Error;
use uwf_store::{Hash, StoreError};
use uwf_workflow::condition::ExpressionError;
use uwf_workflow::moderator::RouteError;

use super::{HEADS, ThreadId};
use crate::conditions::Unanswered;
use crate::workflow::WorkflowError;

/// What can be wrong with a thread.
#[derive(Debug, Error)]
pub enum ThreadError {
    /// A thread without anything to do.
    #[error("the task is empty")]
    NoTask,
    /// No variable of that name.
    #[error("no such thread: {thread}")]
    Unknown {
        /// The id asked for.
        thread: ThreadId,
    },
    /// The head, or a node of the chain, is of a type that has no place in a thread.
    #[error("{hash} is not a step of a thread: it is of type {type_}")]
    NotAThreadNode {
        /// The node.
        hash: Hash,
        /// Its type.
        type_: Hash,
    },
    /// The node that the thread stands at is missing or damaged.
    #[error("the head of thread {thread} cannot be read")]
    Headless {
        /// The thread.
        thread: ThreadId,
        /// What the store could not read.
        source: Box<StoreError>,
    },
    /// A node that a step leads to is missing or damaged.
    #[error("{what} step {step} cannot be read")]
    Severed {
        /// What leads there.
        what: &'static str,
        /// The step.
        step: Hash,
        /// What the store could not read.
        source: Box<StoreError>,
    },
    /// A node of the right type that does not read as one.
    #[error("{hash} does not read as a node of its type")]
    Malformed {
        /// The node.
        hash: Hash,
        /// What is wrong with the JSON.
        source: serde_json::Error,
    },
    /// A step in the chain that belongs to another thread's start.
    #[error("the chain is broken at {hash}: its start is {found}, the head's is {expected}")]
    BrokenChain {
        /// The step.
        hash: Hash,
        /// The head's start.
        expected: Hash,
        /// The step's.
        found: Hash,
    },
    /// A step's `ancestors` are not what its `prev` leads to.
    #[error("the ancestors that step {step} names are not those it has: {why}")]
    FalseAncestors {
        /// The step.
        step: Hash,
        /// What is wrong with them.
        why: &'static str,
    },
    /// Every step before those that are to stay is summed up already, or there are none.
    #[error("there is nothing to sum up in thread {thread}: it has {}, and {keep} {} to stay", since(*found), if *keep == 1 { "is" } else { "are" })]
    NothingToSumUp {
        /// The thread.
        thread: ThreadId,
        /// How many steps have come since the last summary, or since the start, as far as that was counted.
        found: usize,
        /// How many are to stay.
        keep: u32,
    },
    /// A step that is named as one of a thread is none.
    #[error("{step} is not a step of thread {thread}")]
    NotOfThread {
        /// The step.
        step: Hash,
        /// The thread.
        thread: ThreadId,
    },
    /// The variable's tags name a state this version does not know.
    #[error("thread {thread} has the status `{status}`, which this uwf does not know")]
    UnknownStatus {
        /// The thread.
        thread: ThreadId,
        /// What its tags say.
        status: String,
    },
    /// A base URL that may hold a key is not kept with a thread.
    #[error(
        "the base URL holds a password, or something behind a `?`: it would be kept with the thread, and no key is"
    )]
    SecretUrl,
    /// There is nothing to give up any more.
    #[error("thread {thread} has ended already")]
    Ended {
        /// The thread.
        thread: ThreadId,
    },
    /// Another program moved the head in the meantime.
    #[error("the head of thread {thread} has moved: expected {expected}, found {}",
        found.map_or("none".to_owned(), |found| found.to_string()))]
    HeadMoved {
        /// The thread.
        thread: ThreadId,
        /// Where the head was.
        expected: Hash,
        /// Where it is.
        found: Option<Hash>,
    },
    /// A step that made a summary is in no chain.
    #[error("step {step} made a summary: no thread goes on from there")]
    NoWayOn {
        /// The step.
        step: Hash,
        /// Where the thread stood when it was made.
        before: Hash,
    },
    /// Threads call each other further down than any engine lets them.
    #[error("{node} has more than {} threads above or below it", super::child::MAX_LEVELS)]
    CallsWithoutEnd {
        /// Where that was found.
        node: Hash,
    },
    /// The workflow has no such role.
    #[error("workflow `{workflow}` has no role `{role}`: it has {}", roles.join(", "))]
    UnknownRole {
        /// The role asked for.
        role: String,
        /// The workflow's name.
        workflow: String,
        /// Its roles, the nearest name first.
        roles: Vec<String>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The thread's workflow cannot be read.
    #[error(transparent)]
    Workflow(#[from] WorkflowError),
    /// An edge names a condition that the workflow does not define.
    #[error("an edge of role `{role}` names the condition `{condition}`, which the workflow does not define")]
    UndefinedCondition {
        /// The role that ended.
        role: String,
        /// The condition.
        condition: String,
    },
    /// The expression of a condition fails.
    #[error(
        "condition `{condition}`, which decides what comes after role `{role}`, fails: {source} (in `{expression}`)"
    )]
    Condition {
        /// The role that ended.
        role: String,
        /// The condition.
        condition: String,
        /// Its expression.
        expression: String,
        /// What went wrong in it, and where.
        source: Box<ExpressionError>,
    },
    /// Conditions were not evaluated to an end.
    #[error("what comes after role `{role}` cannot be decided by {}: {source}", conditions.iter().map(|name| format!("condition `{name}`")).collect::<Vec<_>>().join(", "))]
    Unjudged {
        /// The role that ended.
        role: String,
        /// The one that was being tried, or all.
        conditions: Vec<String>,
        /// Why.
        source: Unanswered,
    },
    /// The graph has no way on from where the thread stands.
    #[error(transparent)]
    Route(#[from] RouteError),
}

impl ThreadError {
    /// [`ThreadError::Severed`] for an error of the store about a node that this step leads to by `what`; any other error
    /// as it is.
    pub fn severed(self, step: &Hash, what: &'static str) -> ThreadError {
        match self {
            ThreadError::Store(source) => {
                ThreadError::Severed { what, step: *step, source: Box::new(source) }
            }
            other => other,
        }
    }

    /// [`ThreadError::Headless`] for an error of the store about the node that the thread stands at; any other error as it
    /// is.
    pub fn headless(self, thread: &ThreadId) -> ThreadError {
        match self {
            ThreadError::Store(source) => ThreadError::Headless { thread: *thread, source: Box::new(source) },
            other => other,
        }
    }

    /// What to do about it, when that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            ThreadError::NoTask => Some("say what is to be done with -p TEXT".to_owned()),
            ThreadError::Unknown { .. } => Some("`uwf thread list --all` shows every thread".to_owned()),
            ThreadError::Headless { thread, .. } => Some(format!(
                "`uwf cas verify` tells what is damaged; `uwf thread rm {thread}` takes it off the list"
            )),
            ThreadError::Severed { .. } => {
                Some("`uwf cas verify` tells all that is damaged, and who refers to it".to_owned())
            }
            ThreadError::NoWayOn { before, .. } => Some(format!("fork where it was made: `uwf step fork {before}`")),
            ThreadError::SecretUrl => {
                Some("name the endpoint in config.yaml (`uwf setup`) and the key by apiKeyEnv".to_owned())
            }
            ThreadError::Ended { thread } => Some(format!("`uwf thread rm {thread}` takes it off the list")),
            ThreadError::FalseAncestors { .. } => Some(
                "`prev` is what counts: `uwf step fork STEP`, of a step before that one, leaves it behind"
                    .to_owned(),
            ),
            ThreadError::NothingToSumUp { found: 0 | 1, .. } => {
                Some("two steps are needed at least: one to sum up, and one that stays".to_owned())
            }
            ThreadError::NothingToSumUp { thread, found, .. } => {
                Some(format!("fewer may stay: `uwf thread compact {thread} --keep {}`", found - 1))
            }
            ThreadError::NotOfThread { thread, .. } => Some(format!("`uwf step list {thread}` shows them")),
            ThreadError::UnknownStatus { .. } => Some("a newer uwf may have written it".to_owned()),
            ThreadError::HeadMoved { thread, .. } => {
                Some(format!("another program works on it; see `uwf thread show {thread}`"))
            }
            ThreadError::UnknownRole { roles, .. } => {
                roles.first().map(|near| format!("did you mean `{near}`?"))
            }
            ThreadError::Store(error) => store_hint(error),
            ThreadError::Workflow(error) => error.hint(),
            ThreadError::Route(error) => Some(error.hint()),
            ThreadError::Unjudged { source, .. } => source.hint(),
            ThreadError::Condition { .. } => Some(
                "mend the expression in the workflow and add it again: a new thread runs it; `uwf thread poke` lets the last \
                 role give another output"
                    .to_owned(),
            ),
            ThreadError::NotAThreadNode { .. } => {
                Some("`uwf step list THREAD` shows the steps of a thread".to_owned())
            }
            _ => None,
        }
    }
}

/// How many steps a thread has that no summary tells of.
fn since(found: usize) -> String {
    match found {
        0 => "no step yet".to_owned(),
        1 => "1 step since its start or its last summary".to_owned(),
        _ => format!("{found} steps since its start or its last summary"),
    }
}

/// What to do about an error of the store, which knows no threads: one whose variable is damaged can be given up.
pub fn store_hint(error: &StoreError) -> Option<String> {
    let hint = error.hint()?;
    let thread = match error {
        StoreError::DamagedVariable { name, .. } => name.strip_prefix(HEADS),
        _ => None,
    };
    Some(thread.map_or_else(|| hint.clone(), |thread| format!("{hint}, `uwf thread rm {thread}` forgets it")))
}
