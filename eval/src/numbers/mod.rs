//! What scores come to: means with intervals, two runs compared task by task, repeats, votes, amounts.
//!
//! Pure functions over slices. A sample is one run of one task; its *unit* is the task: repeats of a task are averaged before
//! anything is said across tasks, since they are not independent of each other as tasks are. `docs/eval-numbers.md` says
//! what each number means, and what misleads.
//!
//! # Layout, from the bottom up
//!
//! | module | what it knows |
//! |---|---|
//! | `quantile` | quantiles of the t and the normal distribution |
//! | `interval` | an interval, and what values are possible at all |
//! | `units` | what repeats of a task come to: a value, and how far it would move if repeated |
//! | `bootstrap` | an interval by drawing tasks again |
//! | `estimate` | a mean across tasks with its intervals |
//! | `paired` | the difference of two runs, task by task |
//! | `mcnemar`, `rate` | for 0 and 1: the exact test, Wilson's interval |
//! | `passes` | one of k, all of k |
//! | `spread` | repeats told from tasks |
//! | `amounts` | quantiles of cost, time, tokens |
//! | `agreement` | votes |
//! | `outcomes` | how many cases have a score, and whether that is a result |
//! | `verdict` | better, worse, or that it cannot be told |

mod agreement;
mod amounts;
mod bootstrap;
mod estimate;
mod interval;
mod mcnemar;
mod outcomes;
mod paired;
mod passes;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod published;
mod quantile;
mod rate;
mod spread;
mod units;
mod verdict;

pub use agreement::{Agreement, agreement};
pub use amounts::{Amounts, amounts};
pub use estimate::{Estimate, Method, estimate};
pub use interval::{Interval, Possible};
pub use mcnemar::{McNemar, mcnemar};
pub use outcomes::{Lost, Outcomes};
pub use paired::{Pair, Paired, paired};
pub use passes::{Passes, pass_all_k, pass_at_k, passes};
pub use rate::wilson;
pub use spread::{Spread, spread};
pub(crate) use units::difference;
pub use verdict::{Unclear, Verdict, verdict};

/// How often an interval is to cover what it is for.
pub const CONFIDENCE: f64 = 0.95;
/// With fewer tasks nothing is said of tasks like these.
pub const FEWEST_TASKS: usize = 5;
/// What sums of the same scores may differ by, in whatever order they were added up: that is no difference.
pub(crate) const SAME: f64 = 1e-9;
