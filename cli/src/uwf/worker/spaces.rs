//! What this machine has for the directories that threads work in.

use std::path::{Path, PathBuf};
use std::time::Duration;

use uwf_engine::home::{Env, HomeError, Homes, make_private};
use uwf_fleet::workspace::Workspaces;

use crate::eval::configured;
use crate::shell::CliError;
use crate::uwf::args::WorkerArgs;

/// The variable that says where directories of threads are made.
const DIRECTORY: &str = "UWF_WORKER_DIR";

/// How long one command of git may take.
const GIT_LIMIT: Duration = Duration::from_secs(600);

/// How many directories of threads that are not worked on stay for the next time.
const KEPT: usize = 8;

/// The directories of this machine: shared ones as they were typed, its own where the environment says.
///
/// # Errors
/// Nothing says where directories are to be made, or what is configured of snapshots cannot be read.
pub(super) fn workspaces(
    (env, homes, cwd): (&Env, &Homes, &Path),
    args: &WorkerArgs,
) -> Result<Workspaces, CliError> {
    let root = root(env, cwd)?;
    // Commands of a model's see nothing below the homes, agents' directories must not be there.
    for home in [&homes.uwf, &homes.ocas] {
        if root.starts_with(home) {
            let text = format!("threads cannot work below {}, which no agent may see", home.display());
            return Err(CliError::user(text).with_hint(format!("set {DIRECTORY} to another directory")));
        }
    }
    make_private(&root)
        .map_err(|error| CliError::said(format!("cannot make the directory {}", root.display()), error))?;
    // As the system calls it: what is recorded of a directory is found again by this.
    let root = root.canonicalize().unwrap_or(root);
    let configured = env.clone().with_dotenv(&homes.uwf.join(".env"))?;
    let options = configured::snapshots((&configured, &homes.uwf))?;
    let spaces = Workspaces {
        root,
        shared: args.shared_roots.iter().cloned().collect(),
        repositories: args.repository_roots.clone(),
        git_limit: GIT_LIMIT,
        options,
        env: env.clone(),
        kept: KEPT,
    };
    // What a worker that was killed has left here.
    spaces.prune();
    Ok(spaces)
}

fn root(env: &Env, cwd: &Path) -> Result<PathBuf, CliError> {
    let below = |path: &Path| path.join("uwf/workspaces");
    let named = env.get(DIRECTORY).map(PathBuf::from);
    let data = || env.get("XDG_DATA_HOME").map(|dir| below(Path::new(dir)));
    let home = || env.get("HOME").map(|home| below(&Path::new(home).join(".local/share")));
    let missing = || HomeError::NoHome { what: "the directory of workspaces", variable: DIRECTORY };
    Ok(cwd.join(named.or_else(data).or_else(home).ok_or_else(missing)?))
}
