//! What each refusal teaches, in the words that vendors use.

use serde_json::json;

use super::*;

/// What is learnt of a refusal with this status and message, on an endpoint with that dialect, of these fields.
fn learnt(dialect: &str, status: u16, message: &str, fields: &serde_json::Value) -> Option<Quirk> {
    let dialect = Dialect::named(dialect).unwrap();
    let mut sent = Fields::default();
    sent.merge(fields.as_object().unwrap());
    let refused = RefusedRequest {
        wire: dialect.wire,
        wire_is_set: false,
        dialect: &dialect,
        model: &ModelFacts::default(),
        streamed: true,
        fields: &sent,
    };
    refused.quirk(&AttemptError::Status {
        status,
        api_error: ApiError::words(message).into(),
        retry_after: None,
    })
}

#[test]
fn a_field_that_was_sent_and_is_named_is_left_out() {
    let sent = json!({
        "temperature": 0.5, "reasoning_effort": "low", "reasoning": {"effort": "low", "summary": "auto"},
        "stream_options": {}, "tool_choice": "none", "prompt_cache_key": "k", "response_format": {},
    });
    for (message, field) in [
        ("Unsupported value: 'temperature' does not support 0.5 with this model.", "temperature"),
        ("invalid temperature: only 1 is allowed for this model", "temperature"),
        ("Unsupported parameter: 'reasoning.summary'", "reasoning.summary"),
        ("Unknown parameter: 'reasoning.effort'.", "reasoning.effort"),
        ("unknown field stream_options", "stream_options"),
        ("tool_choice: value is not supported", "tool_choice"),
        ("Unrecognized request argument supplied: prompt_cache_key", "prompt_cache_key"),
        ("'response_format.type' : value is not one of the allowed values", "response_format"),
    ] {
        assert_eq!(learnt("generic", 400, message, &sent), Some(Quirk::Omit(field.into())), "{message}");
        assert_eq!(learnt("generic", 400, message, &json!({})), None, "it was not sent: {message}");
    }
    let gateway = "openai does not support parameters: ['reasoning_effort'], for model=m.";
    let responses = json!({"reasoning": {"effort": "low"}});
    assert_eq!(learnt("openai", 400, gateway, &responses), Some(Quirk::Omit("reasoning".into())));
    let messages = json!({"output_config": {"effort": "low"}});
    assert_eq!(learnt("anthropic", 400, gateway, &messages), Some(Quirk::Omit("output_config".into())));
    assert_eq!(learnt("generic", 400, "the mytemperature is odd", &sent), None);
    let plain = "Item 'rs_1' of type 'reasoning' was provided without its required following item.";
    assert_eq!(learnt("openai", 400, plain, &sent), Some(Quirk::NoNative));
    assert_eq!(learnt("generic", 400, "please include a reasoning", &sent), None, "words of plain English");
    assert_eq!(learnt("generic", 500, "temperature", &sent), None);
}

#[test]
fn the_field_may_be_named_beside_the_words() {
    let (dialect, mut sent) = (Dialect::named("openai").unwrap(), Fields::default());
    sent.push("reasoning", &json!({"effort": "low", "summary": "auto"}));
    let refused = RefusedRequest {
        wire: Wire::Responses,
        wire_is_set: false,
        dialect: &dialect,
        model: &ModelFacts::default(),
        streamed: true,
        fields: &sent,
    };
    let words = "Your organization must be verified to generate reasoning summaries.";
    let api_error = ApiError { param: Some("reasoning.summary".into()), ..ApiError::words(words) };
    let error = AttemptError::Status { status: 400, api_error: api_error.into(), retry_after: None };
    assert_eq!(refused.quirk(&error), Some(Quirk::Omit("reasoning.summary".into())));
}

#[test]
fn another_wire_is_taken_where_a_refusal_names_it() {
    let none = json!({});
    let tools = "Function tools with reasoning_effort are not supported for gpt-6-sol in /v1/chat/completions. To use \
                 function tools, use /v1/responses or set reasoning_effort to 'none'.";
    let only = "This model is only supported in v1/responses and not in v1/chat/completions.";
    for (status, message) in [(400, tools), (404, only)] {
        assert_eq!(learnt("generic", status, message, &none), Some(Quirk::Wire(Wire::Responses)));
    }
    assert_eq!(learnt("openai", 404, "no such route: /responses", &none), Some(Quirk::Wire(Wire::Chat)));
    assert_eq!(learnt("openai", 405, "Method Not Allowed", &none), Some(Quirk::Wire(Wire::Chat)));
    assert_eq!(learnt("openai", 404, "The model `gpt-7` does not exist", &none), None);
    assert_eq!(learnt("generic", 404, "page not found", &none), None);
}

#[test]
fn a_wire_that_is_set_is_kept() {
    let (dialect, fields) = (Dialect::named("openai").unwrap(), Fields::default());
    let refused = RefusedRequest {
        wire: Wire::Responses,
        wire_is_set: true,
        dialect: &dialect,
        model: &ModelFacts::default(),
        streamed: true,
        fields: &fields,
    };
    let api_error = ApiError::words("page not found");
    assert_eq!(
        refused.quirk(&AttemptError::Status { status: 404, api_error: api_error.into(), retry_after: None }),
        None
    );
}

