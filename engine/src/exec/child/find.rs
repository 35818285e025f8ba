//! Which thread plays a role for its caller: one that asked, one that was begun for this very visit, or a new one.

use std::path::Path;

use uwf_store::Hash;

use super::Caller;
use crate::builtin;
use crate::exec::{ExecError, Observer};
use crate::thread::{self, CalledFrom, CalledThread, StartNode, Status, ThreadEntry, ThreadError};
use crate::workflow::{self, Resolved};

/// How many threads may be above another where nothing else is configured.
const MAX_DEPTH: u32 = 3;

impl Caller<'_> {
    /// The thread that plays the role: the one whose question is answered, the one that was begun for this very visit, or a
    /// new one.
    pub(super) fn called(&self, observer: &mut dyn Observer) -> Result<CalledThread, ExecError> {
        let caller = &self.call.request.thread;
        if let Some(asked) = self.asked()? {
            return Ok(asked);
        }
        let last = thread::last_called(self.store(), caller)?;
        let noted = last.as_ref().map(|last| last.start_hash);
        let begun = last.filter(|last| last.is_from(&self.head.hash) && last.role == self.role());
        let resolved = self.resolved()?;
        let Some(begun) = begun else { return self.begin(&resolved, noted) };
        let active = thread::entry(self.store(), &begun.thread).ok();
        let active = active.filter(|entry| !matches!(entry.status(), Ok(Status::Cancelled { .. })));
        let Some(active) = active else {
            observer.warn(&format!(
                "thread {}, which played role `{}`, is gone or cancelled: a new one begins",
                begun.thread, begun.role
            ));
            return self.begin(&resolved, noted);
        };
        let workflow = workflow::get(self.store(), &begun.start.workflow).map_err(ThreadError::from)?;
        let is_other = begun.start.prompt != self.task() || workflow.name != resolved.name;
        if is_other || self.was_unfit(&active)? {
            // Nobody waits for it: this is another visit, or it has ended with what cannot be used.
            thread::cancel(self.store(), &begun.thread).ok();
            return self.begin(&resolved, noted);
        }
        if resolved.hash != Some(begun.start.workflow) {
            observer.warn(&format!(
                "workflow `{}` has changed since thread {} began, which goes on as it was; `uwf thread cancel {}` first to \
                 begin with what it is now",
                workflow.name, begun.thread, begun.thread
            ));
        }
        Ok(begun)
    }

    /// Whether a thread ended with an output that was told to be none of the role.
    fn was_unfit(&self, called: &ThreadEntry) -> Result<bool, ExecError> {
        if !called.status()?.is_final() {
            return Ok(false);
        }
        let attempts = thread::failed_attempts(self.store(), &self.call.request.thread, self.role())?;
        let Ok(ended) = thread::step_node(self.store(), &called.head) else { return Ok(false) };
        let is_of = |attempt: &Hash| {
            let attempt = thread::step_node(self.store(), attempt);
            let told = attempt.and_then(|attempt| thread::step_node(self.store(), &attempt.detail));
            told.is_ok_and(|told| told.is_of_visit(&ended))
        };
        Ok(attempts.iter().any(is_of))
    }

    /// The workflow that is named.
    fn resolved(&self) -> Result<Resolved, ExecError> {
        let cwd = Path::new(&self.start.cwd);
        Ok(workflow::resolve(self.store(), self.call.workflow, cwd).map_err(ThreadError::from)?)
    }

    /// The called thread that asked what is answered now. One that is known here by its steps alone is taken up as a thread.
    fn asked(&self) -> Result<Option<CalledThread>, ExecError> {
        let store = self.store();
        let Some((step, _)) = self.asking() else { return Ok(None) };
        // Where the graph asks, the thread that played has ended.
        let asks = store.get(&step.output).map_err(ThreadError::from)?.type_ == builtin::SUSPEND_OUTPUT;
        let Some(question) = thread::called_by(store, &step.detail)?.filter(|_| asks) else {
            return Ok(None);
        };
        let start_hash = thread::step_node(store, &question)?.start;
        let last = thread::last_called(store, &self.call.request.thread)?;
        if let Some(last) = last.filter(|last| last.start_hash == start_hash)
            && let Ok(entry) = thread::entry(store, &last.thread)
        {
            return Ok((!self.was_unfit(&entry)?).then_some(last));
        }
        let start = thread::start_node(store, &start_hash)?;
        let adopted = CalledThread {
            thread: thread::fork(store, &question)?,
            start_hash,
            start,
            role: self.role().to_owned(),
        };
        thread::adopt(store, &self.call.request.thread, self.role(), &adopted)?;
        Ok(Some(adopted))
    }

    /// What the called thread is to do, and for whom.
    fn task(&self) -> String {
        // A thread that begins anew knows nothing of what was asked before.
        let before = self.call.instead.or(self.asking().map(|(step, _)| step));
        let before = before.map(|step| format!("{}\n\n", step.edge_prompt.trim_end()));
        format!(
            "{}{}\n\n(For role `{}` of workflow `{}`, thread {}.)",
            before.unwrap_or_default(),
            self.prompt().trim_end(),
            self.role(),
            self.workflow.name,
            self.call.request.thread
        )
    }

    /// A new thread; nothing is stored unless it may be called from here.
    fn begin(&self, resolved: &Resolved, noted: Option<Hash>) -> Result<CalledThread, ExecError> {
        let store = self.store();
        let mut names = vec![self.workflow.name.clone()];
        names.extend(thread::stack(store, &self.start)?.into_iter().map(|frame| frame.workflow));
        names.reverse();
        let role = self.role().to_owned();
        let depth = names.len() as u32;
        if names.contains(&resolved.name) {
            names.push(resolved.name.clone());
            return Err(ExecError::CallsItself { role, stack: names });
        }
        let max = self.engine.config.max_depth.unwrap_or(MAX_DEPTH);
        if depth > max {
            names.push(resolved.name.clone());
            return Err(ExecError::TooDeep { role, stack: names, max });
        }
        let start = StartNode {
            workflow: resolved.ensure_stored(store).map_err(ThreadError::from)?,
            prompt: self.task(),
            cwd: self.call.cwd.display().to_string(),
            call: Some(CalledFrom { parent_state: self.head.hash, depth }),
        };
        Ok(thread::call(store, (&self.call.request.thread, self.role()), &start, noted)?)
    }
}
