//! A call of an agent that the kernel keeps in: this very program, started as [`COMMAND`] with what is asked for, makes the sandbox
//! and runs the agent in it.
//!
//! A process of its own, so that the one that plays the visit keeps its journal whatever the sandbox does, and ends the call as any
//! other.

use std::fs::File;
use std::io;
use std::path::Path;

use super::super::args::Adapt;
use crate::shell::{CliError, ProcessContext, Session};
use uwf_agent::confinement::Confinement;
use uwf_agent::external::{Confined, ConfinedBy, Definition, NOT_CONFINED, OF_GIT, make_own_directories};
use uwf_agent::settings::SharedSettings;
use uwf_engine::home::{Env, Homes};
use uwf_tools::sandbox::{Enforced, Level, SandboxError};
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
    pub(super) confined_by: Option<ConfinedBy>,
}

/// What people can do where the sandbox is not there.
const HINT: &str = "`uwf-builtin doctor` shows what the kernel can enforce; --sandbox best-effort takes what there is, --sandbox off \
                    lets the agent do whatever you may";

/// Does something with a confined agent, and looks at git before and after: the process that confines a call looks, too, but
/// may be ended before it is done. What there is to tell comes with it.
pub(super) fn watching_git<T>(
    (walls, workspace): (&Walls, &Path),
    session: &mut Session<'_>,
    work: impl FnOnce(&mut Session<'_>) -> T,
) -> T {
    let root = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let is_allowed = walls.confined_by.as_ref().is_none_or(|confined_by| confined_by.asked.git_programs);
    let git = GitGuard::new(&root, is_allowed, &[]);
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
    (shared, env): (&SharedSettings, &Env),
) -> Result<Walls, CliError> {
    let level = shared.level(definition.sandbox.confined);
    if level == Level::Off {
        let enforced = Enforced::nothing(Level::Off);
        return Ok(Walls { enforced, refusal: None, confined_by: None });
    }
    let program = session.program.as_deref().and_then(Path::to_str);
    let program = program.ok_or_else(|| CliError::user("cannot tell which program this is"))?;
    let (homes, home) = (session.homes()?, env.get("HOME").map(Path::new));
    let made = make_own_directories(definition, home);
    made.map_err(|error| CliError::said("cannot make the directories of the agent", error))?;
    let asked = Confined::new((definition, Path::new(file)), (shared, level), (home, &homes.uwf));
    // A question changes nothing.
    let asked = if args.mode.is_some() { asked.read_only() } else { asked };
    let workspace = session.directory(None)?;
    let tried = Confinement::prepare(&asked.clone().settings(), &homes, &workspace, env)?;
    let refusal = tried.sandbox.refusal().map(|refusal| match refusal {
        SandboxError::Workspace { .. } => format!("{refusal}. {}", refusal.hint()),
        _ => format!("{refusal}. {HINT}"),
    });
    let enforced = tried.sandbox.enforced().clone();
    // Behind a wall that is none an agent keeps the sandbox of its own.
    let holds = enforced.landlock.is_some() || enforced.mounts;
    let command = [program, COMMAND].map(str::to_owned);
    Ok(Walls { enforced, refusal, confined_by: holds.then_some(ConfinedBy { command, asked }) })
}

/// A role that may not write all of the workspace is played where something holds the agent to that.
///
/// # Errors
/// Nothing does.
pub(super) fn check_narrowed(
    walls: &Walls,
    (shared, role): (&SharedSettings, &str),
    definition: &Definition,
) -> Result<(), CliError> {
    let key = shared.narrowed_by().filter(|_| walls.confined_by.is_none() && walls.refusal.is_none());
    let Some(key) = key else { return Ok(()) };
    let (agent, role) = (&definition.name, role);
    let error = format!(
        "nothing holds the agent `{agent}` to `{key}` of the role `{role}` in agents/builtin.yaml: it is not confined"
    );
    Err(CliError::user(error)
        .with_hint("confine it with --sandbox strict, or have another agent play the role"))
}

/// Runs the program that stands behind what is asked for; its exit status is this program's, which is [`NOT_CONFINED`] where there
/// is none.
pub(in crate::uwf) fn serve(process: ProcessContext<'_>) -> u8 {
    let words: Vec<String> = process.args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let [_, _, asked, program, args @ ..] = words.as_slice() else {
        writeln!(process.err, "{COMMAND}: expected what is asked for, and a program").ok();
        return NOT_CONFINED;
    };
    let confined = match serde_json::from_str::<Confined>(asked) {
        Ok(confined) => confined,
        Err(error) => {
            writeln!(process.err, "{COMMAND}: what is asked for does not read: {error}").ok();
            return NOT_CONFINED;
        }
    };
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
            match u8::try_from(ran.code) {
                Ok(code) if ran.standing.is_empty() => code,
                _ => NOT_CONFINED,
            }
        }
        Err(error) => {
            writeln!(process.err, "{error}").ok();
            NOT_CONFINED
        }
    }
}