#[test]
fn what_must_go_back_is_learnt_from_its_lack_and_what_must_not_from_its_presence() {
    let none = json!({});
    let missing = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    let echo = Quirk::Echo(ReasoningField::ReasoningContent);
    assert_eq!(learnt("generic", 400, missing, &none), Some(echo));
    assert_eq!(learnt("deepseek", 400, missing, &none), Some(Quirk::Blank));
    let other = "Missing `reasoning` field in the assistant message";
    assert_eq!(learnt("generic", 400, other, &none), Some(Quirk::Echo(ReasoningField::Reasoning)));
    let unknown = "'messages.2' : for 'role:assistant' the following must be satisfied: property 'reasoning_content' is unsupported";
    assert_eq!(learnt("deepseek", 400, unknown, &none), Some(Quirk::NoEcho));
    assert_eq!(learnt("generic", 400, unknown, &none), None, "it was not sent");
    let signature = "Function call is missing a thought_signature in functionCall parts.";
    assert_eq!(learnt("generic", 400, signature, &none), Some(Quirk::Signatures));
    assert_eq!(learnt("google", 400, signature, &none), None, "it was sent");
    let details = "Extra inputs are not permitted: messages.3.reasoning_details";
    assert_eq!(learnt("openrouter", 422, details, &none), Some(Quirk::NoNative));
    let encrypted = "The encrypted content gAAA...x== could not be verified. Reason: Encrypted content could not be decrypted or parsed.";
    assert_eq!(learnt("openai", 400, encrypted, &none), Some(Quirk::NoNative));
    let signed = "messages.1.content.0: Invalid `signature` in `thinking` block";
    assert_eq!(learnt("anthropic", 400, signed, &none), Some(Quirk::NoNative));
    let marks = "tools.3.cache_control: Extra inputs are not permitted";
    assert_eq!(learnt("messages", 400, marks, &none), Some(Quirk::NoMarks));
    let developer = "Unexpected role: 'developer'";
    assert_eq!(learnt("xai", 422, developer, &none), Some(Quirk::SystemRole));
}

#[test]
fn thinking_and_limits_are_learnt_on_the_wire_that_has_them() {
    let none = json!({});
    let limit =
        "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-opus-4-5";
    let sent = json!({"max_tokens": 64_001});
    assert_eq!(learnt("anthropic", 400, limit, &sent), Some(Quirk::OutputLimit(64_000)));
    assert_eq!(learnt("anthropic", 400, limit, &none), None, "it was not sent");
    assert_eq!(learnt("generic", 400, limit, &sent), None);
    let other = "max_tokens must be greater than thinking.budget_tokens: 32000, and your request has 300 input tokens";
    assert_eq!(learnt("anthropic", 400, other, &json!({"max_tokens": 32_000})), None);
    let window = "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000";
    assert_eq!(learnt("anthropic", 400, window, &none), None, "it is the prompt that is too long");
    let disabled = "\"thinking.type.disabled\" is not supported for this model.";
    let sent = json!({"thinking": {"type": "disabled"}});
    assert_eq!(learnt("anthropic", 400, disabled, &sent), Some(Quirk::Omit("thinking".into())));
    let adaptive = "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\"";
    assert_eq!(learnt("anthropic", 400, adaptive, &none), Some(Quirk::Adaptive));
    let binding = "thinking.block_binding: Extra inputs are not permitted";
    assert_eq!(learnt("anthropic", 400, binding, &none), Some(Quirk::Bound));
    let prefix = "messages.3.content.0: the signature of this thinking block does not match the prefix of the conversation";
    assert_eq!(learnt("messages", 400, prefix, &none), Some(Quirk::Bound));
}

#[test]
fn streaming_is_given_up_where_it_is_refused() {
    let message = "Unsupported value: 'stream' does not support true with this model.";
    assert_eq!(learnt("generic", 400, message, &json!({"stream": true})), Some(Quirk::Whole));
}

#[test]
fn every_quirk_can_be_kept_and_applied() {
    let quirks = [
        Quirk::Wire(Wire::Messages),
        Quirk::Whole,
        Quirk::Omit("reasoning.summary".into()),
        Quirk::Echo(ReasoningField::Reasoning),
        Quirk::Blank,
        Quirk::NoEcho,
        Quirk::NoNative,
        Quirk::Signatures,
        Quirk::NoMarks,
        Quirk::OutputLimit(8192),
        Quirk::Adaptive,
        Quirk::Budget,
        Quirk::Bound,
        Quirk::SystemRole,
    ];
    for quirk in &quirks {
        assert_eq!(quirk.to_string().parse().as_ref(), Ok(quirk));
        assert!(quirk.meaning().ends_with("from here on"), "{}", quirk.meaning());
    }
    let (mut dialect, mut model) = (Dialect::named("deepseek").unwrap(), ModelFacts::default());
    quirks.iter().for_each(|quirk| quirk.apply(&mut dialect, &mut model));
    assert_eq!((dialect.wire, dialect.blank, dialect.signatures), (Wire::Messages, " ", true));
    assert_eq!((dialect.echo, dialect.echoes_native, dialect.cache), (Echo::Never, false, Cache::None));
    assert_eq!((dialect.reasoning_field, dialect.developer_role), (ReasoningField::Reasoning, false));
    assert_eq!((dialect.drops_unbound, model.binds_prefix, model.adaptive_thinking), (false, true, false));
    assert_eq!(model.output_limit, Some(8192));
    for unknown in ["", "omit=model", "omit=messages", "wire=telex", "quirk-of-tomorrow"] {
        assert_eq!(unknown.parse::<Quirk>(), Err(()), "{unknown}");
    }
}
