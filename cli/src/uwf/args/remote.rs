//! What can be typed after `uwf remote`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use uwf_fleet::access::BudgetPeriod;

#[derive(Debug, Subcommand)]
pub(in crate::uwf) enum RemoteCommand {
    /// Add a remote: a Postgres that several machines share
    #[command(
        long_about = "Add a remote, by a name of your choice: a Postgres database that keeps threads for several machines. It is \
                      connected to once, so that a wrong address is found now; --offline does not.\n\n\
                      The address never has a password: it is read from PGPASSWORD, or from ~/.pgpass (or the file of PGPASSFILE), \
                      which only you may read. A server on another machine must have a certificate that is known for its name \
                      (sslrootcert=FILE names an authority of your own); sslmode=disable sends everything in the clear.\n\n\
                      A database without tables of uwf gets them with --create, or later by `uwf remote migrate`.",
        after_long_help = "Examples:\n  uwf remote add team postgres://anna@db.example.org/uwf\n  uwf remote add team postgres://anna@db.example.org/uwf --create\n  uwf remote add lab \"postgres://lab@10.0.0.7/uwf?sslrootcert=/etc/lab-ca.pem\" --offline"
    )]
    Add {
        /// What it is called here: letters, digits, `-`, `_` and `.`
        name: String,
        /// Where it is: postgres://USER@HOST[:PORT]/DATABASE
        url: String,
        /// Make the tables of uwf where the database has none
        #[arg(long, conflicts_with = "offline")]
        create: bool,
        /// Do not connect
        #[arg(long)]
        offline: bool,
    },
    /// List the remotes of this home
    #[command(
        after_long_help = "Examples:\n  uwf remote list\n  uwf remote list --json name --jq '.[].name'"
    )]
    List,
    /// Forget a remote; nothing at the remote changes
    #[command(alias = "remove", after_long_help = "Examples:\n  uwf remote rm lab")]
    Rm {
        /// The remote
        remote: String,
    },
    /// Say how a remote stands: its threads, workers, budget, and what is dead
    #[command(
        long_about = "Say how a remote stands: the version of its schema, the team that the login is of, threads by state, how long the first \
                      has waited for a worker, what the team has spent of its budget, which workers there are and when they were \
                      heard of, and the threads that are dead, with the reason and what to type.\n\n\
                      Exit status: 0 it can be used, 1 it cannot.",
        after_long_help = "Examples:\n  uwf remote status\n  uwf remote status team --json threads,workers"
    )]
    Status {
        /// The remote [default: the only one]
        remote: Option<String>,
    },
    /// Make the tables of a remote, or bring them up to date
    #[command(
        long_about = "Make the tables of a remote, or bring them to the version that this program knows. All of it is done or nothing. \
                      It takes a login that may create and change them: usually who owns the database. Older programs are told when \
                      a new version no longer suits them.",
        after_long_help = "Examples:\n  uwf remote migrate team"
    )]
    Migrate {
        /// The remote [default: the only one]
        remote: Option<String>,
    },
    /// Make the roles that logins are granted, and their rights
    #[command(
        long_about = concat!(
            "Make the roles that logins are granted, and give them their rights at this database. It takes a login that owns the tables \
             and may make roles (CREATEROLE); --print prints the SQL instead, for somebody who may. Done again it changes nothing, and \
             takes back what was granted to these roles beside that. After `uwf remote migrate` it is to be done again.\n\n",
            "  uwf_reader     sees the threads of its team\n",
            "  uwf_submitter  pushes threads, submits, pauses, cancels and answers them\n",
            "  uwf_worker     leases threads and makes their steps\n\n\
             `GRANT uwf_worker TO build1` grants one to a login, which sees the rows of its own team alone."
        ),
        after_long_help = "Examples:\n  uwf remote roles team\n  uwf remote roles team --print | psql -U postgres uwf"
    )]
    Roles {
        /// The remote [default: the only one]
        remote: Option<String>,
        /// Print the SQL, and change nothing
        #[arg(long)]
        print: bool,
    },
    /// Teams of a remote: who is of them, what they may spend and have
    #[command(subcommand)]
    Team(TeamCommand),
    /// Set where the large pieces of a remote are kept
    #[command(
        long_about = "Set where the contents of large nodes (over 256 KiB) of a team are kept: in an object store beside the database. It \
                      takes the login that owns the tables. Nothing is asked of the store yet, and what is in another one stays there.\n\n\
                      The URL is s3://BUCKET/PREFIX, with ?region=REGION and &endpoint=URL for a server that is not Amazon's, or \
                      file:///DIRECTORY, which all machines mount. Plain http is for this machine alone, unless allow_http=true is in the \
                      URL. Keys are never in it: each program reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of its \
                      environment.",
        after_long_help = "Examples:\n  uwf remote set team objects \"s3://acme-uwf/pieces?region=eu-central-1\"\n  uwf remote set team objects \"s3://uwf?endpoint=https://s3.example.org\" --team research\n  uwf remote set team objects --unset"
    )]
    Set {
        /// The remote
        remote: String,
        /// What is set
        setting: Setting,
        /// What it is: the URL of an object store
        #[arg(required_unless_present = "unset", conflicts_with = "unset")]
        value: Option<String>,
        /// Set it to nothing: large pieces go to the database
        #[arg(long)]
        unset: bool,
        /// The team [default: the one of this login]
        #[arg(long)]
        team: Option<String>,
    },
    /// Remove nodes of a remote that nothing needs any more
    #[command(
        long_about = "Remove nodes of a remote that no thread needs any more, of all teams, while others push and work there. Nodes that \
                      were put a short time ago are kept, as a push may be going on. What removed nodes have in an object store is removed \
                      too, with the keys of the environment. It takes the login that owns the tables.",
        after_long_help = "Examples:\n  uwf remote gc team --dry-run\n  uwf remote gc team"
    )]
    Gc {
        /// The remote [default: the only one]
        remote: Option<String>,
        /// Keep nodes that were put or confirmed less than this ago, at least 1h
        #[arg(long, value_name = "TIME", default_value = "1d")]
        younger: String,
        /// Say how much it is, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove threads of a remote that are over and old, with their events
    #[command(
        long_about = "Remove threads of a remote that are over and old, of all teams, and events that are as old, but for the costs \
                      that a running budget counts. With --export each thread is written to DIR/TEAM/THREAD.jsonl first, as `uwf thread \
                      export` does. Their nodes go with the next `uwf remote gc`. It takes the login that owns the tables.",
        after_long_help = "Examples:\n  uwf remote prune team --older-than 90d --dry-run\n  uwf remote prune team --older-than 90d --export /var/archive/uwf\n  uwf remote prune team --older-than 90d --status end,cancelled,suspended --no-export"
    )]
    Prune(RemotePrune),
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("where").required(true))]
pub(in crate::uwf) struct RemotePrune {
    /// The remote [default: the only one]
    pub(in crate::uwf) remote: Option<String>,
    /// Those with which nothing has happened for so long
    #[arg(long, value_name = "TIME")]
    pub(in crate::uwf) older_than: String,
    /// Those of these statuses
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "end,cancelled")]
    pub(in crate::uwf) status: Vec<OldStatus>,
    /// Write each thread into a directory before it is removed
    #[arg(long, value_name = "DIR", group = "where")]
    pub(in crate::uwf) export: Option<PathBuf>,
    /// Remove them for good
    #[arg(long, group = "where")]
    pub(in crate::uwf) no_export: bool,
    /// Say which they are, and change nothing
    #[arg(long, group = "where")]
    pub(in crate::uwf) dry_run: bool,
}

