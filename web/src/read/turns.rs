//! What was said in a step, as a page tells it: turns of the model with their calls and what came of these.

use std::collections::HashMap;

use uwf_engine::record::{Detail, Listed, RecordedCall, Turn};
use uwf_store::{Store, StoreError, parallel};

/// How many items a page of a conversation has.
const ITEMS: usize = 100;

/// A call with what came of it.
pub(crate) struct PlayedCall {
    pub(crate) call: RecordedCall,
    /// The message with the result, by its number.
    pub(crate) result: Option<(usize, Turn)>,
}

/// One thing that was said.
pub(crate) enum Item {
    /// By the model, with its calls.
    Turn {
        /// Which of the model's turns, from 1.
        number: usize,
        /// Which message, from 1.
        at: usize,
        said: Box<Turn>,
        calls: Vec<PlayedCall>,
    },
    /// To the model, or about what it is sent.
    Other { at: usize, said: Box<Turn> },
}

/// A page of a conversation.
#[derive(Default)]
pub(crate) struct Conversation {
    pub(crate) items: Vec<Item>,
    /// How many items there are, and how many of them are before and up to the end of this page.
    pub(crate) count: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// How many entries of the record are no messages of ours.
    pub(crate) foreign: usize,
}

/// Which items of a conversation are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnsPage {
    /// A page of the last ones.
    Last,
    /// A page of those up to this one, from 1.
    UpTo(usize),
    /// All.
    All,
}

/// The conversation of a record.
pub(crate) fn conversation(
    store: &Store,
    detail: &Detail,
    page: TurnsPage,
) -> Result<Conversation, StoreError> {
    whole(store, detail).map(|items| {
        let count = items.len();
        let (from, to) = match page {
            TurnsPage::All => (0, count),
            TurnsPage::Last => (count.saturating_sub(ITEMS), count),
            TurnsPage::UpTo(to) => (to.min(count).saturating_sub(ITEMS), to.min(count)),
        };
        let items: Vec<Item> = items.into_iter().skip(from).take(to - from).collect();
        let foreign = listed(detail).iter().filter(|listed| listed.turn().is_none()).count();
        Conversation { items, count, from, to, foreign }
    })
}

fn listed(detail: &Detail) -> &[Listed] {
    detail.messages.as_ref().or(detail.turns.as_ref()).map_or(&[], Vec::as_slice)
}

/// One message of a record, from 1.
pub(crate) fn message(store: &Store, detail: &Detail, at: usize) -> Result<Option<Turn>, StoreError> {
    let found = at.checked_sub(1).and_then(|at| listed(detail).get(at)).and_then(Listed::turn);
    found.map(|hash| Turn::read(store, &hash)).transpose()
}

fn whole(store: &Store, detail: &Detail) -> Result<Vec<Item>, StoreError> {
    let turns = parallel::map(listed(detail), |listed| {
        listed.turn().map(|hash| Turn::read(store, &hash)).transpose()
    });
    let mut items: Vec<Item> = Vec::new();
    // Call id → where its call is: the item, and which of its calls.
    let mut open: HashMap<String, (usize, usize)> = HashMap::new();
    let mut number = 0;
    for (at, turn) in turns.into_iter().enumerate() {
        let (at, Some(mut turn)) = (at + 1, turn?) else { continue };
        if turn.role.as_deref() == Some("tool") {
            let place = turn.call_id.as_ref().and_then(|id| open.remove(id));
            if let Some((item, call)) = place
                && let Some(Item::Turn { calls, .. }) = items.get_mut(item)
                && let Some(call) = calls.get_mut(call)
            {
                call.result = Some((at, turn));
                continue;
            }
        }
        if turn.role.as_deref() != Some("assistant") {
            items.push(Item::Other { at, said: Box::new(turn) });
            continue;
        }
        number += 1;
        let calls: Vec<PlayedCall> = turn
            .tool_calls
            .take()
            .unwrap_or_default()
            .into_iter()
            .map(|call| PlayedCall { call, result: None })
            .collect();
        for (which, played) in calls.iter().enumerate() {
            open.extend(played.call.id.clone().map(|id| (id, (items.len(), which))));
        }
        items.push(Item::Turn { number, at, said: Box::new(turn), calls });
    }
    Ok(items)
}

impl PlayedCall {
    /// Whether it failed; none where it was not done.
    pub(crate) fn failed(&self) -> Option<bool> {
        let (_, result) = self.result.as_ref()?;
        // Older records have the exit code alone.
        Some(result.failed.unwrap_or_else(|| result.exit_code.is_some_and(|code| code != 0)))
    }
}
