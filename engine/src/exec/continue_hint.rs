//! Which command a visit is of: `exec`, `resume` and `poke` read backwards.
//!
//! Apart because only who stops in the middle of a visit asks it: to tell people what to type to go on.

use std::path::Path;

use uwf_store::Store;
use uwf_workflow::moderator::{RouteError, Target};

use crate::thread::{self, COMPACT, Head, MAX_LEVELS, Status, ThreadError, ThreadId, compact_prompt};
use crate::workflow::{self, CompactRule, Workflow};

/// How many kept steps are tried to find what a prompt asks for.
const KEPT_AT_MOST: u32 = 1000;

/// The command that has `role` play where the thread stands, with these words, in this directory; none when there is
/// none. What a person must say again is left to them.
pub fn command_for(
    store: &Store,
    thread: &ThreadId,
    (role, prompt): (&str, &str),
    cwd: &Path,
) -> Option<String> {
    const AGAIN: &str = " -p … with the same words";
    if let Some((caller, _)) = thread::caller(store, thread).ok()? {
        return of_caller(store, caller);
    }
    let head = thread::head(store, thread).ok()?;
    let start = head.start(store).ok()?;
    let workflow = workflow::get(store, &start.workflow).ok()?;
    let head = head.settled(store, &workflow, None);
    if role == COMPACT {
        return Some(to_sum_up(store, (thread, &head), &workflow, prompt));
    }
    let left = head.step().map_or(start.cwd.as_str(), |step| step.cwd.as_str());
    let is = |target: &Target| matches!(target, Target::Role(next) if next == role);
    let elsewhere = |usual: &Path| match same(usual, cwd) {
        true => String::new(),
        false => format!(" --cwd {}", quoted(&cwd.display().to_string())),
    };
    match &head.status {
        Status::Idle => {
            let route = thread::next(store, &workflow, &head, None);
            // A condition decides, which nobody evaluates here: whoever plays was led here by it.
            if let Err(ThreadError::Route(RouteError::Conditional { .. })) = &route {
                return Some(format!("uwf thread exec {thread}{}", elsewhere(Path::new(&start.cwd))));
            }
            if let Some(route) = route.ok().filter(|route| is(&route.target) && route.prompt == prompt) {
                let base = Path::new(&start.cwd);
                return match route.location.as_deref().map(str::trim) {
                    None => Some(format!("uwf thread exec {thread}{}", elsewhere(base))),
                    // What is typed is where the location counts from.
                    Some(location) => {
                        same(&base.join(location), cwd).then(|| format!("uwf thread exec {thread}"))
                    }
                };
            }
        }
        Status::Suspended { role: asked, message } if asked == role && continues(prompt, message) => {
            return Some(format!("uwf thread resume {thread}{}{AGAIN}", elsewhere(Path::new(left))));
        }
        Status::Ended { .. } => {
            let route = thread::again(store, &workflow, &head, None).ok()?;
            let is_it = is(&route.target) && continues(prompt, &route.prompt);
            return is_it.then(|| format!("uwf thread resume {thread}{}{AGAIN}", elsewhere(Path::new(left))));
        }
        Status::Suspended { .. } => {}
        Status::Cancelled { .. } => return None,
    }
    let is_last = head.step().is_some_and(|step| step.role == role);
    is_last.then(|| format!("uwf thread poke {thread}{}{AGAIN}", elsewhere(Path::new(left))))
}

/// The command that has a thread summed up with these words: by the workflow's rule, or as somebody wanted it.
fn to_sum_up(store: &Store, (thread, head): (&ThreadId, &Head), workflow: &Workflow, prompt: &str) -> String {
    let is_due = |rule: &CompactRule| {
        head.status == Status::Idle
            && compact_prompt(rule.keep) == prompt
            && thread::is_due(store, &head.hash, rule.after).unwrap_or(false)
    };
    if workflow.compact.as_ref().is_some_and(is_due) {
        return format!("uwf thread exec {thread}");
    }
    let keep = (1..=KEPT_AT_MOST).find(|keep| compact_prompt(*keep) == prompt);
    let keep = keep.map_or_else(|| "…".to_owned(), |keep| keep.to_string());
    format!("uwf thread compact {thread} --keep {keep}")
}

