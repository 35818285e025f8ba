//! The numbers against what others compute: scipy 1.17.1, statsmodels 0.15.0 and numpy 2.4.6, and published examples. Each
//! test names the call that gives its values.

use fastrand::Rng;

use super::*;

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * right.abs().max(1.0)
}

fn assert_interval(interval: Option<Interval>, low: f64, high: f64) {
    let found = interval.expect("there is an interval");
    assert!(near(found.low, low) && near(found.high, high), "{found:?}, not {low} to {high}");
}

/// Six tasks, four repeats each.
fn six() -> Vec<Vec<f64>> {
    [
        [1.0, 0.0, 1.0, 1.0],
        [0.0, 0.0, 1.0, 0.0],
        [1.0, 1.0, 1.0, 1.0],
        [0.5, 0.25, 1.0, 0.0],
        [0.0, 1.0, 1.0, 0.0],
        [1.0, 1.0, 0.0, 1.0],
    ]
    .map(Vec::from)
    .to_vec()
}

/// `scipy.stats.t.ppf`, `scipy.stats.norm.ppf`, `scipy.stats.norm.cdf`.
#[test]
fn quantiles() {
    let known = [
        (0.975, 1.0, 12.706204736174694),
        (0.975, 3.7, 2.8675207071911895),
        (0.975, 4.0, 2.7764451051977934),
        (0.975, 5.0, 2.5705818356363146),
        (0.8, 5.0, 0.9195437802408271),
        (0.025, 9.0, -2.2621571627982053),
        (0.975, 29.0, 2.045229642132703),
        (0.975, 113.6, 1.9810671210651147),
        (0.975, 999.0, 1.9623414611334493),
        (0.975, 1001.0, 1.9623367052808798),
        (0.975, 1e6, 1.959966356814107),
    ];
    for (p, degrees, value) in known {
        let found = quantile::t(p, degrees);
        assert!((found - value).abs() < 1e-7, "t({p}, {degrees}) = {found}, not {value}");
    }
    assert!(near(quantile::normal(0.975), 1.959963984540054));
    assert!(near(quantile::normal(0.001), -3.090232306167813));
    assert!(near(quantile::t(0.8, f64::INFINITY), 0.8416212335729143));
    assert!(near(quantile::below(-2.1), 0.017864420562816542));
}

/// `scipy.stats.ttest_1samp(means, 0).confidence_interval()`, and for repeats the Welch–Satterthwaite degrees of freedom
/// (14.481) with `scipy.stats.t.ppf`.
#[test]
fn a_mean_has_the_interval_of_its_tasks() {
    let found = estimate(&six(), Possible::Score, &mut Rng::with_seed(1)).unwrap();
    assert_eq!((found.tasks, found.samples, found.method), (6, 24, Method::T));
    assert!(near(found.mean, 0.614_583_333_333_333_3));
    assert_interval(found.interval, 0.3319633953460543, 0.8972032713206124);
    let these = found.these_tasks.unwrap();
    assert!((these.low - 0.41413445996749737).abs() < 1e-7, "{these:?}");
    assert!((these.high - 0.8150322066991693).abs() < 1e-7, "{these:?}");
}

/// `scipy.stats.ttest_rel(after, before).confidence_interval()`; the least difference seen is
/// `(t.ppf(.975, 5) + t.ppf(.8, 5)) * sd(differences) / sqrt(6)`.
#[test]
fn a_difference_is_paired_by_task() {
    let before = [0.2, 0.5, 0.55, 0.9, 0.3, 0.65].map(|score| [score]);
    let after = [0.4, 0.75, 0.5, 1.0, 0.6, 0.8].map(|score| [score]);
    let pairs: Vec<Pair<'_>> =
        before.iter().zip(&after).map(|(before, after)| Pair { before, after }).collect();
    let found = paired(&pairs, Possible::Difference, &mut Rng::with_seed(1)).unwrap();
    assert!(near(found.delta.mean, 0.158_333_333_333_333_33));
    assert_interval(found.delta.interval, 0.028031342742718374, 0.2886353239239483);
    assert_eq!((found.wins, found.losses, found.ties, found.delta.these_tasks), (5, 1, 0, None));
    assert!((found.least_seen.unwrap() - 0.17691337768576232).abs() < 1e-7);
    assert_eq!(verdict(Some(&found), None), Verdict::Better);
}

/// `scipy.stats.ttest_ind(after, before, equal_var=False).confidence_interval()`: one task, so repeats alone.
#[test]
fn one_task_has_the_interval_of_welch() {
    let pair = Pair { before: &[0.1, 0.4, 0.35, 0.8, 0.2], after: &[0.6, 0.9, 0.5, 0.7] };
    let found = paired(&[pair], Possible::Difference, &mut Rng::with_seed(1)).unwrap();
    assert!(near(found.delta.mean, 0.305));
    let these = found.delta.these_tasks.unwrap();
    assert!((these.low - -0.045741591530032266).abs() < 1e-7, "{these:?}");
    assert!((these.high - 0.6557415915300324).abs() < 1e-7, "{these:?}");
    assert_eq!(found.delta.interval, None, "one task says nothing of others");
    let few = Verdict::Unclear(Unclear::TooFewTasks { tasks: 1, needed: FEWEST_TASKS });
    assert_eq!(verdict(Some(&found), None), few);
}

