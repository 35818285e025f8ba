//! The scripted provider: what the model says comes from a file, so that workflows, prompts and the loop run offline
//! and always alike.
//!
//! Apart because it needs no network. Its faults go through the same decisions and waits as a real endpoint's; a
//! failed attempt uses up its entry, and the next attempt plays the next one.

use bytes::Bytes;

use super::attempt_error::AttemptError;
use super::message::{Completion, Request, make_ids_unique};
use super::retry::{Attempts, RetryPolicy};
use super::script::{BodyEnding, Script, ScriptEntry, ScriptPosition};
use super::sent::LastSent;
use super::wire::Wire;
use super::{ChatProvider, Completing, CompletionEvent, EventSink, ProviderError, http};

/// A provider that plays the part of a script that is meant for one run.
#[derive(Debug)]
pub(crate) struct Mock {
    script: Script,
    /// What was drawn, where there are several behaviours.
    behaviour: Option<String>,
    entries: Vec<ScriptEntry>,
    /// The next entry to play.
    next: usize,
    retry: RetryPolicy,
    /// What errors call it.
    url: String,
    last_sent: LastSent,
}

impl Mock {
    /// The part of `script` for the run at `position`.
    ///
    /// # Errors
    /// [`ProviderError::Script`] when the script has nothing for that position.
    pub(crate) fn new(script: Script, position: ScriptPosition<'_>) -> Result<Mock, ProviderError> {
        let part = script.visit(&position)?;
        let (behaviour, entries) = (part.behaviour.map(str::to_owned), part.entries.to_vec());
        let url = format!("mock:{}", script.name());
        Ok(Mock {
            script,
            behaviour,
            entries,
            next: 0,
            retry: RetryPolicy::default(),
            url,
            last_sent: LastSent::default(),
        })
    }

    /// The same, after so many completions were played by an earlier process of the same run.
    pub(crate) fn after(mut self, completions: u64) -> Mock {
        let fails =
            |entry: &ScriptEntry| entry.error.is_some() || entry.reset || entry.ending != BodyEnding::Whole;
        for _ in 0..completions {
            let answer = self.entries[self.next..].iter().position(|entry| !fails(entry));
            self.next += answer.map_or(0, |answer| answer + 1);
        }
        self
    }

    /// The next entry, which must fit the request, and its index; of a script that repeats the last one again.
    fn take(&mut self, request: &Request<'_>) -> Result<(usize, ScriptEntry), ProviderError> {
        let index = self.next;
        let entry = match self.entries.get(index) {
            Some(entry) => {
                entry.check(request).map_err(|reason| self.script.error(reason))?;
                entry
            }
            None => {
                let last = self.entries.last().filter(|_| self.script.repeats());
                last.ok_or_else(|| self.script.past_end(self.entries.len(), "call"))?
            }
        };
        self.next += 1;
        Ok((index, entry.clone()))
    }
}

impl ChatProvider for Mock {
    fn behaviour(&self) -> Option<&str> {
        self.behaviour.as_deref()
    }

    fn complete<'a>(&'a mut self, request: Request<'a>, on_event: EventSink<'a>) -> Completing<'a> {
        Box::pin(async move {
            let (retry, url) = (self.retry.clone(), self.url.clone());
            let mut attempts = Attempts::new(&retry);
            loop {
                on_event(CompletionEvent::Sent(&self.last_sent.next_neutral(&request)));
                let (index, entry) = self.take(&request)?;
                if !entry.delay.is_zero() {
                    tokio::time::sleep(entry.delay).await;
                }
                match play(&entry, index, &request, on_event).await {
                    Ok(completion) => return Ok(completion),
                    Err(error) => {
                        on_event(CompletionEvent::Failed(&error));
                        attempts.failed(error, &url, on_event).await?;
                    }
                }
            }
        })
    }
}

