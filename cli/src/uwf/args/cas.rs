//! What can be typed after `uwf cas`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(in crate::uwf) enum CasCommand {
    /// Print a node: its type, payload and timestamp
    #[command(after_long_help = "Examples:\n  uwf cas get 9GDHFMG6KAC8V")]
    Get {
        /// The node: its hash or a part of it; or a step, as T:3
        hash: String,
    },
    /// Print a content as it is: a text, or what a command put out, however long
    #[command(
        long_about = "Print a content as it is: a text, or what a command put out, however long.\n\n\
                      A content is a text, bytes that are no text (uwf-bytes), or a list of such pieces (uwf-blob). It is printed \
                      piece by piece, and as it is whatever --format says.",
        after_long_help = "Examples:\n  uwf cas cat 9GDHFMG6KAC8V > output.txt\n  uwf cas cat 9GDHFMG6KAC8V | grep -n error"
    )]
    Cat {
        /// The hash of the text, or of the list of its pieces
        hash: String,
    },
    /// Store a value, print its hash
    #[command(
        after_long_help = "Examples:\n  echo '\"a text\"' | uwf cas put --type string -\n  uwf cas put --type schema my-schema.json\n  uwf cas put --jsonl nodes.jsonl\n  make-nodes | uwf cas put --jsonl --sync-each - | use-hashes"
    )]
    Put(Put),
    /// Say whether a node exists: true or false, exit status 0 or 1
    #[command(after_long_help = "Examples:\n  uwf cas has 9GDHFMG6KAC8V && echo there")]
    Has {
        /// The node: its hash or a part of it; or a step, as T:3
        hash: String,
    },
    /// Print the hash a value would have; nothing is stored or checked
    #[command(after_long_help = "Examples:\n  echo '{}' | uwf cas hash --type object -")]
    Hash(Values),
    /// List the nodes that a node refers to
    #[command(after_long_help = "Examples:\n  uwf cas refs 9GDHFMG6KAC8V")]
    Refs {
        /// The node: its hash or a part of it; or a step, as T:3
        hash: String,
    },
    /// List every node that can be reached from a node, itself first
    #[command(after_long_help = "Examples:\n  uwf cas walk 9GDHFMG6KAC8V | wc -l")]
    Walk {
        /// The node: its hash or a part of it; or a step, as T:3
        hash: String,
    },
    /// Check every node of the store; exit status 1 when something is wrong
    #[command(after_long_help = "Examples:\n  uwf cas verify --format text")]
    Verify,
    /// Remove the nodes that nothing leads to any more
    #[command(
        long_about = "Remove the nodes that nothing leads to any more.\n\n\
                      What stays: whatever can be reached from a variable, its history, a tag, a failed attempt or the \
                      journal of a run; and nodes younger than an hour, or than the oldest run that is going on. \
                      Temp files that killed writers left behind go, too, and so do the journals of runs that nobody can \
                      come back to, since their thread has moved on, was cancelled or removed, forks of sessions that \
                      nobody asked for 30 days, and what was known of workspaces that are gone. The journal of a run that lives or can be continued never goes: \
                      `uwf doctor` lists those.\n\n\
                      Nothing is removed when needed nodes are missing or corrupt, nor when there are steps of more threads \
                      than have a name, or of threads older than all names, that `thread rm` did not remove: then the \
                      variable database was lost or replaced. --force collects all the same.",
        after_long_help = "Examples:\n  uwf cas gc --dry-run\n  uwf cas gc"
    )]
    Gc {
        /// Say what would be removed; nothing is
        #[arg(long)]
        dry_run: bool,
        /// Go on though nodes that are needed are missing or corrupt, or the names of threads are lost: what only they
        /// lead to is lost as well
        #[arg(long)]
        force: bool,
    },
    /// Make the index of nodes by type anew
    #[command(after_long_help = "Examples:\n  uwf cas reindex")]
    Reindex,
    /// Count what the store holds, by type
    #[command(after_long_help = "Examples:\n  uwf cas stats --format text")]
    Stats,
    /// The types of nodes
    #[command(subcommand)]
    Schema(SchemaCommand),
}

/// `uwf cas schema …`
#[derive(Debug, Subcommand)]
pub(in crate::uwf) enum SchemaCommand {
    /// List the schemas of the store
    #[command(after_long_help = "Examples:\n  uwf cas schema list --format text")]
    List,
    /// Print a schema
    #[command(
        after_long_help = "Examples:\n  uwf cas schema get StepNode\n  uwf cas schema get @ocas/string"
    )]
    Get {
        /// A hash, a variable (@ocas/string), or its last word (string, schema, StepNode)
        #[arg(value_name = "HASH|NAME")]
        name: String,
    },
}

/// Values to store.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Put {
    #[command(flatten)]
    pub(in crate::uwf) values: Values,
    /// With --jsonl: store each node by itself and print its hash at once, not all of them at the end or none
    #[arg(long, conflicts_with = "type_")]
    pub(in crate::uwf) sync_each: bool,
}

/// Values from a file.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Values {
    /// The type: a hash, a variable (@ocas/string), or its last word (string, schema, StepNode)
    #[arg(
        long = "type",
        value_name = "HASH|NAME",
        required_unless_present = "jsonl",
        conflicts_with = "jsonl"
    )]
    pub(in crate::uwf) type_: Option<String>,
    /// The file holds one {"type", "payload"} a line; one hash a line is printed
    #[arg(long)]
    pub(in crate::uwf) jsonl: bool,
    /// A file with one JSON value; `-` is stdin
    pub(in crate::uwf) file: PathBuf,
}
