//! What can be typed after `uwf push`, `uwf fetch`, `uwf pull` and `uwf clone`.

use clap::Args;

/// Which threads go to a remote, or come from it.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Sync {
    /// The remote [default: the only one]
    pub(in crate::uwf) remote: Option<String>,
    /// The threads [default: those that are both here and at the remote]
    #[arg(value_name = "THREAD")]
    pub(in crate::uwf) thread: Vec<String>,
}

/// Which thread comes here.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Clone {
    /// The remote
    pub(in crate::uwf) remote: String,
    /// The thread: its id, or the first or last characters of it
    pub(in crate::uwf) thread: String,
}
