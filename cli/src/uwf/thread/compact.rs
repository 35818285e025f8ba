//! `uwf thread compact`: what happened is summed up, but for the last steps.

use crate::shell::{CliError, OK, Session};
use crate::uwf::args::How;
use crate::uwf::exec::{Continuation, ExecContext, Keeps, finish, print_step, summed_up, unmade};
use uwf_engine::exec::{Compaction, compact_once, hold};

pub(super) fn compact(session: &mut Session<'_>, thread: &str, keep: u32, how: &How) -> Result<u8, CliError> {
    let thread = session.thread_id(thread)?;
    let context = ExecContext::open(session, how)?.of_thread(session, &thread, Keeps::Nothing)?;
    let go_on = Continuation::new("compact").option("--keep", keep);
    let lock = hold(&context.engine(&session.stop), &thread)?;
    let ran = context
        .run(session, |engine, options, observer| compact_once(engine, &lock, keep, options, observer))
        .map_err(|error| unmade(error, (&session.ui, &context), (&thread, &go_on)))?;
    match ran {
        Compaction::Done(compacted) => {
            session.ui.result(&compacted, || summed_up(&compacted))?;
            Ok(OK)
        }
        Compaction::Failed(report) => {
            print_step(&mut session.ui, &report)?;
            finish(session, &context, (&[*report], false), None)
        }
    }
}
