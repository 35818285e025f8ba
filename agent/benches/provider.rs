//! The figures we claim of the provider, each beside a floor measured in the same run:
//! `cargo bench -p uwf-agent --features fuzzing`; behind `--` the wires to measure, else all.
//!
//! Not a test: machines are noisy. A body of some megabytes, as endpoints of each wire stream it, goes through everything
//! between the network and the loop. The floor is the least that anybody can do with it: find the events, and check that each is
//! JSON.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement is there to be printed, and is asked for by arguments"
)]

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

/// A wire, and a body as it is streamed there.
type Streamed = (&'static str, fn() -> String);

const WIRES: [Streamed; 3] = [("chat", chat), ("responses", responses), ("messages", messages)];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!("{:<48} {:>12} {:>12} {:>12}", "figure", "measured", "floor", "claimed");
    for (wire, body) in WIRES {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == wire) {
            measure(wire, &body());
        }
    }
}

fn measure(wire: &str, body: &str) {
    let bytes = Bytes::from(body.to_owned());
    let pieces: Vec<Bytes> = (0..bytes.len())
        .step_by(PIECE)
        .map(|start| bytes.slice(start..bytes.len().min(start + PIECE)))
        .collect();
    let reader = Reader::new(wire);
    let read = || assert_eq!(reader.length(pieces.clone()), WORDS * WORD.len());
    let check = || {
        let data = |event: &str| event.split_once("data: {").map(|(_, data)| format!("{{{data}"));
        let events = body.split("\n\n").filter_map(data);
        let sound = events.filter(|event| serde_json::from_str::<IgnoredAny>(event).is_ok());
        assert!(sound.count() > WORDS);
    };
    let times = take_turns(TURNS, read, check);
    let [measured, floor] = [times.measured, times.floor].map(|time| rate(body.len(), time));
    println!(
        "{:<48} {:>12} {:>12} {:>12} {:>10}",
        format!("a {wire} stream of {:.1} MB (floor: JSON checked)", body.len() as f64 / 1e6),
        shown(measured),
        shown(floor),
        shown(CLAIM),
        if measured > CLAIM { "holds" } else { "TOO SLOW" }
    );
}

const WORD: &str = " straightforward";

/// A body as OpenAI's own endpoint streams chat completions.
fn chat() -> String {
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

/// An event with its name and its type, which are the same.
fn event(name: &str, fields: &str) -> String {
    format!("event: {name}\ndata: {{\"type\":\"{name}\",{fields}}}\n\n")
}

/// A body as OpenAI's own endpoint streams Responses: what was said in pieces is said again as an item, and at the end.
fn responses() -> String {
    let id = "msg_0a1b2c3d4e5f60718293a4b5c6d7e8f90123456789abcdef01";
    let text = WORD.repeat(WORDS);
    let item = format!(
        "{{\"id\":\"{id}\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\",\
         \"content\":[{{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\"{text}\"}}]}}"
    );
    let word = format!(
        "\"content_index\":0,\"delta\":\"{WORD}\",\"item_id\":\"{id}\",\"logprobs\":[],\
         \"obfuscation\":\"aB3dE6gH\",\"output_index\":0,\"sequence_number\":31999"
    );
    let response =
        format!("{{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"completed\",\"output\":[{item}]}}");
    [
        event("response.output_text.delta", &word).repeat(WORDS),
        event("response.output_item.done", &format!("\"item\":{item},\"output_index\":0")),
        event("response.completed", &format!("\"response\":{response}")),
    ]
    .concat()
}

/// A body as Anthropic's own endpoint streams Messages.
fn messages() -> String {
    let usage = "{\"input_tokens\":25,\"output_tokens\":1}";
    let start = "\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-5-5\",\"content\":[]";
    let word = format!("\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{WORD}\"}}");
    [
        event("message_start", &format!("\"message\":{{{start},\"stop_reason\":null,\"usage\":{usage}}}")),
        event("content_block_start", "\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}"),
        event("content_block_delta", &word).repeat(WORDS),
        event("content_block_stop", "\"index\":0"),
        event(
            "message_delta",
            "\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":64000}",
        ),
        event("message_stop", "\"usage\":null"),
    ]
    .concat()
}

fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64()
}

fn shown(rate: f64) -> String {
    format!("{:.0} MB/s", rate / 1e6)
}
