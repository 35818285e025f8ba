//! One run, from a prompt and a type to an answer and a report. It goes on a thread of its own, and ends with it.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::oneshot;
use uwf_engine::lock::ThreadLock;
use uwf_engine::record::{reason, status};
use uwf_engine::thread;
use uwf_engine::{AdapterOutput, AgentRequest, ThreadId, workflow};
use uwf_store::Hash;
use uwf_workflow::moderator::SUSPEND;

use super::agent::Agent;
use super::environment::{CancelReceiver, RunEnvironment, VisitRequest, on_a_thread, play};
use super::error::AgentError;
use super::report::{Report, Run};
use super::role::{self, ROLE};
use super::schema::AnswerSchema;
use crate::additions::OutputCheck;
use crate::events::Events;
use crate::failure::FailedAt;
use crate::frontmatter;
use crate::journal::{Journals, Prompt, WantedRun, entries_of};
use crate::react::Notice;
use crate::resume::{self, ResumedRun};
use crate::role_run::{RunError, journals_dir, reply_again};
use crate::stand_alone;
use crate::usd::Usd;

impl Agent {
    /// Has the model answer `prompt` with a `T`.
    ///
    /// It may call tools in between; an answer that is no `T` goes back to it with what was wrong, at most twice. The run has
    /// a thread of its own, so it works under any executor, and blocking code here does not hold it up. Dropping
    /// the future ends it: commands and connections are ended within an instant, without waiting for them here.
    ///
    /// What a type comes to is told at the [crate's page](crate#answers).
    pub fn run<T: DeserializeOwned + JsonSchema + Send + 'static>(
        &self,
        prompt: &str,
    ) -> impl Future<Output = Run<T>> + Send + use<T> {
        run(self.clone(), Task::New(prompt.to_owned()))
    }

    /// Goes on with a run that this or another process left before its end: what was answered is not asked again, and a
    /// call that finished is not run again. A run that was finished gives its answer once more.
    ///
    /// Wants what [`Agent::record`] was given then, and the same `T`; the thread is in the `run.started` event, and in the
    /// report of a run that stopped.
    pub fn resume<T: DeserializeOwned + JsonSchema + Send + 'static>(
        &self,
        thread: ThreadId,
    ) -> impl Future<Output = Run<T>> + Send + use<T> {
        run(self.clone(), Task::Resume(thread))
    }
}

/// What is asked for.
enum Task {
    New(String),
    Resume(ThreadId),
}

/// What a run came to.
struct Done {
    reply: Result<AdapterOutput, AgentError>,
    report: Report,
}

/// What is seen of a run while it goes on.
#[derive(Default)]
struct RunObserver {
    session: Option<String>,
    thread: Option<ThreadId>,
    cost: Option<Usd>,
    events: Events,
}

/// Makes the run on a thread of its own, which hears of it when this future is dropped.
async fn run<T: DeserializeOwned + JsonSchema + Send + 'static>(agent: Agent, task: Task) -> Run<T> {
    let schema = AnswerSchema::of::<T>();
    let typed = schema.clone();
    let check: OutputCheck = Arc::new(move |output: &Value| value::<T>(&typed, output.clone()).map(drop));
    let (stopper, stop) = oneshot::channel();
    let (sender, done) = oneshot::channel();
    let for_thread = schema.clone();
    let started = on_a_thread(move || {
        let done = conduct(&agent, &task, (&for_thread, &check), stop);
        // Nobody waits for it any more where the future was dropped.
        let _ = sender.send(done);
    });
    let gone = || AgentError::Internal("the thread of the run panicked".to_owned());
    let done = match started {
        Err(source) => Err(AgentError::System { what: "start the thread of the run", source }),
        Ok(_) => done.await.map_err(|_| gone()),
    };
    drop(stopper);
    match done {
        Err(error) => Run { answer: Err(error), text: String::new(), report: Report::default() },
        Ok(Done { reply, report }) => {
            let text = reply.as_ref().map(|reply| reply.body.clone()).unwrap_or_default();
            Run { answer: reply.and_then(|reply| answer(&schema, reply)), text, report }
        }
    }
}

/// The value in a valid answer, or what the type has against it.
fn value<T: DeserializeOwned>(schema: &AnswerSchema, output: Value) -> Result<T, String> {
    serde_json::from_value(schema.value(output)).map_err(|error| error.to_string())
}

/// What a reply says.
fn answer<T: DeserializeOwned>(schema: &AnswerSchema, reply: AdapterOutput) -> Result<T, AgentError> {
    let output = reply.frontmatter;
    if reply.is_error {
        let why = reply.error_message.unwrap_or_default();
        return Err(AgentError::Failed { at: FailedAt::of(&output), why });
    }
    if status(&output) == Some(SUSPEND) {
        return Err(AgentError::Asks { question: reason(&output).unwrap_or_default().to_owned() });
    }
    value(schema, output).map_err(AgentError::Internal)
}

