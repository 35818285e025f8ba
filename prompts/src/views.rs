//! What the caller hands in: plain borrowed values, no store, no thread, no model.
//!
//! Apart so that a reader sees in one place everything a prompt can depend on. Nothing volatile (time, process
//! id, host) has a field here, so the prompts of a thread are the same bytes whenever they are written. A view that says all
//! a template needs is rendered as it is.

use serde::Serialize;
use serde_json::Value;

/// What the system message says; see [`system`](crate::system).
#[derive(Clone, Copy, Debug)]
pub struct SystemView<'a> {
    /// The JSON Schema of the role's frontmatter.
    pub schema: &'a Value,
    /// Who the model is.
    pub role: RoleView<'a>,
    /// Where it works.
    pub workspace: WorkspaceView<'a>,
    /// What the project there says of itself.
    pub project: ProjectView<'a>,
}

/// A role as its workflow describes it. An empty text or list is left out of the prompt.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RoleView<'a> {
    /// The workflow's name.
    pub workflow: &'a str,
    /// The role's name.
    pub name: &'a str,
    /// One sentence about the role.
    pub description: &'a str,
    /// What the role is there to reach.
    pub goal: &'a str,
    /// What the role can do.
    pub capabilities: &'a [String],
    /// How the role goes about it.
    pub procedure: &'a str,
    /// What the role delivers.
    pub output: &'a str,
    /// What is kept of its steps: pointers into its answer, and globs of files.
    pub artifacts: &'a [String],
}

/// The directory and the tools of a run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct WorkspaceView<'a> {
    /// The directory the tools work in, as an absolute path.
    pub root: &'a str,
    /// The names of the tools that are offered, in the order they are offered.
    pub tools: &'a [&'a str],
    /// Whether it is an agent that has tools of its own, of which nothing is known here.
    pub own_tools: bool,
}

/// What a project says to whoever works in it; nothing where both are empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProjectView<'a> {
    /// Its files, from the outermost.
    pub files: &'a [ProjectFileView<'a>],
    /// Its skills.
    pub skills: &'a [SkillView<'a>],
}

/// A file of a project's own words, such as `AGENTS.md`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProjectFileView<'a> {
    /// Relative to the workspace.
    pub path: &'a str,
    /// What it says.
    pub text: &'a str,
    /// Whether there is more of it.
    pub is_cut: bool,
}

/// Instructions for a kind of work, which are read when they are needed.
#[derive(Clone, Copy, Debug, Default)]
pub struct SkillView<'a> {
    /// The file, relative to the workspace.
    pub path: &'a str,
    /// What it is called.
    pub name: &'a str,
    /// When it is needed.
    pub description: &'a str,
}

/// One finished step of the thread, as another role needs to see it.
#[derive(Clone, Copy, Debug)]
pub struct FinishedStepView<'a> {
    /// The role that took the step.
    pub role: &'a str,
    /// Its `$status`; empty where it has none.
    pub status: &'a str,
    /// Its frontmatter; `$status` inside it is not said twice.
    pub output: &'a Value,
    /// The text below its frontmatter, when there was one.
    pub answer_body: Option<&'a str>,
    /// What is kept of it.
    pub artifacts: &'a [ArtifactView<'a>],
}

/// A file or a node that is kept of a step.
#[derive(Clone, Copy, Debug)]
pub struct ArtifactView<'a> {
    /// What it is called.
    pub name: &'a str,
    /// The file's path below the directory of the step; none of a node.
    pub path: Option<&'a str>,
    /// The node that has it.
    pub content: &'a str,
    /// How many bytes, where that can be told.
    pub size: Option<u64>,
}

/// The first visit of a role; see [`opening`](crate::opening).
#[derive(Clone, Copy, Debug)]
pub struct OpeningView<'a> {
    /// The thread's task, as the person gave it.
    pub task: &'a str,
    /// What the workflow tells this role to do now.
    pub edge_prompt: &'a str,
    /// What happened before the first of these steps, where that was summed up.
    pub summary: Option<&'a str>,
    /// All steps before this one, oldest first.
    pub happened: &'a [FinishedStepView<'a>],
    /// How many attempts at this very step failed before.
    pub previous_failures: usize,
}

/// A later visit of a role; see [`continuation`](crate::continuation).
#[derive(Clone, Copy, Debug)]
pub struct ContinuationView<'a> {
    /// What the workflow tells this role to do now.
    pub edge_prompt: &'a str,
    /// The steps since this role's last answer, oldest first.
    pub happened: &'a [FinishedStepView<'a>],
    /// How many times this role has answered in this thread before; where that was summed up, since then.
    pub visit: usize,
    /// Whether what happened before was summed up.
    pub summarised: bool,
    /// How many attempts at this very step failed before.
    pub previous_failures: usize,
}

