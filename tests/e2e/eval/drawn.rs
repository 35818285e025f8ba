//! What an evaluation measures is what its scripts draw: each case plays the behaviour that the seed says, and has the score
//! that is known of it. So what is simulated with numbers alone (`eval/examples/simulate.rs`) tells of evaluations.
//!
//! The draw is made here once more, from its rule: it never changes.

use super::*;

const TASK: &str = "fix-off-by-one";
const SEED: u64 = 11;
const COUNT: u32 = 12;

/// The behaviours of the developer's first visit in the script of the task, by name and weight, and what `test-pass` says of each.
const BEHAVIOURS: [(&str, u128, f64); 4] =
    [("right", 6, 1.0), ("wrong", 2, 0.0), ("slow", 1, 1.0), ("failing", 1, 0.0)];

fn fnv(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The last steps of SplitMix64.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The seed of a case.
fn seed_of(repeat: u32) -> u64 {
    let hash = fnv(&format!("{SEED}/{TASK}/{repeat}"));
    (hash >> 32) ^ (hash & 0xffff_ffff)
}

/// The behaviour that a case draws in the developer's first visit, and its score.
fn drawn(repeat: u32) -> (&'static str, f64) {
    let number = mix(mix(mix(seed_of(repeat)) ^ fnv("developer")));
    let total: u128 = BEHAVIOURS.iter().map(|(_, weight, _)| weight).sum();
    let mut at = (u128::from(number) * total) >> 64;
    for (name, weight, score) in BEHAVIOURS {
        if at < weight {
            return (name, score);
        }
        at -= weight;
    }
    panic!("the draw is below the total")
}

#[test]
fn each_case_has_the_score_that_its_draw_predicts() {
    let site = Site::new();
    let script = fs::read_to_string(example(&format!("eval/{TASK}/mock.yaml"))).unwrap();
    for (name, weight, _) in BEHAVIOURS {
        assert!(script.contains(&format!("- name: {name}\n          weight: {weight}\n")), "{name}");
    }
    let (task, workflow) = (example(&format!("eval/{TASK}")), example("eval/solve-issue-unreviewed.yaml"));
    let (seed, count) = (SEED.to_string(), COUNT.to_string());
    let run = [
        "run",
        &task,
        "--workflow",
        &workflow,
        "--offline",
        "--seed",
        &seed,
        "--count",
        &count,
        "--name",
        "n",
    ];
    eval(&site, &run).ok();
    let shown = eval(&site, &["show", "n"]).ok().json();
    let cases = shown["cases"].as_array().unwrap();
    assert_eq!(cases.len(), COUNT as usize);
    for case in cases {
        let (name, score) = drawn(repeat(case));
        let judge =
            case["judges"].as_array().unwrap().iter().find(|judge| judge["name"] == "test-pass").unwrap();
        assert_eq!(
            (case["seed"].as_u64(), judge["score"].as_f64()),
            (Some(seed_of(repeat(case))), Some(score)),
            "{name}: {case}"
        );
        let outcome = if name == "failing" { "failed" } else { "scored" };
        assert_eq!(case["outcome"], outcome, "{name}: {case}");
    }
    // All of them were drawn, and the mean is that of what was drawn.
    let names: Vec<&str> = (1..=COUNT).map(|repeat| drawn(repeat).0).collect();
    assert!(BEHAVIOURS.iter().all(|(name, ..)| names.contains(name)), "{names:?}");
    let mean = (1..=COUNT).map(|repeat| drawn(repeat).1).sum::<f64>() / f64::from(COUNT);
    let report = eval(&site, &["report", "n", "--format", "json"]).ok().json();
    let judge =
        report["judges"].as_array().unwrap().iter().find(|judge| judge["name"] == "test-pass").unwrap();
    assert!((judge["score"]["mean"].as_f64().unwrap() - mean).abs() < 1e-12, "{judge}");
    site.verify();
}

fn repeat(case: &Value) -> u32 {
    u32::try_from(case["repeat"].as_u64().unwrap()).unwrap()
}
