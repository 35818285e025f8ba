//! What can be typed after `uwf var`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(in crate::uwf) enum VarCommand {
    /// Print what a variable stands for
    #[command(
        after_long_help = "Examples:\n  uwf var get @uwf/registry/solve-issue --format text\n  uwf cas get \"$(uwf var get @me/notes --format text)\""
    )]
    Get {
        /// The variable: @scope/segment[/segment…]
        name: String,
        /// Of several rows, the one of this schema [default: the newest]
        #[arg(long, value_name = "HASH")]
        schema: Option<String>,
    },
    /// Make a variable stand for a node
    #[command(
        long_about = "Make a variable stand for a node, which must exist. It keeps its tags unless --tag is given, and its history while the node is of the same type.\n\n\
                      Variables that the engine keeps (@uwf/thread/…, @uwf/thread-failed/…, @uwf/parent/…, @ocas/…) are \
                      refused without --force; @uwf/registry/… takes workflows only.",
        after_long_help = "Examples:\n  uwf var set @me/notes 9GDHFMG6KAC8V\n  uwf var set @me/notes 9GDHFMG6KAC8V --tag kind=draft --tag by=me"
    )]
    Set {
        /// The variable: @scope/segment[/segment…]
        name: String,
        /// The node: its hash or a part of it; or a step, as T:3
        hash: String,
        /// A tag, in the place of all it had; may be given several times
        #[arg(long = "tag", value_name = "KEY=VALUE")]
        tags: Vec<String>,
        /// Set even a variable that the engine keeps
        #[arg(long)]
        force: bool,
    },
    /// Give a variable up; the node it stands for stays as long as anything else refers to it
    #[command(
        alias = "remove",
        long_about = "Give a variable up, every row of it and its history. The node it stands for stays as long as anything else \
                      refers to it; `uwf cas gc` removes it then. What the engine keeps is refused without --force.",
        after_long_help = "Examples:\n  uwf var rm @me/notes"
    )]
    Rm {
        /// The variable
        name: String,
        /// Give up even a variable that the engine keeps
        #[arg(long)]
        force: bool,
    },
    /// List variables, every row of each
    #[command(after_long_help = "Examples:\n  uwf var list --format text\n  uwf var list @uwf/registry/")]
    List {
        /// Only names that begin so
        prefix: Option<String>,
    },
    /// List what a variable stood for, the present first; ten values are kept
    #[command(after_long_help = "Examples:\n  uwf var history @uwf/registry/solve-issue --format text")]
    History {
        /// The variable
        name: String,
    },
}
