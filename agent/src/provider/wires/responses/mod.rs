//! OpenAI's Responses: `write` writes a request, `event`, `items`, `said` and `assemble` read what comes back.

pub(in crate::provider) mod assemble;
mod event;
mod items;
mod said;
pub(in crate::provider) mod write;
