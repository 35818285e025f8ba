//! A thread, step by step, until it ends, waits or fails.
//!
//! What `uwf thread exec` does between taking the lock and printing, as a function: a program can drive workflows with
//! it, by agents that are processes or by [`StepAgent`](crate::exec::StepAgent)s of its own. It takes no lock and prints nothing.
//!
//! ```
//! use std::path::Path;
//!
//! use serde_json::json;
//! use uwf_engine::config::Config;
//! use uwf_engine::drive::{Halt, drive};
//! use uwf_engine::exec::{StepAgentError, ExecOptions, Unobserved, answer, hold};
//! use uwf_engine::spawn::{StopSignal, lookup::Programs};
//! use uwf_engine::{AdapterOutput, AgentCommand, AgentRequest, Engine, Env, Homes, thread, workflow};
//! use uwf_store::Store;
//!
//! let dir = tempfile::tempdir()?;
//! let text = "
//! name: review
//! description: One writes, one checks.
//! roles:
//!   writer:
//!     { description: Writes, goal: Write., procedure: Write., output: A text.,
//!       frontmatter: { type: object, required: [$status, text], properties: { $status: { const: written }, text: { type: string } } } }
//!   checker:
//!     { description: Checks, goal: Check., procedure: Check., output: A verdict.,
//!       frontmatter: { type: object, required: [$status], properties: { $status: { enum: [fine, poor] } } } }
//! graph:
//!   $START: { new: { role: writer, prompt: Write it. } }
//!   writer: { written: { role: checker, prompt: 'Check this: {{{text}}}' } }
//!   checker: { fine: { role: $END, prompt: Done. }, poor: { role: writer, prompt: Write it better. } }
//! ";
//! let homes = Homes { uwf: dir.path().join("uwf"), ocas: dir.path().join("ocas") };
//! let store = uwf_engine::open_store(&homes.ocas, || 1_800_000_000_000)?;
//! let checked = workflow::read(&mut text.as_bytes(), Path::new("review.yaml"), dir.path())?;
//! let flow = workflow::add(&store, &checked)?;
//! let thread = thread::start(&store, &flow, "A haiku, please.", dir.path().to_str().unwrap())?;
//!
//! let writer = |_: &str| json!({"$status": "written", "text": "an old silent pond"});
//! let checker = |asked: &str| json!({"$status": if asked.contains("pond") { "fine" } else { "poor" }});
//! let agent = |request: &AgentRequest, cwd: &Path| -> Result<AdapterOutput, StepAgentError> {
//!     let asked = request.prompt.as_deref().unwrap_or_default();
//!     let output = if request.role == "writer" { writer(asked) } else { checker(asked) };
//!     Ok(answer(&store, request, cwd, &output)?)
//! };
//! let engine = Engine {
//!     store: &store,
//!     homes: &homes,
//!     config: &Config::default(),
//!     env: &Env::default(),
//!     builtin: &AgentCommand::new("none", vec![]),
//!     programs: &Programs::default(),
//!     stop: &StopSignal::default(),
//!     agent: Some(&agent),
//!     conditions: None,
//! };
//! let driven = drive(&engine, &hold(&engine, &thread)?, &ExecOptions::default(), 10, &mut Unobserved)?;
//! assert_eq!((driven.steps.len(), driven.halt), (2, Halt::Settled));
//! assert_eq!(thread::head(&store, &thread)?.status.as_str(), "end");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use thiserror::Error;

use crate::exec::{Engine, ExecError, ExecOptions, Observer, StepReport, resume_once, step_once};
use crate::lock::ThreadLock;
use crate::thread::{Pause, Status};

/// What was done, in order, and why no more of it.
#[derive(Clone, Debug)]
pub struct Driven {
    /// The steps; the last one tells where the thread stands.
    pub steps: Vec<StepReport>,
    /// Why there is no further one.
    pub halt: Halt,
}

