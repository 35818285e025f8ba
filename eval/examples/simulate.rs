//! Whether the intervals and verdicts of evaluations are to be believed: evaluations whose truth is known, many times over.
//!
//! `cargo run --release -p uwf-eval --example simulate`
//!
//! The first part is `solve-issue` with and without its reviewer, over six tasks with 20 repeats each. A developer is
//! right, wrong, slow or failing with known chances; a reviewer finds most of what is wrong and asks for it once more. The
//! second part draws the tasks, too.

use std::io::{self, Write};

use fastrand::Rng;
use uwf_eval::numbers::{Pair, Paired, Possible, Verdict, estimate, paired, verdict};

/// How likely the developer is right at each of the six tasks.
const RIGHT: [f64; 6] = [0.7, 0.6, 0.55, 0.5, 0.45, 0.35];
/// Of a hundred runs, so many fail: a score of 0.
const FAILING: f64 = 0.05;
/// What wrong work scores: the judges of form are content with it.
const WRONG: f64 = 0.2;
/// How much of what is wrong the reviewer finds.
const FINDS: f64 = 0.8;
/// How likely the developer is right when told what is wrong.
const MENDS: f64 = 0.8;

/// A way to solve an issue.
#[derive(Clone, Copy, PartialEq)]
enum Workflow {
    WithoutReviewer,
    WithReviewer,
}

impl Workflow {
    /// One sample of a task at which the developer is right with chance `right`.
    fn sample(self, right: f64, rng: &mut Rng) -> f64 {
        if rng.f64() < FAILING {
            return 0.0;
        }
        let is_right =
            rng.f64() < right || self == Workflow::WithReviewer && rng.f64() < FINDS && rng.f64() < MENDS;
        if is_right { 1.0 } else { WRONG }
    }

    /// What that is on the average.
    fn truth(self, right: f64) -> f64 {
        let right = match self {
            Workflow::WithoutReviewer => right,
            Workflow::WithReviewer => right + (1.0 - right) * FINDS * MENDS,
        };
        (1.0 - FAILING) * (right + (1.0 - right) * WRONG)
    }

