//! `uwf prompt …`: guides for people and for models, each with the frontmatter by which agents find and compare skills.
//! Their texts are chapters of the book in `docs/`.
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
    /// The name as a skill, which is that of its directory.
    #[serde(skip)]
    skill: &'static str,
    /// When to use it.
    #[serde(skip)]
    when: &'static str,
    #[serde(skip)]
    text: &'static str,
}

/// A guide as it is printed.
#[derive(Serialize)]
struct GuideText<'a> {
    name: &'a str,
    markdown: &'a str,
}

const SKILL: Guide = Guide {
    name: "skill",
    about: "how to run workflows and read what they did",
    skill: "uwf",
    when: "to start, run, answer or look into a thread of a workflow with uwf",
    text: include_str!("../../../docs/guides/skill.md"),
};
const WORKFLOW_AUTHORING: Guide = Guide {
    name: "workflow-authoring",
    about: "how to write a workflow, with one that works",
    skill: "uwf-workflow-authoring",
    when: "to write, change or check a workflow of uwf",
    text: include_str!("../../../docs/guides/workflow-authoring.md"),
};
const ADAPTER_DEVELOPING: Guide = Guide {
    name: "adapter-developing",
    about: "how to make any program an agent, with one that works",
    skill: "uwf-adapter-developing",
    when: "to write or mend a program that plays roles for uwf",
    text: include_str!("../../../docs/guides/adapter-developing.md"),
};
const BOOTSTRAP: Guide = Guide {
    name: "bootstrap",
    about: "how to set up uwf, its skills among it",
    skill: "uwf-bootstrap",
    when: "to install uwf for somebody, to connect a model, or after an upgrade",
    text: include_str!("../../../docs/guides/bootstrap.md"),
};

impl Guide {
    /// The whole document.
    fn document(&self) -> String {
        let Guide { name, about, skill, when, text } = self;
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "---\nname: {skill}\ndescription: Tells {about}. Use it {when}.\nversion: {version}\ntags: [uwf, workflow, {name}]\n---\n\n{text}"
        )
    }
}

pub(super) fn run(session: &mut Session<'_>, prompt: PromptCommand) -> Result<u8, CliError> {
    let guide = match prompt {
        PromptCommand::Skill => SKILL,
        PromptCommand::WorkflowAuthoring => WORKFLOW_AUTHORING,
        PromptCommand::AdapterDeveloping => ADAPTER_DEVELOPING,
        PromptCommand::Bootstrap => BOOTSTRAP,
        PromptCommand::List => return list(session),
    };
    let text = guide.document();
    session.ui.document(&GuideText { name: guide.name, markdown: &text }, &text)
}

fn list(session: &mut Session<'_>) -> Result<u8, CliError> {
    let guides = [SKILL, WORKFLOW_AUTHORING, ADAPTER_DEVELOPING, BOOTSTRAP];
    session.ui.result(&guides, || {
        let cells = guides.each_ref().map(|guide| [guide.name.to_owned(), guide.about.to_owned()]);
        render::table(["GUIDE", "ABOUT"], &cells)
    })
}
