//! The items of an output as they come: in pieces, whole, and once more with the end.
//!
//! Apart because it is where endpoints differ: which of the three there are, and whether index or id tells an item. A
//! whole item counts for more than its pieces, and is kept in the words of the endpoint.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::event::{BLANK_LINE, Item, ItemKind, ResponsesEvent};
use crate::provider::{CompletionEvent, EventSink};

/// All items of one output.
#[derive(Debug, Default)]
pub(super) struct Items {
    slots: Vec<Slot>,
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    emitted: LastEmitted,
}

/// One item as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// Its place in the output.
    index: Option<u64>,
    /// The item, where it came whole.
    pub(super) whole: Option<Whole>,
    /// Whether it is a call, as far as its pieces tell.
    pub(super) is_call: bool,
    pub(super) text: String,
    pub(super) refusal: String,
    pub(super) arguments: String,
    summary: PartedText,
    open: PartedText,
}

/// A whole item.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) item: Item,
    /// Its JSON text as it came.
    pub(super) source: String,
}

/// A text in parts.
#[derive(Debug, Default)]
struct PartedText {
    text: String,
    part: u64,
}

/// What a delta is a piece of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeltaKind {
    Text,
    Refusal,
    Summary,
    /// Reasoning in full.
    Reasoning,
    Arguments,
}

impl Whole {
    fn read(source: &str) -> Option<Whole> {
        Some(Whole { item: Item::read(source)?, source: source.to_owned() })
    }
}

impl Slot {
    /// What was thought, by the pieces.
    pub(super) fn thought(&self) -> &str {
        if self.summary.text.is_empty() { &self.open.text } else { &self.summary.text }
    }

    fn kind(&self) -> Option<ItemKind> {
        self.whole.as_ref().map(|whole| whole.item.kind())
    }
}

impl Items {
    /// An item begins.
    pub(super) fn begin(&mut self, event: &ResponsesEvent<'_>) {
        let Some(item) = event.item.and_then(|item| Item::read(item.get())) else { return };
        let known = self.known(event, &item.id);
        // An index that goes on behind a whole item is that of another one: some have the same for all.
        let at = known.filter(|at| self.slots[*at].whole.is_none());
        let at = at.unwrap_or_else(|| self.add(event.output_index));
        self.slots[at].is_call = item.kind() == ItemKind::Call;
        self.name(at, item.id);
    }

    /// A piece of an item.
    pub(super) fn append(&mut self, kind: DeltaKind, event: &ResponsesEvent<'_>, on_event: EventSink<'_>) {
        let at = self.known(event, &event.item_id).unwrap_or_else(|| {
            let at = self.add(event.output_index);
            self.name(at, event.item_id.clone().into_owned());
            at
        });
        let slot = &mut self.slots[at];
        let piece = &event.delta;
        if slot.whole.is_some() || piece.is_empty() {
            return;
        }
        match kind {
            DeltaKind::Text => {
                slot.text.push_str(piece);
                self.emitted.text(at, piece, on_event);
            }
            DeltaKind::Refusal => slot.refusal.push_str(piece),
            DeltaKind::Summary => {
                slot.summary.push(event.part(), piece);
                self.emitted.thought((at, event.part()), piece, on_event);
            }
            DeltaKind::Reasoning => {
                slot.open.push(event.part(), piece);
                // Some send the summary of what they sent in full.
                if slot.summary.text.is_empty() {
                    self.emitted.thought((at, event.part()), piece, on_event);
                }
            }
            DeltaKind::Arguments => {
                slot.is_call = true;
                slot.arguments.push_str(piece);
            }
        }
    }

    /// The arguments of a call are whole, which is no more than its pieces said.
    pub(super) fn set_arguments(&mut self, event: &ResponsesEvent<'_>) {
        if let Some(at) = self.known(event, &event.item_id).filter(|_| !event.arguments.is_empty()) {
            self.slots[at].is_call = true;
            self.slots[at].arguments = event.arguments.clone().into_owned();
        }
    }

    /// An item is whole.
    pub(super) fn done(&mut self, event: &ResponsesEvent<'_>, on_event: EventSink<'_>) {
        let Some(whole) = event.item.and_then(|item| Whole::read(item.get())) else { return };
        let known = self.known(event, &whole.item.id);
        let is_another =
            |at: &usize| self.slots[*at].whole.as_ref().is_some_and(|there| there.item.id != whole.item.id);
        let at = known.filter(|at| !is_another(at)).unwrap_or_else(|| self.add(event.output_index));
        self.name(at, whole.item.id.clone());
        self.fill(at, whole, on_event);
    }

