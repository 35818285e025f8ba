//! A call of an agent that the kernel keeps in: this very program, started as [`COMMAND`] with what is asked for, makes the sandbox
//! and runs the agent in it.
//!
//! A process of its own, so that the one that plays the visit keeps its journal whatever the sandbox does, and ends the call as any
//! other.

use std::fs::File;
use std::io;
use std::path::Path;

use super::super::args::Adapt;
use crate::shell::{CliError, ProcessContext, SandboxLevel, Session, USAGE, USER};
use uwf_agent::confinement::Confinement;
use uwf_agent::external::{Confined, Definition, OF_GIT};
use uwf_engine::home::{Env, Homes};
use uwf_tools::sandbox::{Enforced, Level};
use uwf_tools::{Cancel, GitGuard};

/// The word by which this program is started so; not for people.
pub(in crate::uwf) const COMMAND: &str = "run-confined";

/// What a visit runs under, and how its calls are started.
pub(super) struct Walls {
    /// For the record.
    pub(super) enforced: Enforced,
    /// Why the agent does not run at all.
    pub(super) refusal: Option<String>,
    /// What stands before the agent's program.
    pub(super) confined_by: Vec<String>,
}

/// Does something with a confined agent, and looks at git before and after: the process that confines a call looks, too, but
/// may be ended before it is done. What there is to tell comes with it.
pub(super) fn watching_git<T>(
    (walls, workspace): (&Walls, &Path),
    session: &mut Session<'_>,
    work: impl FnOnce(&mut Session<'_>) -> T,
) -> T {
    let root = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let git = GitGuard::new(&root, walls.confined_by.is_empty(), &[]);
    git.begin(&Cancel::default());
    let done = work(session);
    let cancel = Cancel::default();
    if session.stop.signal().is_some() {
        cancel.cancel();
    }
    for line in git.end(&cancel).lines() {
        session.ui.warn(&format!("git: {line}"));
    }
    done
}

/// Finds out what can be enforced.
pub(super) fn walls(
    session: &Session<'_>,
    args: &Adapt,
    (definition, file): (&Definition, &str),
    env: &Env,
) -> Result<Walls, CliError> {
    let level = match args.sandbox {
        SandboxLevel::Strict => Level::Strict,
        SandboxLevel::BestEffort => Level::BestEffort,
        SandboxLevel::Off => {
            let enforced = Enforced::nothing(Level::Off);
            return Ok(Walls { enforced, refusal: None, confined_by: Vec::new() });
        }
    };
    let program = session.program.as_deref().and_then(Path::to_str);
    let program = program.ok_or_else(|| CliError::user("cannot tell which program this is"))?;
    let home = env.get("HOME").map(Path::new);
    let confined = Confined::new(definition, Path::new(file), (level, home, &session.homes()?.uwf));
    let made = confined.make_own_directories();
    made.map_err(|error| CliError::said("cannot make the directories of the agent", error))?;
    let asked = serde_json::to_string(&confined).expect("paths of a definition are text");
    let workspace = session.directory(None)?;
    let tried = Confinement::prepare(&confined.settings(), &session.homes()?, &workspace, env)?;
    let refusal = tried.sandbox.refusal().map(|refusal| format!("{refusal}. {}", refusal.hint()));
    let enforced = tried.sandbox.enforced().clone();
    // Behind a wall that is none an agent keeps the sandbox of its own.
    let holds = enforced.landlock.is_some() || enforced.mounts;
    let confined_by = holds.then(|| [program, COMMAND, &asked].map(str::to_owned).to_vec());
    Ok(Walls { enforced, refusal, confined_by: confined_by.unwrap_or_default() })
}

/// Runs the program that stands behind what is asked for; its exit status is this program's.
pub(in crate::uwf) fn serve(process: ProcessContext<'_>) -> u8 {
    let words: Vec<String> = process.args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let [_, _, asked, program, args @ ..] = words.as_slice() else { return USAGE };
    let Ok(confined) = serde_json::from_str::<Confined>(asked) else { return USAGE };
    (process.catch_signals)(&process.stop);
    let homes = Homes::from_env(&process.env, &process.cwd);
    let ran = homes.map_err(|error| error.to_string()).and_then(|homes| {
        let confinement = Confinement::prepare(&confined.settings(), &homes, &process.cwd, &process.env);
        let confinement = confinement.map_err(|error| error.to_string())?;
        let input = confinement.sandbox.policy().temporary().join("prompt");
        let copied = File::create_new(&input).and_then(|mut file| io::copy(process.stdin, &mut file));
        copied.map_err(|error| error.to_string())?;
        let env = process.env.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let stop = || process.stop.signal();
        let ran = confinement.sandbox.run((program, args), &input, env, &stop);
        ran.map_err(|error| error.to_string())
    });
    match ran {
        Ok(ran) => {
            for line in &ran.undone {
                writeln!(process.err, "{OF_GIT}{line}").ok();
            }
            // Whoever goes on must not find out by using git.
            if ran.standing.is_empty() { u8::try_from(ran.code).unwrap_or(USER) } else { USER }
        }
        Err(error) => {
            writeln!(process.err, "{error}").ok();
            USER
        }
    }
}
