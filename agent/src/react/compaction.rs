//! The model's window: how large the server says it is, whether it cuts what it is sent, and making room when it is nearly
//! full: old results are left out first, and only when that is not enough the model sums up its work.
//!
//! Apart because a run seldom needs it. What is left out is in the store before it is; how full the window is, and
//! what is old, says `context_window`. Between two such points each request begins with the bytes of the one before.

use uwf_prompts::LeftOutView;

use super::wait::{Waited, wait};
use super::{Notice, Progress, React, Stopped};
use crate::context_window::Elided;
use crate::context_window::{self, WIDEN, WORKABLE};
use crate::journal::{Concern, Entry};
use crate::provider::ProviderError;
use crate::provider::message::{Message, MessageKind, Speaker, TokenUsage, ToolChoice};

/// From so many tokens on it matters how large a window is of which nothing is known: some servers have no more.
const SMALL: u64 = 3000;

impl React<'_> {
    /// Asks the server how large its window is, twice at most, where nobody else knows and it begins to matter.
    pub(super) async fn ask_window(&mut self) -> Result<(), Stopped> {
        // A server may load the model only when it is asked for the first time.
        let begins_to_matter = self.state.spent.turns > 0 && self.state.window.estimate() >= SMALL;
        if self.window_asks == 0 || !begins_to_matter {
            return Ok(());
        }
        self.window_asks -= 1;
        let time_left = self.state.budget.time_left(self.elapsed());
        let on_notice = &mut *self.on_notice;
        let tick = || on_notice(Notice::Progress(Progress::Tick));
        let told = match wait(self.provider.window(), &mut self.signals, time_left, tick).await {
            Waited::Done(told) => told,
            Waited::TimeUp => None,
            Waited::Signal(signal) => return Err(self.interrupted(signal).await),
        };
        let Some(size) = told else { return Ok(()) };
        self.window_asks = 0;
        self.write(Entry::Window { size, refused: false, at: (self.clock)() })?;
        if size < WORKABLE {
            let message = format!("the server has a window of {size} tokens for {}: {WIDEN}", self.model);
            self.write(Entry::Warned { about: Concern::SmallWindow, message, at: (self.clock)() })?;
        }
        Ok(())
    }

    /// Looks whether the endpoint counted less than it was sent: some cut a prompt to their window and say nothing.
    pub(super) fn look_for_cut(&mut self, usage: Option<TokenUsage>) -> Result<(), Stopped> {
        let counted = usage.map_or(0, |usage| usage.input_tokens);
        if self.state.warned_of_cut || !self.state.window.was_cut(counted) {
            return Ok(());
        }
        let message = format!(
            "the endpoint counted {counted} tokens of about {} that were sent: if it cuts what is longer than its window, \
             the model does not see all of its task. Set contextWindow to that, or give the server a larger window",
            self.state.window.estimate()
        );
        self.write(Entry::Warned { about: Concern::CutPrompt, message, at: (self.clock)() })
    }

    /// Makes room, where there is need of it.
    ///
    /// # Errors
    /// As [`React::until_text`].
    pub(super) async fn make_room(&mut self) -> Result<(), Stopped> {
        let window = self.state.window;
        if !window.is_full() {
            return Ok(());
        }
        let old = context_window::old_results(self.state.conversation.messages(), window.kept());
        if window.is_batch(context_window::freed(&old)) {
            self.elide(window.kept())?;
        }
        if self.state.window.is_full() && self.state.may_summarise() {
            self.summarise().await
        } else {
            Ok(())
        }
    }

    /// Asks again for a summary that an interruption left without one. Before anything else is said: the question is
    /// known by its place at the end.
    pub(super) async fn summarise_at_last(&mut self) -> Result<(), Stopped> {
        let last = self.state.conversation.messages().last();
        if last.is_some_and(|last| last.kind == MessageKind::Summary) {
            self.summarise().await
        } else {
            Ok(())
        }
    }

    /// The endpoint says that the conversation is too long: leaves out more than usual. Whether there was anything.
    pub(super) fn shrink(&mut self) -> Result<bool, Stopped> {
        let size = self.state.window.estimate();
        self.write(Entry::Window { size, refused: true, at: (self.clock)() })?;
        self.elide(self.state.window.kept_in_need())
    }

    /// Leaves out the results before the last `kept` bytes. Whether there were any.
    fn elide(&mut self, kept: u64) -> Result<bool, Stopped> {
        let old = context_window::old_results(self.state.conversation.messages(), kept);
        if old.is_empty() {
            return Ok(false);
        }
        let hashes = self.blobs.keep(old.iter().map(|message| message.content.as_str()));
        let readable = self.tools.iter().any(|tool| tool.name == "tool_output");
        let mut marks = Vec::new();
        for (message, hash) in old.iter().zip(hashes.map_err(Stopped::Keep)?) {
            let lines = message.content.lines().count();
            let text = uwf_prompts::left_out(&LeftOutView { hash: hash.as_str(), lines, readable })?;
            marks.push(Elided { call_id: message.tool_call_id.clone().unwrap_or_default(), text });
        }
        self.write(Entry::Elided { marks, at: (self.clock)() })?;
        Ok(true)
    }

    /// Lets the model sum up what stands between the opening and the last messages, and goes on from that. Half as
    /// much as else stays, since it can hardly be made shorter and the next summary is to be far away. A model that
    /// writes none loses nothing: the question is taken back, and all stays.
    async fn summarise(&mut self) -> Result<(), Stopped> {
        let messages = self.state.conversation.messages();
        let asked = messages.iter().rev().take_while(|message| message.kind == MessageKind::Summary).count();
        let messages = &messages[..messages.len() - asked];
        let all = messages.len();
        let opening = messages.iter().take_while(|message| message.kind == MessageKind::Opening).count();
        let kept = context_window::tail(messages, self.state.window.kept() / 2);
        let middle: u64 = messages[opening..messages.len() - kept].iter().map(context_window::bytes).sum();
        if asked == 0 && !self.state.window.is_batch(middle) {
            return Ok(());
        }
        self.append_message(Message::text(Speaker::User, MessageKind::Summary, uwf_prompts::summarise()?))?;
        let text = match self.turn(MessageKind::Summary, ToolChoice::None).await {
            Ok(answer) => answer.map(|answer| answer.text).unwrap_or_default(),
            Err(Stopped::Provider(ProviderError::ContextLength { .. })) => String::new(),
            Err(stopped) => return Err(stopped),
        };
        let (summary, kept) = match text.trim() {
            "" => (String::new(), all),
            _ => (uwf_prompts::summary(&text)?, kept),
        };
        let message = Message::text(Speaker::User, MessageKind::Recap, summary);
        self.write(Entry::Summarised { message, kept, at: (self.clock)() })
    }
}
