//! A step as a command line names it: by its hash, or as the n-th step of a thread, `T:n`, as `step list` and
//! `thread read` number them.

use uwf_engine::ThreadId;
use uwf_engine::thread;
use uwf_store::{Hash, HashError, Store};

use crate::shell::CliError;

/// What was typed; read before a store is opened, so that what is none creates none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepArgument {
    /// A node.
    Hash(Hash),
    /// A step of a thread, from 1.
    Number(ThreadId, usize),
}

impl StepArgument {
    /// What was typed.
    pub(crate) fn parse(text: &str) -> Result<StepArgument, CliError> {
        let Some((thread, number)) = text.split_once(':') else { return Ok(StepArgument::Hash(hash(text)?)) };
        match number.parse() {
            Ok(number @ 1..) => Ok(StepArgument::Number(thread.parse()?, number)),
            _ => Err(CliError::user(format!("`{text}` names no step: {number:?} is no number from 1 on"))
                .with_hint("`uwf step list THREAD` shows the steps with their numbers")),
        }
    }

    /// The node.
    pub(crate) fn find(self, store: &Store) -> Result<Hash, CliError> {
        match self {
            StepArgument::Hash(hash) => Ok(hash),
            StepArgument::Number(thread, number) => {
                let steps = hashes(store, &thread)?;
                let none = || {
                    let error = format!("thread {thread} has no step {number}: it has {}", steps.len());
                    CliError::user(error)
                        .with_hint(format!("`uwf step list {thread}` shows the steps with their numbers"))
                };
                steps.get(number - 1).copied().ok_or_else(none)
            }
        }
    }
}

/// The steps of a thread, the oldest first.
pub(crate) fn hashes(store: &Store, thread: &ThreadId) -> Result<Vec<Hash>, CliError> {
    let head = thread::entry(store, thread)?.head;
    let mut steps = Vec::new();
    thread::links(store, &head, &mut |link| steps.push(link.hash)).map_err(|error| error.headless(thread))?;
    steps.reverse();
    Ok(steps)
}

/// The hash of a step; a thread's id is told from it.
fn hash(text: &str) -> Result<Hash, CliError> {
    let wrong = |error: HashError| match text.parse::<ThreadId>() {
        Ok(thread) => CliError::user(format!("{thread} is a thread, and a step is wanted"))
            .with_hint(format!("`{thread}:1` is its first step; `uwf step list {thread}` shows them all")),
        Err(_) => CliError::user(error.to_string()),
    };
    text.parse().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_in_the_place_of_a_step_is_told_how_its_steps_are_named() {
        let thread = "01KAB7M5D8WQ0R3T6V9Y2Z4C8E";
        let error = StepArgument::parse(thread).unwrap_err();
        let told = format!("{error:?}");
        assert!(told.contains("is a thread, and a step is wanted"), "{told}");
        assert!(told.contains(&format!("`{thread}:1`")), "{told}");
        assert!(format!("{:?}", StepArgument::parse("ZZZ").unwrap_err()).contains("is not a hash"));
        assert_eq!(
            StepArgument::parse(&format!("{thread}:2")).unwrap(),
            StepArgument::Number(thread.parse().unwrap(), 2)
        );
    }
}
