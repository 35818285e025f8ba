//! What can be typed: every option and every help text of `uwf-builtin`, and nothing of what they mean.

use std::path::PathBuf;
use std::time::Duration;

use crate::shell::{Completions, GREATEST_SEED, Global, Man, SandboxLevel, dollars, temperature};
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::ReplayArgs;
use uwf_agent::provider::message::Sampling;

use uwf_agent::settings::Flags;

const AFTER_HELP: &str = "\
Examples:
  uwf-builtin run review.yaml --role reviewer -p \"Review the last commit\"
  uwf-builtin run review.yaml --role reviewer -p \"Review\" --mock script.yaml
  uwf-builtin --thread 01KAB… --role reviewer --prompt \"Review\"     (how uwf calls it)
  uwf-builtin --mode ask --detail 9GDH… --prompt \"Why?\"             (how `uwf step ask` does)

A visit that was interrupted goes on where it stopped; one that was finished gives its reply again.

Files: $UWF_HOME (default ~/.uwf) holds agents/builtin.yaml and config.yaml; $OCAS_HOME (default ~/.ocas) the store.
Environment: UWF_MODEL, UWF_BASE_URL, UWF_API_KEY; OPENAI_API_KEY goes to api.openai.com alone.
  UWF_BUILTIN_SANDBOX=strict|best-effort|off is --sandbox for a run; `uwf thread exec --sandbox` sets it.
  UWF_BUILTIN_ALLOW_SHELL=1 takes what sandbox there is where the strict one cannot be enforced.
  TRACEPARENT (W3C Trace Context) is handed on to the endpoint and to commands.
Events (--events), each with `event` and `at` (ms since the epoch): run.started, turn.started,
  message.delta, retry, request.changed, turn.finished, tool.started, tool.finished, budget.warning,
  message.sent, context.shrunk, warning, run.finished.
Exit: 0 when a reply was printed; 1 you can mend it; 2 usage; 70 a bug of ours; 129/130/143 ended by a signal.";

const RUN_USAGE: &str = "\
uwf-builtin run [OPTIONS] --role <ROLE> [--prompt <TEXT>|--file <FILE>] <WORKFLOW>
       uwf-builtin run [OPTIONS] --continue <THREAD>";

const RUN_AFTER_HELP: &str = "\
Makes a thread of its own, runs the role once and ends the thread; the thread's id goes to stderr.
An interrupted run goes on with --continue: what was answered is not asked again, no finished tool call runs twice, and
options that are not typed again are those it was begun with (but for the sandbox: that is the one asked for now).

Exit: 0 done; 10 suspended (a person must answer); 3 no valid answer; 4 a budget ended; 5 the provider failed;
      6 the sandbox could not be enforced; 7 git may run what commands left; 1 you can mend it; 2 usage;
      70 a bug of ours; 129/130/143 ended by a signal.

Examples:
  uwf-builtin run solve-issue --role developer -p \"Mend the parser\" --cwd ~/src/parser
  uwf-builtin run solve-issue --role developer -p \"Try it otherwise\" --isolated --patch ~/otherwise.patch";

/// The ReAct agent of uwf: plays one role of a workflow and prints its reply as one line of JSON.
#[derive(Debug, Parser)]
#[command(name = "uwf-builtin", version, after_long_help = AFTER_HELP, args_override_self = true)]
pub(super) struct BuiltinCli {
    /// What to do; without it, the agent form below.
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    /// The agent form.
    #[command(flatten)]
    pub(super) agent: AgentArgs,
    /// How to print.
    #[command(flatten)]
    pub(super) global: Global,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one of it in a process")]
pub(super) enum Command {
    /// Play one role, stand-alone
    Run(RunArgs),
    /// Serve a mock script as an OpenAI-compatible endpoint on loopback
    MockServer(MockServerArgs),
    /// Print the JSON Schema of mock scripts, for editors
    #[command(
        after_long_help = "Examples:\n  uwf-builtin mock-schema > .workflow/mock.schema.json\n\nThen the first line of a script may be, for editors that speak to yaml-language-server:\n  # yaml-language-server: $schema=mock.schema.json"
    )]
    MockSchema,
    Replay(ReplayArgs),
    /// List the tools as the model sees them
    #[command(
        after_long_help = "Examples:\n  uwf-builtin tools --format text\n  uwf-builtin tools --format json"
    )]
    Tools,
    /// Check what a run needs: sandbox, configuration, store, directories
    Doctor(DoctorArgs),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the manual page, or write all of them
    Man(Man),
}

