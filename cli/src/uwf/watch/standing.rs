//! How a thread stands of which nothing runs, in a line, and as the exit status of whoever waited for it.

use crate::shell::{CliError, FAILED_STEP, OK, SUSPENDED, Session, USER};
use uwf_agent::live::{InterruptedRun, LiveReader};
use uwf_engine::conditions::process::judge;
use uwf_engine::log::Unmade;
use uwf_engine::view::ThreadView;
use uwf_engine::{Homes, ThreadId, log, thread};
use uwf_store::Store;

/// A thread of which nothing runs.
pub(in crate::uwf) struct Standing {
    pub(in crate::uwf) view: ThreadView,
    /// The run that was cut off there.
    interrupted: Option<InterruptedRun>,
    /// Why the step that was tried there last was not made.
    unmade: Option<Unmade>,
}

impl Standing {
    pub(in crate::uwf) fn of(
        session: &Session<'_>,
        (homes, store): (&Homes, &Store),
        thread: &ThreadId,
    ) -> Result<Standing, CliError> {
        let conditions = session.conditions();
        let view = ThreadView::of(store, &homes.uwf, thread, judge(conditions.as_ref()))?;
        let interrupted = LiveReader::new(&homes.uwf).interrupted(thread, &view.head, store.now());
        let interrupted = interrupted.filter(|_| view.status == "idle" && view.error.is_none());
        let unmade = match (view.status, &interrupted) {
            ("idle", None) => unmade((homes, store), thread)?,
            _ => None,
        };
        Ok(Standing { view, interrupted, unmade })
    }

    /// Whether nothing was ever done in it.
    pub(in crate::uwf) fn has_never_run(&self, store: &Store) -> bool {
        let is_untouched =
            self.view.status == "idle" && self.view.error.is_none() && self.interrupted.is_none();
        is_untouched && self.unmade.is_none() && thread::start_node(store, &self.view.head).is_ok()
    }

    /// In a line: `failed: 401`.
    pub(in crate::uwf) fn line(&self) -> String {
        let view = &self.view;
        if let Some(why) = &self.unmade {
            return format!("failed: {}", why.error);
        }
        let asks = view.suspended_role.as_ref().zip(view.suspend_message.as_ref());
        match (view.status, &view.error, &self.interrupted, &view.current_role) {
            ("suspended", ..) => asks.map_or_else(
                || "suspended".to_owned(),
                |(role, message)| format!("suspended: {role} asks: {message}"),
            ),
            ("paused", ..) => format!("paused: {}", view.pause_reason.as_deref().unwrap_or_default()),
            (_, Some(error), ..) => format!("failed: {}", error.message),
            (_, _, Some(run), _) => format!("{} of {}", run.reason(), run.role),
            ("idle", _, _, Some(role)) => format!("idle, next: {role}"),
            (word, ..) => word.to_owned(),
        }
    }

    /// What to type next, if there is anything.
    pub(in crate::uwf) fn hint(&self) -> Option<String> {
        let thread = &self.view.thread;
        let own = self.unmade.as_ref().and_then(|why| why.hint.as_ref());
        let own = own.map(|hint| format!("{hint}; then ")).unwrap_or_default();
        let go_on = || format!("{own}go on with `uwf thread exec {thread} --until-end`");
        self.view.hint.clone().or_else(|| (self.view.status == "idle").then(go_on))
    }

    /// As the command would have exited that ran it.
    ///
    /// # Errors
    /// `$UWF_HOME/.env` cannot be read, which may say that the status tells no outcome.
    pub(in crate::uwf) fn exit(&self, session: &Session<'_>, homes: &Homes) -> Result<u8, CliError> {
        let env = session.env.clone().with_dotenv(&homes.uwf.join(".env"))?;
        let tells = env.text("UWF_EXIT") != Some("0");
        Ok(match self.view.status {
            "suspended" | "paused" if tells => SUSPENDED,
            "cancelled" => USER,
            "idle" if self.interrupted.is_some() || self.unmade.is_some() => USER,
            "idle" if self.view.error.is_some() && tells => FAILED_STEP,
            _ => OK,
        })
    }
}

/// Why the step was not made that was tried last where an idle thread stands. The log is only asked: where it cannot be read,
/// nobody knows.
fn unmade((homes, store): (&Homes, &Store), thread: &ThreadId) -> Result<Option<Unmade>, CliError> {
    let since = thread::entry(store, thread)?.updated;
    Ok(log::unmade_since(&homes.uwf, thread, since).ok().flatten())
}

/// The view of a thread, with why the step was not made that was tried last; one that was cut off or stopped has not failed.
pub(in crate::uwf) fn with_unmade(
    (homes, store): (&Homes, &Store),
    view: ThreadView,
) -> Result<ThreadView, CliError> {
    let is_cut_off =
        || LiveReader::new(&homes.uwf).interrupted(&view.thread, &view.head, store.now()).is_some();
    if view.status != "idle" || view.error.is_some() || is_cut_off() {
        return Ok(view);
    }
    let why =
        unmade((homes, store), &view.thread)?.filter(|why| !why.error.starts_with("stopped by signal "));
    Ok(match why {
        Some(why) => view.unmade(&why),
        None => view,
    })
}
