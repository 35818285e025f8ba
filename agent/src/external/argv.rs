//! From a definition and what is to be said to the command line of one call. Pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use uwf_workflow::template::{self, TemplateError};

use super::definition::{Arg, Definition};

/// Which call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    /// It begins a session.
    First,
    /// It goes on with one.
    Resume,
    /// It begins one with all that another has.
    Fork,
    /// A question without any session.
    Ask,
}

/// What the templates of a call may hold.
#[derive(Clone, Debug, Default)]
pub(super) struct CallValues {
    pub prompt: String,
    /// The thread's task alone, and what the role is asked for in this visit: for programs that take orders and no prompts.
    pub task: String,
    pub edge_prompt: String,
    pub prompt_file: String,
    pub session: String,
    pub session_file: String,
    pub model: String,
    pub cwd: String,
    /// Whether the kernel keeps it in: then it need not ask before each command.
    pub confined: bool,
    /// Whether it is only asked something.
    pub question: bool,
}

impl CallValues {
    /// As templates see them: what is not is empty.
    fn to_json(&self) -> Value {
        let flag = |flag: bool| if flag { "true" } else { "" };
        json!({
            "prompt": self.prompt, "promptFile": self.prompt_file, "session": self.session,
            "sessionFile": self.session_file, "model": self.model, "cwd": self.cwd,
            "confined": flag(self.confined), "question": flag(self.question),
            "task": self.task, "edgePrompt": self.edge_prompt,
        })
    }
}

/// The arguments of a call, with those that are passed on behind those of every call.
///
/// # Errors
/// A template renders to too much; the rest was checked when the definition was read.
pub(super) fn args(
    definition: &Definition,
    kind: CallKind,
    (values, passed): (&CallValues, &[String]),
) -> Result<Vec<String>, TemplateError> {
    let calls = &definition.args;
    let own = match kind {
        CallKind::First => Some(&calls.first),
        CallKind::Resume => calls.resume.as_ref(),
        CallKind::Fork => calls.fork.as_ref(),
        CallKind::Ask => calls.ask.as_ref().or(Some(&calls.first)),
    };
    let data = values.to_json();
    let mut args = rendered(&calls.every, &data)?;
    args.extend(passed.iter().cloned());
    args.extend(rendered(own.map(Vec::as_slice).unwrap_or_default(), &data)?);
    Ok(args)
}

/// The variables of a call.
///
/// # Errors
/// As [`args`].
pub(super) fn env(
    definition: &Definition,
    values: &CallValues,
) -> Result<BTreeMap<String, String>, TemplateError> {
    let data = values.to_json();
    let set = definition.env.iter();
    let set = set.map(|(name, value)| Ok((name.clone(), template::render(value, &data)?)));
    let set: Result<BTreeMap<String, String>, TemplateError> = set.collect();
    Ok(set?.into_iter().filter(|(_, value)| !value.is_empty()).collect())
}

fn rendered(args: &[Arg], data: &Value) -> Result<Vec<String>, TemplateError> {
    let mut all = Vec::new();
    for arg in args {
        match arg {
            Arg::One(text) => all.push(template::render(text, data)?),
            Arg::Group(texts) => {
                let texts = texts.iter().map(|text| template::render(text, data));
                let texts = texts.collect::<Result<Vec<_>, _>>()?;
                if texts.iter().all(|text| !text.is_empty()) {
                    all.extend(texts);
                }
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> Definition {
        let text = "description: An agent
program: agent
prompt: stdin
env: { AGENT_QUIET: '1', AGENT_MODEL: '{{model}}' }
args:
  every: [run, [--model, '{{model}}']]
  first: ['-']
  resume: [resume, '{{session}}', ['{{#confined}}--yes{{/confined}}']]
reply: { format: text, sessionLine: 'session: ' }
";
        Definition::read("agent", text, "agent.yaml").unwrap()
    }

    #[test]
    fn what_says_nothing_is_left_out_with_what_stands_beside_it() {
        let values = CallValues { session: "s 1".into(), ..CallValues::default() };
        let of = |kind, values: &CallValues, passed: &[&str]| {
            let passed: Vec<String> = passed.iter().map(|arg| (*arg).to_owned()).collect();
            args(&definition(), kind, (values, &passed)).unwrap().join("|")
        };
        assert_eq!(of(CallKind::First, &values, &[]), "run|-");
        let confined = CallValues { model: "m".into(), confined: true, ..values.clone() };
        assert_eq!(of(CallKind::First, &confined, &["--fast"]), "run|--model|m|--fast|-");
        assert_eq!(of(CallKind::Resume, &values, &[]), "run|resume|s 1");
        assert_eq!(of(CallKind::Resume, &confined, &[]), "run|--model|m|resume|s 1|--yes");
        assert_eq!(of(CallKind::Ask, &values, &[]), "run|-");
    }

    #[test]
    fn variables_that_are_empty_are_not_set() {
        let of = |values: &CallValues| env(&definition(), values).unwrap().into_keys().collect::<Vec<_>>();
        assert_eq!(of(&CallValues::default()), ["AGENT_QUIET"]);
        let values = CallValues { model: "m".into(), ..CallValues::default() };
        assert_eq!(of(&values), ["AGENT_MODEL", "AGENT_QUIET"]);
    }
}
