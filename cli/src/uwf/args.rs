//! What can be typed, and every help text: one file a noun. No meaning is given to anything here.

mod adapt;
mod agents;
mod artifacts;
mod as_agent;
mod at_remote;
mod cas;
mod config;
mod cost;
mod doctor;
mod exec;
mod init;
mod log;
mod mcp;
mod models;
mod prompt;
mod remote;
mod replay;
mod run;
mod serve;
mod setup;
mod step;
mod sync;
mod thread;
mod undo;
mod var;
mod watch;
mod worker;
mod workflow;

use clap::{CommandFactory, Parser, Subcommand};

pub(super) use self::adapt::{Adapt, AskMode};
pub(super) use self::agents::Agents;
pub(super) use self::artifacts::{Artifacts, ArtifactsCommand, GetArtifact};
pub(super) use self::as_agent::AsAgent;
pub(super) use self::at_remote::{AtRemote, SubmitTerms, WorkspaceKind};
pub(super) use self::cas::{CasCommand, Put, SchemaCommand, Values};
pub(super) use self::config::ConfigCommand;
pub(super) use self::cost::Cost;
pub(super) use self::doctor::Doctor;
pub(super) use self::exec::{AgentFlags, Exec, How, MAX_STEPS, Poke, Resume, Rounds, Start};
pub(super) use self::init::{Init, Template};
pub(super) use self::log::{LogCommand, LogShow};
pub(super) use self::mcp::Mcp;
pub(super) use self::models::Models;
pub(super) use self::prompt::{PromptCommand, Skill};
pub(super) use self::remote::{OldStatus, RemoteCommand, RemotePrune, Setting, TeamCommand, TeamLimits};
pub(super) use self::replay::Replay;
pub(super) use self::run::Run;
pub(super) use self::serve::Serve;
pub(super) use self::setup::Setup;
pub(super) use self::step::{Ask, DiffShape, StepCommand};
pub(super) use self::sync::{Clone, Sync};
pub(super) use self::thread::{Prune, StatusWord, ThreadCommand, ThreadList};
pub(super) use self::undo::{Redo, Undo, UndoHow};
pub(super) use self::var::VarCommand;
pub(super) use self::watch::{Logs, Wait, Watch};
pub(super) use self::worker::WorkerArgs;
pub(super) use self::workflow::{Language, WorkflowCommand};
use crate::shell::{Completions, Global, Man, fields};

/// The commands that show something and change nothing: of their results a program may pick fields.
const SHOWING: &[&[&str]] = &[
    &["agents"],
    &["cas", "schema", "list"],
    &["cas", "stats"],
    &["config", "list"],
    &["cost"],
    &["doctor"],
    &["log", "list"],
    &["log", "show"],
    &["models"],
    &["prompt", "list"],
    &["remote", "list"],
    &["remote", "status"],
    &["remote", "team", "list"],
    &["step", "list"],
    &["step", "show"],
    &["thread", "artifacts"],
    &["thread", "list"],
    &["thread", "show"],
    &["var", "history"],
    &["var", "list"],
    &["workflow", "history"],
    &["workflow", "list"],
    &["workflow", "show"],
];

/// The whole command line.
pub(super) fn command() -> clap::Command {
    fields::added_to(UwfCli::command(), SHOWING)
}

/// A stateless workflow engine for agents.
#[derive(Debug, Parser)]
#[command(
    name = "uwf",
    version,
    about = "A stateless workflow engine for agents",
    long_about = "A stateless workflow engine for agents.\n\nA workflow is data, a thread is a chain of immutable steps, \
                  and every step is one agent process that starts, does one thing and exits.",
    after_long_help = "Examples:
  uwf setup                                     connect a model
  uwf workflow validate solve-issue.yaml        find every mistake in a workflow
  uwf workflow add solve-issue.yaml             register it by its name
  uwf run solve-issue -p \"Fix #7\"               begin a thread and run it to its end
  uwf thread start solve-issue -p \"Fix #7\"      begin a thread alone; prints its id
  uwf thread exec 01K… --until-end              run its steps until it ends or waits
  uwf thread read 01K…                          what happened, in words

Names:
  01K…, 4C8E, @, @-1     a thread: its id, a part of it, the latest of this directory, the one before
  T:3, T:last, T:ROLE    a step of the thread T; or a step's hash, or a part of it

