//! `uwf prompt …`: guides for people and for models, as documents of their own beside this file. Most are skills, with
//! the frontmatter by which agents find and compare them.
//!
//! What a model is told while it plays a role is not here: that is its agent's business.

use serde::Serialize;

use super::args::PromptCommand;
use crate::shell::{CliError, Session, render};

/// A guide, and as a row of the list its name and what it is about.
#[derive(Serialize)]
struct Guide {
    name: &'static str,
    about: &'static str,
    /// As a skill: when to use it.
    #[serde(skip)]
    when: Option<&'static str>,
    #[serde(skip)]
    text: &'static str,
}

/// A guide as it is printed.
#[derive(Serialize)]
struct GuideText<'a> {
    name: &'a str,
    markdown: &'a str,
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
    session.ui.document(&GuideText { name: guide.name, markdown: &text }, &text)
}

fn list(session: &mut Session<'_>) -> Result<u8, CliError> {
    let guides = [USAGE, WORKFLOW_AUTHORING, ADAPTER_DEVELOPING, BOOTSTRAP];
    session.ui.result(&guides, || {
        let cells = guides.each_ref().map(|guide| [guide.name.to_owned(), guide.about.to_owned()]);
        render::table(["GUIDE", "ABOUT"], &cells)
    })
}