/// Why a thread was left where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// It is not idle any more: it has ended, or waits for a person.
    Settled,
    /// The last step failed; the head has not moved.
    Failed,
    /// It is to make no further step for now: somebody has paused it, or a role has played as often as it may.
    Paused,
    /// As many steps as were allowed are done, and it is still idle.
    Limit,
    /// The observer has seen enough.
    Observer,
}

/// A step could not be made. Those before it are.
#[derive(Debug, Error)]
#[error("{source}")]
pub struct DriveError {
    /// The steps that were made.
    pub steps: Vec<StepReport>,
    /// Why the next one could not.
    pub source: Box<ExecError>,
}

/// Runs the steps of a locked thread, at most `max_steps`, until it is not idle any more, is paused, or one fails. A thread that
/// waits already is only told of.
///
/// # Errors
/// [`DriveError`] with the steps that were made.
pub fn drive(
    engine: &Engine<'_>,
    lock: &ThreadLock,
    options: &ExecOptions,
    max_steps: u32,
    observer: &mut dyn Observer,
) -> Result<Driven, DriveError> {
    let mut steps: Vec<StepReport> = Vec::new();
    for _ in 0..max_steps {
        let report = match step_once(engine, lock, options, observer) {
            Ok(report) => report,
            // Paused between two steps.
            Err(ExecError::Paused { reason, by, .. }) if !steps.is_empty() => {
                if let Some(last) = steps.last_mut() {
                    last.paused = Some(Pause { reason, by });
                }
                return Ok(Driven { steps, halt: Halt::Paused });
            }
            Err(error) => return Err(DriveError { steps, source: Box::new(error) }),
        };
        let halt = told(&report, observer);
        steps.push(report);
        if let Some(halt) = halt {
            return Ok(Driven { steps, halt });
        }
    }
    Ok(Driven { steps, halt: Halt::Limit })
}

/// Takes a locked thread up again, as [`resume_once`] does with `text`, and runs its steps from there, at most `max_steps` in
/// all.
///
/// # Errors
/// [`DriveError`] with the steps that were made.
pub fn resume(
    engine: &Engine<'_>,
    lock: &ThreadLock,
    (text, options): (Option<&str>, &ExecOptions),
    max_steps: u32,
    observer: &mut dyn Observer,
) -> Result<Driven, DriveError> {
    let first = resume_once(engine, lock, text, options, observer);
    let first = first.map_err(|error| DriveError { steps: Vec::new(), source: Box::new(error) })?;
    let halt = told(&first, observer);
    let halt = halt.or_else(|| (max_steps <= 1).then_some(Halt::Limit));
    if let Some(halt) = halt {
        return Ok(Driven { steps: vec![first], halt });
    }
    let all = |rest: Vec<StepReport>| [vec![first], rest].concat();
    match drive(engine, lock, options, max_steps - 1, observer) {
        Ok(Driven { steps, halt }) => Ok(Driven { steps: all(steps), halt }),
        Err(DriveError { steps, source }) => Err(DriveError { steps: all(steps), source }),
    }
}

