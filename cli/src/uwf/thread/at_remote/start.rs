//! `uwf thread start … --remote NAME`: a thread is begun here, pushed, submitted, and not kept here.

use std::path::Path;

use uwf_engine::view::ThreadStarted;
use uwf_engine::{ThreadId, thread};
use uwf_fleet::queue::Terms;
use uwf_fleet::schema::Access;
use uwf_fleet::workspace::{Base, Below, Branch, Files, Repository, Shared, Workspace};
use uwf_fleet::{FleetError, sync};
use uwf_snapshot::CaptureCache;
use uwf_store::Store;

use crate::remote::{at, named, open};
use crate::shell::prompt_text::{PromptSource, WantedText};
use crate::shell::{CliError, Format, OK, Session, USAGE};
use crate::uwf::args::{Start, SubmitTerms, WorkspaceKind};
use crate::uwf::begin::{Begun, begin};
use crate::uwf::sync::next_role;

pub(in crate::uwf::thread) fn start(
    session: &mut Session<'_>,
    remote: &str,
    (what, terms): (&Start, &SubmitTerms),
) -> Result<u8, CliError> {
    let source = PromptSource::of(what.prompt.as_deref(), what.file.as_deref());
    let prompt = session.prompt_text(&source, &WantedText::task())?;
    // Before anything is begun.
    let remote = named(session, Some(remote))?;
    let name = &remote.name;
    let mut connection = open(session, &remote, Access::Write)?;
    let directory = session.directory(what.cwd.as_deref())?;
    let store = session.store()?;
    let workspace = workspace((session, &store), terms, &directory)?;
    let Begun { thread, workflow, name: workflow_name } = begin(session, what, &prompt, |_, _| Ok(()))?;
    let role = next_role(session, &store, &thread)?;
    let terms = Terms {
        priority: terms.priority,
        labels: terms.label.clone(),
        max_attempts: terms.max_attempts,
        max_cost_usd: terms.max_cost,
        workspace,
    };
    sync::start(&mut connection, &store, &thread, (role.as_deref(), &terms))
        .map_err(|error| not_started(error, name, &thread))?;
    // Whoever ran it here as well would do the work twice.
    thread::remove(&store, &thread)?;
    session.ui.made(thread.as_str(), &ThreadStarted { workflow, thread }, || format!("{thread}\n"))?;
    if session.ui.format == Format::Text {
        session.ui.note(&format!(
            "started `{workflow_name}` at {name}; `uwf thread watch {thread} --remote {name}` tells how it goes"
        ));
    }
    Ok(OK)
}

/// It is at the remote on all its terms, or not at all. What was typed stays here, for it may have been long.
fn not_started(error: FleetError, remote: &str, thread: &ThreadId) -> CliError {
    let again = match error {
        FleetError::Lost { .. } => format!(
            "`uwf thread show {thread} --remote {remote}` tells whether it is there all the same; if not, the same command begins \
             another one"
        ),
        _ => "nothing was begun there: the same command begins another one".to_owned(),
    };
    let first = error.hint_at(remote).filter(|_| !matches!(error, FleetError::Lost { .. }));
    let first = first.map(|hint| format!("{hint}; ")).unwrap_or_default();
    at(remote)(error).with_hint(format!(
        "{first}{again} (`uwf thread read {thread}` has what was typed, until `uwf thread rm {thread}`)"
    ))
}

fn usage(message: String) -> CliError {
    CliError::Said {
        error: message.into(),
        hint: Some("`uwf thread start --help` tells what goes together".to_owned()),
        exit: USAGE,
    }
}

/// The directory that it is to work in. A snapshot of the one here is taken now.
fn workspace(
    (session, store): (&Session<'_>, &Store),
    terms: &SubmitTerms,
    directory: &Path,
) -> Result<Workspace, CliError> {
    let below = terms.dir.as_deref().map_or_else(String::new, |dir| dir.display().to_string());
    let below: Below = below.parse().map_err(|why| usage(format!("--dir {why}")))?;
    let only =
        |wanted: WorkspaceKind, option: &str, is_given: bool| match is_given && terms.workspace != wanted {
            true => Err(usage(format!("{option} is for another kind of workspace"))),
            false => Ok(()),
        };
    only(WorkspaceKind::Shared, "--root", terms.root.is_some())?;
    only(WorkspaceKind::Git, "--repository", terms.repository.is_some())?;
    match terms.workspace {
        WorkspaceKind::Shared => Ok(Workspace::Shared(Shared { root: terms.root.clone(), dir: below })),
        WorkspaceKind::Git => {
            let repository = terms.repository.as_deref();
            let repository =
                repository.ok_or_else(|| usage("--workspace git needs --repository URL".to_owned()))?;
            let repository: Repository =
                repository.parse().map_err(|why| usage(format!("--repository {why}")))?;
            let base: Base = terms.base.parse().map_err(|why| usage(format!("--base {why}")))?;
            Ok(Workspace::Git(Branch { repository, base, commit: None, dir: below }))
        }
        WorkspaceKind::Snapshot if terms.dir.is_some() => {
            Err(usage("--dir is not for snapshots: --cwd says which directory goes along".to_owned()))
        }
        WorkspaceKind::Snapshot => {
            // Nothing that has a key in it leaves this machine.
            let options = crate::eval::snapshots((&session.env, &session.homes()?.uwf))?;
            let snapshot = uwf_snapshot::capture(directory, &options, &mut CaptureCache::in_memory(), store)?;
            let (ignored, leave_out) = (options.ignored, options.leave_out.clone());
            Ok(Workspace::Snapshot(Files { tree: snapshot.tree, ignored, leave_out }))
        }
    }
}
