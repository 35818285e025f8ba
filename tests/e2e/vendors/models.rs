//! Lists of models, in each vendor's shape.

use serde_json::{Value, json};

use super::http::Answer;
use super::mode::{Kind, Mode};
use super::refusal::Refusal;

pub(super) fn answer(mode: &Mode, path: &str, id: &str) -> Answer {
    let base = mode.kind.base();
    let models = [format!("{base}/models"), format!("{base}/v1/models")];
    if models.iter().any(|model| model == path) {
        return Answer::json(&list(mode));
    }
    if mode.kind == Kind::Ollama && path == "/api/ps" {
        let window = mode.window.unwrap_or(4096);
        return Answer::json(
            &json!({"models": [{"name": mode.model, "model": mode.model, "size": 17_000_000_000_u64, "context_length": window}]}),
        );
    }
    Refusal::no_such_path(mode, "GET", path).answer(mode, id)
}

fn list(mode: &Mode) -> Value {
    let model = &mode.model;
    let window = mode.window.unwrap_or(200_000);
    let mut entry = json!({"id": model, "object": "model", "created": 1_790_000_000, "owned_by": "vendor"});
    match mode.kind {
        kind if kind.sends_messages() => {
            entry = json!({"type": "model", "id": model, "display_name": model, "created_at": "2026-09-01T00:00:00Z", "max_input_tokens": window, "max_tokens": mode.max_output});
            return json!({"data": [entry], "has_more": false, "first_id": model, "last_id": model});
        }
        Kind::Vllm => entry["max_model_len"] = json!(window),
        Kind::OpenRouterClaude | Kind::OpenRouterGemini => {
            entry["context_length"] = json!(window);
            entry["top_provider"] =
                json!({"context_length": window, "max_completion_tokens": mode.max_output});
        }
        Kind::Moonshot => entry["context_length"] = json!(window),
        Kind::Groq => entry["context_window"] = json!(window),
        Kind::Mistral => entry["max_context_length"] = json!(window),
        Kind::Gemini => {
            entry = json!({"id": format!("models/{model}"), "object": "model", "owned_by": "google", "display_name": model});
        }
        _ => {}
    }
    json!({"object": "list", "data": [entry]})
}
