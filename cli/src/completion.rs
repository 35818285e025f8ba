//! What TAB offers: threads, steps, workflows, roles, agents and models by name, beside the words of the command line.
//!
//! The script that `uwf completions SHELL` prints has the shell start `uwf` with the command line as it is so far, and
//! [`VARIABLE`] set. What an argument takes is told by its name, [`candidates_for`], so that no command says it anew. Looking makes
//! no store, and what cannot be read offers nothing.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;

use crate::names;
use crate::shell::{CliError, Completions, OK, ProcessContext, Session, USER, render};
use uwf_engine::home::{Env, Homes};
use uwf_engine::thread::{self, ThreadEntry};
use uwf_engine::{catalogue, config, workflow};
use uwf_fleet::remote::Remotes;
use uwf_store::{Clock, Store};

/// The variable with the name of the shell that asks.
pub(crate) const VARIABLE: &str = "COMPLETE";

/// How many threads are offered.
const THREADS: usize = 50;

/// The shell that asks what could be typed, if one does.
pub(crate) fn asking_shell(process: &ProcessContext<'_>) -> Option<String> {
    process.env.text(VARIABLE).filter(|shell| !shell.is_empty()).map(str::to_owned)
}

/// Tells a shell what could be typed behind the command line so far, which stands behind `--`.
pub(crate) fn answer(process: ProcessContext<'_>, shell: &str, command: Command) -> u8 {
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(shell) else { return USER };
    let source = Source { env: process.env.clone(), cwd: process.cwd.clone(), clock: process.clock };
    let typed =
        process.args.iter().skip_while(|arg| *arg != "--").skip(1).cloned().collect::<Vec<OsString>>();
    let mut command = with_candidates(command, &source);
    command.build();
    let mut told = Vec::new();
    let done = completer
        .write_complete(&mut command, typed, Some(&process.cwd), &mut told)
        .and_then(|()| process.out.write_all(&told))
        .and_then(|()| process.out.flush());
    if done.is_ok() { OK } else { USER }
}

/// Prints the script that has a shell ask.
///
/// # Errors
/// When stdout cannot be written to.
pub(crate) fn completions(
    session: &mut Session<'_>,
    args: &Completions,
    program: &str,
) -> Result<u8, CliError> {
    let script = script(&args.shell.to_string(), program);
    session.ui.print(&String::from_utf8_lossy(&script))?;
    Ok(OK)
}

fn script(shell: &str, program: &str) -> Vec<u8> {
    let mut script = Vec::new();
    if let Some(completer) = Shells::builtins().completer(shell) {
        completer
            .write_registration(VARIABLE, program, program, program, &mut script)
            .expect("writing to memory does not fail");
    }
    if shell == "bash" {
        // Else a word such as `@:last` is three.
        script.extend_from_slice(b"COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n");
    }
    script
}

/// Where names are looked up.
#[derive(Clone)]
struct Source {
    env: Env,
    cwd: PathBuf,
    clock: Clock,
}

/// What is offered for one kind of argument; given what is typed of it.
type Candidates = fn(&Source, &str) -> Vec<CompletionCandidate>;

fn with_candidates(command: Command, source: &Source) -> Command {
    let add = |arg: Arg| match candidates_for(&arg) {
        None => arg,
        Some(candidates) => {
            let source = source.clone();
            let complete = move |typed: &OsStr| match typed.to_str() {
                Some(typed) => candidates(&source, typed),
                None => Vec::new(),
            };
            arg.add(ArgValueCompleter::new(complete))
        }
    };
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = command.mut_args(add);
    names
        .into_iter()
        .fold(command, |command, name| command.mut_subcommand(name, |sub| with_candidates(sub, source)))
}

fn candidates_for(arg: &Arg) -> Option<Candidates> {
    Some(match arg.get_id().as_str() {
        "thread" | "older_thread" => threads,
        "step" | "from" | "what" => steps,
        "before"
            if arg.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains("STEP"))) =>
        {
            steps
        }
        "workflow" => workflows,
        "agent" => agents,
        "model" | "pattern" => models,
        "role" | "older_role" => roles,
        "remote" => remotes,
        _ => return None,
    })
}

impl Source {
    fn homes(&self) -> Option<Homes> {
        Homes::from_env(&self.env, &self.cwd).ok()
    }

    fn store(&self) -> Option<Store> {
        let homes = self.homes()?;
        let is_there = homes.ocas.join("nodes").is_dir();
        is_there.then(|| uwf_engine::open_store(&homes.ocas, self.clock).ok()).flatten()
    }
}

fn candidate(value: impl Into<OsString>, help: String) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(help.into()))
}

fn starting<'a>(
    typed: &str,
    known: impl IntoIterator<Item = (String, String)> + 'a,
) -> Vec<CompletionCandidate> {
    let known = known.into_iter().filter(|(value, _)| value.starts_with(typed));
    known.map(|(value, help)| candidate(value, help)).collect()
}

