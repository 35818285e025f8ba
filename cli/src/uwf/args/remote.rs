//! What can be typed after `uwf remote`.

use clap::Subcommand;

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
}
