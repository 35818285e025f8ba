//! The rules of the vendors of Chat Completions, as a table: each is checked for every vendor and looks only at those
//! it is the rule of.

#[path = "rules/echo.rs"]
mod echo;
#[path = "rules/fields.rs"]
mod fields;

use serde_json::Value;

use super::State;
use super::http::Head;
use super::mode::{Kind, Mode};
use super::refusal::{Checked, refuse};

/// A request for a chat completion.
pub(super) struct Chat<'a> {
    pub(super) mode: &'a Mode,
    pub(super) body: &'a Value,
    pub(super) messages: &'a [Value],
    pub(super) state: &'a State,
}

type Rule = fn(&Chat) -> Checked;

const RULES: &[Rule] = &[
    fields::body,
    fields::roles,
    fields::messages,
    fields::ids_and_arguments,
    sampling,
    no_reasoning_with_tools,
    choice,
    marks,
    answered,
    called,
    order,
    echo::thoughts,
    echo::details,
    echo::signatures,
];

/// Checks a request; gives its messages.
pub(super) fn check<'a>(
    head: &Head<'a>,
    body: &'a Value,
    state: &State,
) -> Result<&'a [Value], super::Refusal> {
    let missing = |name: &str| {
        let refusal = refuse(format!("you must provide a {name} parameter"));
        if head.mode.kind == Kind::OpenAi { refusal } else { refusal.param(name) }
    };
    if !body["model"].is_string() {
        return Err(missing("model"));
    }
    let messages =
        body["messages"].as_array().filter(|all| !all.is_empty()).ok_or_else(|| missing("messages"))?;
    let chat = Chat { mode: head.mode, body, messages, state };
    RULES.iter().try_for_each(|rule| rule(&chat))?;
    Ok(messages)
}

pub(super) fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or("")
}

/// The calls of a message.
pub(super) fn calls(message: &Value) -> &[Value] {
    message["tool_calls"].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn id(call: &Value) -> &str {
    call["id"].as_str().unwrap_or("")
}

/// Messages of the model, with their places.
fn replies<'a>(chat: &Chat<'a>) -> impl Iterator<Item = (usize, &'a Value)> {
    chat.messages.iter().enumerate().filter(|(_, message)| role(message) == "assistant")
}

/// Where the current turn begins: after the last message of the user.
fn turn_begins(chat: &Chat) -> usize {
    chat.messages.iter().rposition(|message| role(message) == "user").map_or(0, |at| at + 1)
}

fn has_tools(chat: &Chat) -> bool {
    chat.body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
}

/// Temperatures and limits that reasoning models do not take.
fn sampling(chat: &Chat) -> Checked {
    let temperature = &chat.body["temperature"];
    let other = temperature.as_f64().is_some_and(|value| (value - 1.0).abs() > f64::EPSILON);
    match chat.mode.kind {
        Kind::OpenAi | Kind::Azure => {
            if !chat.body["max_tokens"].is_null() {
                let words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
                return Err(refuse(words).param("max_tokens").code("unsupported_parameter"));
            }
            if other {
                let words = format!(
                    "Unsupported value: 'temperature' does not support {temperature} with this model. Only the default (1) value is supported."
                );
                return Err(refuse(words).param("temperature").code("unsupported_value"));
            }
            if !chat.body["stop"].is_null() {
                let words = "Unsupported parameter: 'stop' is not supported with this model.";
                return Err(refuse(words).param("stop").code("unsupported_parameter"));
            }
        }
        Kind::Moonshot if other => {
            return Err(refuse("invalid temperature: only 1 is allowed for this model"));
        }
        Kind::Xai => {
            for (field, name) in [
                ("stop", "stop"),
                ("frequency_penalty", "frequencyPenalty"),
                ("presence_penalty", "presencePenalty"),
            ] {
                if !chat.body[field].is_null() {
                    return Err(refuse(format!(
                        "Model {} does not support parameter {name}.",
                        chat.mode.model
                    )));
                }
            }
        }
        Kind::Gemini => {
            let effort = chat.body["reasoning_effort"].as_str();
            if let Some(effort) =
                effort.filter(|effort| !["minimal", "low", "medium", "high"].contains(effort))
            {
                return Err(refuse(format!("Invalid reasoning_effort: {effort}.")));
            }
        }
        _ => {}
    }
    Ok(())
}

