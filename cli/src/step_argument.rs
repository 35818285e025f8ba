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
    /// A step of a thread, from its end: 1 is the last one.
    FromEnd(ThreadId, usize),
}

impl StepArgument {
    /// What was typed.
    pub(crate) fn parse(text: &str) -> Result<StepArgument, CliError> {
        let Some((thread, number)) = text.split_once(':') else { return Ok(StepArgument::Hash(hash(text)?)) };
        let (from_end, digits) = number.strip_prefix('-').map_or((false, number), |digits| (true, digits));
        match (digits.parse(), from_end) {
            (Ok(number @ 1..), false) => Ok(StepArgument::Number(thread.parse()?, number)),
            (Ok(number @ 1..), true) => Ok(StepArgument::FromEnd(thread.parse()?, number)),
            _ => Err(CliError::user(format!(
                "`{text}` names no step: {number:?} is no number from 1 on, nor from -1 down"
            ))
            .with_hint("`uwf step list THREAD` shows the steps with their numbers")),
        }
    }

    /// The thread that it names.
    pub(crate) fn thread(self) -> Option<ThreadId> {
        match self {
            StepArgument::Hash(_) => None,
            StepArgument::Number(thread, _) | StepArgument::FromEnd(thread, _) => Some(thread),
        }
    }

    /// The node. From the end it costs as many reads as the number says, from the start the whole chain.
    pub(crate) fn find(self, store: &Store) -> Result<Hash, CliError> {
        match self {
            StepArgument::Hash(hash) => Ok(hash),
            StepArgument::Number(thread, number) => {
                let steps = hashes(store, &thread)?;
                let none = || no_such_step(&thread, &number.to_string(), steps.len());
                steps.get(number - 1).copied().ok_or_else(none)
            }
            StepArgument::FromEnd(thread, number) => {
                let head = thread::entry(store, &thread)?.head;
                let found =
                    thread::nth_back(store, &head, number - 1).map_err(|error| error.headless(&thread))?;
                found.map_err(|count| no_such_step(&thread, &format!("-{number}"), count))
            }
        }
    }
}

fn no_such_step(thread: &ThreadId, number: &str, count: usize) -> CliError {
    CliError::user(format!("thread {thread} has no step {number}: it has {count}"))
        .with_hint(format!("`uwf step list {thread}` shows the steps with their numbers"))
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
        assert_eq!(
            StepArgument::parse(&format!("{thread}:-2")).unwrap(),
            StepArgument::FromEnd(thread.parse().unwrap(), 2)
        );
        for none in ["0", "-0", "--1", "", "-", "1.5", "x"] {
            let error = format!("{:?}", StepArgument::parse(&format!("{thread}:{none}")).unwrap_err());
            assert!(error.contains("is no number from 1 on, nor from -1 down"), "{none}: {error}");
        }
    }
}
