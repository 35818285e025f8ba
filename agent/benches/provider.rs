//! The figure we claim of the provider, beside a floor measured in the same run:
//! `cargo bench -p uwf-agent --features fuzzing`.
//!
//! Not a test: machines are noisy. A body of some megabytes, as an endpoint streams it, goes through everything between
//! the network and the loop. The floor is the least that anybody can do with it: find the events, and check that each is
//! JSON.

#![expect(clippy::print_stdout, reason = "a measurement is there to be printed")]

#[path = "../../tools/benches/tools/turns.rs"]
#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "the benchmark of the tools uses all of it, and panics as it does"
)]
mod turns;

use std::time::Duration;

use bytes::Bytes;
use serde::de::IgnoredAny;
use uwf_agent::fuzzing::Reader;

use turns::take_turns;

/// How often each of the two is done; the median counts.
const TURNS: usize = 15;

/// Words in the body, each an event of its own.
const WORDS: usize = 32_000;

/// As much as a network hands over at once.
const PIECE: usize = 16 * 1024;

/// Bytes a second.
const CLAIM: f64 = 50e6;

fn main() {
    let body = body();
    let bytes = Bytes::from(body.clone());
    let pieces: Vec<Bytes> = (0..bytes.len())
        .step_by(PIECE)
        .map(|start| bytes.slice(start..bytes.len().min(start + PIECE)))
        .collect();
    let reader = Reader::default();
    let read = || assert_eq!(reader.length(pieces.clone()), WORDS * WORD.len());
    let check = || {
        let events = body.split("\n\n").filter_map(|event| event.strip_prefix("data: {"));
        let sound = events.filter(|event| serde_json::from_str::<IgnoredAny>(&format!("{{{event}")).is_ok());
        assert_eq!(sound.count(), WORDS + 1);
    };
    let times = take_turns(TURNS, read, check);
    let [measured, floor] = [times.measured, times.floor].map(|time| rate(body.len(), time));
    println!("{:<48} {:>12} {:>12} {:>12}", "figure", "measured", "floor", "claimed");
    println!(
        "{:<48} {:>12} {:>12} {:>12} {:>10}",
        format!("a stream of {:.1} MB (floor: JSON checked)", body.len() as f64 / 1e6),
        shown(measured),
        shown(floor),
        shown(CLAIM),
        if measured > CLAIM { "holds" } else { "TOO SLOW" }
    );
}

const WORD: &str = " straightforward";

/// A body as OpenAI's own endpoint streams it.
fn body() -> String {
    let head = "\"id\":\"chatcmpl-CbZ1q2w3e4r5t6y7u8i9o0p\",\"object\":\"chat.completion.chunk\",\"created\":1795311855,\
                \"model\":\"gpt-5-mini-2025-08-07\",\"service_tier\":\"default\",\"system_fingerprint\":null";
    let event = |delta: &str, finish: &str| {
        format!(
            "data: {{{head},\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}],\"usage\":null}}\n\n"
        )
    };
    let words = event(&format!("{{\"content\":\"{WORD}\"}}"), "null").repeat(WORDS);
    format!("{words}{}data: [DONE]\n\n", event("{}", "\"stop\""))
}

fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64()
}

fn shown(rate: f64) -> String {
    format!("{:.0} MB/s", rate / 1e6)
}