/// What the entry does in process.
async fn play(
    entry: &ScriptEntry,
    index: usize,
    request: &Request<'_>,
    on_event: EventSink<'_>,
) -> Result<Completion, AttemptError> {
    if entry.reset {
        return Err(AttemptError::Cut { reason: "the connection was reset".to_owned() });
    }
    match entry.ending {
        BodyEnding::Whole => {}
        BodyEnding::Cut(bytes) => {
            return Err(AttemptError::Cut { reason: format!("the connection ended after {bytes} bytes") });
        }
        BodyEnding::Silence(_) => {
            tokio::time::sleep(http::IDLE).await;
            return Err(AttemptError::Cut { reason: format!("nothing arrived for {:?}", http::IDLE) });
        }
    }
    if let Some(error) = &entry.error {
        return Err(error.attempt_error(entry.body.as_deref()));
    }
    if let Some(body) = &entry.body {
        return http::read_body(Wire::Chat, vec![Bytes::from(body.clone())], request, on_event).await;
    }
    let mut completion = entry.completion(index, request.model);
    make_ids_unique(&mut completion.tool_calls, request.messages);
    if let Some(reasoning) = &completion.reasoning {
        on_event(CompletionEvent::Reasoning(reasoning));
    }
    if !completion.content.is_empty() {
        on_event(CompletionEvent::Text(&completion.content));
    }
    Ok(completion)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::provider::message::{Message, MessageKind, Sampling, Speaker, ToolChoice};

    /// Plays `calls` completions; returns them and the events in words.
    async fn run(script: &str, calls: usize) -> (Vec<Result<Completion, String>>, Vec<String>) {
        let script = Script::parse("s.yaml", script).unwrap();
        let mut mock =
            Mock::new(script, ScriptPosition { role: "r", visit: 0, step: 0, prompt: None }).unwrap();
        let messages = [Message::text(Speaker::User, MessageKind::Opening, "Review")];
        let sampling = Sampling::default();
        let request = Request {
            messages: &messages,
            tools: &[],
            tool_choice: ToolChoice::Auto,
            model: "m",
            sampling: &sampling,
        };
        let (mut completions, mut emitted) = (Vec::new(), Vec::new());
        for _ in 0..calls {
            let on_event = &mut |event: CompletionEvent<'_>| {
                emitted.push(match event {
                    CompletionEvent::Text(text) => text.to_owned(),
                    CompletionEvent::Reasoning(text) => format!("({text})"),
                    CompletionEvent::Retry { attempt, wait, reason } => {
                        format!("{attempt}: {reason}, {wait:?}")
                    }
                    CompletionEvent::Learnt { change, .. } => change.to_owned(),
                    CompletionEvent::Sent(_) | CompletionEvent::Failed(_) => return,
                });
            };
            completions.push(mock.complete(request, on_event).await.map_err(|error| error.to_string()));
        }
        (completions, emitted)
    }

    #[tokio::test(start_paused = true)]
    async fn entries_are_played_in_order_until_the_end() {
        let (completions, emitted) = run("turns: [{content: a, reasoning: hm}, {content: b}]", 3).await;
        assert_eq!(completions[0].as_ref().unwrap().content, "a");
        assert_eq!(completions[1].as_ref().unwrap().content, "b");
        assert_eq!(
            completions[2].as_ref().unwrap_err(),
            "mock script s.yaml: has 2 entries, and one more call came"
        );
        assert_eq!(emitted, ["(hm)", "a", "b"]);
    }

    #[tokio::test(start_paused = true)]
    async fn ids_that_a_script_repeats_are_replaced() {
        let call = "{name: grep, id: a, arguments: {}}";
        let (completions, _) = run(&format!("turns: [{{tool_calls: [{call}, {call}]}}]"), 1).await;
        let calls = &completions[0].as_ref().unwrap().tool_calls;
        assert_eq!((calls[0].id.as_str(), calls[1].id.as_str()), ("a", "call00000"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_uses_up_its_entry_and_the_next_attempt_plays_the_next() {
        let script = "turns: [{error: {status: 429, retry_after: 7, message: busy}}, {drop_after_bytes: 3}, {content: a}]";
        let begun = tokio::time::Instant::now();
        let (completions, emitted) = run(script, 1).await;
        assert_eq!(completions[0].as_ref().unwrap().content, "a");
        assert_eq!(emitted[0], "1: 429: busy, 7s");
        assert!(emitted[1].starts_with("2: the connection ended after 3 bytes"), "{emitted:?}");
        assert!(begun.elapsed() > Duration::from_secs(7));
    }

    #[tokio::test(start_paused = true)]
    async fn the_answer_of_a_step_is_given_again_when_it_is_sent_back() {
        let script =
            "steps: [{role: r, output: a, expect: {last_contains: Review}}, {role: other, output: b}]";
        let (completions, emitted) = run(script, 3).await;
        assert!(completions.iter().all(|completion| completion.as_ref().unwrap().content == "a"));
        assert_eq!(emitted, ["a", "a", "a"]);
        let script = Script::parse("s.yaml", script).unwrap();
        let mock = Mock::new(script, ScriptPosition { role: "r", visit: 0, step: 0, prompt: None }).unwrap();
        assert_eq!(mock.after(2).next, 1, "a run that goes on after a correction gives it again, too");
    }

    #[test]
    fn a_run_that_goes_on_plays_what_comes_after_its_completions() {
        let script =
            "turns: [{content: a}, {error: {status: 429}}, {reset: true}, {content: b}, {content: c}]";
        let next = |completions| {
            let script = Script::parse("s.yaml", script).unwrap();
            let mock =
                Mock::new(script, ScriptPosition { role: "r", visit: 0, step: 0, prompt: None }).unwrap();
            mock.after(completions).next
        };
        assert_eq!([0, 1, 2, 3, 4].map(next), [0, 1, 4, 5, 5]);
    }

    #[tokio::test(start_paused = true)]
    async fn connections_are_reset_and_fall_silent() {
        let script = "turns: [{reset: true}, {stall_after_bytes: 9, content: b}, {error: {status: 503, headers: {retry-after-ms: 250}}}, {content: a}]";
        let (completions, emitted) = run(script, 1).await;
        assert_eq!(completions[0].as_ref().unwrap().content, "a");
        assert!(emitted[0].starts_with("1: the connection was reset, "), "{emitted:?}");
        assert!(emitted[1].starts_with("2: nothing arrived for 120s, "), "{emitted:?}");
        assert_eq!(emitted[2], "3: 503: scripted error, 250ms");
    }

    #[tokio::test(start_paused = true)]
    async fn a_permanent_error_ends_the_call_only() {
        let (completions, _) = run("turns: [{error: {status: 401, message: no}}, {content: a}]", 2).await;
        assert_eq!(completions[0].as_ref().unwrap_err(), "the endpoint mock:s.yaml answered 401: no");
        assert_eq!(completions[1].as_ref().unwrap().content, "a");
    }

    #[tokio::test(start_paused = true)]
    async fn a_raw_body_is_read_as_an_endpoints_would_be() {
        let script = "
turns:
  - body: {choices: [{message: {content: a}}]}
  - body: \"data: {\\\"choices\\\": [{\\\"delta\\\": {\\\"content\\\": \\\"b\\\"}}]}\\n\\ndata: [DONE]\\n\\n\"
  - {body: <html><title>Login</title>}
  - {error: {status: 400}, body: {message: bad}}
";
        let (completions, emitted) = run(script, 4).await;
        assert_eq!(completions[0].as_ref().unwrap().content, "a");
        assert_eq!(completions[1].as_ref().unwrap().content, "b");
        assert!(completions[2].as_ref().unwrap_err().ends_with(r#"got an HTML page, "Login""#));
        assert!(completions[3].as_ref().unwrap_err().ends_with("answered 400: bad"));
        assert_eq!(emitted, ["a", "b"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_is_waited_for() {
        let begun = tokio::time::Instant::now();
        run("turns: [{content: a, delay_ms: 1500}]", 1).await;
        assert_eq!(begun.elapsed().as_millis(), 1500);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_not_expected_fails_loudly() {
        let (completions, _) = run("turns: [{content: a, expect: {last_contains: Fix}}]", 1).await;
        let error = completions[0].as_ref().unwrap_err();
        assert!(error.contains(r#"turns[0] expects the last message to contain "Fix""#), "{error}");
    }
}