Files:
  $UWF_HOME (~/.uwf)     config.yaml, .env, logs, locks of running steps
  $OCAS_HOME (~/.ocas)   the content-addressed store",
    arg_required_else_help = true
)]
pub(super) struct UwfCli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) noun: Noun,
}

#[derive(Debug, Subcommand)]
pub(super) enum Noun {
    /// Write a first workflow into .workflow/, with a script that plays it without a model
    #[command(
        long_about = "Write a first workflow into .workflow/NAME.yaml of the current directory, with .workflow/NAME.mock.yaml, a \
                      script that plays it without a model, and print the command that runs both. Nothing that is there is \
                      written over.",
        after_long_help = "Examples:\n  uwf init\n  uwf init --template single look-around\n  uwf run review-loop -p \"Make the tests pass\" --mock .workflow/review-loop.mock.yaml"
    )]
    Init(Init),
    /// Begin a thread and run it to its end
    #[command(
        long_about = thread::with_exit_status(
            "Begin a thread and run it until it ends, or waits for a person: `uwf thread start` and `uwf thread exec --until-end` in \
             one. The answer of the last step alone is printed to stdout, what happens meanwhile to stderr. With --format json, \
             or --json, it is an object: thread, status, output, body, cost, usage, steps.\n\n\
             On a terminal a question of a role is asked there and then; elsewhere the thread is left suspended. Where neither -p \
             nor -f says what is to be done, $VISUAL or $EDITOR is opened on a terminal.\n\n\
             What is chosen of the agent is kept with the thread, so that `uwf thread exec`, `resume` and `poke` need not be told \
             again; `uwf thread show` tells it.",
            "ended, or stopped after --max-steps"
        ),
        after_long_help = "Examples:\n  uwf run solve-issue -p \"Fix the login redirect\"\n  uwf run ./flow.yaml -f task.md --model gpt-5-mini --max-rounds 3\n  git diff | uwf run review -p - --json | jq -r .body\n  uwf run solve-issue -p \"Add numbers\" --mock mock.yaml --sandbox best-effort\n  T=$(uwf run solve-issue -p \"Fix #7\" --background -q)"
    )]
    Run(Run),
    /// Workflows: check, register, look at them
    #[command(subcommand)]
    Workflow(WorkflowCommand),
    /// Threads: start, run, read them
    #[command(subcommand)]
    Thread(ThreadCommand),
    /// Steps: look at single steps of a thread
    #[command(subcommand)]
    Step(StepCommand),
    /// Watch one thread, or all that run, as they go
    #[command(
        long_about = "Watch a thread as it runs, whoever runs it, also in the background: its roles (✓ has played, ● plays), the turn, the \
                      tool and what it is for, time, tokens and cost, and each step as it is made. Without a thread, all that run.\n\n\
                      It changes nothing: `q` or Ctrl-C ends the watching, and the run goes on. With a thread it ends by itself \
                      when nothing of it runs any more, and says how it stands. Where stdout is no terminal it prints a line for \
                      each thing that happens; with --format json one JSON value a line: where the thread stands, and what runs.\n\n\
                      Exit status: 0 also where a step failed (`uwf wait` tells), 130 after Ctrl-C.",
        after_long_help = "Examples:\n  uwf watch\n  uwf watch @\n  uwf watch 01K… | grep ✗"
    )]
    Watch(Watch),
    /// Print the lines that the runs of a thread have told
    #[command(
        long_about = "Print what the runs of a thread have told, line by line, as a terminal shows it: each turn with its tools, calls, \
                      warnings, and the steps. With -f go on until its run ends. What is on record as a whole is told by \
                      `uwf thread read`.",
        after_long_help = "Examples:\n  uwf logs 01K…\n  uwf logs @ -f\n  uwf logs @ -n 20 -f | grep ✗"
    )]
    Logs(Logs),
    /// Wait until nothing of a thread runs any more
    #[command(
        long_about = "Wait until nothing of a thread runs any more, whoever runs it, and print where it stands then.\n\n\
                      Exit status, as of the command that runs it: 0 ended, or its steps were made; 10 suspended or paused; 3 a \
                      step failed; 1 a step could not be made, it was cancelled, was cut off, has never run, or --timeout is over. With UWF_EXIT=0 in the \
                      environment, 0 in the place of 10 and 3.",
        after_long_help = "Examples:\n  uwf wait @\n  uwf wait 01K… --timeout 20m && git commit -am done"
    )]
    Wait(Wait),
    /// Play a recorded step again and compare each request
    #[command(
        long_about = "Play a recorded step again: the loop runs against the recorded replies, nothing is sent, nothing of the thread changes, \
                      and each request must be the one that was sent, byte for byte. Where one is not, the first difference is shown: a \
                      prompt template or a tool's description that another version of this program has changed, a parameter, an order. \
                      Tools are not run: they answer what they answered.\n\n\
                      With --from and --live the recorded turns up to one stay, and the model is asked for the next: in a fork of the \
                      thread, in a directory with the files as they were after that turn.\n\n\
                      Exit status: 0 every request is the same, 1 one is not, or a step cannot be played again; with --live as \
                      `uwf thread exec`.",
        after_long_help = "Examples:\n  uwf replay 9GDHFMG6KAC8V\n  uwf replay 01K…:2 --run-tools\n  uwf replay --all 01K…\n  uwf replay 01K…:2 --from 3 --live --worktree ../another-way"
    )]
    Replay(Replay),
    /// Take back what a step changed in the workspace
    #[command(
        long_about = "Take back what a step changed in the workspace, wherever it still is as the step left it: contents, permissions \
                      and what kind of thing it is. Where something is not, each such path is named, and nothing is changed unless \
                      --partial says to leave these alone. The thread's conversation stays as it is: `uwf step fork` goes back in that.\n\n\
                      What is undone is in the thread's log: `uwf step list` marks the step, `uwf redo` takes the undo back. Whatever \
                      is overwritten or removed is in the store before. An undo that was cut off is finished by the same command.",
        after_long_help = "Examples:\n  uwf undo 01K…:2\n  uwf undo 9GDHFMG6KAC8V --dry-run\n  uwf undo 01K…:2 --dry-run --name-only\n  uwf undo 01K…:2 --partial"
    )]
    Undo(Undo),
    /// Take back an undo
    #[command(
        long_about = "Take back the last undo of a thread, or of a step: the workspace is then as the step left it, wherever it still is \
                      as the undo left it. Without an argument it is the last undo in the current directory. A redo that was cut off is \
                      finished by the same command; one that is not wanted is undone by `uwf undo`.",
        after_long_help = "Examples:\n  uwf redo\n  uwf redo 01K…\n  uwf redo 01K…:2 --dry-run"
    )]
    Redo(Redo),
    /// Play one role of a thread by running another workflow: an agent for any engine
    #[command(
        override_usage = "uwf as-agent <WORKFLOW> --thread <THREAD> --role <ROLE> [--prompt <TEXT>]\n       \
                          uwf as-agent <WORKFLOW> <THREAD> <ROLE>",
        long_about = "Play one role of a thread by running another workflow, as the agent of an engine that knows agents alone: \
                      begin a thread for it, or go on with the one that was begun, run that until it ends, asks or fails, and \
                      print the reply of an agent, one line of JSON. What the workflow asks is asked by the role; the answer goes \
                      down. This engine needs no such command: `agents: {NAME: {workflow: WORKFLOW}}` in config.yaml, or \
                      `--agent workflow:WORKFLOW`.\n\n\
                      Exit status: 0 there is a reply, also of a step that failed; 1 there is none.",
        after_long_help = "Examples:\n  uwf as-agent develop --thread 01K… --role developer --prompt \"Fix it\"\n  \
                           uwf config set agents.develop.command uwf && uwf config set agents.develop.args \"[as-agent, develop]\""
    )]
    AsAgent(AsAgent),
    /// Play one role of a thread by another command-line agent, such as Claude Code or Codex
    #[command(
        override_usage = "uwf adapt <NAME> --thread <THREAD> --role <ROLE> [--prompt <TEXT>]\n       \
                          uwf adapt <NAME> --mode fork --session <ID>\n       \
                          uwf adapt <NAME> --mode ask [--session <ID>] --prompt <TEXT> --detail <HASH>",
        long_about = "Play one role of a thread by another command-line agent, as a definition describes it, and print the reply of an \
                      agent, one line of JSON. The agent is told its role, the task, the earlier steps and the output format; its \
                      answer is checked against the role's schema and sent back with its errors; its turns, tool calls and usage go on \
                      record; a later visit goes on with its session. Engines call this: for `uwf` itself `--agent NAME` says it, \
                      or a name in agentOverrides or defaultAgent.\n\n\
                      The agent works in the current directory. One whose definition says that it can live in a sandbox (`uwf agents` \
                      tells: confined) runs in the one of commands, beside the files and the network that its definition names; \
                      --sandbox off lets it do whatever you may, --sandbox strict confines any other. Of what agents/builtin.yaml says \
                      of a role, readOnly and writable hold here, too, and only in a sandbox.\n\n\
                      Exit status: 0 there is a reply, also of a step that failed; 1 there is none.",
        after_long_help = "Examples:\n  uwf adapt codex --thread 01K… --role developer --prompt \"Fix it\"\n  \
                           uwf adapt command --arg ./my-agent --thread 01K… --role writer\n  \
                           uwf adapt claude-code --mode ask --prompt \"Why?\" --detail 9GDHFMG6KAC8V"
    )]
    Adapt(Adapt),
    /// List agents: which are installed, their versions, how each was tried
    ///
    /// An agent is named by --agent, or in agentOverrides and defaultAgent of the configuration: uwf-builtin, what config.yaml
    /// defines, a definition in $UWF_HOME/agents, or one that comes with the program.
    ///
    /// Exit status: 0, or 1 when the one that is named is not there.
    Agents(Agents),
    /// The content-addressed store underneath
    #[command(subcommand)]
    Cas(CasCommand),
    /// Variables: names for nodes of the store
    #[command(subcommand)]
    Var(VarCommand),
    /// The configuration in $UWF_HOME/config.yaml
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Remotes: databases that keep threads for several machines
    #[command(subcommand)]
    Remote(RemoteCommand),
    /// Run threads of a remote on this machine
    #[command(
        long_about = "Take threads that were submitted to a remote, run their steps here, and push each step. Any number of workers on any \
                      number of machines can do so at once: a thread is leased to one of them, and whoever has lost the lease \
                      is refused whatever it writes.\n\n\
                      A step is what `uwf thread exec` makes: agents, sandbox, models and limits are those of this machine's \
                      configuration. A thread whose worker dies is taken over by another one when the lease is over, at the step \
                      that was pushed last. What fails is tried again later, and after too many attempts left for a person.\n\n\
                      The first SIGINT or SIGTERM ends the worker when the running steps are done, or hands them back when --grace is over; \
                      the second one stops them at once. What happens is told on stderr, a line each; with --format json as objects on \
                      stdout.\n\n\
                      Exit status: 0 it came to its end or was asked to end, 128 + N after a second signal N, 1 the remote cannot \
                      be used.",
        after_long_help = "Examples:\n  uwf worker\n  uwf worker --remote team --parallel 4 --label gpu,eu --metrics 9187\n  uwf worker --remote team --workflow solve-issue --until-empty"
    )]
    Worker(WorkerArgs),
    /// Push threads to a remote
    #[command(
        long_about = "Push threads to a remote: the nodes that it lacks, then where each thread stands. A head at the remote moves forward \
                      alone: where the remote has steps that are not here, too, nothing is pushed and the thread is named as diverged. A \
                      thread that a worker has just now is not pushed.\n\n\
                      Without threads, those that are both here and at the remote; a thread goes there for the first time when it is \
                      named. It is kept there, and run by workers once somebody says so: `uwf thread resume T --remote NAME`. \
                      A push that was cut off is done by the same command.\n\n\
                      Exit status: 0 all of them stand there as here, or are ahead there; 1 one could not be pushed.",
        after_long_help = "Examples:\n  uwf push\n  uwf push team 01K…\n  uwf push team @"
    )]
    Push(Sync),
    /// Fetch the nodes of threads from a remote, and say what a pull would do
    #[command(
        long_about = "Fetch the nodes of threads from a remote into the store of this machine, and say how each stands: `behind` the \
                      remote, which `uwf pull` brings up, `ahead`, the same, diverged, or new. No thread of this machine changes.\n\n\
                      Without threads, those that are both here and at the remote.",
        after_long_help = "Examples:\n  uwf fetch\n  uwf fetch team 01K…"
    )]
    Fetch(Sync),
    /// Pull threads from a remote
    #[command(
        long_about = "Pull threads from a remote: the nodes that this machine lacks, then where each thread stands. A head moves forward \
                      alone: where there are steps here that the remote does not have, too, nothing is pulled and the thread is named as \
                      diverged. A thread of which a step runs here just now is not pulled.\n\n\
                      Without threads, those that are both here and at the remote; one that is named and not here comes here, as by \
                      `uwf clone`. A pull that was cut off is done by the same command.\n\n\
                      Exit status: 0 all of them stand here as there, or are ahead here; 1 one could not be pulled.",
        after_long_help = "Examples:\n  uwf pull\n  uwf pull team 01K…"
    )]
    Pull(Sync),
    /// Bring a thread of a remote to this machine
    #[command(
        long_about = "Bring a thread of a remote to this machine, with all that it consists of. What was chosen for it of who plays, and what \
                      weakens a sandbox, does not come along. A thread that is here already is pulled.",
        after_long_help = "Examples:\n  uwf clone team 01K…"
    )]
    Clone(Clone),
    /// Show threads in a browser: a web page on this machine
    #[command(
        long_about = "Show threads in a browser: all of them with filters, each with the graph of its workflow, live, its steps, turns, tool \
                      calls, changes and cost. The address is printed with a token, which a browser exchanges for a session: nobody \
                      else sees anything. Pages ask nobody but this server, and need no network.\n\n\
                      Pages can answer a suspended thread, run an idle one and stop a running one; everything else is for reading. What \
                      they run is a run in the background as `uwf thread exec --background` begins it, and goes on when the server \
                      ends.\n\n\
                      Exit status: 130 after Ctrl-C, 143 when terminated, 1 the address cannot be used.",
        after_long_help = "Examples:\n  uwf serve\n  uwf serve --port 8700 --token-file ~/.uwf/serve.token\n  \
                           ssh -L 8700:127.0.0.1:8700 host uwf serve --port 8700"
    )]
    Serve(Serve),
    /// Offer registered workflows as tools to other agents (MCP)
    #[command(
        long_about = "Speak the Model Context Protocol on stdin and stdout, for a client that starts this command: Claude Code, codex, an \
                      editor. Its tools are uwf_workflows, uwf_start, uwf_status, uwf_answer, uwf_result and uwf_stop: a client begins a \
                      registered workflow on a task, waits for its result, with progress, and answers what it asks.\n\n\
                      What it begins is a run in the background as `uwf run --background` begins it, and goes on when the client ends. \
                      Threads work in the current directory, or in those of --root, and below; threads of other directories, and of \
                      workflows that are not offered, do not exist for a client.\n\n\
                      Exit status: 0 the client has gone, 1 there is no client on stdin, or something that was typed is wrong.",
        after_long_help = "Examples:\n  uwf mcp\n  uwf mcp --root ~/src --workflow solve-issue -- --max-cost 2\n  \
                           claude mcp add uwf -- uwf mcp --root ~/src"
    )]
    Mcp(Mcp),
    /// Connect a model: write its endpoint into config.yaml
    ///
    /// It becomes the default model, and everything else in the file stays. On a terminal, what is not given is asked.
    /// A key is never an argument: name the variable that holds it, or a file to take it from.
    Setup(Setup),
    /// List known models: windows, prices, what they can be asked for
    ///
    /// The list comes with the program and has a date: nobody is asked. What the configuration says of a model wins, and
    /// a model that is not listed can be used all the same.
    ///
    /// Exit status: 0 there are some, 1 none is like that.
    Models(Models),
    /// Add up what runs cost: tokens and money, by model, role, workflow, thread or day
    ///
    /// Each run of an agent counts once, failed attempts and runs of called threads included; what `thread poke` replaced
    /// does not. Prices are those of the run's own time. What a model without a known price used is told apart.
    Cost(Cost),
    /// What the engine did, line by line: the log
    #[command(subcommand)]
    Log(LogCommand),
    /// Guides to uwf, for people and for models
    #[command(subcommand)]
    Prompt(PromptCommand),
    /// Older names of the guides of `uwf prompt`
    #[command(subcommand, hide = true)]
    Skill(Skill),
    /// Check what steps need: directories, store, configuration, agents
    ///
    /// Changes nothing. What the builtin agent has to say of itself (sandbox, model) follows.
    ///
    /// Exit status: 0 all is well, 1 something is in the way.
    Doctor(Doctor),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the manual page, or write all of them
    Man(Man),
}
