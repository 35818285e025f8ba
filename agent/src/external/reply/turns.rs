//! From what an agent tells to the turns that go on record: texts, calls and results in the order in which a conversation has
//! them, whatever the order in which they were told.
//!
//! A turn is held back until something follows that cannot be a part of it. Results that come for a call which is not written
//! yet wait; a call whose result never comes is answered by [`UNTOLD`].

use std::collections::BTreeMap;

use super::Span;
use super::rules::Told;
use crate::provider::message::{TokenUsage, ToolCall};

/// The result of a call of which nothing was told.
const UNTOLD: &str = "[The agent did not tell what came of this call.]";

/// How much of a tool's output is kept, in bytes; of what is longer the beginning and the end.
const OUTPUT: usize = 256 << 10;

/// How long a turn may be, what it says, thinks and calls, in bytes.
const TURN: usize = 16 << 20;

/// What is to be done about what was told.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::external) enum Act {
    /// The session's id is known.
    Session(String),
    /// The model's name is known.
    Model(String),
    /// The model has had a turn; its calls begin.
    Answered(ToldTurn),
    /// A call has ended.
    Finished(ToldResult),
}

/// A turn of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::external) struct ToldTurn {
    /// What it said.
    pub text: String,
    /// What it thought aloud.
    pub reasoning: Option<String>,
    /// What it called.
    pub calls: Vec<ToolCall>,
    /// What it used.
    pub usage: Option<TokenUsage>,
}

impl ToldTurn {
    fn says_nothing(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_none() && self.calls.is_empty()
    }
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::external) struct ToldResult {
    /// Of which call.
    pub id: String,
    /// What.
    pub output: String,
    /// Whether it failed.
    pub failed: bool,
    /// Its exit code.
    pub exit_code: Option<i32>,
}

/// What a session has used before a call of the agent, where that is needed to tell what the call used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::external) struct UsedBefore {
    /// Tokens.
    pub tokens: TokenUsage,
    /// USD.
    pub cost: f64,
}

/// What one call of an agent has told so far.
#[derive(Debug, Default)]
pub(in crate::external) struct Turns {
    /// How many calls of tools there were in the run.
    number: usize,
    /// Whether there were any before this call of the agent: an id that comes again is another call then.
    is_later: bool,
    before: UsedBefore,
    pending: ToldTurn,
    /// How long that is, in bytes.
    length: usize,
    /// The turn that it belongs to.
    turn: Option<String>,
    /// Calls that are written and not answered.
    open: Vec<String>,
    early: Vec<ToldResult>,
    /// Ids as they were told, and as they are written.
    ids: BTreeMap<String, String>,
    /// The last call that had no id.
    unnamed: Option<String>,
    /// What was written of this call's usage by now.
    written: UsedBefore,
    /// The last sums over the session that were told.
    session: UsedBefore,
    /// The whole answer, where it was told apart.
    pub answer: Option<String>,
    /// The last text of a turn.
    pub last_text: String,
    /// What went wrong last.
    pub error: Option<String>,
    /// Whether the agent says that it has done.
    pub is_done: bool,
    /// Whether it says that it has failed.
    pub has_failed: bool,
    /// Whether it has told what it cost.
    pub tells_cost: bool,
    /// Whether a turn was longer than any may be: what came after that is not kept, and no answer.
    is_over: bool,
}

impl Turns {
    /// Those of a call of the agent, before which there were so many calls of tools in the run, and this was used.
    pub(in crate::external) fn new(number: usize, before: UsedBefore) -> Turns {
        Turns { number, is_later: number > 0, before, session: before, ..Turns::default() }
    }

    /// What the session has used by now, where that is told.
    pub(in crate::external) fn used(&self) -> UsedBefore {
        self.session
    }

