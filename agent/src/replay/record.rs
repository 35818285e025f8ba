//! What is known of a recorded run before it is played again.

use serde_json::{Value, json};
use uwf_engine::record::Detail;
use uwf_engine::{AgentRequest, EdgePromptSource, RoleContext, StepNode, ThreadId, thread};
use uwf_store::{Hash, Store};

use super::ReplayError;
use crate::journal::{Entry, SharedRecording, Surroundings};
use crate::project::{ProjectSettings, ProjectWords};
use crate::provider::message::ToolDeclaration;
use crate::record;

/// A recorded run: a step, and every entry of its log.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// The step.
    pub(super) step: Hash,
    node: StepNode,
    detail: Detail,
    pub(super) entries: Vec<Entry>,
}

impl RecordedRun {
    /// The run that made a step.
    ///
    /// # Errors
    /// There is no such step, or no record that tells enough of it.
    pub fn read(store: &Store, step: Hash) -> Result<RecordedRun, ReplayError> {
        let node = thread::step_node(store, &step)?;
        let none = |why| ReplayError::NoRecord { step, why };
        if let Some(last) = thread::called_by(store, &node.detail)? {
            return Err(none(format!("a workflow made it; `uwf replay {last}` plays the last step of that")));
        }
        let detail = Detail::read(store, &node.detail)?;
        let entries = record::entries(store, &detail).map_err(none)?;
        if !matches!(entries.first(), Some(Entry::Run { .. })) {
            return Err(none("its log does not begin with a run".to_owned()));
        }
        Ok(RecordedRun { step, node, detail, entries })
    }

    /// What the role could see then.
    pub(super) fn context(&self, store: &Store) -> Result<RoleContext, ReplayError> {
        let Some(Entry::Run { thread, role, prompt, head, .. }) = self.entries.first() else {
            unreachable!("a run is read only if its log begins with one")
        };
        let none = |why: &str| ReplayError::NoRecord { step: self.step, why: why.to_owned() };
        let thread: ThreadId = thread.parse().map_err(|_| none("its log names no thread"))?;
        let request = AgentRequest {
            thread,
            role: role.clone(),
            prompt: Some(prompt.clone()),
            prompt_source: EdgePromptSource::Given,
        };
        let attempts = self.attempts(store, &request)?;
        Ok(thread::role_context_at(store, &request, head, attempts)?)
    }

    /// The failed attempts before this one.
    fn attempts(&self, store: &Store, request: &AgentRequest) -> Result<Vec<Hash>, ReplayError> {
        if let Some(attempts) = &self.node.previous_attempts {
            return Ok(attempts.clone());
        }
        let listed = thread::failed_attempts(store, &request.thread, &request.role)?;
        let linked = || {
            let head = thread::head(store, &request.thread).ok()?;
            let steps = thread::chain(store, &head.hash).ok()?.steps;
            steps
                .into_iter()
                .find_map(|(_, step)| step.previous_attempts.filter(|all| all.contains(&self.step)))
        };
        let all = if listed.contains(&self.step) { listed } else { linked().unwrap_or_default() };
        Ok(all.into_iter().take_while(|attempt| *attempt != self.step).collect())
    }

    /// Looks whether the answer is the one that the step has.
    pub(super) fn answered(
        &self,
        store: &Store,
        recording: &SharedRecording,
        answer: &Value,
    ) -> Result<(), ReplayError> {
        let recorded = store.get(&self.node.output)?.payload;
        if recorded != *answer {
            recording.differs(
                json!({"entry": "answer", "answer": recorded}),
                json!({"entry": "answer", "answer": answer}),
            );
        }
        Ok(())
    }

    /// The tools as they were declared.
    pub(super) fn tools(&self) -> &[ToolDeclaration] {
        match self.entries.first() {
            Some(Entry::Run { tools, .. }) => tools,
            _ => &[],
        }
    }

    /// The same tools as they would be declared now; those that a program added are as they were.
    pub(super) fn declared_now(&self) -> Vec<ToolDeclaration> {
        let specs = uwf_tools::specs();
        let now = |tool: &ToolDeclaration| match specs.iter().find(|spec| spec.name == tool.name) {
            Some(spec) => ToolDeclaration {
                name: spec.name.to_owned(),
                description: spec.description.to_owned(),
                parameters: spec.parameters.clone(),
            },
            None => tool.clone(),
        };
        self.tools().iter().map(now).collect()
    }

    /// What the project said of itself when it began.
    pub(super) fn project(&self) -> ProjectWords {
        match self.entries.first() {
            Some(Entry::Run { project, .. }) => project.clone(),
            _ => ProjectWords::default(),
        }
    }

    /// The files that tools find the project's own words in when they are run once more: those that they found.
    pub(super) fn project_settings(&self) -> ProjectSettings {
        let of_root = self.project().files.into_iter().map(|file| file.path);
        let told = self.entries.iter().flat_map(|entry| match entry {
            Entry::Finished { facts, .. } => facts.told.as_slice(),
            _ => &[],
        });
        let mut instructions: Vec<String> = Vec::new();
        for path in of_root.chain(told.map(|file| file.path.clone())) {
            let name = path.rsplit('/').next().unwrap_or_default();
            if !instructions.iter().any(|known| known == name) {
                instructions.push(name.to_owned());
            }
        }
        ProjectSettings { instructions, skills: Vec::new() }
    }

    /// The workspace before it.
    pub(super) fn before(&self) -> Option<Hash> {
        self.detail.snapshots.as_ref()?.before.map(|before| before.tree)
    }

    pub(super) fn session(&self) -> Option<ThreadId> {
        self.detail.session_id.as_ref()?.parse().ok()
    }

    /// What errors call the script that stood in for a model.
    pub(super) fn script(&self) -> String {
        let settings = self.detail.settings();
        settings.provider.script().unwrap_or_default().to_owned()
    }

    /// The directory that the model was told it works in; empty where it was told none.
    pub(super) fn told_workspace(&self) -> &str {
        match self.entries.first() {
            Some(Entry::Run { surroundings: Surroundings { told_workspace: Some(told), .. }, .. }) => told,
            // A fork with files of its own has the step stored again, with another directory.
            Some(Entry::Run { workspace, .. }) if !workspace.is_empty() => workspace,
            _ => &self.node.cwd,
        }
    }
}
