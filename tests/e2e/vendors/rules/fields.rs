//! Which fields, roles and ids are taken.

use serde_json::{Value, json};

use super::super::Refusal;
use super::super::mode::{Fields, Kind};
use super::super::refusal::{Checked, refuse};
use super::{Chat, calls, id, role};

/// What Chat Completions has had from the beginning, and tools.
const OLDEST: &[&str] = &[
    "model",
    "messages",
    "temperature",
    "top_p",
    "n",
    "stream",
    "stop",
    "max_tokens",
    "presence_penalty",
    "frequency_penalty",
    "user",
    "tools",
    "tool_choice",
];

/// The first name that is not known.
fn unknown<'v>(chat: &Chat, value: &'v Value, known: &[&str], more: Fields) -> Option<&'v str> {
    let Fields::Only(more) = more else { return None };
    let names = value.as_object()?.keys().map(String::as_str);
    names.into_iter().find(|name| {
        !known.contains(name) && !more.contains(name) && !chat.mode.also.iter().any(|also| also == name)
    })
}

/// The refusal of a field that is not known; `place` is empty for the body itself.
fn refused(chat: &Chat, place: &[Value], name: &str, value: &Value) -> Refusal {
    let path: Vec<String> =
        place.iter().map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned)).collect();
    let dotted = [path.join("."), name.to_owned()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(".");
    match chat.mode.kind {
        Kind::Groq if path.is_empty() => refuse(format!("property '{name}' is unsupported")),
        Kind::Groq => {
            let message = format!("messages.{}", path[1]);
            refuse(format!(
                "'{message}' : for 'role:{}' the following must be satisfied[('{message}' : property '{name}' is unsupported)]",
                path[2]
            ))
        }
        Kind::Cerebras => {
            let words = format!("{dotted}: property '{dotted}' is unsupported");
            refuse(words).param("validation_error").code("wrong_api_format")
        }
        Kind::Mistral => {
            let loc = [&[json!("body")], place, &[json!(name)]].concat();
            let words = "Extra inputs are not permitted";
            let detail = json!([{"type": "extra_forbidden", "loc": loc, "msg": words, "input": value}]);
            Refusal::new(422, &format!("{words}: {dotted}")).more("detail", detail)
        }
        Kind::Generic => refuse(format!("Unrecognized request argument supplied: {name}")),
        _ => {
            let named =
                dotted.replace(".assistant", "").replace("messages.", "messages[").replacen('.', "].", 1);
            let named = if path.is_empty() { name.to_owned() } else { named };
            refuse(format!("Unknown parameter: '{named}'.")).param(named).code("unknown_parameter")
        }
    }
}

pub(super) fn body(chat: &Chat) -> Checked {
    match unknown(chat, chat.body, OLDEST, chat.mode.kind.facts().body) {
        Some(name) => Err(refused(chat, &[], name, &chat.body[name])),
        None => Ok(()),
    }
}

pub(super) fn roles(chat: &Chat) -> Checked {
    for (at, message) in chat.messages.iter().enumerate() {
        let developer =
            matches!(chat.mode.kind, Kind::OpenAi | Kind::Azure | Kind::Xai | Kind::Vllm | Kind::Groq)
                || chat.mode.kind.routes();
        let known = match role(message) {
            "developer" => developer,
            role => ["system", "user", "assistant", "tool"].contains(&role),
        };
        if !known {
            let role = role(message);
            return Err(refuse(format!(
                "{role} is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.{at}.role'"
            )));
        }
        if role(message) == "assistant"
            && calls(message).is_empty()
            && super::super::script::text_of(&message["content"]).is_empty()
        {
            return Err(match chat.mode.kind {
                Kind::Moonshot => refuse(format!(
                    "Invalid request: the message at position {at} with role 'assistant' must not be empty"
                )),
                Kind::Mistral => {
                    refuse("Assistant message must have either content or tool_calls, but not none.")
                        .code("3240")
                }
                Kind::DeepSeek => refuse("Invalid assistant message: content or tool_calls must be set"),
                Kind::OpenAi | Kind::Azure => {
                    refuse("Invalid value for 'content': expected a string, got null.")
                        .param(format!("messages.[{at}].content"))
                }
                _ => continue,
            });
        }
    }
    Ok(())
}

/// The fields of each message, and of its calls.
pub(super) fn messages(chat: &Chat) -> Checked {
    let more = chat.mode.kind.facts().message;
    for (at, message) in chat.messages.iter().enumerate() {
        let role = role(message);
        let place = [json!("messages"), json!(at), json!(role)];
        let known: &[&str] = match role {
            "assistant" => &["role", "content", "name", "tool_calls"],
            "tool" => &["role", "content", "name", "tool_call_id"],
            _ => &["role", "content", "name"],
        };
        let more = match (role, more) {
            ("assistant", more) | (_, more @ Fields::Any) => more,
            _ => Fields::Only(&[]),
        };
        if let Some(name) = unknown(chat, message, known, more) {
            return Err(refused(chat, &place, name, &message[name]));
        }
        for call in calls(message) {
            let more = if matches!(more, Fields::Any) { more } else { Fields::Only(&["index"]) };
            if let Some(name) = unknown(chat, call, &["id", "type", "function"], more) {
                return Err(refused(chat, &place, &format!("tool_calls.{name}"), &call[name]));
            }
        }
    }
    Ok(())
}

/// The ids and arguments of calls.
pub(super) fn ids_and_arguments(chat: &Chat) -> Checked {
    chat.messages.iter().flat_map(calls).try_for_each(|call| call_rule(chat, call))
}

fn call_rule(chat: &Chat, call: &Value) -> Checked {
    let id = id(call);
    let arguments = call["function"]["arguments"].as_str();
    let object = arguments
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .is_some_and(|value| value.is_object());
    match chat.mode.kind {
        Kind::Mistral if id.len() != 9 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            Err(refuse(format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."))
                .code("3280"))
        }
        Kind::OpenAi | Kind::Azure if id.len() > 64 => {
            let words = format!(
                "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 64, but got a string with length {} instead.",
                id.len()
            );
            Err(refuse(words).code("string_above_max_length"))
        }
        Kind::OpenRouterClaude
            if !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) =>
        {
            Err(refuse("messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"))
        }
        Kind::MiniMax if !object => Err(refuse(format!(
            "invalid params, invalid function arguments json string, tool_call_id: {id} (2013)"
        ))),
        Kind::Vllm if !object => Err(refuse("Expecting value: line 1 column 1 (char 0)")),
        _ if arguments.is_none() => {
            Err(refuse("Invalid type for 'messages[].tool_calls[].function.arguments': expected a string.")
                .code("invalid_type"))
        }
        _ => Ok(()),
    }
}
