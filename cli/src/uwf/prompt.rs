//! `uwf prompt …`: guides for people and for models, as documents of their own beside this file. Most are skills, with
//! the frontmatter by which agents find and compare them.
//!
//! What a model is told while it plays a role is not here: that is its agent's business.

use serde_json::json;

use super::args::PromptCommand;
use crate::shell::{CliError, OK, Session, render};

/// A guide: its name, what it is about, as a skill when to use it, its text.
struct Guide {
    name: &'static str,
    about: &'static str,
    when: Option<&'static str>,
    text: &'static str,
}

const USAGE: Guide = Guide {
    name: "usage",
    about: "how to run workflows and read what they did",
    when: Some("to start, run, answer or look into a thread of a workflow with uwf"),
    text: include_str!("prompt/usage.md"),
};
const WORKFLOW_AUTHORING: Guide = Guide {
    name: "workflow-authoring",
    about: "how to write a workflow, with one that works",
    when: Some("to write, change or check a workflow of uwf"),
    text: include_str!("prompt/workflow-authoring.md"),
};
const ADAPTER_DEVELOPING: Guide = Guide {
    name: "adapter-developing",
    about: "how to make any program an agent, with one that works",
    when: Some("to write or mend a program that plays roles for uwf"),
    text: include_str!("prompt/adapter-developing.md"),
};

const BOOTSTRAP: Guide = Guide {
    name: "bootstrap",
    about: "how to set up uwf, its skills among it",
    when: None,
    text: include_str!("prompt/bootstrap.md"),
};

impl Guide {
    /// The whole document.
    fn document(&self) -> String {
        let Guide { name, about, when, text } = self;
        let version = env!("CARGO_PKG_VERSION");
        let skill = |when: &str| {
            format!(
                "---\nname: uwf-{name}\ndescription: Tells {about}. Use it {when}.\nversion: {version}\ntags: [uwf, workflow, {name}]\n---\n\n"
            )
        };
        when.map(skill).unwrap_or_default() + text
    }
}

pub(super) fn run(session: &mut Session<'_>, prompt: PromptCommand) -> Result<u8, CliError> {
    let guide = match prompt {
        PromptCommand::Usage => USAGE,
        PromptCommand::WorkflowAuthoring => WORKFLOW_AUTHORING,
        PromptCommand::AdapterDeveloping => ADAPTER_DEVELOPING,
        PromptCommand::Bootstrap => BOOTSTRAP,
        PromptCommand::List => return list(session),
    };
    let text = guide.document();
    session.ui.document(|| json!({"name": guide.name, "markdown": text}), &text)?;
    Ok(OK)
}

fn list(session: &mut Session<'_>) -> Result<u8, CliError> {
    let guides = [USAGE, WORKFLOW_AUTHORING, ADAPTER_DEVELOPING, BOOTSTRAP];
    let value = guides.iter().map(|guide| json!({"name": guide.name, "about": guide.about})).collect();
    let rows = guides.map(|guide| [guide.name.to_owned(), guide.about.to_owned()]);
    session.ui.result(&value, || render::table(["GUIDE", "ABOUT"], &rows))?;
    Ok(OK)
}
