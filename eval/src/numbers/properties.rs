//! What must hold whatever the scores are.

use fastrand::Rng;
use proptest::prelude::*;

use super::*;

fn scores() -> impl Strategy<Value = Vec<Vec<f64>>> {
    // Few values, so that ties and runs of equal scores come often.
    let score = prop_oneof![Just(0.0), Just(1.0), (0u32..=20).prop_map(|part| f64::from(part) / 20.0)];
    prop::collection::vec(prop::collection::vec(score, 0..6), 0..40)
}

fn of(tasks: &[Vec<f64>]) -> Option<Estimate> {
    estimate(tasks, Possible::Score, &mut Rng::with_seed(7))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_interval_has_its_mean_and_nothing_impossible(tasks in scores()) {
        if let Some(found) = of(&tasks) {
            for interval in [found.interval, found.these_tasks].into_iter().flatten() {
                prop_assert!(interval.low <= found.mean + 1e-9 && found.mean <= interval.high + 1e-9);
                prop_assert!((0.0..=1.0).contains(&interval.low) && (0.0..=1.0).contains(&interval.high));
                prop_assert!(interval.width() > 0.0, "nothing is certain");
            }
            if let (Some(all), Some(these)) = (found.interval, found.these_tasks) {
                prop_assert!(all.low <= these.low && these.high <= all.high);
            }
        }
    }

    #[test]
    fn the_order_of_tasks_changes_nothing_below_thirty(tasks in scores()) {
        let tasks: Vec<_> = tasks.into_iter().take(29).collect();
        let turned: Vec<_> = tasks.iter().rev().cloned().collect();
        if let (Some(one), Some(other)) = (of(&tasks), of(&turned)) {
            prop_assert!((one.mean - other.mean).abs() < 1e-12);
            let (one, other) = (one.interval.map_or(0.0, |it| it.low), other.interval.map_or(0.0, |it| it.low));
            prop_assert!((one - other).abs() < 1e-9);
        }
    }

    #[test]
    fn compared_the_other_way_round_everything_is_turned(tasks in scores(), others in scores()) {
        let forth: Vec<_> = tasks.iter().zip(&others).take(29).map(|(before, after)| Pair { before, after }).collect();
        let back: Vec<_> = forth.iter().map(|pair| Pair { before: pair.after, after: pair.before }).collect();
        let run = |pairs: &[Pair<'_>]| paired(pairs, Possible::Difference, &mut Rng::with_seed(7));
        if let (Some(forth), Some(back)) = (run(&forth), run(&back)) {
            prop_assert!((forth.delta.mean + back.delta.mean).abs() < 1e-12);
            prop_assert_eq!((forth.wins, forth.losses, forth.ties), (back.losses, back.wins, back.ties));
            let low = |found: &Paired| found.delta.interval.map_or(0.0, |it| it.low);
            let high = |found: &Paired| found.delta.interval.map_or(0.0, |it| it.high);
            prop_assert!((low(&forth) + high(&back)).abs() < 1e-9);
            let turned = match verdict(Some(&back), None) {
                Verdict::Better => Verdict::Worse,
                Verdict::Worse => Verdict::Better,
                unclear => unclear,
            };
            prop_assert_eq!(std::mem::discriminant(&verdict(Some(&forth), None)), std::mem::discriminant(&turned));
        }
    }

    #[test]
    fn a_run_compared_with_itself_is_never_different(tasks in scores()) {
        let pairs: Vec<_> = tasks.iter().map(|scores| Pair { before: scores, after: scores }).collect();
        let found = paired(&pairs, Possible::Difference, &mut Rng::with_seed(7));
        prop_assert!(matches!(verdict(found.as_ref(), None), Verdict::Unclear(_)));
        if let Some(found) = found {
            prop_assert_eq!((found.wins, found.losses), (0, 0));
        }
    }

    #[test]
    fn the_same_repeated_more_often_is_never_different(tasks in prop::collection::vec(0u32..=10, 1..29)) {
        let repeated = |count: usize| -> Vec<Vec<f64>> {
            tasks.iter().map(|part| vec![f64::from(*part) / 10.0 * 0.7 + 0.1; count]).collect()
        };
        let (once, thrice) = (repeated(1), repeated(3));
        let pairs: Vec<_> = once.iter().zip(&thrice).map(|(before, after)| Pair { before, after }).collect();
        let found = paired(&pairs, Possible::Difference, &mut Rng::with_seed(7)).unwrap();
        prop_assert!(!found.is_regression() && matches!(verdict(Some(&found), None), Verdict::Unclear(_)));
        prop_assert_eq!((found.delta.mean, found.ties), (0.0, tasks.len()));
    }

    #[test]
    fn more_tries_pass_once_more_often_and_all_less_often(n in 1u64..40, part in 0.0..=1.0) {
        let passed = (part * n as f64) as u64;
        let all = passes(&[(n, passed)]);
        prop_assert!(all.windows(2).all(|two| two[0].at_least_one <= two[1].at_least_one + 1e-12));
        prop_assert!(all.windows(2).all(|two| two[0].all + 1e-12 >= two[1].all));
        prop_assert!((all[0].at_least_one - passed as f64 / n as f64).abs() < 1e-12);
    }

    #[test]
    fn quantiles_are_in_order(values in prop::collection::vec(prop::option::of(0.0..1e6), 1..50)) {
        if let Some(found) = amounts(values.iter().copied()) {
            prop_assert!(found.min <= found.p50 && found.p50 <= found.p90 && found.p90 <= found.max);
            prop_assert_eq!(found.known + found.unknown, values.len());
        }
    }

    #[test]
    fn votes_agree_at_most_fully(cases in prop::collection::vec(prop::collection::vec(0u8..4, 0..6), 0..12)) {
        if let Some(found) = agreement(&cases) {
            prop_assert!((0.0..=1.0).contains(&found.alike));
            prop_assert!(found.kappa.is_none_or(|kappa| kappa <= found.alike + 1e-12));
        }
    }
}

/// Differences that are all alike but for rounding have no spread that an interval could be made of.
#[test]
fn rounding_alone_gives_no_verdict() {
    let before = [0.2, 0.3, 0.5, 0.6, 0.7].map(|score| [score]);
    let after = [0.3, 0.4, 0.6, 0.7, 0.8].map(|score| [score]);
    let pairs: Vec<_> = before.iter().zip(&after).map(|(before, after)| Pair { before, after }).collect();
    let found = paired(&pairs, Possible::Difference, &mut Rng::with_seed(7)).unwrap();
    assert_eq!(found.delta.method, Method::Alike);
    assert_eq!(verdict(Some(&found), None), Verdict::Unclear(Unclear::CoversZero { least_seen: None }));
}
