//! What can be typed after `uwf serve`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

/// Where the pages are served.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Serve {
    /// The port; 0 is any that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(in crate::uwf) port: u16,
    /// The address to listen at; with any but a loopback address others can reach the pages, who need the token all the same
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(in crate::uwf) bind: IpAddr,
    /// A name that browsers call this server by, besides its address; can be given again
    #[arg(long, value_name = "NAME")]
    pub(in crate::uwf) allow_host: Vec<String>,
    /// Take the token from the first line of this file, so that it stays the same [default: a new one each time]
    #[arg(long, value_name = "FILE")]
    pub(in crate::uwf) token_file: Option<PathBuf>,
    /// Show what goes on at this remote, too: workers, queue, leases, steps, cost
    #[arg(long, value_name = "NAME")]
    pub(in crate::uwf) remote: Option<String>,
}
