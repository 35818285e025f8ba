//! How processes are called in what is told of them.

use crate::process_table::Process;

/// Processes that are called by their names; more are counted. To read the names of a fork bomb's processes takes long.
pub(crate) const NAMED: usize = 10;

/// The first [`NAMED`] by pid and name, and how many more there are.
pub(crate) fn names(processes: &[Process], name: impl Fn(&Process) -> String) -> Vec<String> {
    let named = processes.iter().take(NAMED).map(|process| format!("{} {}", process.pid, name(process)));
    let more = processes.len().saturating_sub(NAMED);
    named.chain((more > 0).then(|| format!("and {more} more"))).collect()
}
