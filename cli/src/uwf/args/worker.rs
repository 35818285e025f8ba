//! What can be typed after `uwf worker`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// Which threads a worker takes, and how.
#[derive(Debug, Args)]
pub(in crate::uwf) struct WorkerArgs {
    /// The remote whose threads it runs [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub(in crate::uwf) remote: Option<String>,
    /// Run this many threads at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(in crate::uwf) parallel: u16,
    /// What this machine offers; threads that ask for anything else are left to other workers
    #[arg(long = "label", value_name = "LABELS", value_delimiter = ',')]
    pub(in crate::uwf) labels: Vec<String>,
    /// Take only threads of this workflow, by its name or its hash
    #[arg(long, value_name = "NAME|HASH")]
    pub(in crate::uwf) workflow: Option<String>,
    /// What this worker is called; of two with one name the remote shows one [default: the machine's name and the process id]
    #[arg(long, value_name = "NAME")]
    pub(in crate::uwf) name: Option<String>,
    /// After how long without a sign of life another worker takes over; renewed each third of it
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = lease)]
    pub(in crate::uwf) lease: Duration,
    /// How long running steps may go on when the worker is asked to end; then they are stopped and handed back
    #[arg(long, value_name = "DURATION", default_value = "25s", value_parser = humantime::parse_duration)]
    pub(in crate::uwf) grace: Duration,
    /// End an agent that takes longer (90s, 20m, 1h) [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = crate::shell::some_time)]
    pub(in crate::uwf) timeout: Option<Duration>,
    /// A directory on a shared file system in which threads may work: under a name that they tell it by, or as it is
    #[arg(long = "shared-root", value_name = "[NAME=]DIR", value_parser = shared_root)]
    pub(in crate::uwf) shared_roots: Vec<(String, PathBuf)>,
    /// A directory whose git repositories threads may name by their paths; not one that threads can write to
    #[arg(long = "repository-root", value_name = "DIR", value_parser = absolute)]
    pub(in crate::uwf) repository_roots: Vec<PathBuf>,
    /// End when no thread that it could take is ready or being run
    #[arg(long, conflicts_with = "once")]
    pub(in crate::uwf) until_empty: bool,
    /// End after one thread, or with --parallel after one each
    #[arg(long)]
    pub(in crate::uwf) once: bool,
    /// Serve what it has done as Prometheus text at http://ADDRESS/metrics; a port alone is one of 127.0.0.1, 0 is any that is free
    #[arg(long, value_name = "ADDRESS", value_parser = metrics)]
    pub(in crate::uwf) metrics: Option<SocketAddr>,
}

/// The shortest lease: agents need a moment to end before it is over.
const SHORTEST: Duration = Duration::from_secs(1);

fn lease(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time < SHORTEST { Err("expected 1s or more".to_owned()) } else { Ok(time) }
}

/// A root without a name is told by its path.
fn shared_root(text: &str) -> Result<(String, PathBuf), String> {
    let (name, dir) = match text.split_once('=') {
        Some((name, dir)) if !name.contains('/') => (name, dir),
        _ => (text, text),
    };
    match name.is_empty() || !dir.starts_with('/') {
        true => Err("expected an absolute directory, or NAME=DIR with one".to_owned()),
        false => Ok((name.to_owned(), PathBuf::from(dir))),
    }
}

fn absolute(text: &str) -> Result<PathBuf, String> {
    let dir = PathBuf::from(text);
    if dir.is_absolute() { Ok(dir) } else { Err("expected an absolute directory".to_owned()) }
}

fn metrics(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port: u16| SocketAddr::from(([127, 0, 0, 1], port)));
    port.or_else(|_| text.parse())
        .map_err(|_| "expected a port, or an address such as 127.0.0.1:9187".to_owned())
}