/// The form in which an engine calls.
#[derive(Debug, Args)]
pub(super) struct AgentArgs {
    /// The thread's id (26 characters)
    #[arg(value_name = "THREAD")]
    pub(super) thread: Option<String>,
    /// The role to play
    #[arg(value_name = "ROLE", requires = "thread")]
    pub(super) role: Option<String>,
    /// The thread's id, in place of the argument THREAD
    #[arg(long = "thread", value_name = "THREAD", conflicts_with = "thread")]
    pub(super) thread_option: Option<String>,
    /// The role to play, in place of the argument ROLE
    #[arg(long = "role", value_name = "ROLE", conflicts_with = "role", allow_hyphen_values = true)]
    pub(super) role_option: Option<String>,
    /// What the workflow tells the role to do now (else $UWF_EDGE_PROMPT, else what the moderator says)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) prompt: Option<String>,
    /// Start over: discard what an interrupted or finished run of this very visit left
    #[arg(long)]
    pub(super) fresh: bool,
    /// Do something about a finished step instead: fork its session, or answer a question from its record (a mock
    /// script answers as the role `ask`, one visit a question)
    #[arg(long, value_enum, value_name = "fork|ask", hide_possible_values = true)]
    #[arg(conflicts_with_all = ["thread", "thread_option", "role_option"])]
    pub(super) mode: Option<Mode>,
    /// With --mode fork: the session to fork; with --mode ask: the fork that is asked
    #[arg(long, value_name = "SESSION", requires = "mode", required_if_eq("mode", "fork"))]
    pub(super) session: Option<String>,
    /// With --mode ask: the step's detail node
    #[arg(long, value_name = "HASH", requires = "mode", required_if_eq("mode", "ask"))]
    pub(super) detail: Option<String>,
    /// Print the whole reply, or the step's hash alone
    #[arg(long, value_enum, default_value_t = ReplyForm::Json)]
    pub(super) reply: ReplyForm,
    /// How to run.
    #[command(flatten)]
    pub(super) run: RunOptions,
}

/// What can be done about a finished step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// A copy of its session, for questions.
    Fork,
    /// An answer.
    Ask,
}

/// What an agent prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ReplyForm {
    /// One line of AdapterOutput.
    Json,
    /// The bare step hash, for older engines.
    Hash,
}

/// `run`.
#[derive(Debug, Args)]
#[command(after_long_help = RUN_AFTER_HELP, override_usage = RUN_USAGE)]
pub(super) struct RunArgs {
    /// A workflow: a file, a name, or a hash in the store
    #[arg(value_name = "WORKFLOW", required_unless_present = "continue")]
    pub(super) workflow: Option<String>,
    /// The role to play
    #[arg(long, value_name = "ROLE", required_unless_present = "continue")]
    pub(super) role: Option<String>,
    /// The task; `-` reads it from stdin [default: what is typed in $EDITOR, on a terminal]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) prompt: Option<String>,
    /// Read the task from this file; `-` is stdin
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "prompt")]
    pub(super) file: Option<PathBuf>,
    /// The directory to work in (default: the current one)
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
    /// Go on with the interrupted run of this thread
    #[arg(
        id = "continue",
        long,
        value_name = "THREAD",
        conflicts_with_all = ["workflow", "role", "prompt", "file", "cwd"]
    )]
    pub(super) thread: Option<String>,
    /// With --continue: begin its task anew instead, and discard what the interrupted run left
    #[arg(long, requires = "continue")]
    pub(super) fresh: bool,
    /// Whether in a copy.
    #[command(flatten)]
    pub(super) isolation: IsolationArgs,
    /// How to run.
    #[command(flatten)]
    pub(super) run: RunOptions,
}

/// Whether a run works in a copy of the workspace, and what comes of that.
#[derive(Debug, Args)]
pub(super) struct IsolationArgs {
    /// Work in a copy of the directory, below $TMPDIR, and leave the directory itself alone; the copy has what snapshots have:
    /// no `.git`, and nothing that git ignores
    #[arg(long, conflicts_with_all = ["continue", "no_snapshots"])]
    pub(super) isolated: bool,
    /// With --isolated: write what the run changed to this file, as a patch for `git apply` (else `uwf step diff --patch`
    /// prints it)
    #[arg(long, value_name = "FILE")]
    pub(super) patch: Option<PathBuf>,
    /// With --isolated: keep the copy when the run is done; otherwise it stays only while the run can be continued
    #[arg(long)]
    pub(super) keep: bool,
}

impl IsolationArgs {
    /// Whether something is asked for that only an isolated run has.
    pub(super) fn needs_copy(&self) -> bool {
        self.keep || self.patch.is_some()
    }
}

