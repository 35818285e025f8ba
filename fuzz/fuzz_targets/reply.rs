//! The body of a reply, in one piece: a completion that can stand in a conversation, or a fault with words.
#![no_main]

use libfuzzer_sys::fuzz_target;
use uwf_agent::fuzzing::Reader;

thread_local!(static READER: Reader = Reader::new("chat"));

fuzz_target!(|body: &[u8]| READER.with(|reader| reader.reply(body)));