/// `statsmodels.stats.proportion.proportion_confint(k, n, method="wilson")`; 81 of 263, 15 of 148, 0 of 20 and 1 of 29 are
/// the examples of Newcombe (1998), method 3.
#[test]
fn rates_have_wilsons_interval() {
    assert_interval(wilson(81, 263), 0.2552885198782742, 0.36620957698280004);
    assert_interval(wilson(15, 148), 0.06238639953073628, 0.16048724172330803);
    assert_interval(wilson(0, 20), 0.0, 0.1611251580528194);
    assert_interval(wilson(1, 29), 0.006113214292762667, 0.17175521879320294);
    assert_interval(wilson(8, 10), 0.49016247153664183, 0.9433178485456247);
    assert_interval(wilson(20, 20), 0.8388748419471804, 1.0);
    assert_eq!((wilson(0, 0), wilson(2, 1)), (None, None));
}

/// `statsmodels.stats.contingency_tables.mcnemar([[5, b], [c, 5]], exact=True).pvalue`.
#[test]
fn the_exact_test_of_mcnemar() {
    let known = [
        (6, 16, 0.052478790283203125),
        (1, 9, 0.021484375),
        (0, 6, 0.03125),
        (12, 30, 0.007915897334896727),
        (3, 3, 1.0),
        (0, 0, 1.0),
    ];
    for (before, after, p) in known {
        assert!(near(mcnemar(before, after).p, p), "{before}, {after}: {}", mcnemar(before, after).p);
    }
}

/// The example of Fleiss' kappa in Wikipedia, as of 2026: ten subjects, fourteen raters, five words;
/// `statsmodels.stats.inter_rater.fleiss_kappa`.
#[test]
fn votes_agree_beyond_chance() {
    const SUBJECTS: [[usize; 5]; 10] = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ];
    let votes = |counts: &[usize; 5]| -> Vec<usize> {
        counts.iter().enumerate().flat_map(|(word, count)| vec![word; *count]).collect()
    };
    let found = agreement(&SUBJECTS.iter().map(votes).collect::<Vec<_>>()).unwrap();
    assert_eq!((found.cases, found.votes), (10, 140));
    assert!(near(found.alike, 0.378021978021978));
    assert!(near(found.kappa.unwrap(), 0.20993070442195522));
}

#[test]
fn votes_that_are_all_the_same_are_no_agreement_beyond_chance() {
    let found = agreement(&[vec![1, 1, 1], vec![1, 1], vec![1]]).unwrap();
    assert_eq!((found.cases, found.alike, found.kappa), (2, 1.0, None));
    assert_eq!(agreement(&[vec![1], vec![]]), None);
}

/// `numpy.quantile`.
#[test]
fn amounts_have_quantiles() {
    let values = [3.0, 1.5, 10.0, 2.0, 7.25, 4.0, 4.0, 100.0, 0.5].map(Some);
    let found = amounts(values.into_iter().chain([None])).unwrap();
    assert_eq!((found.known, found.unknown, found.min, found.p50, found.max), (9, 1, 0.5, 4.0, 100.0));
    assert!(near(found.p90, 28.000000000000014));
    assert_eq!(amounts([None]), None);
}

/// `statsmodels.stats.anova.anova_lm(ols("x ~ t"))`: mean squares 0.2625 between and 0.0125 within; the typical size of the
/// three tasks is (9 - 29/9) / 2.
#[test]
fn repeats_are_told_from_tasks() {
    let found = spread(&[vec![0.1, 0.2, 0.3], vec![0.6, 0.7, 0.9, 0.8], vec![0.4, 0.5]]).unwrap();
    let between = (0.2625 - 0.0125) / ((9.0 - 29.0 / 9.0) / 2.0);
    assert!(near(found.within, 0.0125_f64.sqrt()));
    assert!(near(found.between, f64::sqrt(between)));
    assert!(near(found.share_between, between / (between + 0.0125)));
    assert_eq!(spread(&[vec![0.1], vec![0.2]]), None, "no repeat");
}

/// The estimator of Chen et al. (2021), "Evaluating Large Language Models Trained on Code", 1 - C(n-c, k) / C(n, k), and
/// that of Yao et al. (2024), tau-bench, C(c, k) / C(n, k), by hand.
#[test]
fn one_of_k_and_all_of_k() {
    assert!(near(pass_at_k(5, 2, 3).unwrap(), 1.0 - 1.0 / 10.0));
    assert!(near(pass_all_k(5, 4, 3).unwrap(), 4.0 / 10.0));
    assert_eq!((pass_at_k(5, 3, 3), pass_all_k(5, 2, 3)), (Some(1.0), Some(0.0)));
    assert_eq!((pass_at_k(5, 0, 5), pass_at_k(5, 1, 6), pass_all_k(2, 3, 1)), (Some(0.0), None, None));
    let both = passes(&[(5, 2), (5, 4), (4, 4)]);
    assert_eq!(both.iter().map(|passes| passes.k).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(near(both[0].at_least_one, (0.4 + 0.8 + 1.0) / 3.0) && near(both[0].all, both[0].at_least_one));
}
