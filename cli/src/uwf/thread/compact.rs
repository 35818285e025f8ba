//! `uwf thread compact`: what happened is summed up, but for the last steps.

use crate::shell::{CliError, OK, Session};
use crate::uwf::args::How;
use crate::uwf::exec::{ExecContext, finish, print_step, summed_up};
use uwf_engine::exec::{Compaction, compact_once, hold};

pub(super) fn compact(session: &mut Session<'_>, thread: &str, keep: u32, how: &How) -> Result<u8, CliError> {
    let thread = session.thread_id(thread)?;
    let context = ExecContext::open(session, how)?;
    let lock = hold(&context.engine(&session.stop), &thread)?;
    let ran = context
        .attempt(session, |engine, options, observer| compact_once(engine, &lock, keep, options, observer))?;
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
