//! Endpoints that nobody here can reach, as servers on loopback: each answers as its vendor does, and refuses, in the
//! vendor's own words, whatever breaks one of the vendor's rules.
//!
//! A server stands for the vendor, not for our client: it knows the rules, the ids and blobs that it gave out, and the
//! cache that it keeps; what the model says is scripted. The turn that is played depends on the conversation that is
//! sent, not on how many requests came, so that a request may be sent again.

#[path = "vendors/blob.rs"]
mod blob;
#[path = "vendors/cache.rs"]
mod cache;
#[path = "vendors/chat.rs"]
mod chat;
#[path = "vendors/http.rs"]
mod http;
#[path = "vendors/messages.rs"]
mod messages;
#[path = "vendors/mode.rs"]
mod mode;
#[path = "vendors/models.rs"]
mod models;
#[path = "vendors/refusal.rs"]
mod refusal;
#[path = "vendors/responses.rs"]
mod responses;
#[path = "vendors/rules.rs"]
mod rules;
#[path = "vendors/script.rs"]
mod script;
#[path = "vendors/tests.rs"]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use serde_json::Value;

pub(crate) use http::Asked;
use http::{Answer, Head};
pub(crate) use mode::{Fault, Kind, Mode, Prices};
use refusal::Refusal;
pub(crate) use script::{Seen, Turn};

/// A running server; it ends with the test process.
pub(crate) struct Vendor {
    /// The base URL, with the path that the vendor uses.
    pub(crate) url: String,
    shared: Arc<Shared>,
}

/// What was used, by the server's own reckoning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Charges {
    /// Prompt tokens at the full price.
    pub(crate) input: u64,
    /// Prompt tokens that were read from the cache.
    pub(crate) cached: u64,
    /// Prompt tokens that were written to the cache, at whatever price.
    pub(crate) written: u64,
    pub(crate) output: u64,
    pub(crate) usd: f64,
}

struct Shared {
    mode: Mode,
    script: Box<dyn Fn(&Seen) -> Turn + Send + Sync>,
    state: Mutex<State>,
}

/// What the server remembers.
#[derive(Default)]
struct State {
    asked: Vec<Asked>,
    refusals: Vec<String>,
    charges: Charges,
    /// How many of the mode's faults have happened.
    faults: usize,
    /// What was given out and has to come back, by signature, blob, or item id.
    issued: BTreeMap<String, Issued>,
    /// The turn that a call id belongs to.
    minted: BTreeMap<String, usize>,
    /// Prompts as they came, for caches that need no marks; by cache key.
    prompts: BTreeMap<String, Vec<String>>,
    /// Prefixes that were written to a cache with marks.
    prefixes: BTreeSet<u64>,
    /// Turns whose malformed generation has been reported.
    failed: BTreeSet<usize>,
}

/// Something opaque that was given out.
#[derive(Clone, Debug, Default)]
struct Issued {
    /// What it belongs to: a call id, the text that was thought, or the whole item.
    whole: Value,
    /// The prefix that it is bound to.
    prefix: u64,
    /// What stands before it in its own turn.
    place: u64,
    /// What must stand before it, and after it.
    before: Option<String>,
    after: Option<String>,
}

/// How many tokens a request has, and what it costs.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    input: u64,
    cached: u64,
    written: u64,
    /// The part of `written` that is kept for an hour.
    written_1h: u64,
    output: u64,
    thought: u64,
}

impl Usage {
    fn usd(&self, prices: Prices) -> f64 {
        let tokens = |count: u64| f64::from(u32::try_from(count).unwrap()) / 1e6;
        tokens(self.input) * prices.input
            + tokens(self.cached) * prices.cached
            + tokens(self.written - self.written_1h) * prices.written
            + tokens(self.written_1h) * prices.written_1h
            + tokens(self.output) * prices.output
    }

    fn prompt(&self) -> u64 {
        self.input + self.cached + self.written
    }
}

/// The simple rule: four bytes are a token.
fn tokens(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap().div_ceil(4)
}

impl Vendor {
    /// A server whose model says these turns, one after the other, and the last one ever after. Asked for a summary, it
    /// writes one, and that is no turn.
    ///
    /// ```ignore
    /// let turns = vec![Turn::call("list_dir", json!({})).thinking("Hm."), Turn::text("Done.")];
    /// let vendor = Vendor::start(Mode::new(Kind::Gemini).window(8000), turns);
    /// // … a run against vendor.url …
    /// assert_eq!(vendor.refusals(), Vec::<String>::new());
    /// ```
    pub(crate) fn start(mode: Mode, script: Vec<Turn>) -> Vendor {
        Vendor::answering(mode, move |seen| {
            if seen.last.contains(script::SUMMARY) {
                return Turn::text("- What was done so far, in short.");
            }
            script.get(seen.turn).or(script.last()).cloned().unwrap_or_else(|| Turn::text("Done."))
        })
    }

