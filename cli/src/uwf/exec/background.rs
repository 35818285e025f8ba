//! Steps that run on their own: the process that starts them, and how that process settles.
//!
//! There is no daemon: a background run is this very program, started again as `thread exec … --detached` in a session of
//! its own. It is given the thread's lock as its stdin, an open file that stays locked while anybody has it open: so the
//! thread is locked without a gap from the check here to the last step there, and of many that start one thread in the
//! background one succeeds.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::ExecContext;
use super::making::Wanted;
use crate::shell::{CliError, Session};
use uwf_agent::live::thread_log;
use uwf_engine::home::make_private;
use uwf_engine::lock::{ThreadLock, session as session_of};
use uwf_engine::thread::{self, Status, ThreadId};
use uwf_engine::view::{ThreadView, current_role};
use uwf_engine::{spawn, workflow};

/// How long the new process may take to settle; it needs milliseconds.
const SETTLING: Duration = Duration::from_secs(10);

/// How much of the log is shown when it does not.
const LAST_WORDS: usize = 10;

/// Starts the run and says where the thread stands now; the lock goes to the new process.
pub(super) fn launch(
    session: &mut Session<'_>,
    context: &ExecContext,
    thread: &ThreadId,
    wanted: &Wanted,
) -> Result<u8, CliError> {
    let (store, thread) = (&context.store, *thread);
    // Nobody is named until there is somebody who can be stopped.
    let lock = ThreadLock::unannounced(&context.homes.uwf, &thread)?;
    let head = thread::head(store, &thread)?;
    let start = head.start(store)?;
    let workflow = workflow::get(store, &start.workflow)?;
    let head = head.settled(store, &workflow, context.judge());
    // Nobody would see that it cannot be started.
    let next = match &head.status {
        Status::Suspended { role, .. } => Some(role.clone()),
        _ => current_role(store, &workflow, &head, context.judge()),
    };
    next.iter().try_for_each(|role| context.find_agent(&workflow, &start.cwd, role))?;
    thread::keep_options(store, &thread, &context.options.chosen)?;
    let log = thread_log(&context.homes.uwf, &thread);
    // What earlier runs said is not about this one.
    let said = fs::metadata(&log).map_or(0, |log| log.len());
    let mut child = start_detached(session, context, &lock, (wanted, &log))?;
    let pid = child.id();
    lock.assign(pid, &start.workflow, store.now())?;
    wait_until_settled(&mut child, || last_words(&log, said))?;
    lock.release_to_assigned();
    let view = ThreadView::stored(store, (thread, &head), (start.workflow, &workflow), context.judge())
        .while_running(Some(true));
    let exit = match context.telling.on_stderr {
        true => {
            let exit = session.ui.made(thread.as_str(), &view, || format!("{thread}\n"))?;
            session.ui.note(&format!("running in process {pid}"));
            exit
        }
        false => session.ui.result(&view, || format!("running in process {pid}\n"))?,
    };
    session.ui.note(&format!("its words go to {}; end it with `uwf thread stop {thread}`", log.display()));
    Ok(exit)
}

fn start_detached(
    session: &Session<'_>,
    context: &ExecContext,
    lock: &ThreadLock,
    (wanted, log): (&Wanted, &Path),
) -> Result<Child, CliError> {
    let program =
        session.program.as_ref().ok_or_else(|| CliError::user("cannot tell which program this is"))?;
    let words = open_log(log)?;
    let failed = |error| CliError::said("cannot start the background run", error);
    let mut command = Command::new(program);
    command
        .args(arguments(session, context, (lock.thread(), wanted)))
        .current_dir(&session.cwd)
        .env_clear()
        .envs(session.env.iter())
        .stdin(lock.shared()?)
        .stdout(words.try_clone().map_err(failed)?)
        .stderr(words);
    command.spawn().map_err(failed)
}

