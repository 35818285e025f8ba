//! OpenAI's Responses: `write` writes a request, `event`, `items`, `turn` and `assemble` read what comes back.

pub(in crate::provider) mod assemble;
mod event;
mod items;
mod turn;
pub(in crate::provider) mod write;