    /// A server whose model says what `script` makes of the conversation.
    pub(crate) fn answering(mode: Mode, script: impl Fn(&Seen) -> Turn + Send + Sync + 'static) -> Vendor {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}{}", listener.local_addr().unwrap(), mode.kind.base());
        let shared = Arc::new(Shared { mode, script: Box::new(script), state: Mutex::default() });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = Arc::clone(&serving);
                thread::spawn(move || serve(&serving, stream));
            }
        });
        Vendor { url, shared }
    }

    /// Every request, and what it was answered.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.shared.state().asked.clone()
    }

    /// The requests for a completion alone.
    pub(crate) fn completions(&self) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.method == "POST").collect()
    }

    /// The words of every refusal, in order; the faults of the mode are not among them.
    pub(crate) fn refusals(&self) -> Vec<String> {
        self.shared.state().refusals.clone()
    }

    pub(crate) fn charged(&self) -> Charges {
        self.shared.state().charges
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn charge(&self, state: &mut State, usage: Usage) {
        state.charges.input += usage.input;
        state.charges.cached += usage.cached;
        state.charges.written += usage.written;
        state.charges.output += usage.output;
        state.charges.usd += usage.usd(self.mode.prices);
    }
}

/// One request on one connection. Whoever asks may be killed meanwhile: a failed write is nobody's concern.
fn serve(shared: &Shared, mut stream: TcpStream) {
    let Some(mut asked) = http::read(&mut stream) else { return };
    let number = shared.state().asked.len();
    let id = blob::id(&["request", &number.to_string()], 24);
    let fault = next_fault(shared, &asked);
    let answer = match &fault {
        Some(Fault::Status { status, headers, message, code }) => {
            let refusal = Refusal::new(*status, message);
            let refusal = code.iter().fold(refusal, |refusal, code| refusal.code(code));
            headers
                .iter()
                .fold(refusal.answer(&shared.mode, &id), |answer, (name, value)| answer.with(name, value))
        }
        _ => answer(shared, &asked, &id),
    };
    asked.status = answer.status;
    asked.refusal.clone_from(&answer.refusal);
    let mut state = shared.state();
    state.asked.push(asked);
    if fault.is_none() {
        state.refusals.extend(answer.refusal.clone());
    }
    drop(state);
    let answer = match fault {
        Some(Fault::Cut { events }) => answer.cut(events),
        Some(Fault::InStream { events }) => answer.broken(events, &refusal::in_stream(&shared.mode)),
        _ => answer,
    };
    drop(http::write(&mut stream, &answer, &shared.mode, &id));
}

/// The fault that this request meets; only completions meet any.
fn next_fault(shared: &Shared, asked: &Asked) -> Option<Fault> {
    if asked.method != "POST" {
        return None;
    }
    let mut state = shared.state();
    let fault = shared.mode.faults.get(state.faults).cloned();
    state.faults += 1;
    fault
}

fn answer(shared: &Shared, asked: &Asked, id: &str) -> Answer {
    let mode = &shared.mode;
    let path = asked.path.split('?').next().unwrap();
    let wire = match (asked.method.as_str(), path.strip_prefix(mode.kind.base())) {
        ("GET", _) => return models::answer(mode, path, id),
        ("POST", Some("/chat/completions")) if mode.kind.chats() => chat::answer,
        ("POST", Some("/responses")) if mode.kind.responds() => responses::answer,
        ("POST", Some("/messages" | "/v1/messages")) if mode.kind.sends_messages() => messages::answer,
        _ => return Refusal::no_such_path(mode, &asked.method, path).answer(mode, id),
    };
    let head = Head { mode, asked, id };
    let reply = refusal::key(mode, asked)
        .and_then(|()| {
            serde_json::from_str::<Value>(&asked.body).map_err(|error| {
                Refusal::new(400, &format!("We could not parse the JSON body of your request. ({error})"))
            })
        })
        .and_then(|body| wire(shared, &head, &body));
    reply.unwrap_or_else(|refusal| refusal.answer(mode, id))
}