    /// Takes over what an event tells.
    pub(in crate::external) fn take(&mut self, told: Told) -> Vec<Act> {
        let mut acts = Vec::new();
        if !self.has_room(&told) {
            return acts;
        }
        match told {
            Told::Session(id) => acts.push(Act::Session(id)),
            Told::Model(name) => acts.push(Act::Model(name)),
            Told::Turn(id) => {
                if self.turn.as_ref().is_some_and(|turn| *turn != id) {
                    self.write_turn(&mut acts);
                }
                self.turn = Some(id);
            }
            Told::Reasoning(text) => {
                let before = self.pending.reasoning.take();
                self.pending.reasoning =
                    Some(before.map_or(text.clone(), |before| format!("{before}\n\n{text}")));
            }
            Told::Text { text, joins } => self.text(&text, joins),
            Told::Call { id, name, args } => self.call(id, name, args),
            Told::Result { id, output, failed, exit_code } => {
                let output = shortened(output);
                self.result(id, |id| ToldResult { id, output, failed, exit_code }, &mut acts);
            }
            Told::Usage { tokens, of, cost, cost_of } => self.used_so(tokens, of, (cost, cost_of)),
            Told::Answer(text) => self.answer = Some(text),
            Told::Done => (self.is_done, self.has_failed) = (true, false),
            Told::Error(text) => self.error = Some(text),
            Told::Fails => (self.is_done, self.has_failed) = (false, true),
        }
        acts
    }

    /// Whether there is room for what is told.
    fn has_room(&mut self, told: &Told) -> bool {
        let bytes = match told {
            Told::Text { text, .. } | Told::Reasoning(text) => text.len(),
            Told::Call { id, name, args } => id.as_ref().map_or(0, String::len) + name.len() + args.len(),
            _ => return true,
        };
        self.is_over |= bytes > TURN.saturating_sub(self.length);
        self.length += if self.is_over { 0 } else { bytes };
        !self.is_over
    }

    /// Why what was told is no answer, where a turn was too long.
    pub(in crate::external) fn refusal(&self) -> Option<String> {
        self.is_over.then(|| format!("one of its turns is longer than {TURN} bytes"))
    }

    /// Nothing has come for a moment: calls that were told are under way.
    pub(in crate::external) fn idle(&mut self) -> Vec<Act> {
        let mut acts = Vec::new();
        if !self.pending.calls.is_empty() && self.open.is_empty() {
            self.write_turn(&mut acts);
        }
        acts
    }

    /// Nothing more comes.
    pub(in crate::external) fn end(&mut self) -> Vec<Act> {
        let mut acts = Vec::new();
        self.write_turn(&mut acts);
        self.settle(&mut acts);
        if self.pending.usage.is_some() {
            acts.push(Act::Answered(std::mem::take(&mut self.pending)));
        }
        acts
    }

    fn text(&mut self, text: &str, joins: bool) {
        let pending = &mut self.pending.text;
        if !joins && !pending.is_empty() {
            pending.push_str("\n\n");
        }
        pending.push_str(text);
    }

    fn call(&mut self, told: Option<String>, name: String, arguments: String) {
        let taken = told.as_ref().is_none_or(|told| self.is_later || self.ids.contains_key(told));
        let id = match &told {
            Some(told) if !taken => told.clone(),
            Some(told) => format!("{}-{told}", self.number),
            None => format!("call{:05}", self.number),
        };
        if let Some(told) = told {
            // Told again: begun, and then done.
            if self.pending.calls.iter().any(|call| self.ids.get(&told) == Some(&call.id))
                || self.is_open(&told)
            {
                return;
            }
            self.ids.insert(told, id.clone());
        } else {
            self.unnamed = Some(id.clone());
        }
        self.number += 1;
        self.pending.calls.push(ToolCall { id, name, arguments });
    }

    fn is_open(&self, told: &str) -> bool {
        self.ids.get(told).is_some_and(|id| self.open.contains(id))
    }

    fn result(
        &mut self,
        told: Option<String>,
        result: impl FnOnce(String) -> ToldResult,
        acts: &mut Vec<Act>,
    ) {
        let id = match told {
            Some(told) => self.ids.get(&told).cloned(),
            None => self.unnamed.take(),
        };
        // A result of no call that was told is none.
        let Some(id) = id else { return };
        if !self.open.contains(&id) {
            if !self.pending.calls.iter().any(|call| call.id == id) {
                return;
            }
            if !self.open.is_empty() {
                self.early.push(result(id));
                return;
            }
            self.write_turn(acts);
        }
        self.finish(result(id), acts);
        while self.open.is_empty() && !self.early.is_empty() {
            self.write_turn(acts);
            let (now, later) = std::mem::take(&mut self.early)
                .into_iter()
                .partition::<Vec<_>, _>(|early| self.open.contains(&early.id));
            self.early = later;
            if now.is_empty() {
                self.early.clear();
            }
            now.into_iter().for_each(|early| self.finish(early, acts));
        }
    }