/// The command that goes on with the first of all callers, and so with all that were called.
fn of_caller(store: &Store, caller: ThreadId) -> Option<String> {
    let mut first = caller;
    for _ in 0..MAX_LEVELS {
        match thread::caller(store, &first).ok()? {
            Some((above, _)) => first = above,
            None => break,
        }
    }
    match thread::head(store, &first).ok()?.status {
        Status::Idle => Some(format!("uwf thread exec {first}")),
        Status::Suspended { .. } | Status::Ended { .. } => {
            Some(format!("uwf thread resume {first} -p … with the same words"))
        }
        Status::Cancelled { .. } => None,
    }
}

/// Whether a prompt is what a thread was left with and what a person had to say to that.
fn continues(prompt: &str, message: &str) -> bool {
    let rest = prompt.strip_prefix(message);
    message.trim().is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("\n\n"))
}

fn same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// A word as a shell reads it.
pub fn quoted(text: &str) -> String {
    shlex::try_quote(text).map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::Place;

    #[test]
    fn each_visit_is_made_again_by_the_command_that_made_it() {
        let place = Place::new();
        let (store, thread) = (place.store(), place.flow_thread());
        let project = place.project().canonicalize().unwrap();
        let asked = |role: &str, prompt: &str, cwd: &Path| {
            command_for(&store, &thread, (role, prompt), cwd)
                .map(|command| command.replace(thread.as_str(), "T").replace("uwf thread ", ""))
        };
        let told = |role: &str, prompt: &str| asked(role, prompt, &project).unwrap_or_default();
        let at = |output: serde_json::Value, status: Status| {
            let from = thread::head(&store, &thread).unwrap().hash;
            let step = place.step(&thread, None, "writer", &output);
            thread::advance(&store, &thread, &from, &step, &status).unwrap();
        };
        assert_eq!(told("writer", "Write it."), "exec T");
        assert_eq!(asked("writer", "Write it.", Path::new("/a b")).unwrap(), "exec T --cwd '/a b'");
        assert_eq!(told("writer", "Something else."), "", "there is no step to poke");
        assert_eq!(told("checker", "Write it."), "");

        at(json!({"$status": "checked"}), Status::Idle);
        assert_eq!(told("checker", "Check it."), "exec T");
        assert_eq!(told("writer", "Better."), "poke T -p … with the same words");
        assert_eq!(
            asked("writer", "Better.", Path::new("/")).unwrap(),
            "poke T --cwd / -p … with the same words"
        );
        assert_eq!(told("checker", "My own words."), "", "nobody would say that");

        at(json!({"$status": "elsewhere", "dir": "sub"}), Status::Idle);
        std::fs::create_dir(project.join("sub")).unwrap();
        assert_eq!(asked("checker", "Check it there.", &project.join("sub")).unwrap(), "exec T");
        assert_eq!(asked("checker", "Check it there.", &project), None, "no --cwd leads there");

        let waits = Status::Suspended { role: "writer".into(), message: "What now?".into() };
        at(json!({"$status": "waits"}), waits);
        assert_eq!(told("writer", "What now?\n\nThis."), "resume T -p … with the same words");
        assert_eq!(told("writer", "What now?"), "resume T -p … with the same words");
        assert_eq!(told("writer", "What now? No."), "poke T -p … with the same words");

        assert_eq!(told(COMPACT, &compact_prompt(3)), "compact T --keep 3");
        at(json!({"$status": "done"}), Status::Ended { completed_at: 1 });
        assert_eq!(told("writer", "Write it anew.\n\nMore."), "resume T -p … with the same words");
        assert_eq!(told("writer", "Better."), "");
    }
}
