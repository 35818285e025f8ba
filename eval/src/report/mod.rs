//! What an evaluation comes to, and what two differ by: values made of its cases, and those as text.
//!
//! Pure but for `case_detail`, which reads the steps of a case and what its judges found. `JSON` is the value itself; tables
//! are made by the command line, pages by `uwf-web`.
//!
//! | module | what it knows |
//! |---|---|
//! | `options` | from which score on a case passes, how many may be without one |
//! | `tasks` | the cases of each task |
//! | `summary` | [`Report`]: one evaluation |
//! | `settings` | which of their settings two evaluations differ in |
//! | `difference` | [`Difference`]: two evaluations, task by task |
//! | `words` | numbers in words, and the sentence of a verdict |
//! | `csv`, `junit` | cases as lines, and as tests |
//! | `case_detail` | [`CaseDetail`]: the steps of a case, and what its judges found |

mod case_detail;
mod csv;
mod difference;
mod junit;
mod options;
mod settings;
mod summary;
mod tasks;
#[cfg(test)]
mod tests;
pub mod words;

pub use case_detail::{CaseDetail, FoundByJudge, StepOfCase};
pub use csv::{csv, csv_of_difference};
pub use difference::{Difference, JudgeDifference, Side, TaskDifference};
pub use junit::junit;
pub use options::ReportOptions;
pub use settings::Differs;
pub use summary::{JudgeReport, PassReport, Report, TaskReport};
pub use tasks::{outcomes, passes};
