//! The lines of runs that are over, from their records.

use uwf_engine::StepNode;
use uwf_engine::record::Detail;
use uwf_engine::thread::{self, MAX_LEVELS};
use uwf_store::Store;

use super::line::Line;
use crate::journal::Entry;
use crate::record;

/// The lines of the run that made a step, as they were told when it was made; of a step that a workflow made, those of its
/// steps. None of an agent whose record has no log.
pub fn recorded_lines(store: &Store, step: &StepNode) -> Vec<Line> {
    lines(store, step, 0)
}

/// The lines of a step so many calls down; what a store holds may come from elsewhere, and call itself.
fn lines(store: &Store, step: &StepNode, level: usize) -> Vec<Line> {
    let called = thread::called_steps(store, step).unwrap_or_default();
    if !called.is_empty() && level < MAX_LEVELS {
        return called.iter().flat_map(|(_, step)| lines(store, step, level + 1)).collect();
    }
    let entries = Detail::read(store, &step.detail).ok();
    let entries = entries.and_then(|detail| record::entries(store, &detail).ok()).unwrap_or_default();
    let mut turns = 0;
    let lines = entries.iter().filter_map(|entry| {
        turns += u64::from(matches!(entry, Entry::Answered { .. }));
        Line::of_journal(entry, turns)
    });
    lines.collect()
}
