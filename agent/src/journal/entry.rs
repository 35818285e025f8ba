//! What a line of a journal says: everything that happens in a run, as it is written and read.
//!
//! Apart from the file, and from who writes it: listeners, the record and a replay read entries as well.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_engine::record::RecordedSnapshot;
use uwf_store::Hash;
use uwf_tools::ReadState;
use uwf_tools::sandbox::Enforced;

use crate::budget::Use;
use crate::context_window::Elided;
use crate::failure::Failure;
use crate::project::{ProjectWords, ToldFile};
use crate::provider::attempt_error::AttemptError;
use crate::provider::message::{Message, TokenUsage, ToolDeclaration};
use crate::provider::{Learnt, SentRequest};

/// One line of the journal. Times are ms since the epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Entry {
    /// The first line: which run this is, and under which settings it runs.
    Run {
        /// `VERSION`.
        version: u32,
        /// The session's id; also the file's name.
        session: String,
        /// The thread.
        thread: String,
        /// The role.
        role: String,
        /// The head the run started from.
        head: Hash,
        /// The edge prompt.
        prompt: String,
        /// Whether it is engine and agent in one, so that it moves the head itself.
        stand_alone: bool,
        /// The directory it works in.
        workspace: String,
        /// When it started.
        at: u64,
        /// What was set, without keys.
        settings: Value,
        /// What its commands run under.
        sandbox: Enforced,
        /// The tools as declared to the model.
        tools: Vec<ToolDeclaration>,
        /// How many messages open the conversation: before they are all here, nothing has happened.
        opening: usize,
        /// What it runs in.
        #[serde(default)]
        surroundings: Surroundings,
        /// The project's own words that it opens with.
        #[serde(default, skip_serializing_if = "ProjectWords::is_empty")]
        project: ProjectWords,
    },
    /// The run was interrupted, and another process goes on with it.
    Continued {
        /// When.
        at: u64,
        /// What is set from here on.
        settings: Value,
        /// What commands run under from here on.
        sandbox: Enforced,
        /// What it runs in from here on.
        #[serde(default)]
        surroundings: Surroundings,
    },
    /// Something said by our side that is no tool result.
    Said {
        /// The message.
        message: Message,
        /// The limit that it warns of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        near: Option<Use>,
        /// When.
        at: u64,
    },
    /// The model is asked for its next turn.
    Asked {
        /// When.
        at: u64,
    },
    /// A request went out: one for each attempt.
    Sent {
        /// Its body, by what is new in it.
        request: SentRequest,
        /// When.
        at: u64,
    },
    /// The attempt failed; what comes of that follows.
    AttemptFailed {
        /// How.
        failed: AttemptError,
        /// When.
        at: u64,
    },
    /// Somebody wants the run to stop.
    Signalled {
        /// The signal's name.
        signal: String,
        /// When.
        at: u64,
    },
    /// The endpoint refused something, and is asked otherwise from here on.
    RequestChanged {
        /// What changes, in words.
        change: String,
        /// The refusal, in words.
        reason: String,
        /// When.
        at: u64,
    },
    /// A turn of the model.
    Answered {
        /// The message, as it goes on in the conversation.
        message: Message,
        /// When it was complete.
        at: u64,
        /// How long it took.
        duration_ms: u64,
        /// What it cost, where told.
        usage: Option<TokenUsage>,
        /// Why the endpoint stopped, in its own word.
        finish_reason: Option<String>,
        /// The reply as it came; on disk only, not kept in memory.
        raw: Value,
    },
    /// The time for a turn was over before the model had spoken: nobody waits for it any more.
    Abandoned {
        /// When.
        at: u64,
    },
    /// The model's window is found to have another size than was thought.
    Window {
        /// In tokens.
        size: u64,
        /// Whether a request was refused as too long; otherwise the server says so.
        refused: bool,
        /// When.
        at: u64,
    },
    /// What the endpoint was found to refuse, or to be: all that is known by now.
    Learnt {
        /// What is known.
        learnt: Learnt,
        /// When.
        at: u64,
    },
    /// A tool is about to run: from here on it may have had an effect.
    Started {
        /// The call.
        call_id: String,
        /// Its arguments as they may be shown, where they hold a secret.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
        /// When.
        at: u64,
    },
    /// A tool has run.
    Finished {
        /// The answer to the model.
        message: Message,
        /// When it was complete.
        at: u64,
        /// How long it took.
        duration_ms: u64,
        /// What the tool did, for the record.
        facts: ToolFacts,
    },
    /// The workspace was captured.
    Snapshot {
        /// What it was like.
        snapshot: RecordedSnapshot,
        /// Why it was captured then.
        point: CapturePoint,
        /// The call that had ended just before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// When.
        at: u64,
    },
    /// Old results are left out of the requests from here on.
    #[serde(rename = "left-out")]
    Elided {
        /// What stands in the place of each.
        marks: Vec<Elided>,
        /// When.
        at: u64,
    },
    /// What was said up to here is replaced by a summary in the requests from here on.
    #[serde(rename = "summed-up")]
    Summarised {
        /// The summary, as it is sent; empty where none was written: all stays, and the question for it goes.
        message: Message,
        /// How many messages before the question for the summary stay.
        kept: usize,
        /// When.
        at: u64,
    },
    /// Something is amiss that people should know; the run goes on.
    Warned {
        /// What it is about.
        about: Concern,
        /// For people.
        message: String,
        /// When.
        at: u64,
    },
    /// How the run ended is decided: whatever is recorded from here on is the same, however often it is tried.
    Ended {
        /// Why there is no answer; none when the last turn is one.
        failure: Option<Failure>,
        /// When.
        at: u64,
    },
    /// The last line: the reply, as printed.
    Replied {
        /// The AdapterOutput.
        reply: Value,
        /// When.
        at: u64,
    },
}

