//! A step as a command line names it: by its hash, or by its place in a thread.

use uwf_engine::ThreadId;
use uwf_engine::thread::{self, WalkBack};
use uwf_store::{Hash, Store, suggest};

use super::node;
use crate::shell::{CliError, Session, render};

/// What was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepArgument {
    /// A node.
    Hash(Hash),
    /// A step of a thread, from 1.
    Number(ThreadId, usize),
    /// A step of a thread, from its end: 1 is the last one.
    FromEnd(ThreadId, usize),
}

/// What was typed; a role's step is looked up.
pub(super) fn read(session: &Session<'_>, text: &str) -> Result<StepArgument, CliError> {
    let Some((thread, place)) = text.split_once(':') else {
        return Ok(StepArgument::Hash(match text.parse() {
            Ok(hash) => hash,
            Err(_) => node::find_step(session, text)?,
        }));
    };
    let place = Place::of(place).ok_or_else(|| no_place(text))?;
    let thread = session.thread_id(thread)?;
    Ok(match place {
        Place::Number(number) => StepArgument::Number(thread, number),
        Place::FromEnd(number) => StepArgument::FromEnd(thread, number),
        Place::Role(role) => of_role(&session.store()?, thread, role)?,
    })
}

/// What is typed behind the thread.
#[derive(Debug, PartialEq, Eq)]
enum Place<'a> {
    Number(usize),
    FromEnd(usize),
    Role(&'a str),
}

impl Place<'_> {
    /// Of a role any name will do: whether it has played, its thread tells.
    fn of(text: &str) -> Option<Place<'_>> {
        if text == "last" {
            return Some(Place::FromEnd(1));
        }
        let (from_end, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        match (digits.parse(), from_end) {
            (Ok(number @ 1..), false) => Some(Place::Number(number)),
            (Ok(number @ 1..), true) => Some(Place::FromEnd(number)),
            (Ok(_), _) => None,
            (Err(_), _) => Some(text)
                .filter(|text| text.starts_with(char::is_alphabetic) || text.starts_with('$'))
                .map(Place::Role),
        }
    }
}

fn no_place(text: &str) -> CliError {
    CliError::user(format!("`{}` names no step", render::name(text))).with_hint(
        "behind the colon expected a number from 1 on or from -1 down, `last`, ROLE for its last step, or ROLE.2 for its second; \
         `uwf step list THREAD` shows the steps with their numbers",
    )
}

/// The last step of a role, or with a number behind it the one of so many.
fn of_role(store: &Store, thread: ThreadId, named: &str) -> Result<StepArgument, CliError> {
    let head = thread::entry(store, &thread)?.head;
    let walk = WalkBack::from(store, &head).map_err(|error| error.headless(&thread))?;
    let numbered =
        named.rsplit_once('.').and_then(|(role, number)| Some((role, number.parse::<usize>().ok()?)));
    let mut played: Vec<String> = Vec::new();
    for link in walk {
        let role = link.map_err(|error| error.headless(&thread))?.step.role;
        played.push(role);
        if played.last().is_some_and(|role| role == named) {
            return Ok(StepArgument::FromEnd(thread, played.len()));
        }
    }
    played.reverse();
    let Some((role, number)) = numbered else { return Err(no_role(&thread, named, &played)) };
    let visits: Vec<usize> = (1..).zip(&played).filter(|(_, name)| *name == role).map(|(at, _)| at).collect();
    match number.checked_sub(1).and_then(|at| visits.get(at)) {
        Some(step) => Ok(StepArgument::Number(thread, *step)),
        None if visits.is_empty() => Err(no_role(&thread, role, &played)),
        None => {
            let times = if visits.len() == 1 { "once".to_owned() } else { format!("{} times", visits.len()) };
            Err(CliError::user(format!("{role} has no step {number} in thread {thread}: it played {times}"))
                .with_hint(format!("`uwf step list {thread}` shows the steps with their roles")))
        }
    }
}

fn no_role(thread: &ThreadId, role: &str, played: &[String]) -> CliError {
    let error = CliError::user(format!("no step of thread {thread} is of role `{}`", render::name(role)));
    let mut roles: Vec<&String> = Vec::new();
    played.iter().for_each(|role| {
        if !roles.contains(&role) {
            roles.push(role)
        }
    });
    match suggest::one(role, &roles) {
        Some(meant) => error.with_hint(format!("did you mean `{thread}:{meant}`?")),
        None if roles.is_empty() => {
            error.with_hint(format!("it has no step yet; `uwf thread exec {thread}` makes one"))
        }
        None => {
            let roles: Vec<&str> = roles.into_iter().map(String::as_str).collect();
            error.with_hint(format!("there are steps of {}", roles.join(", ")))
        }
    }
}

impl StepArgument {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_number_the_last_one_or_a_role() {
        assert_eq!(Place::of("2"), Some(Place::Number(2)));
        assert_eq!(Place::of("-2"), Some(Place::FromEnd(2)));
        assert_eq!(Place::of("last"), Some(Place::FromEnd(1)));
        assert_eq!(Place::of("developer.2"), Some(Place::Role("developer.2")));
        for none in ["0", "-0", "--1", "", "-", "1.5", "-x"] {
            assert_eq!(Place::of(none), None, "{none}");
        }
    }
}
