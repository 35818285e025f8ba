//! Refusals: the words of each, and the shape that a vendor gives them.

use serde_json::{Value, json};

use super::http::{Answer, Asked, event};
use super::mode::{Kind, Mode};

/// Why a request is not answered.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) message: String,
    pub(super) param: Box<Value>,
    pub(super) code: Box<Value>,
    /// More fields of the error.
    more: Vec<(&'static str, Value)>,
    /// No body at all.
    empty: bool,
}

/// What most checks give.
pub(super) type Checked = Result<(), Refusal>;

/// The refusal of a request that breaks a rule.
pub(super) fn refuse(message: impl AsRef<str>) -> Refusal {
    Refusal::new(400, message.as_ref())
}

impl Refusal {
    pub(super) fn new(status: u16, message: &str) -> Refusal {
        let (param, code) = (Box::new(Value::Null), Box::new(Value::Null));
        Refusal { status, message: message.to_owned(), param, code, more: Vec::new(), empty: false }
    }

    pub(super) fn param(self, param: impl AsRef<str>) -> Refusal {
        Refusal { param: Box::new(json!(param.as_ref())), ..self }
    }

    pub(super) fn code(self, code: &str) -> Refusal {
        Refusal { code: Box::new(json!(code)), ..self }
    }

    pub(super) fn more(mut self, name: &'static str, value: Value) -> Refusal {
        self.more.push((name, value));
        self
    }

    pub(super) fn no_such_path(mode: &Mode, method: &str, path: &str) -> Refusal {
        let words = match mode.kind {
            Kind::OpenAi => format!("Invalid URL ({method} {path})"),
            kind if kind.is_anthropic() => "Not found".to_owned(),
            Kind::Groq => format!(
                "Unknown request URL: {method} {path}. Please check the URL for typos, or see the docs at https://console.groq.com/docs/"
            ),
            _ => "Not Found".to_owned(),
        };
        Refusal::new(404, &words)
    }

    /// The prompt has too many tokens.
    pub(super) fn too_long(mode: &Mode, tokens: u64, window: u64) -> Refusal {
        let words = mode.too_long.as_deref().unwrap_or(mode.kind.facts().overflow);
        let words = words.replace("{n}", &tokens.to_string()).replace("{window}", &window.to_string());
        let refusal = Refusal { empty: words.is_empty(), ..refuse(words) };
        match mode.kind {
            Kind::OpenAi | Kind::Azure => refusal.param("input").code("context_length_exceeded"),
            Kind::Groq => refusal.param("messages").code("context_length_exceeded"),
            Kind::Zai => refusal.code("1261"),
            Kind::Qwen => refusal.code("invalid_parameter_error"),
            Kind::Mistral => refusal.code("3051"),
            _ => refusal,
        }
    }

    pub(super) fn answer(&self, mode: &Mode, id: &str) -> Answer {
        let body = if self.empty { String::new() } else { self.body(mode, id).to_string() };
        let refusal = if self.empty { format!("{} (no body)", self.status) } else { self.message.clone() };
        let answer = Answer { status: self.status, body, refusal: Some(refusal), ..Answer::default() };
        match (mode.kind, self.status) {
            (Kind::OpenAi | Kind::Azure, 400..=404) => answer.with("x-should-retry", "false"),
            (kind, 400..=404) if kind.is_anthropic() => answer.with("x-should-retry", "false"),
            _ => answer,
        }
    }

    fn body(&self, mode: &Mode, id: &str) -> Value {
        let Refusal { status, message, param, code, .. } = self;
        let fields = match mode.kind {
            kind if kind.sends_messages() => {
                return json!({"type": "error", "error": {"type": anthropic_type(*status), "message": message}, "request_id": format!("req_01{id}")});
            }
            Kind::Gemini => return self.google(),
            Kind::OpenRouterClaude | Kind::OpenRouterGemini => return self.routed(mode.kind),
            Kind::Xai => return json!({"code": xai_code(*status), "error": message}),
            Kind::Zai => {
                let code = if code.is_null() { json!("1210") } else { (**code).clone() };
                return json!({"error": {"code": code, "message": message}});
            }
            Kind::MiniMax => {
                let http_code = status.to_string();
                return json!({"type": "error", "error": {"type": "bad_request_error", "message": message, "http_code": http_code}, "request_id": id});
            }
            Kind::Cerebras => {
                return json!({"message": message, "type": openai_type(*status), "param": param, "code": code});
            }
            Kind::Mistral => return self.mistral(),
            Kind::Vllm => {
                json!({"message": message, "type": "BadRequestError", "param": param, "code": status})
            }
            Kind::Groq if code.is_null() => json!({"message": message, "type": openai_type(*status)}),
            Kind::Moonshot => json!({"message": message, "type": openai_type(*status)}),
            Kind::DeepSeek => {
                json!({"message": message, "type": openai_type(*status), "param": param, "code": openai_type(*status)})
            }
            _ => json!({"message": message, "type": openai_type(*status), "param": param, "code": code}),
        };
        let mut body = json!({"error": fields});
        for (name, value) in &self.more {
            body["error"][*name] = value.clone();
        }
        body
    }

