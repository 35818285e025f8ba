//! How each vendor tells what was used, and when it does in a stream.

use serde_json::{Value, json};

use super::super::mode::Kind;
use super::Reply;

impl Reply<'_> {
    pub(super) fn usage(&self) -> Value {
        let used = self.usage;
        let prompt = used.prompt();
        let mut usage = json!({"prompt_tokens": prompt, "completion_tokens": used.output, "total_tokens": prompt + used.output});
        let details = json!({"cached_tokens": used.cached});
        match self.kind {
            Kind::DeepSeek => {
                usage["prompt_cache_hit_tokens"] = json!(used.cached);
                usage["prompt_cache_miss_tokens"] = json!(prompt - used.cached);
                usage["prompt_tokens_details"] = details;
            }
            Kind::Moonshot => usage["cached_tokens"] = json!(used.cached),
            Kind::OpenAi | Kind::Azure => {
                usage["prompt_tokens_details"] =
                    json!({"cached_tokens": used.cached, "cache_write_tokens": used.written})
            }
            Kind::OpenRouterClaude | Kind::OpenRouterGemini => {
                usage["prompt_tokens_details"] =
                    json!({"cached_tokens": used.cached, "cache_write_tokens": used.written});
                usage["cost"] = json!(self.cost);
                usage["is_byok"] = json!(false);
                usage["cost_details"] = json!({"upstream_inference_cost": self.cost});
            }
            Kind::Qwen => {
                usage["prompt_tokens_details"] =
                    json!({"cached_tokens": used.cached, "cache_creation_input_tokens": used.written})
            }
            Kind::Xai => {
                usage["prompt_tokens_details"] = details;
                usage["cost_in_usd_ticks"] = json!((self.cost * 1e10).round());
            }
            Kind::Ollama | Kind::Generic | Kind::Vllm | Kind::Mistral => {}
            _ => usage["prompt_tokens_details"] = details,
        }
        if used.thought > 0 && self.kind != Kind::Generic {
            usage["completion_tokens_details"] = json!({"reasoning_tokens": used.thought});
        }
        usage
    }

    /// Puts the usage where the vendor puts it in a stream.
    pub(super) fn told_usage(&self, chunks: &mut Vec<Value>, told: bool) {
        let last = chunks.last_mut().unwrap();
        match self.kind {
            Kind::Moonshot => last["choices"][0]["usage"] = self.usage(),
            Kind::Groq => {
                last["x_groq"] = json!({"id": format!("req_{}", self.id), "usage": self.usage()});
            }
            Kind::Zai | Kind::Mistral | Kind::Gemini | Kind::Cerebras | Kind::DeepSeek | Kind::MiniMax => {
                last["usage"] = self.usage()
            }
            kind if told || kind.routes() => {
                let mut chunk = self.chunk(&json!({}), None);
                chunk["choices"] = json!([]);
                chunk["usage"] = self.usage();
                chunks.push(chunk);
            }
            _ => {}
        }
    }
}