    fn finish(&mut self, result: ToldResult, acts: &mut Vec<Act>) {
        self.open.retain(|open| *open != result.id);
        acts.push(Act::Finished(result));
    }

    /// What is held back goes into the conversation, in which every call before it is answered.
    fn write_turn(&mut self, acts: &mut Vec<Act>) {
        // What was used and nothing else belongs to what follows.
        if self.pending.says_nothing() {
            return;
        }
        let turn = std::mem::take(&mut self.pending);
        self.length = 0;
        self.settle(acts);
        if !turn.text.trim().is_empty() {
            self.last_text.clone_from(&turn.text);
        }
        self.open = turn.calls.iter().map(|call| call.id.clone()).collect();
        let is_pending = |early: &ToldResult| self.open.contains(&early.id);
        let (now, later) = std::mem::take(&mut self.early).into_iter().partition::<Vec<_>, _>(is_pending);
        self.early = later;
        acts.push(Act::Answered(turn));
        now.into_iter().for_each(|early| self.finish(early, acts));
    }

    /// Calls that are open are answered.
    fn settle(&mut self, acts: &mut Vec<Act>) {
        for id in std::mem::take(&mut self.open) {
            let output = UNTOLD.to_owned();
            acts.push(Act::Finished(ToldResult { id, output, failed: false, exit_code: None }));
        }
    }

    /// What was used is told of a turn, or as a sum: then the turn has what is new in it.
    fn used_so(&mut self, tokens: TokenUsage, of: Span, (cost, cost_of): (Option<f64>, Span)) {
        let tokens = match of {
            Span::Turn => tokens,
            Span::Call => less(tokens, self.written.tokens),
            Span::Session => {
                self.session.tokens = tokens;
                less(less(tokens, self.before.tokens), self.written.tokens)
            }
        };
        let cost = cost.map(|cost| match cost_of {
            Span::Turn => cost,
            Span::Call => (cost - self.written.cost).max(0.0),
            Span::Session => {
                self.session.cost = cost;
                // A session that began anew tells less than it did before.
                let before = if cost < self.before.cost { 0.0 } else { self.before.cost };
                (cost - before - self.written.cost).max(0.0)
            }
        });
        self.tells_cost |= cost.is_some();
        self.written.tokens = plus(self.written.tokens, tokens);
        self.written.cost += cost.unwrap_or_default();
        let pending = self.pending.usage.get_or_insert_default();
        let cost_usd = match (pending.cost_usd, cost) {
            (Some(before), Some(cost)) => Some(before + cost),
            (before, cost) => before.or(cost),
        };
        *pending = TokenUsage { cost_usd, ..plus(*pending, tokens) };
    }
}

/// The output, as much of it as is kept.
fn shortened(output: String) -> String {
    let over = output.len().saturating_sub(OUTPUT);
    if over == 0 {
        return output;
    }
    let head = output.floor_char_boundary(OUTPUT / 2);
    let tail = output.ceil_char_boundary(output.len() - OUTPUT / 2);
    format!("{}\n[{} bytes are left out]\n{}", &output[..head], tail - head, &output[tail..])
}

fn plus(one: TokenUsage, other: TokenUsage) -> TokenUsage {
    each(one, other, u64::saturating_add)
}

/// What is more in the one; all of it where a sum began anew.
fn less(one: TokenUsage, other: TokenUsage) -> TokenUsage {
    let is_anew = one.input_tokens < other.input_tokens || one.output_tokens < other.output_tokens;
    if is_anew { one } else { each(one, other, u64::saturating_sub) }
}

fn each(one: TokenUsage, other: TokenUsage, of: fn(u64, u64) -> u64) -> TokenUsage {
    TokenUsage {
        input_tokens: of(one.input_tokens, other.input_tokens),
        output_tokens: of(one.output_tokens, other.output_tokens),
        cached_tokens: of(one.cached_tokens, other.cached_tokens),
        written_tokens: of(one.written_tokens, other.written_tokens),
        reasoning_tokens: of(one.reasoning_tokens, other.reasoning_tokens),
        cost_usd: None,
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
