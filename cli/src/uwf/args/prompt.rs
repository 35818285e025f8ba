//! What can be typed after `uwf prompt`, and after `uwf skill`, its older name.

use clap::Subcommand;

#[derive(Clone, Copy, Debug, Subcommand)]
pub(in crate::uwf) enum PromptCommand {
    /// How to run workflows and read what they did: the SKILL.md of agents that drive uwf
    #[command(
        visible_alias = "usage",
        after_long_help = "Examples:\n  uwf prompt skill > ~/.agents/skills/uwf/SKILL.md"
    )]
    Skill,
    /// How to write a workflow, with one that works
    #[command(after_long_help = "Examples:\n  uwf prompt workflow-authoring | less")]
    WorkflowAuthoring,
    /// How to make any program an agent, with one that works
    #[command(after_long_help = "Examples:\n  uwf prompt adapter-developing | less")]
    AdapterDeveloping,
    /// How to set up uwf, its skills among it
    #[command(after_long_help = "Examples:\n  uwf prompt bootstrap | my-agent")]
    Bootstrap,
    /// List the guides
    #[command(after_long_help = "Examples:\n  uwf prompt list")]
    List,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(in crate::uwf) enum Skill {
    /// Print what `uwf prompt skill` prints
    User,
    /// Print what `uwf prompt workflow-authoring` prints
    Author,
}

impl From<Skill> for PromptCommand {
    fn from(skill: Skill) -> PromptCommand {
        match skill {
            Skill::User => PromptCommand::Skill,
            Skill::Author => PromptCommand::WorkflowAuthoring,
        }
    }
}
