//! Whether what a definition says fits together; every mistake is told by its key.

use uwf_engine::config::defined;
use uwf_workflow::template;

use super::{Arg, Calls, Definition, PromptBy, SessionId};

/// The names that templates of arguments and variables may hold.
const NAMES: [&str; 10] = [
    "confined",
    "cwd",
    "edgePrompt",
    "model",
    "prompt",
    "promptFile",
    "question",
    "session",
    "sessionFile",
    "task",
];

impl Definition {
    /// What fits together, in words where it does not.
    pub(super) fn check(&self) -> Result<(), String> {
        let Calls { every, first, resume, fork, ask } = &self.args;
        let empty = Vec::new();
        let kinds = [
            ("first", first),
            ("resume", resume.as_ref().unwrap_or(&empty)),
            ("fork", fork.as_ref().unwrap_or(&empty)),
            ("ask", ask.as_ref().unwrap_or(&empty)),
        ];
        self.check_templates(kinds.into_iter().chain([("every", every)]))?;
        let is_there = |kind: &str| {
            kind == "first" || kinds.iter().any(|(name, args)| *name == kind && !args.is_empty())
        };
        let holds = |args: &Vec<Arg>, name: &str| {
            args.iter()
                .chain(every)
                .flat_map(Arg::templates)
                .any(|text| text.contains(&format!("{{{{{name}}}}}")))
        };
        let wanted: &[&str] = match self.prompt {
            PromptBy::Argument => &["prompt", "edgePrompt", "task"],
            PromptBy::File => &["promptFile"],
            PromptBy::Stdin => &[],
        };
        for (kind, args) in kinds.iter().filter(|(kind, _)| is_there(kind)) {
            if let Some(name) = wanted.first().filter(|_| !wanted.iter().any(|name| holds(args, name))) {
                return Err(format!(
                    "args.{kind} has no {{{{{name}}}}}, by which `prompt` says that it is told"
                ));
            }
            let session = ["session", "sessionFile"].iter().any(|name| holds(args, name));
            if ["resume", "fork"].contains(kind) && !session {
                return Err(format!("args.{kind} has no {{{{session}}}}"));
            }
        }
        if self.fork_without_resume() {
            return Err("args.fork is of no use without args.resume".to_owned());
        }
        if resume.is_some() && self.session == SessionId::Told && !self.reply.tells_session() {
            return Err("args.resume needs a session, and no rule of `reply` tells its id".to_owned());
        }
        if self.program.is_empty() && self.name != defined::COMMAND {
            return Err("`program` is missing".to_owned());
        }
        if self.program.starts_with('~') {
            return Err(
                "program: `~` is not expanded here: write the whole path, or one that counts from the file"
                    .to_owned(),
            );
        }
        if self.exit.done.is_empty() {
            return Err("exit.done is empty: no call would ever be done".to_owned());
        }
        match self.exit.means.keys().find(|code| code.parse::<i32>().is_err()) {
            Some(code) => Err(format!("exit.means: {code:?} is no exit code")),
            None => self.reply.check(),
        }
    }

    fn check_templates<'a>(
        &self,
        kinds: impl Iterator<Item = (&'a str, &'a Vec<Arg>)>,
    ) -> Result<(), String> {
        for (kind, args) in kinds {
            for text in args.iter().flat_map(Arg::templates) {
                check_template(text).map_err(|why| format!("args.{kind}: {why}"))?;
            }
        }
        for (name, text) in &self.env {
            check_template(text).map_err(|why| format!("env.{name}: {why}"))?;
        }
        Ok(())
    }

    fn fork_without_resume(&self) -> bool {
        self.args.fork.is_some() && self.args.resume.is_none()
    }
}

/// A template that parses, and looks up nothing that is not known.
fn check_template(text: &str) -> Result<(), String> {
    let names = template::names(text).map_err(|error| error.to_string())?;
    match names.iter().find(|name| !NAMES.contains(&name.name.as_str())) {
        Some(unknown) => {
            Err(format!("{{{{{}}}}} is not known: there are {}", unknown.name, NAMES.join(", ")))
        }
        None => Ok(()),
    }
}