/// A text that is no answer and calls no tool; see [`nudge`](crate::nudge).
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct NudgeView<'a> {
    /// What was wrong with it, a whole sentence: one of [`missing`](crate::missing), or more precise words.
    pub missing: &'a str,
    /// Which reminder this is, from 1.
    pub attempt: usize,
    /// How many there are.
    pub of: usize,
}

/// A budget that runs out; see [`deadline`](crate::deadline).
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DeadlineView<'a> {
    /// How much is used: `48`, `$0.40`.
    pub used: &'a str,
    /// The whole budget, with its unit: `60 turns`, `$0.50`.
    pub total: &'a str,
    /// How much is left: `12`, `$0.10`.
    pub left: &'a str,
    /// Whether it is so near its end that the answer is due.
    pub last: bool,
}

/// The same call again and again; see [`repeated`](crate::repeated).
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RepeatedView<'a> {
    /// The tool.
    pub tool: &'a str,
    /// How often the same came.
    pub times: usize,
    /// How often it may come before the run ends.
    pub ends_at: usize,
}

/// A tool result that is left out of the conversation; see [`left_out`](crate::left_out).
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LeftOutView<'a> {
    /// The name under which it can be read again.
    pub hash: &'a str,
    /// How many lines it has.
    pub lines: usize,
    /// Whether there is a tool to read it with.
    pub readable: bool,
}

/// A budget that has run out; see [`grace`](crate::grace).
#[derive(Clone, Copy, Debug)]
pub struct GraceView<'a> {
    /// What ended, in a few words: `60 of 60 turns are used`, `the same call came 5 times`.
    pub budget: &'a str,
    /// The JSON Schema of the role's frontmatter.
    pub schema: &'a Value,
}

/// Why an answer was refused; see [`correction`](crate::correction). Each names the role's frontmatter schema, from
/// which the worked example is made.
#[derive(Clone, Copy, Debug)]
pub enum CorrectionView<'a> {
    /// No pair of `---` lines with YAML between them.
    NoFrontmatter {
        /// The JSON Schema of the role's frontmatter.
        schema: &'a Value,
    },
    /// There is YAML between the `---` lines, but no fields.
    NotMapping {
        /// What it is instead: `a list`, `a single value`, `empty`.
        got: &'a str,
        /// The JSON Schema of the role's frontmatter.
        schema: &'a Value,
    },
    /// The text between the `---` lines is no YAML.
    BadYaml {
        /// Line in `yaml`, from 1.
        line: usize,
        /// Column in that line, from 1.
        column: usize,
        /// What the YAML reader said.
        message: &'a str,
        /// The text between the `---` lines, from which the line is shown.
        yaml: &'a str,
        /// The JSON Schema of the role's frontmatter.
        schema: &'a Value,
    },
    /// The fields do not obey the schema.
    Violations {
        /// Every violation, not only the first.
        violations: &'a [ViolationView<'a>],
        /// The `$status` that the answer had: its form is the one shown.
        status: Option<&'a str>,
        /// The JSON Schema of the role's frontmatter.
        schema: &'a Value,
    },
    /// A placeholder of the example came back as a value.
    Placeholder {
        /// JSON pointer of the value, as [`copied_placeholder`](crate::copied_placeholder) gives it.
        path: &'a str,
        /// The value.
        placeholder: &'a str,
        /// The `$status` that the answer had: its form is the one shown.
        status: Option<&'a str>,
        /// The JSON Schema of the role's frontmatter.
        schema: &'a Value,
    },
}

/// What another role claims of its work; see [`claims`](crate::claims()).
#[derive(Clone, Copy, Debug)]
pub struct ClaimsView<'a> {
    /// The role that claims it.
    pub role: &'a str,
    /// What it was asked for.
    pub asked: &'a str,
    /// What it did, and what came back.
    pub evidence: &'a str,
    /// The claims, a sentence each.
    pub claims: &'a [String],
}

/// What a judge judges, and by what; see [`judging`](crate::judging()).
#[derive(Clone, Copy, Debug)]
pub struct JudgingView<'a> {
    /// By what it judges: the words of the task's author.
    pub rubric: &'a str,
    /// What the thread was asked for.
    pub asked: &'a str,
    /// What its roles said, in their order.
    pub steps: &'a [SaidByRole<'a>],
    /// What was changed in the workspace, as a patch; empty where nothing was.
    pub changed: &'a str,
}

/// What a role said in one step.
#[derive(Clone, Copy, Debug)]
pub struct SaidByRole<'a> {
    /// Which.
    pub role: &'a str,
    /// Its answer.
    pub answer: &'a str,
}

/// One way in which the fields do not obey the schema.
#[derive(Clone, Copy, Debug)]
pub struct ViolationView<'a> {
    /// JSON pointer of the value; empty for the whole.
    pub path: &'a str,
    /// What is wrong, one line.
    pub message: &'a str,
    /// What was expected, in the validator's words.
    pub expected: Option<&'a str>,
    /// The value that was there; `None` when there was none.
    pub got: Option<&'a Value>,
}