/// Options of every run.
#[derive(Debug, Args)]
pub(super) struct RunOptions {
    /// The model; or an alias of config.yaml, where agents/builtin.yaml names no provider of its own
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// The endpoint, such as http://127.0.0.1:11434/v1; its host tells which format it speaks
    #[arg(long, value_name = "URL")]
    pub(super) base_url: Option<String>,
    /// Use a scripted model instead: no network, no key
    #[arg(long, value_name = "FILE")]
    pub(super) mock: Option<PathBuf>,
    /// Draw the behaviours of the mock script from this seed (default 0)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=GREATEST_SEED))]
    pub(super) mock_seed: Option<u64>,
    /// Completions at most (default 60)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) max_turns: Option<u64>,
    /// Input and output tokens at most (default: no limit)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) max_tokens: Option<u64>,
    /// Wall time at most, such as 90s or 20m (default 1h); then there is one last turn, of two minutes at most
    #[arg(long, value_name = "DURATION", value_parser = crate::shell::some_time)]
    pub(super) timeout: Option<Duration>,
    /// What the model may cost at most, in USD, by what the endpoint tells, else by prices that are set or known (default:
    /// no limit)
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(super) max_cost: Option<f64>,
    /// Offer these tools alone; those of MCP servers are called files__search, all of one files__*
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) tools: Option<Vec<String>>,
    /// Offer the tools of these servers of `mcpServers` in agents/builtin.yaml, too, whatever the role
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) mcp: Vec<String>,
    /// How much of the sandbox must be there for commands (default strict)
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(super) sandbox: Option<SandboxLevel>,
    /// Let commands use the network
    #[arg(long)]
    pub(super) allow_network: bool,
    /// Offer fetch_url for this host, besides those of agents/builtin.yaml: docs.rs, *.example.com, localhost:8080
    /// (repeatable)
    #[arg(long, value_name = "HOST")]
    pub(super) fetch_host: Vec<String>,
    /// Do not capture the workspace before and after the run; then `uwf step diff` knows what the editing tools changed alone
    #[arg(long)]
    pub(super) no_snapshots: bool,
    /// Add what happens to this file, one JSON object a line; - is stderr
    #[arg(long, value_name = "FILE")]
    pub(super) events: Option<PathBuf>,
    /// Sampling temperature (default: the endpoint's); left out where the model takes none
    #[arg(long, value_name = "0..2", value_parser = temperature)]
    pub(super) temperature: Option<f64>,
    /// Reasoning effort, such as low or high; `uwf models` lists what a model takes (default: the endpoint's)
    #[arg(long, value_name = "EFFORT")]
    pub(super) reasoning_effort: Option<String>,
}

/// `mock-server`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Prints the URL and serves until it is interrupted.\n\nExample:\n  uwf-builtin mock-server script.yaml --port 8000"
)]
pub(super) struct MockServerArgs {
    /// The script
    #[arg(value_name = "FILE")]
    pub(super) script: PathBuf,
    /// The port (default: any that is free)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) port: u16,
    /// Choose the entry by the turns that a request holds, not by its arrival: one sent again gets the same answer
    #[arg(long)]
    pub(super) by_turn: bool,
    /// Draw behaviours from this seed
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=GREATEST_SEED))]
    pub(super) mock_seed: u64,
}

/// `doctor`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Exit: 0 all is well; 1 the strict sandbox cannot be enforced, or something else is in the way.\n\nExamples:\n  uwf-builtin doctor\n  uwf-builtin doctor --online\n  uwf-builtin doctor --apparmor-profile"
)]
pub(super) struct DoctorArgs {
    /// The directory a role would work in (default: the current one)
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
    /// Ask the model's endpoint which models it serves, and try a call of a tool: two small requests, with the key
    #[arg(long)]
    pub(super) online: bool,
    /// Print the AppArmor profile that lets this program make user namespaces, and do nothing else (Ubuntu from 23.10 on)
    #[arg(long, conflicts_with_all = ["cwd", "online"])]
    pub(super) apparmor_profile: bool,
}

impl AgentArgs {
    /// Whether anything of the agent form was typed.
    pub(super) fn is_given(&self) -> bool {
        let AgentArgs {
            thread,
            role,
            thread_option,
            role_option,
            prompt,
            mode,
            session,
            detail,
            fresh,
            reply,
            run,
        } = self;
        [thread, role, thread_option, role_option, prompt, session, detail].into_iter().any(Option::is_some)
            || mode.is_some()
            || *fresh
            || *reply != ReplyForm::Json
            || run.events.is_some()
            || run.flags() != Flags::default()
    }
}

impl RunOptions {
    /// The options as the settings take them.
    pub(super) fn flags(&self) -> Flags {
        Flags {
            model: self.model.clone(),
            base_url: self.base_url.clone(),
            recorded_url: None,
            mock: self.mock.clone(),
            mock_seed: self.mock_seed,
            max_turns: self.max_turns,
            max_tokens: self.max_tokens,
            timeout: self.timeout,
            max_cost: self.max_cost,
            budget_recorded: false,
            role_model: None,
            tools: self.tools.clone(),
            mcp: self.mcp.clone(),
            sandbox: self.sandbox.map(SandboxLevel::level),
            allow_network: self.allow_network,
            fetch_hosts: self.fetch_host.clone(),
            no_snapshots: self.no_snapshots,
            sampling: Sampling {
                temperature: self.temperature,
                reasoning_effort: self.reasoning_effort.clone(),
                json_object: false,
            },
        }
    }
}
