//! What each failed attempt means, in the words of those who have it.

use super::*;

fn status(status: u16, code: Option<&str>, message: &str) -> AttemptError {
    let api_error = ApiError { code: code.map(str::to_owned), ..ApiError::words(message) };
    AttemptError::Status { status, api_error: api_error.into(), retry_after: None }
}

fn retried(error: &AttemptError) -> bool {
    matches!(error.retry_decision(), RetryDecision::Retry { .. })
}

#[test]
fn statuses_that_pass_are_retried_and_others_not() {
    for passing in [408, 409, 429, 500, 502, 503, 529] {
        assert!(retried(&status(passing, None, "busy")), "{passing}");
    }
    for permanent in [301, 400, 401, 402, 403, 404, 413, 422] {
        assert!(!retried(&status(permanent, None, "no")), "{permanent}");
    }
}

#[test]
fn money_is_never_waited_for() {
    assert!(!retried(&status(429, Some("insufficient_quota"), "You exceeded your current quota")));
    let kind = ApiError { kind: Some("insufficient_quota".into()), ..ApiError::words("no") };
    assert!(!retried(&AttemptError::in_band(kind)));
}

#[test]
fn a_conversation_that_is_too_long_is_an_error_of_its_own() {
    for error in [
        status(400, Some("context_length_exceeded"), "no"),
        status(400, None, "This model's maximum context length is 8192 tokens."),
        status(413, None, "payload too large"),
        status(429, None, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000"),
        AttemptError::in_band(ApiError::words("prompt is too long: 9 > 8")),
    ] {
        assert!(!retried(&error), "{error}");
        let error = error.into_error("http://x");
        assert!(matches!(error, ProviderError::ContextLength { .. }), "{error}");
    }
    assert!(retried(&status(429, None, "too many tokens per minute")));
}

#[test]
fn an_error_inside_a_reply_passes_unless_its_code_says_otherwise() {
    let coded =
        |code: &str| AttemptError::in_band(ApiError { code: Some(code.to_owned()), ..ApiError::words("x") });
    assert!(retried(&coded("502")));
    assert!(retried(&coded("server_error")));
    assert!(!retried(&coded("401")));
    assert!(matches!(coded("401").into_error("u"), ProviderError::Refused { status: 200, .. }));
}

#[test]
fn a_generation_that_could_not_be_read_is_asked_for_again() {
    let api_error = ApiError { failed_generation: Some("<function=".into()), ..ApiError::words("failed") };
    assert!(retried(&AttemptError::Status { status: 400, api_error: api_error.into(), retry_after: None }));
}

/// How vendors and servers say that a conversation is too long: the status and the words.
const TOO_LONG: &[(u16, &str)] = &[
    (400, "prompt is too long: 213462 tokens > 200000 maximum"),
    (413, "Request exceeds the maximum size"),
    (400, "Your input exceeds the context window of this model"),
    (400, "Requested token count exceeds the model's maximum context length of 131072 tokens"),
    (400, "litellm.ContextWindowExceededError: ... Context Window exceeded for given call."),
    (400, "Input length (265330) exceeds model's maximum context length (262144)."),
    (400, "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)"),
    (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens"),
    (400, "Please reduce the length of the messages or completion"),
    (400, "This endpoint's maximum context length is 4096 tokens. However, you requested about 5000 tokens"),
    (400, "Input length 5000 exceeds the maximum allowed input length of 4096 tokens."),
    (400, "The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
    (400, "the request exceeds the available context size, try increasing it"),
    (400, "tokens to keep from the initial prompt is greater than the context length"),
    (400, "prompt token count of 5000 exceeds the limit of 4096"),
    (413, "failed to parse request"),
    (400, "invalid params, context window exceeds limit"),
    (400, "Your request exceeded model token limit: 4096 (requested: 5000)"),
    (400, "Prompt has 5000 tokens, but the configured context size is 4096 tokens"),
    (400, "Prompt contains 5000 tokens, too large for model with 4096 maximum context length"),
    (400, "Prompt too long"),
    (400, "Prompt exceeds max length"),
    (400, "model_context_window_exceeded"),
    (400, "Range of input length should be [1, 4096]"),
    (400, "prompt too long; exceeded max context length by 904 tokens"),
    (400, "input is too long for requested model."),
    (400, "context_length_exceeded"),
    (400, "token limit exceeded"),
    (400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"),
];

#[test]
fn every_vendors_words_for_too_long_are_understood() {
    for (code, words) in TOO_LONG {
        let error = status(*code, None, words).into_error("http://x");
        assert!(matches!(error, ProviderError::ContextLength { .. }), "{words}");
    }
    for words in [
        "ThrottlingException: Too many tokens, please wait before trying again.",
        "Rate limit reached: the input token count per minute exceeds the limit of 30000",
        "image exceeds the limit of 5 MB",
    ] {
        let error = status(400, None, words).into_error("http://x");
        assert!(matches!(error, ProviderError::Refused { .. }), "{words}");
    }
    let bare = status(400, None, NO_WORDS);
    assert!(matches!(bare.clone().into_error("u"), ProviderError::Refused { .. }));
    assert!(matches!(bare.with_overflow_named().into_error("u"), ProviderError::ContextLength { .. }));
}

#[test]
fn money_is_not_waited_for() {
    let coded = |code: &str| {
        let api_error = ApiError { code: Some(code.into()), ..ApiError::words("no") };
        AttemptError::Status {
            status: 429,
            api_error: api_error.into(),
            retry_after: Some(Duration::from_secs(1)),
        }
    };
    let said = |code, words: &str| status(code, None, words);
    for error in [
        coded("insufficient_quota"),
        coded("1308"),
        coded("GoUsageLimitError"),
        said(400, "Your credit balance is too low to access the Anthropic API."),
        said(402, "Insufficient Balance"),
        said(429, "You exceeded your current quota, please check your plan and billing details."),
    ] {
        assert!(!retried(&error), "{error}");
        let error = error.into_error("http://x");
        assert!(matches!(error, ProviderError::NoCredit { .. }), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("credit")));
    }
    assert!(retried(&coded("rate_limit_exceeded")));
    let words = "You exceeded your current quota, please check your plan and billing details.";
    let api_error = ApiError { retry_delay: Some(Duration::from_secs(26)), ..ApiError::words(words) };
    assert!(retried(&AttemptError::Status { status: 429, api_error: api_error.into(), retry_after: None }));
}

#[test]
fn the_endpoints_own_word_decides_over_its_status() {
    let with = |code: u16, should_retry| {
        let api_error = ApiError { should_retry: Some(should_retry), ..ApiError::words("no") };
        AttemptError::Status { status: code, api_error: api_error.into(), retry_after: None }
    };
    assert!(retried(&with(400, true)) && !retried(&with(503, false)) && !retried(&with(429, false)));
}

#[test]
fn the_id_of_a_request_is_in_every_error() {
    let id = || Some("req_1".to_owned());
    for error in [
        status(400, None, "no"),
        AttemptError::in_band(ApiError::words("no")),
        AttemptError::Cut { reason: "no".into() },
        AttemptError::Malformed { reason: "no".into() },
    ] {
        let error = error.with_request_id(id());
        assert!(error.to_string().ends_with("no (request req_1)"), "{error}");
    }
    let told = ApiError { request_id: Some("req_0".into()), ..ApiError::words("no") };
    let error = AttemptError::in_band(told).with_request_id(id());
    assert_eq!(error.into_error("u").to_string(), "the endpoint u answered 200: no (request req_0)");
}
