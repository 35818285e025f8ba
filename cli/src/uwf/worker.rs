//! `uwf worker`: runs threads of a remote on this machine.
//!
//! The loop is `uwf_fleet::worker`; here is what it does with the machine: a step is this very program, started again as
//! `thread exec`, so that it is the ordinary one, and that whatever becomes of it becomes of nothing else. This thread of the
//! process prints what happens and hears signals.

mod host;
mod metrics;
mod spaces;
mod told;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use uwf_fleet::queue::{Claimant, Presence};
use uwf_fleet::schema::{Access, VERSIONS};
use uwf_fleet::worker::{Counts, Settings, Until, Wind, work};

use self::host::StepProcess;
use self::metrics::Metrics;
use self::told::Told;
use super::args::WorkerArgs;
use crate::remote::{at, named};
use crate::shell::{CliError, Format, OK, Session};

/// How often it is looked whether a signal has come.
const TICK: Duration = Duration::from_millis(50);

pub(super) fn worker(session: &mut Session<'_>, args: &WorkerArgs) -> Result<u8, CliError> {
    let remote = named(session, args.remote.as_deref())?;
    let env = session.env.clone();
    let open = || remote.open(&env, Access::Write);
    // Whatever is wrong with it is said before anything begins.
    drop(open().map_err(at(&remote.name))?);
    let (settings, (tell, told)) = (settings(args), channel());
    let host = StepProcess::new(session, args, tell)?;
    (session.catch_signals)(&session.stop);
    // What happens is what the command is for, whoever reads it.
    session.ui.remarks = !session.ui.is_quiet();
    let (wind, counts) = (Wind::default(), Counts::default());
    let metrics = args.metrics.map(Metrics::listen).transpose()?;
    say(session, &Told::started(&settings.claimant, &remote.name))?;
    if let Some(metrics) = &metrics {
        announce(session, metrics);
    }
    let mut stopped_by = None;
    let worked = thread::scope(|scope| {
        if let Some(metrics) = &metrics {
            scope.spawn(|| metrics.serve(scope, &counts));
        }
        let worker = scope.spawn(|| {
            let worked = work(&settings, &host, &open, (&wind, &counts));
            host.ended();
            worked
        });
        loop {
            let unprinted = match told.recv_timeout(TICK) {
                Ok(Some(told)) => say(session, &told).err(),
                Ok(None) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => None,
            };
            if unprinted.is_some() {
                // Nobody reads any more what it does.
                wind.drain();
            }
            hear(session, &wind, &mut stopped_by);
        }
        let worked = worker.join();
        metrics.iter().for_each(Metrics::end);
        worked
    });
    match worked {
        Ok(worked) => worked.map_err(at(&remote.name))?,
        Err(panic) => std::panic::resume_unwind(panic),
    }
    say(session, &Told::ended(&settings.claimant, counts.steps()))?;
    Ok(stopped_by.unwrap_or(OK))
}

fn settings(args: &WorkerArgs) -> Settings {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let name = args.name.clone().unwrap_or_else(|| format!("{host}-{}", std::process::id()));
    let until = match (args.until_empty, args.once) {
        (true, _) => Until::Empty,
        (false, true) => Until::Once,
        (false, false) => Until::Asked,
    };
    Settings {
        claimant: Claimant {
            name,
            labels: args.labels.clone(),
            workflow: args.workflow.clone(),
            lease: args.lease,
        },
        presence: Presence { version: env!("CARGO_PKG_VERSION").to_owned(), host, parallel: args.parallel },
        until,
        grace: args.grace,
        versions: VERSIONS,
    }
}

/// Says where the numbers are.
fn announce(session: &mut Session<'_>, metrics: &Metrics) {
    let address = metrics.address();
    session.ui.note(&format!("its numbers are at http://{address}/metrics"));
    if !address.ip().is_loopback() {
        session
            .ui
            .warn(&format!("{address} can be reached from other machines, and asks nobody who they are"));
    }
}

/// The first signal has running steps finish, the second one stops them; its exit status is that of a program that it ends.
fn hear(session: &mut Session<'_>, wind: &Wind, stopped_by: &mut Option<u8>) {
    use std::sync::atomic::Ordering;
    let signal = session.stop.cell().swap(0, Ordering::SeqCst);
    if signal == 0 {
        return;
    }
    if wind.is_draining() {
        *stopped_by = u8::try_from(128 + signal).ok();
        wind.stop();
    } else {
        session.ui.note("running steps are finished, or handed back when the grace is over; a second signal stops them at once");
        wind.drain();
    }
}

/// A line on stderr for people; one of JSON on stdout where that was asked for.
fn say(session: &mut Session<'_>, told: &Told) -> Result<(), CliError> {
    if session.ui.explicit_format && session.ui.format != Format::Text {
        let line = serde_json::to_string(&told.value()).expect("it has names for fields");
        return session.ui.print(&format!("{line}\n"));
    }
    session.ui.note(&told.text());
    Ok(())
}