/// The whole run, on the thread that it has.
fn conduct(
    agent: &Agent,
    task: &Task,
    (schema, check): (&AnswerSchema, &OutputCheck),
    stop: CancelReceiver,
) -> Done {
    let mut observer = RunObserver::default();
    let environment = match RunEnvironment::open(agent) {
        Ok(environment) => environment,
        Err(error) => return Done { reply: Err(error), report: Report::default() },
    };
    let reply = match task {
        Task::New(prompt) => begin(agent, &environment, (prompt, schema, check), (stop, &mut observer)),
        Task::Resume(thread) => go_on(agent, &environment, (thread, check), (stop, &mut observer)),
    };
    let dir = journals_dir(&environment.homes.uwf);
    let log = observer.session.map(|session| entries_of(&dir, &session)).unwrap_or_default();
    let judge = |text: &str| frontmatter::extract_checked(text, (&schema.schema, ANY), Some(check)).map(drop);
    let mut report = Report::of(log, &judge);
    report.thread = observer.thread;
    report.cost = observer.cost;
    report.step = reply.as_ref().ok().map(|reply| reply.step_hash);
    Done { reply, report }
}

/// What a schema is called where nothing is stored.
const ANY: Hash = uwf_engine::builtin::TEXT;

fn begin(
    agent: &Agent,
    environment: &RunEnvironment,
    (prompt, schema, check): (&str, &AnswerSchema, &OutputCheck),
    (stop, observer): (CancelReceiver, &mut RunObserver),
) -> Result<AdapterOutput, AgentError> {
    let settings = agent.settings(Some(Arc::clone(check)))?;
    uwf_tools::check_names(settings.tools.as_deref().unwrap_or_default()).map_err(RunError::from)?;
    thread::check_task(prompt)?;
    let flow = role::workflow(agent.words(), schema)?;
    let flow =
        workflow::put(&environment.store, &flow).map_err(|error| AgentError::Schema(error.to_string()))?;
    let thread = thread::start(&environment.store, &flow, prompt, &environment.root.display().to_string())?;
    observer.thread = Some(thread);
    let _lock = locked(agent, environment, &thread, &flow)?;
    let from = thread::head(&environment.store, &thread)?.hash;
    let request = AgentRequest::new(thread, ROLE, Some(prompt.to_owned()), None);
    let visit = VisitRequest {
        request: &request,
        earlier: None,
        claim: None,
        settings: &settings,
        stand_alone: true,
        stop: Some(stop),
    };
    let reply = play(agent, environment, visit, &mut |notice| observer.on_notice(agent, &notice))?;
    stand_alone::advance(&environment.store, &thread, &from, &reply)?;
    Ok(reply)
}

fn go_on(
    agent: &Agent,
    environment: &RunEnvironment,
    (thread, check): (&ThreadId, &OutputCheck),
    (stop, observer): (CancelReceiver, &mut RunObserver),
) -> Result<AdapterOutput, AgentError> {
    let settings = agent.settings(Some(Arc::clone(check)))?;
    observer.thread = Some(*thread);
    let head = thread::head(&environment.store, thread)?;
    let flow = head.start(&environment.store)?.workflow;
    let _lock = locked(agent, environment, thread, &flow)?;
    let head = thread::head(&environment.store, thread)?.hash;
    let role = Some(ROLE);
    let wanted = WantedRun {
        thread: *thread,
        head,
        role,
        prompt: Prompt::Any,
        stand_alone: true,
        workspace: None,
        agent: None,
    };
    let earlier =
        find(environment, &wanted)?.ok_or_else(|| AgentError::NothingToResume(thread.to_string()))?;
    observer.session = Some(earlier.journal.session().to_owned());
    observer.cost = earlier.state.sums().2;
    let prompt = earlier.header().prompt.to_owned();
    let request = AgentRequest::new(*thread, ROLE, Some(prompt), None);
    let reply = match reply_again(&environment.store, &request, &earlier)? {
        Some(reply) => reply,
        None => {
            let visit = VisitRequest {
                request: &request,
                earlier: Some(earlier),
                claim: None,
                settings: &settings,
                stand_alone: true,
                stop: Some(stop),
            };
            play(agent, environment, visit, &mut |notice| observer.on_notice(agent, &notice))?
        }
    };
    stand_alone::advance(&environment.store, thread, &head, &reply)?;
    Ok(reply)
}

/// The run that was cut off, if there is one.
pub(super) fn find(
    environment: &RunEnvironment,
    wanted: &WantedRun<'_>,
) -> Result<Option<ResumedRun>, AgentError> {
    let found = Journals::list(&journals_dir(&environment.homes.uwf))
        .and_then(|journals| resume::find(&journals, wanted, &mut |_| ()));
    found.map_err(|error| AgentError::Journal(error.to_string()))
}

/// Nobody else runs a recorded thread meanwhile; one that is not recorded is nobody else's.
fn locked(
    agent: &Agent,
    environment: &RunEnvironment,
    thread: &ThreadId,
    flow: &Hash,
) -> Result<Option<ThreadLock>, AgentError> {
    if agent.record.is_none() {
        return Ok(None);
    }
    let lock = ThreadLock::acquire(&environment.homes.uwf, thread, flow, environment.store.now());
    lock.map(Some).map_err(|error| AgentError::Journal(error.to_string()))
}

impl RunObserver {
    fn on_notice(&mut self, agent: &Agent, notice: &Notice<'_>) {
        match notice {
            Notice::Opened { session, .. } => self.session = Some((*session).to_owned()),
            Notice::Entry(_, state) => self.cost = state.sums().2,
            _ => {}
        }
        if let Some(tell) = &agent.on_event
            && let Some(lines) = self.events.lines(notice, (agent.clock)())
        {
            lines.split_inclusive('\n').for_each(|line| tell(line));
        }
    }
}