/// OpenAI's current models think unless they are told not to, and do not call functions on this path while they think.
fn no_reasoning_with_tools(chat: &Chat) -> Checked {
    if !matches!(chat.mode.kind, Kind::OpenAi | Kind::Azure) {
        return Ok(());
    }
    let model = chat.body["model"].as_str().unwrap();
    let off = chat.body["reasoning_effort"] == "none";
    if off && (model.contains("astra") || model.contains("pro") || model.contains("gpt-6.1")) {
        let words = "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'low', 'medium', 'high', and 'xhigh'.";
        return Err(refuse(words).param("reasoning_effort").code("unsupported_value"));
    }
    if has_tools(chat) && !off {
        let words = format!(
            "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        );
        return Err(refuse(words).param("reasoning_effort"));
    }
    Ok(())
}

fn choice(chat: &Chat) -> Checked {
    let choice = &chat.body["tool_choice"];
    if choice.is_null() {
        return Ok(());
    }
    if chat.mode.kind == Kind::Moonshot && choice == "required" {
        return Err(refuse("tool_choice 'required' is incompatible with thinking enabled"));
    }
    if chat.mode.only_auto && choice != "auto" {
        return Err(refuse("tool_choice: only 'auto' is supported"));
    }
    if matches!(chat.mode.kind, Kind::OpenAi | Kind::Azure) && !has_tools(chat) {
        return Err(refuse("'tool_choice' is only allowed when 'tools' are specified.").param("tool_choice"));
    }
    Ok(())
}

/// How many marks a cache with marks takes.
fn marks(chat: &Chat) -> Checked {
    let found = chat.body.to_string().matches("\"cache_control\":{").count();
    match chat.mode.kind {
        Kind::OpenRouterClaude | Kind::Qwen if found > 4 => {
            Err(refuse(format!("A maximum of 4 blocks with cache_control may be provided. Found {found}.")))
        }
        Kind::OpenAi | Kind::Azure | Kind::Groq | Kind::Cerebras | Kind::Mistral | Kind::Generic
            if found > 0 =>
        {
            Err(refuse("Unknown parameter: 'cache_control'.")
                .param("cache_control")
                .code("unknown_parameter"))
        }
        _ => Ok(()),
    }
}

/// Every call is answered before anybody says something else.
fn answered(chat: &Chat) -> Checked {
    for (at, message) in replies(chat) {
        let results = chat.messages[at + 1..].iter().take_while(|message| role(message) == "tool");
        let results: Vec<&str> = results.filter_map(|message| message["tool_call_id"].as_str()).collect();
        let open: Vec<&str> = calls(message).iter().map(id).filter(|id| !results.contains(id)).collect();
        if open.is_empty() {
            continue;
        }
        let open = open.join(", ");
        return Err(match chat.mode.kind {
            Kind::Mistral => refuse("Not the same number of function calls and responses").code("3230"),
            Kind::OpenRouterClaude => refuse(format!("messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {open}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.")),
            Kind::Gemini | Kind::OpenRouterGemini => refuse("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."),
            _ => refuse(format!("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {open}")).param(format!("messages.[{}].role", at + 1)),
        });
    }
    Ok(())
}

/// Every result answers a call of the message before.
fn called(chat: &Chat) -> Checked {
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in chat.messages.iter().enumerate() {
        match role(message) {
            "assistant" => open = calls(message).iter().map(id).collect(),
            "tool" => {
                let of = message["tool_call_id"].as_str().unwrap_or("");
                let Some(place) = open.iter().position(|id| *id == of) else {
                    return Err(unasked(chat.mode.kind, at, of));
                };
                open.remove(place);
            }
            _ => open.clear(),
        }
    }
    Ok(())
}

fn unasked(kind: Kind, at: usize, of: &str) -> super::Refusal {
    match kind {
        Kind::Mistral => refuse(format!("Unexpected tool call id {of} in tool results")).code("3230"),
        Kind::MiniMax => refuse(format!("invalid params, tool result's tool id({of}) not found (2013)")),
        Kind::Moonshot => refuse(format!("Invalid request: tool_call_id {of} is not found")),
        _ => {
            let words = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
            refuse(words).param(format!("messages.[{at}].role"))
        }
    }
}

/// Who may speak after whom.
fn order(chat: &Chat) -> Checked {
    if chat.mode.kind != Kind::Mistral {
        return Ok(());
    }
    let last = role(chat.messages.last().unwrap());
    if last == "assistant" {
        let words =
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant";
        return Err(refuse(words).code("3230"));
    }
    let pairs = chat.messages.windows(2).map(|pair| (role(&pair[0]), role(&pair[1])));
    match pairs.into_iter().find(|pair| *pair == ("tool", "user")) {
        Some(_) if chat.mode.ordered => Err(refuse("Unexpected role 'user' after role 'tool'").code("3230")),
        _ => Ok(()),
    }
}
