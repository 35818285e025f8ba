//! When to try again: how long to wait, how often, and when to stop.
//!
//! Apart because it is the only retry layer there is (the client library's own is off). The arithmetic is pure;
//! `Attempts` alone waits. What is worth trying again at all is `AttemptError::retry_decision`'s business.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::attempt_error::{AttemptError, RetryDecision};
use super::{CompletionEvent, EventSink, ProviderError};

/// How often, how long, how patiently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RetryPolicy {
    /// Attempts in all, the first included.
    pub tries: u32,
    /// How long after the first failure a new attempt may still begin.
    pub budget: Duration,
    /// The wait after the first failure; it doubles with each further one.
    pub first_wait: Duration,
    /// The longest wait that the doubling reaches. A wait the endpoint asks for may be longer, within the budget.
    pub max_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            tries: 5,
            budget: Duration::from_secs(180),
            first_wait: Duration::from_millis(500),
            max_wait: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// How long to wait after attempt number `attempt` (from 1), `spent` after the first failure; `None`: give up.
    /// `jitter` is from 0 to 1 and spreads the policy's own waits by a quarter either way, so that many clients do
    /// not come back at once; a wait that was `asked` for is kept as it is.
    fn wait(&self, attempt: u32, asked: Option<Duration>, spent: Duration, jitter: f64) -> Option<Duration> {
        let wait = asked.unwrap_or_else(|| {
            let doubled = self.first_wait.saturating_mul(1 << attempt.saturating_sub(1).min(20));
            doubled.mul_f64(0.75 + jitter.clamp(0.0, 1.0) / 2.0).min(self.max_wait)
        });
        (attempt < self.tries && spent.saturating_add(wait) <= self.budget).then_some(wait)
    }
}

/// How long the endpoint asks to wait: `retry-after-ms`, then `Retry-After` in seconds or as a date (RFC 9110,
/// 10.2.3). `header` finds a header's text. A date counts from the reply's own `Date`, else from `now`.
fn asked_wait_at<'h>(header: impl Fn(&str) -> Option<&'h str>, now: SystemTime) -> Option<Duration> {
    let number = |name: &str| header(name)?.trim().parse::<f64>().ok();
    let duration = |seconds: f64| Duration::try_from_secs_f64(seconds.max(0.0)).ok();
    if let Some(wait) = number("retry-after-ms").and_then(|ms| duration(ms / 1000.0)) {
        return Some(wait);
    }
    if let Some(wait) = number("retry-after").and_then(duration) {
        return Some(wait);
    }
    let date = |name: &str| httpdate::parse_http_date(header(name)?.trim()).ok();
    let until = date("retry-after")?;
    Some(until.duration_since(date("date").unwrap_or(now)).unwrap_or(Duration::ZERO))
}

/// The same as of now: a date without one of the endpoint's beside it counts from this machine's clock.
#[expect(
    clippy::disallowed_methods,
    reason = "what is asked for as a date is a moment of the world, and so is now"
)]
pub(crate) fn asked_wait<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Option<Duration> {
    asked_wait_at(header, SystemTime::now())
}

/// What was done after an attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterFailure {
    /// The request was sent again.
    Repeated,
    /// The error was the end of it.
    GaveUp,
    /// The time was over before it could be sent again.
    Abandoned,
}

/// The attempts at one completion.
pub(crate) struct Attempts<'p> {
    policy: &'p RetryPolicy,
    made: u32,
    failing_since: Option<Instant>,
}

