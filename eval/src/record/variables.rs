//! What the variables of evaluations are called.

use uwf_store::check_name;

/// Where the cases that are finished live among the variables.
pub const RUNS: &str = "@uwf/eval/";
/// Where evaluations live among the variables.
pub const EVALUATIONS: &str = "@uwf/evaluation/";
/// Where the cases of evaluations that go on live among the variables.
pub const CASES: &str = "@uwf/eval-case/";
/// Where the threads that were run live among the variables, by what they were run for.
pub const SAMPLES: &str = "@uwf/eval-sample/";

/// Whether a text can be the name of a task, or of an evaluation: it stands in the names of variables and of directories.
pub fn is_segment(text: &str) -> bool {
    !text.contains('/') && check_name(&format!("{RUNS}{text}")).is_ok() && !text.starts_with('.')
}

/// The variable of a finished case.
pub fn run_variable(task: &str, id: &str) -> String {
    format!("{RUNS}{task}/{id}")
}

/// The variable of an evaluation.
pub fn evaluation_variable(name: &str) -> String {
    format!("{EVALUATIONS}{name}")
}

/// What the variables of an evaluation's cases begin with.
pub fn cases_prefix(name: &str) -> String {
    format!("{CASES}{name}/")
}

/// The variable of a case of an evaluation that goes on.
pub fn case_variable(name: &str, task: &str, repeat: u32) -> String {
    format!("{}{task}/{repeat}", cases_prefix(name))
}

/// The variable of what was run for exactly one thing.
pub fn sample_variable(sample: &uwf_store::Hash) -> String {
    format!("{SAMPLES}{sample}")
}
