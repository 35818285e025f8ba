//! What can be typed after `uwf workflow`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(in crate::uwf) enum WorkflowCommand {
    /// Check a workflow file and register it by its name
    #[command(
        alias = "put",
        after_long_help = "Examples:\n  uwf workflow add solve-issue.yaml\n  uwf workflow add .workflow/review/index.yaml"
    )]
    Add {
        /// The workflow's YAML file, or `-` for stdin
        file: PathBuf,
    },
    /// Check a workflow file and say everything that is wrong with it; nothing is stored
    #[command(
        after_long_help = "Examples:\n  uwf workflow validate solve-issue.yaml\n  ./generate.sh | uwf workflow validate -"
    )]
    Validate {
        /// The workflow's YAML file, or `-` for stdin
        file: PathBuf,
    },
    /// Print a workflow with its roles' schemas, and where it was found
    #[command(
        long_about = "Print a workflow with its roles' schemas, and where it was found. The text is a workflow file again; with \
                      --format json it is the node as it is stored, with the schemas beside it.",
        after_long_help = "Examples:\n  uwf workflow show solve-issue\n  uwf workflow show 9GDHFMG6KAC8V"
    )]
    Show {
        /// A hash, a file, or a name: local ones first, then the registry
        workflow: String,
    },
    /// List the workflows that `thread start` finds from here
    #[command(
        long_about = "List the workflows that `thread start` finds from here: those in `.workflow/` (or `.workflows/`, its older \
                      name) of the nearest directory that has either, from the current one up to the root of the file system, \
                      and those that are registered. Where both have a name, the file counts.",
        after_long_help = "Examples:\n  uwf workflow list\n  uwf workflow list --format json"
    )]
    List,
    /// Give up the name of a registered workflow
    #[command(
        alias = "remove",
        long_about = "Give up the name of a registered workflow, with the history of the name. Threads keep the workflow they were \
                      started with; `uwf workflow add` registers it again. A workflow beside the work is its file: remove that.",
        after_long_help = "Examples:\n  uwf workflow rm solve-issue"
    )]
    Rm {
        /// The registered name
        name: String,
    },
    /// List what a registered name meant, the present first; ten are kept
    #[command(after_long_help = "Examples:\n  uwf workflow history solve-issue --format text")]
    History {
        /// The registered name
        name: String,
    },
    /// Make a registered name mean again what it meant before
    #[command(
        long_about = "Make a registered name mean again what it meant before. What it means now stays in the history, so \
                      that a second rollback comes back to it. Threads keep the workflow they were started with.",
        after_long_help = "Examples:\n  uwf workflow rollback solve-issue\n  uwf workflow rollback solve-issue --to 3\n  uwf workflow rollback solve-issue --to 9GDHFMG6KAC8V"
    )]
    Rollback {
        /// The registered name
        name: String,
        /// An entry of `workflow history`: its number (0 is the present) or its hash
        #[arg(long, value_name = "N|HASH", default_value = "1")]
        to: String,
    },
    /// Print the JSON Schema of workflow files, for editors
    #[command(
        after_long_help = "Examples:\n  uwf workflow schema > workflow.schema.json\n\nIn a workflow, for editors with a YAML language server:\n  # yaml-language-server: $schema=./workflow.schema.json\nand in the editor's settings, for includes:\n  \"yaml.customTags\": [\"!include scalar\"]"
    )]
    Schema,
    /// Draw a workflow's graph
    #[command(
        after_long_help = "Examples:\n  uwf workflow graph solve-issue\n  uwf workflow graph flow.yaml --as dot | dot -Tpdf > flow.pdf\n  uwf workflow graph flow.yaml --as svg > flow.svg\n  uwf workflow graph --thread 01K…"
    )]
    Graph {
        /// A hash, a file, or a name [default: the workflow of --thread]
        #[arg(required_unless_present = "thread")]
        workflow: Option<String>,
        /// What it is drawn in: mermaid, dot, or svg, a picture of its own
        #[arg(long = "as", value_enum, value_name = "LANGUAGE", default_value_t = Language::Mermaid, hide_possible_values = true)]
        language: Language,
        /// Colour in how far this thread has come: what is done, next, and failed
        #[arg(long, value_name = "THREAD")]
        thread: Option<String>,
    },
}

/// What a graph is drawn in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::uwf) enum Language {
    /// Mermaid, which many pages render
    Mermaid,
    /// Graphviz
    Dot,
    /// A picture, laid out
    Svg,
}