    /// An array of one error, as only Google has it.
    fn google(&self) -> Value {
        let status = match self.status {
            401 => "UNAUTHENTICATED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            _ => "INVALID_ARGUMENT",
        };
        let mut error = json!({"code": self.status, "message": self.message, "status": status});
        if self.status == 429 {
            error["details"] =
                json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}]);
        }
        json!([{"error": error}])
    }

    /// Errors from behind a router are wrapped, the ones of the router are not.
    fn routed(&self, kind: Kind) -> Value {
        if self.status != 400 || self.message.starts_with("This endpoint's") {
            return json!({"error": {"message": self.message, "code": self.status}, "user_id": "user_2xAmple"});
        }
        let (name, raw) = match kind {
            Kind::OpenRouterClaude => {
                let error = json!({"type": "invalid_request_error", "message": self.message});
                ("Anthropic", json!({"type": "error", "error": error}))
            }
            _ => ("Google AI Studio", self.google()[0].clone()),
        };
        let metadata = json!({"raw": raw.to_string(), "provider_name": name, "is_byok": false});
        json!({"error": {"message": "Provider returned error", "code": 400, "metadata": metadata}, "user_id": "user_2xAmple"})
    }

    fn mistral(&self) -> Value {
        let message =
            self.more.first().map_or_else(|| json!(self.message), |(_, detail)| json!({"detail": detail}));
        let kind = match self.code.as_str() {
            _ if self.status == 422 => "invalid_request_error",
            Some("3230") => "invalid_request_message_order",
            Some("3280") => "invalid_function_call",
            _ => "invalid_request_invalid_args",
        };
        json!({"object": "error", "message": message, "type": kind, "param": self.param, "code": self.code, "raw_status_code": self.status})
    }
}

fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

fn openai_type(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_exceeded",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

fn xai_code(status: u16) -> &'static str {
    match status {
        401 => "The caller does not have valid authentication credentials for the operation",
        429 => "Some resource has been exhausted",
        500.. => "The service is currently unavailable",
        _ => "Client specified an invalid argument",
    }
}

/// The key stands where the vendor looks for it.
pub(super) fn key(mode: &Mode, asked: &Asked) -> Checked {
    let bearer = asked.header("authorization").is_some_and(|value| value.len() > "Bearer ".len());
    let other = |name| asked.header(name).is_some_and(|value| !value.is_empty());
    let words = match mode.kind {
        Kind::Ollama | Kind::Vllm | Kind::Generic => return Ok(()),
        kind if kind.is_anthropic() => {
            if asked.header("anthropic-version").is_none() {
                return Err(refuse("anthropic-version: header is required"));
            }
            if other("x-api-key") {
                return Ok(());
            }
            "x-api-key header is required"
        }
        kind if bearer
            || kind.sends_messages() && other("x-api-key")
            || kind == Kind::Azure && other("api-key") =>
        {
            return Ok(());
        }
        Kind::OpenAi => {
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
        }
        Kind::Azure => {
            "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."
        }
        Kind::Gemini => "Missing or invalid Authorization header.",
        Kind::OpenRouterClaude | Kind::OpenRouterGemini => "No auth credentials found",
        _ => "Unauthorized",
    };
    Err(Refusal::new(401, words))
}

/// An error in the middle of a stream.
pub(super) fn in_stream(mode: &Mode) -> String {
    let words = "The server had an error while processing your request. Sorry about that!";
    match mode.kind {
        kind if kind.sends_messages() => {
            let error = json!({"type": "overloaded_error", "message": "Overloaded"});
            event(Some("error"), &json!({"type": "error", "error": error}))
        }
        kind if kind.responds() => {
            let error =
                json!({"type": "server_error", "code": "server_error", "message": words, "param": null});
            event(Some("error"), &json!({"type": "error", "error": error, "sequence_number": 9}))
        }
        kind if kind.routes() => {
            let choices = json!([{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]);
            let error = json!({"code": 502, "message": "Upstream error"});
            event(
                None,
                &json!({"id": "gen-1", "object": "chat.completion.chunk", "error": error, "choices": choices}),
            )
        }
        _ => event(None, &json!({"error": {"message": words, "type": "server_error", "code": 500}})),
    }
}
