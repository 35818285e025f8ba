//! A run that branches off a recorded one: its journal has the recorded turns up to a point, so that whoever plays the visit
//! next goes on from there with a model that is asked.
//!
//! It is an interrupted run like any other, and goes on as one.

use uwf_engine::journals::JournalName;
use uwf_engine::{AgentRequest, EdgePromptSource, ThreadId, thread};
use uwf_store::Hash;
use uwf_tools::Cancel;

use super::{RecordedRun, ReplayError};
use crate::journal::{self, Entry, Journal};
use crate::provider::message::ToolCall;
use crate::role_run::{self, RunContext, RunError, journals_dir};

/// A recorded run up to one of its turns, with what the tools answered to that.
#[derive(Debug)]
pub struct RecordedPart<'r> {
    recorded: &'r RecordedRun,
    entries: &'r [Entry],
}

impl RecordedRun {
    /// The run up to that turn of the model, from 1.
    ///
    /// # Errors
    /// There is no such turn.
    pub fn until(&self, turn: usize) -> Result<RecordedPart<'_>, ReplayError> {
        let turns =
            self.entries.iter().enumerate().filter(|(_, entry)| matches!(entry, Entry::Answered { .. }));
        let turns: Vec<usize> = turns.map(|(index, _)| index).collect();
        let last = turn
            .checked_sub(1)
            .and_then(|turn| turns.get(turn))
            .ok_or_else(|| ReplayError::NoTurn { step: self.step, turn, turns: turns.len() })?;
        let of_turn = |entry: &&Entry| {
            matches!(
                entry,
                Entry::Started { .. }
                    | Entry::Finished { .. }
                    | Entry::Snapshot { .. }
                    | Entry::Warned { .. }
            )
        };
        let more = self.entries[last + 1..].iter().take_while(of_turn).count();
        Ok(RecordedPart { recorded: self, entries: &self.entries[..=last + more] })
    }
}

impl RecordedPart<'_> {
    /// The workspace as it was captured last.
    ///
    /// # Errors
    /// It was not captured.
    pub fn tree(&self) -> Result<Hash, ReplayError> {
        let trees = self.entries.iter().rev().filter_map(|entry| match entry {
            Entry::Snapshot { snapshot, .. } => Some(snapshot.tree),
            _ => None,
        });
        let none = || ReplayError::NoRecord {
            step: self.recorded.step,
            why: "there is no snapshot of its workspace".to_owned(),
        };
        trees.into_iter().next().ok_or_else(none)
    }

    /// Makes it the interrupted visit of a thread that works in the directory of `run`, which has [`RecordedPart::tree`]:
    /// what editing tools did after that is done there again, and then the journal is written.
    ///
    /// # Errors
    /// The thread asks for something else now than the step was asked for, or the journal cannot be written.
    pub fn continue_in(&self, thread: ThreadId, run: &RunContext<'_>) -> Result<(), ReplayError> {
        let Some(Entry::Run { role, prompt, .. }) = self.entries.first() else {
            unreachable!("a run is read only if its log begins with one")
        };
        let usual = EdgePromptSource::Routed;
        let request = AgentRequest { thread, role: role.clone(), prompt: None, prompt_source: usual };
        let context = thread::role_context(run.store, &request)?;
        if context.edge_prompt != *prompt {
            let why = "it was asked by hand, and its thread would ask for something else".to_owned();
            return Err(ReplayError::NoRecord { step: self.recorded.step, why });
        }
        let sessions = journals_dir(run.home);
        let name = JournalName { thread, head: context.head, session: ThreadId::new((run.clock)()) };
        self.edit_again(run, &name)?;
        let failed = |source| RunError::Journal { dir: sessions.display().to_string(), source };
        let mut journal = Journal::create(&sessions, name.clone()).map_err(failed)?;
        for entry in self.entries {
            // Trees of another directory say nothing of this one.
            if !matches!(entry, Entry::Snapshot { .. }) {
                journal.append(self.moved(entry, &name, run)).map_err(failed)?;
            }
        }
        journal.sync().map_err(failed)?;
        Ok(())
    }

    /// The entry as the new run has it.
    fn moved(&self, entry: &Entry, name: &JournalName, run: &RunContext<'_>) -> Entry {
        let mut entry = entry.clone();
        if let Entry::Run { version, session, thread, head, workspace, stand_alone, surroundings, .. } =
            &mut entry
        {
            surroundings.told_workspace.get_or_insert_with(|| workspace.clone());
            (*version, *stand_alone) = (journal::VERSION, false);
            (*session, *thread, *head) = (name.session.to_string(), name.thread.to_string(), name.head);
            *workspace = run.workspace.display().to_string();
        }
        entry
    }

    /// Does once more what tools that only edit did after the last snapshot.
    fn edit_again(&self, run: &RunContext<'_>, name: &JournalName) -> Result<(), RunError> {
        let captured = self.entries.iter().rposition(|entry| matches!(entry, Entry::Snapshot { .. }));
        let edits =
            uwf_tools::specs().into_iter().filter(|tool| !tool.read_only && tool.name != "run_command");
        let edits: Vec<String> = edits.map(|tool| tool.name.to_owned()).collect();
        let blobs = role_run::blobs(run);
        let spool = name.spool_dir(&journals_dir(run.home));
        let toolbox = role_run::alone(role_run::toolbox(run, Some(edits.clone()), (spool, &blobs))?, run);
        for (index, entry) in self.entries.iter().enumerate() {
            let Entry::Finished { message, facts, .. } = entry else { continue };
            let call = self.call(message.tool_call_id.as_deref().unwrap_or_default());
            let call = call.filter(|call| !facts.is_error && edits.contains(&call.name));
            if let Some(call) = call.filter(|_| captured.is_none_or(|captured| index > captured)) {
                toolbox.call(&call.name, &call.arguments, &Cancel::default());
            }
            facts.read_state.iter().for_each(|state| toolbox.remember(state));
        }
        Ok(())
    }

    fn call(&self, id: &str) -> Option<&ToolCall> {
        let calls = self.entries.iter().filter_map(|entry| match entry {
            Entry::Answered { message, .. } => Some(&message.tool_calls),
            _ => None,
        });
        calls.flatten().find(|call| call.id == id)
    }
}
