//! Distributed tracing: the trace that a run is a part of, in the form of W3C Trace Context (`TRACEPARENT` in the
//! environment, `traceparent` as a header).
//!
//! Apart because it is a format of its own. It reads no environment and makes no randomness: both come in. A run that
//! was given no trace, or one that is malformed, is part of none.

use uwf_engine::Env;

/// The variable, for us and for the commands that a model runs.
pub const VARIABLE: &str = "TRACEPARENT";
/// What vendors add to it, handed on as it is.
const STATE_VARIABLE: &str = "TRACESTATE";
/// The headers of both.
const HEADER: &str = "traceparent";
const STATE_HEADER: &str = "tracestate";

/// A place in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// 32 hex digits.
    id: String,
    /// The span that we are called from: 16 hex digits; none where the trace begins here.
    parent: Option<String>,
    /// Our own span.
    span: u64,
    /// 2 hex digits; `01` is sampled.
    flags: String,
    state: Option<String>,
}

impl Trace {
    /// The trace that the environment tells of; `span` is to be our own id in it, not 0.
    pub fn of(env: &Env, span: u64) -> Option<Trace> {
        let (id, parent, flags) = parse(env.text(VARIABLE)?)?;
        let state = env.text(STATE_VARIABLE).map(str::to_owned);
        Some(Trace { id, parent: Some(parent), span, flags, state })
    }

    /// A trace that begins here.
    #[cfg(feature = "otel")]
    pub fn new(id: u128, span: u64) -> Trace {
        Trace { id: format!("{id:032x}"), parent: None, span, flags: "01".to_owned(), state: None }
    }

    /// The trace's id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The span that we are called from.
    #[cfg(feature = "otel")]
    pub(crate) fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    /// Whether it is recorded at all.
    #[cfg(feature = "otel")]
    pub fn is_sampled(&self) -> bool {
        u8::from_str_radix(&self.flags, 16).is_ok_and(|flags| flags & 1 == 1)
    }

    /// Our own span.
    #[cfg(feature = "otel")]
    pub(crate) fn span(&self) -> u64 {
        self.span
    }

    /// What those are told whom we call: that they are called from our span.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{:016x}-{}", self.id, self.span, self.flags)
    }

    /// The headers of a request, each with its value.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (String, String)> {
        let state = self.state.clone().map(|state| (STATE_HEADER.to_owned(), state));
        std::iter::once((HEADER.to_owned(), self.traceparent())).chain(state)
    }
}

/// Trace id, parent and flags (<https://www.w3.org/TR/trace-context/#traceparent-header>); later versions may say more
/// behind them.
fn parse(text: &str) -> Option<(String, String, String)> {
    let mut fields = text.trim().split('-');
    let mut field = |length: usize| {
        let digits = |field: &&str| {
            field.len() == length && field.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        };
        fields.next().filter(digits)
    };
    let (version, id, parent, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
    let zero = |field: &str| field.bytes().all(|b| b == b'0');
    let more = fields.next().is_some();
    let bad = version == "ff" || zero(id) || zero(parent) || (version == "00" && more);
    (!bad).then(|| (id.to_owned(), parent.to_owned(), flags.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn of(traceparent: &str) -> Option<Trace> {
        Trace::of(&[("TRACEPARENT", traceparent), ("TRACESTATE", "a=b")].into_iter().collect(), 0xab)
    }

    #[test]
    fn what_is_given_is_handed_on_under_our_own_span() {
        let trace = of(GIVEN).unwrap();
        let ours = "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000ab-01";
        assert_eq!(trace.traceparent(), ours);
        let headers: Vec<(String, String)> = trace.headers().collect();
        assert_eq!(headers, [("traceparent".into(), ours.into()), ("tracestate".into(), "a=b".into())]);
    }

    #[test]
    fn what_is_malformed_is_no_trace() {
        assert!(of(&format!("cc{}-later", &GIVEN[2..])).is_some(), "a later version");
        for bad in [
            "",
            "00",
            &GIVEN.to_uppercase(),
            &format!("{GIVEN}-more"),
            &format!("ff{}", &GIVEN[2..]),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