    /// The output as the end tells it: what did not come before is taken from there, and what only this knows of an
    /// item that did.
    pub(super) fn end(&mut self, output: &[Box<RawValue>], on_event: EventSink<'_>) {
        self.sort();
        let came = self.slots.len();
        for (index, source) in output.iter().enumerate() {
            let Some(whole) = Whole::read(source.get()) else { continue };
            let by_id = self.by_id.get(&whole.item.id).copied();
            match by_id.or_else(|| self.in_place(index, &whole.item).filter(|at| *at < came)) {
                Some(at) if self.slots[at].whole.is_none() => self.fill(at, whole, on_event),
                // Azure encrypts at the end. What came encrypted may differ there, and is as good.
                Some(at) if whole.item.is_encrypted() && !self.is_encrypted(at) => {
                    self.slots[at].whole = Some(whole);
                }
                Some(_) => {}
                None if output.len() > came => {
                    let at = self.add(Some(index as u64));
                    self.fill(at, whole, on_event);
                }
                None => {}
            }
        }
        self.sort();
    }

    /// The items in order.
    pub(super) fn finish(self) -> Vec<Slot> {
        self.slots
    }

    /// Whether no item has come.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The item that the event is about: by its index, which all have that keep to the format, by its id, or the last.
    fn known(&self, event: &ResponsesEvent<'_>, id: &str) -> Option<usize> {
        match event.output_index {
            Some(index) => self.by_index.get(&index).copied(),
            None if id.is_empty() => self.slots.len().checked_sub(1),
            None => self.by_id.get(id).copied(),
        }
    }

    fn add(&mut self, index: Option<u64>) -> usize {
        let at = self.slots.len();
        self.slots.push(Slot { index, ..Slot::default() });
        index.and_then(|index| self.by_index.insert(index, at));
        at
    }

    fn name(&mut self, at: usize, id: String) {
        if !id.is_empty() {
            self.by_id.insert(id, at);
        }
    }

    /// The item is whole: emits what of it did not come in pieces.
    fn fill(&mut self, at: usize, whole: Whole, on_event: EventSink<'_>) {
        let slot = &mut self.slots[at];
        match whole.item.kind() {
            ItemKind::Message => {
                let text = whole.item.text();
                if let Some(rest) = text.strip_prefix(slot.text.as_str()) {
                    self.emitted.text(at, rest, on_event);
                    slot.text = text;
                }
            }
            ItemKind::Reasoning if slot.thought().is_empty() => {
                slot.summary.text = whole.item.thought();
                self.emitted.thought((at, 0), &slot.summary.text, on_event);
            }
            ItemKind::Reasoning | ItemKind::Call | ItemKind::Other => {}
        }
        slot.whole = Some(whole);
    }

    /// The item that stands there, if it is of the same kind: some give an item another id each time.
    fn in_place(&self, index: usize, item: &Item) -> Option<usize> {
        let by_index = self.by_index.get(&(index as u64)).copied();
        let at = by_index.or_else(|| {
            Some(index).filter(|at| self.slots.get(*at).is_some_and(|slot| slot.index.is_none()))
        })?;
        let slot = &self.slots[at];
        let is_call = item.kind() == ItemKind::Call;
        let same = slot.kind().map_or(slot.is_call == is_call, |kind| kind == item.kind());
        same.then_some(at)
    }

    fn is_encrypted(&self, at: usize) -> bool {
        self.slots[at].whole.as_ref().is_some_and(|whole| whole.item.is_encrypted())
    }

    /// In the order of the output; as they came where that is not told.
    fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.slots.len()).collect();
        order.sort_by_key(|at| self.slots[*at].index.unwrap_or(u64::MAX));
        if order.is_sorted() {
            return;
        }
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, from)| place[*from] = to);
        self.by_index.values_mut().chain(self.by_id.values_mut()).for_each(|at| *at = place[*at]);
        self.emitted.text_of = self.emitted.text_of.map(|at| place[at]);
        self.slots.sort_by_key(|slot| slot.index.unwrap_or(u64::MAX));
    }
}

impl PartedText {
    fn push(&mut self, part: u64, piece: &str) {
        if part != self.part && !self.text.is_empty() {
            self.text.push_str(BLANK_LINE);
        }
        self.part = part;
        self.text.push_str(piece);
    }
}

/// What was emitted last, so that what comes next is told apart from it.
#[derive(Debug, Default)]
struct LastEmitted {
    text_of: Option<usize>,
    thought_of: Option<(usize, u64)>,
}

impl LastEmitted {
    fn text(&mut self, at: usize, text: &str, on_event: EventSink<'_>) {
        if text.is_empty() {
            return;
        }
        if self.text_of.replace(at).is_some_and(|before| before != at) {
            on_event(CompletionEvent::Text(BLANK_LINE));
        }
        on_event(CompletionEvent::Text(text));
    }

    fn thought(&mut self, of: (usize, u64), text: &str, on_event: EventSink<'_>) {
        if text.is_empty() {
            return;
        }
        if self.thought_of.replace(of).is_some_and(|before| before != of) {
            on_event(CompletionEvent::Reasoning(BLANK_LINE));
        }
        on_event(CompletionEvent::Reasoning(text));
    }
}