/// What a run said before stays: the log is for people who ask what happened last night. It is theirs alone.
fn open_log(path: &Path) -> Result<File, CliError> {
    let failed = |error| CliError::said(format!("cannot write {}", path.display()), error);
    make_private(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    File::options().create(true).append(true).mode(0o600).open(path).map_err(failed)
}

/// The command line of the new process: what was typed here, without --background, and what is not kept with the thread.
fn arguments(
    session: &Session<'_>,
    context: &ExecContext,
    (thread, wanted): (&ThreadId, &Wanted),
) -> Vec<OsString> {
    let verb = if wanted.resume.is_some() { "resume" } else { "exec" };
    let mut words: Vec<OsString> =
        ["--format", "text", "thread", verb, "--detached"].map(Into::into).to_vec();
    if session.ui.is_verbose() {
        words.push("-v".into());
    }
    let mut option = |name: &str, value: OsString| words.extend([name.into(), value]);
    match (wanted.until_end, &wanted.resume) {
        (true, _) => option("--max-steps", wanted.limit.to_string().into()),
        (false, Some(_)) => {}
        (false, None) => option("--count", wanted.limit.to_string().into()),
    }
    wanted.resume.iter().flatten().for_each(|text| option("--prompt", text.into()));
    context.typed_agent.iter().for_each(|agent| option("--agent", agent.into()));
    context.options.cwd.iter().for_each(|dir| option("--cwd", dir.into()));
    let timeout = context.options.deadline.map(|time| humantime::format_duration(time).to_string());
    timeout.into_iter().for_each(|time| option("--timeout", time.into()));
    words.extend(wanted.until_end.then(|| "--until-end".into()));
    words.push(thread.as_str().into());
    words
}

/// Until the new process has a session of its own: then it no longer matters what becomes of ours.
fn wait_until_settled(child: &mut Child, last_words: impl Fn() -> String) -> Result<(), CliError> {
    let begun = Instant::now();
    while session_of(child.id()) != Some(u64::from(child.id())) {
        let ended =
            child.try_wait().map_err(|error| CliError::said("cannot watch the background run", error))?;
        if let Some(status) = ended {
            return Err(CliError::user(format!(
                "the background run ended at once, with {status}{}",
                last_words()
            )));
        }
        if begun.elapsed() > SETTLING {
            child.kill().ok();
            child.wait().ok();
            return Err(CliError::user(format!("the background run does not settle{}", last_words())));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The end of the log, of what is behind the first `from` bytes, as an indented block.
fn last_words(log: &Path, from: u64) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let new = usize::try_from(from).ok().and_then(|from| bytes.get(from..)).unwrap_or_default();
    let text = String::from_utf8_lossy(new);
    let lines: Vec<&str> = text.lines().collect();
    spawn::last_words(lines[lines.len().saturating_sub(LAST_WORDS)..].iter().copied())
}

/// In the new process: leaves the terminal and the session it was started from, and takes over the lock.
pub(super) fn arrive(context: &ExecContext, thread: &ThreadId) -> Result<ThreadLock, CliError> {
    let failed = |error: rustix::io::Errno| {
        CliError::said("cannot settle in the background", std::io::Error::from(error))
    };
    let file = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| CliError::said("stdin is not the thread's lock", error))?;
    let nothing = File::open("/dev/null").map_err(|error| CliError::said("cannot open /dev/null", error))?;
    rustix::stdio::dup2_stdin(nothing).map_err(failed)?;
    match rustix::process::setsid() {
        // Whoever leads a process group has a session of its own in all but name.
        Ok(_) | Err(rustix::io::Errno::PERM) => {}
        Err(error) => return Err(failed(error)),
    }
    let start = thread::head(&context.store, thread)?.start(&context.store)?;
    let now = context.store.now();
    Ok(ThreadLock::inherit(&context.homes.uwf, thread, File::from(file), (&start.workflow, now))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_those_of_this_run() {
        let log = tempfile::NamedTempFile::new().unwrap();
        fs::write(log.path(), "before\nnow\n").unwrap();
        assert_eq!(last_words(log.path(), 7), "; its last words:\n    now");
        assert_eq!((last_words(log.path(), 11), last_words(log.path(), 99)), (String::new(), String::new()));
    }
}