impl<'p> Attempts<'p> {
    /// None made yet.
    pub(crate) fn new(policy: &'p RetryPolicy) -> Attempts<'p> {
        Attempts { policy, made: 0, failing_since: None }
    }

    /// After a failed attempt: waits and returns when another one is due, else the error that ends it. `url` is where it
    /// failed, without secrets.
    pub(crate) async fn failed(
        &mut self,
        error: AttemptError,
        url: &str,
        on_event: EventSink<'_>,
    ) -> Result<(), ProviderError> {
        self.made += 1;
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        let RetryDecision::Retry { asked } = error.retry_decision() else {
            return Err(error.into_error(url));
        };
        let wait = self.policy.wait(self.made, asked, since.elapsed(), jitter());
        let Some(wait) = wait else { return Err(self.give_up(error, url, asked)) };
        on_event(CompletionEvent::Retry { attempt: self.made, wait, reason: &error.to_string() });
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// The same of an attempt that was made before: nobody waits, and nothing is decided anew. Where the time was over then, it
    /// never comes to an end.
    pub(crate) async fn replayed(
        &mut self,
        error: AttemptError,
        url: &str,
        after: AfterFailure,
    ) -> Result<(), ProviderError> {
        self.made += 1;
        match (after, error.retry_decision()) {
            (AfterFailure::Repeated, _) => Ok(()),
            (AfterFailure::Abandoned, _) => std::future::pending().await,
            (AfterFailure::GaveUp, RetryDecision::Retry { asked }) => Err(self.give_up(error, url, asked)),
            (AfterFailure::GaveUp, RetryDecision::Final) => Err(error.into_error(url)),
        }
    }

    fn give_up(&self, error: AttemptError, url: &str, asked: Option<Duration>) -> ProviderError {
        if let AttemptError::Connect { .. } = error {
            return error.into_error(url);
        }
        let mut last = error.to_string();
        if let Some(asked) = asked.filter(|asked| *asked > self.policy.budget) {
            last.push_str(&format!(" (it asks to wait {} s)", asked.as_secs()));
        }
        ProviderError::Exhausted { url: url.to_owned(), attempts: self.made, last }
    }
}

/// From 0 to 1, another one each time.
#[expect(
    clippy::disallowed_methods,
    reason = "runs that failed together must not try again together, whoever starts them"
)]
fn jitter() -> f64 {
    fastrand::f64()
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn waits_double_from_half_a_second_to_thirty() {
        let policy = RetryPolicy { tries: 20, budget: Duration::MAX, ..RetryPolicy::default() };
        let waits: Vec<u128> =
            (1..=8).map(|n| policy.wait(n, None, Duration::ZERO, 0.5).unwrap().as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    }

    #[test]
    fn jitter_is_a_quarter_either_way() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.wait(1, None, Duration::ZERO, 0.0), Some(375 * MS));
        assert_eq!(policy.wait(1, None, Duration::ZERO, 1.0), Some(625 * MS));
    }

    #[test]
    fn tries_and_budget_end_it() {
        let policy = RetryPolicy::default();
        assert!(policy.wait(4, None, Duration::ZERO, 0.5).is_some());
        assert_eq!(policy.wait(5, None, Duration::ZERO, 0.5), None);
        assert_eq!(policy.wait(1, None, policy.budget, 0.5), None);
        assert_eq!(policy.wait(1, Some(Duration::from_secs(181)), Duration::ZERO, 0.5), None);
    }

    #[test]
    fn what_the_endpoint_asks_for_is_kept() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.wait(1, Some(Duration::ZERO), Duration::ZERO, 1.0), Some(Duration::ZERO));
        assert_eq!(policy.wait(1, Some(60_000 * MS), Duration::ZERO, 1.0), Some(60_000 * MS));
    }

    fn asked(headers: &[(&str, &str)]) -> Option<Duration> {
        let header = |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        asked_wait_at(header, UNIX_EPOCH + Duration::from_secs(784_111_777))
    }

    #[test]
    fn every_way_to_ask_is_read() {
        assert_eq!(asked(&[("retry-after-ms", "250"), ("retry-after", "9")]), Some(250 * MS));
        assert_eq!(asked(&[("retry-after", "2")]), Some(2000 * MS));
        assert_eq!(asked(&[("retry-after", "0.5")]), Some(500 * MS));
        assert_eq!(asked(&[("retry-after", "-3")]), Some(Duration::ZERO));
        assert_eq!(asked(&[("retry-after", "Sun, 06 Nov 1994 08:49:39 GMT")]), Some(2000 * MS));
        assert_eq!(asked(&[("retry-after", "soon")]), None);
        assert_eq!(asked(&[("retry-after", "1e300")]), None);
        assert_eq!(asked(&[]), None);
    }

    #[test]
    fn a_date_counts_from_the_endpoints_own_clock() {
        let headers =
            [("retry-after", "Sun, 06 Nov 1994 08:49:40 GMT"), ("date", "Sun, 06 Nov 1994 08:49:37 GMT")];
        assert_eq!(asked(&headers), Some(3000 * MS));
        let past = [("retry-after", "Sun, 06 Nov 1994 08:49:30 GMT")];
        assert_eq!(asked(&past), Some(Duration::ZERO));
    }
}
