//! Anthropic's Messages: `write` writes a request (its turns, their blocks, what is asked of thinking), `event`, `block`
//! and `assemble` read what comes back.

pub(in crate::provider) mod assemble;
mod block;
mod blocks;
mod event;
mod thinking;
mod turns;
pub(in crate::provider) mod write;