    fn run(self, tasks: &[f64], repeats: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
        tasks.iter().map(|right| (0..repeats).map(|_| self.sample(*right, rng)).collect()).collect()
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

fn difference(before: &[Vec<f64>], after: &[Vec<f64>], rng: &mut Rng) -> Paired {
    let pairs: Vec<Pair<'_>> =
        before.iter().zip(after).map(|(before, after)| Pair { before, after }).collect();
    paired(&pairs, Possible::Difference, rng).expect("every task has a sample in both")
}

/// How often what came out, of so many seeds.
#[derive(Clone, Copy, Default)]
struct Counts {
    seeds: u64,
    /// The interval of the one without, of the one with, and of their difference has the truth in it.
    covered: [u64; 3],
    /// The same of the intervals for these tasks.
    covered_here: [u64; 3],
    /// The one with the reviewer is called better.
    found: u64,
    /// It is called worse.
    turned: u64,
    /// One that is compared with itself, run anew, is called different.
    wrongly: u64,
    /// `--no-regression` stops it.
    stopped: u64,
    /// The two of it look at least 5 points apart.
    apart: u64,
}

/// An experiment: which tasks a seed has, and which truth is meant.
struct Experiment {
    name: &'static str,
    tasks: fn(&mut Rng) -> Vec<f64>,
    /// The truth of a workflow, for the tasks that the seed has.
    truth: fn(Workflow, &[f64]) -> f64,
    repeats: usize,
}

impl Experiment {
    fn run(&self, seeds: std::ops::RangeInclusive<u64>) -> Counts {
        seeds.fold(Counts::default(), |counts, seed| self.one(seed, counts))
    }

    fn one(&self, seed: u64, mut counts: Counts) -> Counts {
        let rng = &mut Rng::with_seed(seed);
        let tasks = (self.tasks)(rng);
        let without = Workflow::WithoutReviewer.run(&tasks, self.repeats, rng);
        let with = Workflow::WithReviewer.run(&tasks, self.repeats, rng);
        let again = Workflow::WithoutReviewer.run(&tasks, self.repeats, rng);
        let better = difference(&without, &with, rng);
        let same = difference(&without, &again, rng);
        let of = |scores: &[Vec<f64>], rng: &mut Rng| {
            estimate(scores, Possible::Score, rng).expect("there are samples")
        };
        let (low, high) =
            ((self.truth)(Workflow::WithoutReviewer, &tasks), (self.truth)(Workflow::WithReviewer, &tasks));
        let estimates = [(of(&without, rng), low), (of(&with, rng), high), (better.delta, high - low)];
        for (at, (estimate, truth)) in estimates.into_iter().enumerate() {
            counts.covered[at] += u64::from(estimate.interval.is_some_and(|it| it.contains(truth)));
            counts.covered_here[at] += u64::from(estimate.these_tasks.is_some_and(|it| it.contains(truth)));
        }
        counts.seeds += 1;
        counts.found += u64::from(verdict(Some(&better), None) == Verdict::Better);
        counts.turned += u64::from(verdict(Some(&better), None) == Verdict::Worse);
        counts.wrongly += u64::from(!matches!(verdict(Some(&same), None), Verdict::Unclear(_)));
        counts.stopped += u64::from(same.is_regression());
        counts.apart += u64::from(same.delta.mean.abs() >= 0.05);
        counts
    }
}

fn these_six(_: &mut Rng) -> Vec<f64> {
    RIGHT.to_vec()
}

fn of_these(workflow: Workflow, tasks: &[f64]) -> f64 {
    mean(tasks.iter().map(|right| workflow.truth(*right)))
}

fn drawn<const N: usize>(rng: &mut Rng) -> Vec<f64> {
    (0..N).map(|_| rng.f64()).collect()
}

/// Over all tasks that might have been drawn: the mean over a fine grid.
fn of_all(workflow: Workflow, _: &[f64]) -> f64 {
    mean((0..10_000).map(|at| workflow.truth((f64::from(at) + 0.5) / 10_000.0)))
}

const SIX: Experiment = Experiment { name: "six tasks x 20", tasks: these_six, truth: of_these, repeats: 20 };

fn experiments() -> [(Experiment, u64); 8] {
    let drawn_of = |name, tasks, repeats| Experiment { name, tasks, truth: of_all, repeats };
    [
        (SIX, 100),
        (SIX, 2_000),
        (Experiment { name: "six tasks x 5", repeats: 5, ..SIX }, 2_000),
        (Experiment { name: "six tasks x 1", repeats: 1, ..SIX }, 2_000),
        (drawn_of("6 drawn x 20", drawn::<6>, 20), 2_000),
        (drawn_of("10 drawn x 3", drawn::<10>, 3), 2_000),
        (drawn_of("30 drawn x 3", drawn::<30>, 3), 500),
        (drawn_of("100 drawn x 3", drawn::<100>, 3), 200),
    ]
}

fn main() -> io::Result<()> {
    let out = &mut io::stdout().lock();
    let (low, high) = (of_these(Workflow::WithoutReviewer, &RIGHT), of_these(Workflow::WithReviewer, &RIGHT));
    writeln!(out, "the six tasks: {low:.3} without the reviewer, {high:.3} with, {:+.3}\n", high - low)?;
    writeln!(
        out,
        "in percent of the seeds        covered, tasks like these   covered, these tasks    the better     a run and itself again"
    )?;
    writeln!(
        out,
        "tasks x repeats       seeds    without   with  delta    without   with  delta   found  turned   different  stopped  >= 5 apart"
    )?;
    for (experiment, seeds) in experiments() {
        let counts = experiment.run(1..=seeds);
        let percent = |count: u64| 100.0 * count as f64 / counts.seeds as f64;
        let [a, b, c] = counts.covered.map(percent);
        // Of one repeat nothing is said of these tasks.
        let here = |covered: u64| match experiment.repeats {
            1 => "-".to_owned(),
            _ => format!("{:.1}", percent(covered)),
        };
        let [d, e, f] = counts.covered_here.map(here);
        let [g, h] = [counts.found, counts.turned].map(percent);
        let [i, j, k] = [counts.wrongly, counts.stopped, counts.apart].map(percent);
        let name = experiment.name;
        write!(
            out,
            "{name:<20} {seeds:>6}    {a:>7.1} {b:>6.1} {c:>6.1}    {d:>7} {e:>6} {f:>6}  {g:>6.1} {h:>7.1}"
        )?;
        writeln!(out, "   {i:>9.1} {j:>8.1} {k:>11.1}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_cover_the_truth_the_better_is_found_and_equals_are_not_called_different() {
        let counts = SIX.run(1..=100);
        assert!(counts.covered.iter().chain(&counts.covered_here).all(|covered| *covered >= 90));
        assert!(counts.found >= 80 && counts.turned == 0, "{} found", counts.found);
        assert!(counts.wrongly <= 5, "{} called different", counts.wrongly);
    }

    #[test]
    fn what_a_workflow_scores_on_the_average_is_its_truth() {
        let rng = &mut Rng::with_seed(3);
        for workflow in [Workflow::WithoutReviewer, Workflow::WithReviewer] {
            let found = mean((0..200_000).map(|_| workflow.sample(0.6, rng)));
            assert!((found - workflow.truth(0.6)).abs() < 0.01, "{found}");
        }
    }
}