/// The latest threads whose ids begin so; to a shell, that is what completing means.
fn threads(source: &Source, typed: &str) -> Vec<CompletionCandidate> {
    let typed = typed.to_ascii_uppercase();
    let mut found = starting(&typed, [("@".to_owned(), "the latest thread of this directory".to_owned())]);
    let Some(store) = source.store() else { return found };
    let entries = thread::entries(&store).map_while(Result::ok);
    let entries = entries.filter(|entry| entry.thread.as_str().starts_with(&typed)).take(THREADS);
    found.extend(entries.map(|entry| candidate(entry.thread.to_string(), about(&store, &entry))));
    found
}

fn about(store: &Store, entry: &ThreadEntry) -> String {
    let status = entry.status().map_or("?", |status| status.as_str());
    let task = entry
        .read(store)
        .and_then(|head| head.start(store))
        .map(|start| render::first_line(&start.prompt, 50));
    format!("{status}: {}", task.unwrap_or_default())
}

/// The places of a thread that is typed already, else threads with a colon behind.
fn steps(source: &Source, typed: &str) -> Vec<CompletionCandidate> {
    let Some((name, _)) = typed.split_once(':') else {
        let named = threads(source, typed).into_iter();
        return named
            .map(|thread| {
                let mut value = thread.get_value().to_owned();
                value.push(":");
                CompletionCandidate::new(value).help(thread.get_help().cloned())
            })
            .collect();
    };
    let places = source.store().and_then(|store| {
        let thread = names::thread_here(&store, &source.cwd.canonicalize().ok()?, name)?;
        let chain = thread::chain(&store, &thread::entry(&store, &thread).ok()?.head).ok()?;
        let numbered =
            (1..).zip(chain.steps).map(|(number, (_, step))| (format!("{name}:{number}"), step.role));
        Some(numbered.collect::<Vec<_>>())
    });
    let last = (format!("{name}:last"), "the last step".to_owned());
    starting(typed, places.unwrap_or_default().into_iter().chain([last]))
}

fn workflows(source: &Source, typed: &str) -> Vec<CompletionCandidate> {
    let Some(store) = source.store() else { return files(source, typed) };
    let listed = workflow::list(&store, &source.cwd).unwrap_or_default().into_iter();
    let named = listed.map(|listed| {
        let help = listed.origin.as_str().to_owned();
        (listed.name, help)
    });
    let mut found = starting(typed, named.collect::<Vec<_>>());
    found.extend(files(source, typed));
    found
}

fn remotes(source: &Source, typed: &str) -> Vec<CompletionCandidate> {
    let known = source.homes().and_then(|homes| Remotes::load(&homes.uwf).ok()?.all().ok());
    let known = known.unwrap_or_default().into_iter();
    starting(typed, known.map(|remote| (remote.name, remote.address.place())).collect::<Vec<_>>())
}

/// Files of workflows.
fn files(source: &Source, typed: &str) -> Vec<CompletionCandidate> {
    use clap_complete::engine::{PathCompleter, ValueCompleter};
    let is_workflow = |path: &std::path::Path| {
        path.is_dir() || path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
    };
    PathCompleter::file().current_dir(source.cwd.clone()).filter(is_workflow).complete(OsStr::new(typed))
}

fn agents(source: &Source, typed: &str) -> Vec<CompletionCandidate> {
    let config = source.homes().and_then(|homes| config::load(&homes.uwf).ok()).unwrap_or_default();
    let named = config.agents.iter().map(|(name, agent)| (name.clone(), agent.program.clone()));
    let defined = config.agent_names().into_iter().filter(|name| !config.agents.contains_key(*name));
    let defined = defined.map(|name| (name.to_owned(), "a command-line agent".to_owned()));
    let named = named.chain(defined);
    let builtin = (config::BUILTIN.to_owned(), "the agent of uwf".to_owned());
    starting(typed, named.chain([builtin]).collect::<Vec<_>>())
}

fn models(_: &Source, typed: &str) -> Vec<CompletionCandidate> {
    let known = catalogue::models().filter(|model| !model.deprecated);
    starting(typed, known.map(|model| (model.id.to_owned(), model.provider.to_owned())).collect::<Vec<_>>())
}

/// The roles of the workflows that have a name here.
fn roles(source: &Source, typed: &str) -> Vec<CompletionCandidate> {
    let Some(store) = source.store() else { return Vec::new() };
    let mut roles = std::collections::BTreeMap::new();
    for listed in workflow::list(&store, &source.cwd).unwrap_or_default() {
        let found = workflow::resolve(&store, &listed.name, &source.cwd);
        if let Ok(workflow) = found.and_then(|resolved| resolved.workflow(&store)) {
            roles.extend(workflow.roles.into_keys().map(|role| (role, listed.name.clone())));
        }
    }
    starting(typed, roles)
}