/// What can be set for a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::uwf) enum Setting {
    /// The object store of large pieces
    Objects,
}

/// A status of a thread that may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::uwf) enum OldStatus {
    /// Came to its end
    End,
    /// Given up
    Cancelled,
    /// Waits for a person
    Suspended,
    /// Could go on, and is not to be run
    Idle,
}

#[derive(Debug, Subcommand)]
pub(in crate::uwf) enum TeamCommand {
    /// List the teams, with what they have of what they may
    #[command(after_long_help = "Examples:\n  uwf remote team list team")]
    List {
        /// The remote [default: the only one]
        remote: Option<String>,
    },
    /// Add a team
    #[command(after_long_help = "Examples:\n  uwf remote team add team research")]
    Add {
        /// The remote
        remote: String,
        /// The team: lower-case letters, digits, `-` and `_`
        team: String,
    },
    /// Set what a team may spend and have
    #[command(
        long_about = "Set what a team may spend and have; what is not given stays as it is, and `none` is no limit. When its budget is \
                      spent no further step is begun. What is over a limit of threads, nodes or bytes is refused when it is pushed.",
        after_long_help = "Examples:\n  uwf remote team set team research --budget 50 --per day\n  uwf remote team set team research --max-threads 10000 --max-bytes none"
    )]
    Set {
        /// The remote
        remote: String,
        /// The team
        team: String,
        #[command(flatten)]
        limits: TeamLimits,
    },
    /// Make a login one of a team
    #[command(
        long_about = "Make a login one of a team; it leaves the one that it was of. A login that is of none by name is of the team `default`.",
        after_long_help = "Examples:\n  uwf remote team join team research anna"
    )]
    Join {
        /// The remote
        remote: String,
        /// The team
        team: String,
        /// The login, as the database has it
        login: String,
    },
    /// Take a login out of its team
    #[command(after_long_help = "Examples:\n  uwf remote team leave team anna")]
    Leave {
        /// The remote
        remote: String,
        /// The login, as the database has it
        login: String,
    },
}

/// What a team may.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(in crate::uwf) struct TeamLimits {
    /// What its steps may cost, in US dollars
    #[arg(long, value_name = "USD", value_parser = limit::<f64>)]
    pub(in crate::uwf) budget: Option<Limit<f64>>,
    /// For how long that is: day, month, or total
    #[arg(long, value_name = "PERIOD")]
    pub(in crate::uwf) per: Option<BudgetPeriod>,
    /// How many threads it may have
    #[arg(long, value_name = "N", value_parser = limit::<i32>)]
    pub(in crate::uwf) max_threads: Option<Limit<i32>>,
    /// How many nodes
    #[arg(long, value_name = "N", value_parser = limit::<i64>)]
    pub(in crate::uwf) max_nodes: Option<Limit<i64>>,
    /// How many bytes these may have together
    #[arg(long, value_name = "N", value_parser = limit::<i64>)]
    pub(in crate::uwf) max_bytes: Option<Limit<i64>>,
}

/// A limit, or none.
#[derive(Debug, Clone, Copy)]
pub(in crate::uwf) struct Limit<T>(pub(in crate::uwf) Option<T>);

fn limit<T: FromStr + Default + PartialOrd>(text: &str) -> Result<Limit<T>, String> {
    if text == "none" {
        return Ok(Limit(None));
    }
    let number = text.parse::<T>().ok().filter(|number| *number >= T::default());
    number.map(|number| Limit(Some(number))).ok_or_else(|| "a number from 0 on, or `none`".to_owned())
}