/// Tells of a step, and why there is to be no further one, if so.
fn told(report: &StepReport, observer: &mut dyn Observer) -> Option<Halt> {
    let goes_on = observer.stepped(report).is_continue();
    match report {
        StepReport { failure: Some(_), .. } => Some(Halt::Failed),
        StepReport { paused: Some(_), .. } => Some(Halt::Paused),
        StepReport { status: Status::Idle, .. } => (!goes_on).then_some(Halt::Observer),
        _ => Some(Halt::Settled),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ops::ControlFlow;
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::exec::{StepAgent, StepAgentError, Unobserved, answer, hold};
    use crate::fixture::Place;
    use crate::spawn::protocol::{AdapterOutput, AgentCommand, AgentRequest};
    use crate::thread::{self, ThreadId};

    /// Drives a thread by an agent of code.
    fn driven(
        place: &Place,
        thread: &ThreadId,
        agent: &dyn StepAgent,
        max_steps: u32,
    ) -> Result<Driven, DriveError> {
        place.with_engine(|engine| {
            let engine = Engine { agent: Some(agent), ..*engine };
            let lock = hold(&engine, thread).unwrap();
            drive(&engine, &lock, &ExecOptions::default(), max_steps, &mut Unobserved)
        })
    }

    /// Gives the same output at every visit.
    fn always(
        place: &Place,
        output: Value,
    ) -> impl Fn(&AgentRequest, &Path) -> Result<AdapterOutput, StepAgentError> {
        let store = place.store();
        move |request, cwd| Ok(answer(&store, request, cwd, &output)?)
    }

    #[test]
    fn a_thread_is_driven_until_it_settles_or_the_limit_is_reached() {
        let place = Place::new();
        for (output, halt, steps) in [
            (json!({"$status": "again"}), Halt::Limit, 3),
            (json!({"$status": "done"}), Halt::Settled, 1),
            (json!({"$status": "waits"}), Halt::Settled, 1),
            (json!({"$status": "$SUSPEND", "reason": "Why?"}), Halt::Settled, 1),
        ] {
            let (thread, agent) = (place.flow_thread(), always(&place, output.clone()));
            let driven = driven(&place, &thread, &agent, 3).unwrap();
            assert_eq!((driven.halt, driven.steps.len()), (halt, steps), "{output}");
            let head = thread::head(&place.store(), &thread).unwrap();
            assert_eq!(
                (head.hash, head.status),
                (driven.steps[steps - 1].head, driven.steps[steps - 1].status.clone())
            );
        }
        assert_eq!(place.calls(), [""; 0], "no process was started");
    }

    #[test]
    fn an_agent_that_gives_no_step_stops_it_and_the_steps_before_stay() {
        let place = Place::new();
        let thread = place.flow_thread();
        let visits = Cell::new(0);
        let agent = |request: &AgentRequest, cwd: &Path| {
            visits.set(visits.get() + 1);
            match visits.get() {
                1 => Ok(answer(&place.store(), request, cwd, &json!({"$status": "again"}))?),
                2 => Err("no more ideas".into()),
                _ => Ok(answer(&place.store(), request, cwd, &json!({"$status": "unheard-of"}))?),
            }
        };
        let error = driven(&place, &thread, &agent, 9).unwrap_err();
        assert_eq!(error.steps.len(), 1);
        assert_eq!(error.to_string(), "the agent for role `writer` failed: no more ideas");
        assert_eq!(thread::head(&place.store(), &thread).unwrap().hash, error.steps[0].head);
        let error = driven(&place, &thread, &agent, 9).unwrap_err().to_string();
        assert!(error.contains("`writer` failed") && error.contains("$status"), "{error}");
        // What it says is checked as any reply is.
        let lying = |request: &AgentRequest, cwd: &Path| {
            let told = answer(&place.store(), request, cwd, &json!({"$status": "done"}))?;
            Ok(AdapterOutput { step_hash: told.detail_hash, ..told })
        };
        let error = driven(&place, &thread, &lying, 9).unwrap_err();
        assert!(matches!(*error.source, ExecError::BadReply { .. }), "{error}");
        assert_eq!(thread::head(&place.store(), &thread).unwrap().status, Status::Idle);
    }

    #[test]
    fn an_observer_is_told_each_step_and_may_stop_it() {
        struct Second(u32);
        impl Observer for Second {
            fn spawning(&mut self, _: &str, _: &AgentCommand, _: &Path) {}
            fn warn(&mut self, _: &str) {}
            fn agent_stderr(&mut self, _: &[u8]) {}
            fn stepped(&mut self, _: &StepReport) -> ControlFlow<()> {
                self.0 += 1;
                if self.0 == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        }
        let place = Place::new();
        let (thread, agent) = (place.flow_thread(), always(&place, json!({"$status": "again"})));
        let driven = place.with_engine(|engine| {
            let engine = Engine { agent: Some(&agent), ..*engine };
            drive(&engine, &hold(&engine, &thread).unwrap(), &ExecOptions::default(), 9, &mut Second(0))
                .unwrap()
        });
        assert_eq!((driven.halt, driven.steps.len()), (Halt::Observer, 2));
    }
}