/// The process that makes a stretch of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Surroundings {
    /// The version of this program.
    pub program: String,
    /// The kernel and its release.
    pub kernel: String,
    /// The names of the variables that commands start from; their values are nobody's business.
    pub environment: Vec<String>,
    /// The directory that the model is told it works in, where that is another one than it does; empty where it is told none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_workspace: Option<String>,
}

impl Surroundings {
    /// Those of this process, whose commands start from these variables.
    pub(crate) fn of(env: &[(OsString, OsString)], placeless: bool) -> Surroundings {
        let system = rustix::system::uname();
        let kernel = format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy());
        let mut environment: Vec<String> =
            env.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        environment.sort();
        Surroundings {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            kernel,
            environment,
            told_workspace: placeless.then(String::new),
        }
    }
}

/// Why a workspace is captured at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapturePoint {
    /// Nothing has happened yet.
    Start,
    /// The run goes on after an interruption.
    Resume,
    /// A call has ended of which nobody knows what it changed.
    Call,
    /// Nothing more happens.
    End,
}

impl CapturePoint {
    /// Where a run of these entries is that is about to ask the model.
    pub(crate) fn of(entries: &[Entry]) -> CapturePoint {
        let is_under_way = |entry: &Entry| matches!(entry, Entry::Started { .. } | Entry::Snapshot { .. });
        if entries.iter().any(is_under_way) { CapturePoint::Resume } else { CapturePoint::Start }
    }
}

/// What people are warned of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Concern {
    /// The model's window is small.
    SmallWindow,
    /// The endpoint seems to cut what it is sent.
    CutPrompt,
    /// Git may run what commands have left.
    Git,
    /// The workspace cannot be captured: until the run is continued, it is not tried again.
    NoSnapshot,
    /// Not all of the workspace is in its snapshots.
    PartialSnapshot,
    /// What a call of an agent has cost is not known.
    Unpriced,
}

/// What is kept of a tool's work beside the text for the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolFacts {
    /// One line for people: what was done, on what.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Whether the call failed.
    #[serde(default)]
    pub is_error: bool,
    /// The command's exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether its time limit ended it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Whether the run's own end ended it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// How much it printed in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// The file that holds the full output, when more was printed than shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spool: Option<PathBuf>,
    /// What a command did to git that was put back, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<String>,
    /// What was told with it of the directories that it came to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<ToldFile>,
    /// What an own tool tells of its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Value>,
    /// What changed in the workspace, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// What the model knows of a file since then.
    #[serde(default, rename = "seen", skip_serializing_if = "Option::is_none")]
    pub read_state: Option<ReadState>,
}

impl ToolFacts {
    /// Whether the call was not done, or its command ended otherwise than with exit code 0.
    pub fn failed(&self) -> bool {
        self.is_error || self.signal.is_some() || self.exit_code.is_some_and(|code| code != 0)
    }
}

/// A file that a tool changed, with its contents: as text, or as a data URL where they are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the workspace.
    pub path: String,
    /// The content before; `None` when there was no such file.
    pub before: Option<String>,
    /// The content after.
    pub after: String,
}

impl Entry {
    /// The raw reply stays on disk.
    pub(super) fn forget_raw(&mut self) {
        if let Entry::Answered { raw, .. } = self {
            *raw = Value::Null;
        }
    }

    /// When it was written.
    pub(crate) fn at(&self) -> u64 {
        match self {
            Entry::Run { at, .. }
            | Entry::Continued { at, .. }
            | Entry::Said { at, .. }
            | Entry::Answered { at, .. }
            | Entry::Abandoned { at }
            | Entry::Asked { at }
            | Entry::Sent { at, .. }
            | Entry::AttemptFailed { at, .. }
            | Entry::Signalled { at, .. }
            | Entry::RequestChanged { at, .. }
            | Entry::Warned { at, .. }
            | Entry::Window { at, .. }
            | Entry::Learnt { at, .. }
            | Entry::Started { at, .. }
            | Entry::Finished { at, .. }
            | Entry::Snapshot { at, .. }
            | Entry::Elided { at, .. }
            | Entry::Summarised { at, .. }
            | Entry::Ended { at, .. }
            | Entry::Replied { at, .. } => *at,
        }
    }
}
