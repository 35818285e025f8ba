//! Which behaviour of a visit plays: drawn by weight from a seed, and always the same one for the same seed, role and visit, on
//! every machine.
//!
//! Apart because whoever repeats an evaluation depends on these numbers: they never change.

use super::ScriptEntry;

/// The greatest weight of a behaviour.
pub(super) const MAX_WEIGHT: u64 = 1_000_000;

/// What a role may do in a visit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Behaviour {
    /// None of a visit that has one way to go.
    pub(super) name: Option<String>,
    /// How often it is drawn, beside the weights of the others.
    pub(super) weight: u64,
    /// Texts that the prompt of the visit must have, all of them.
    pub(super) when: Vec<String>,
    /// Never empty.
    pub(super) turns: Vec<ScriptEntry>,
}

impl Behaviour {
    /// What a visit does that has one way to go.
    pub(super) fn only(turns: Vec<ScriptEntry>) -> Behaviour {
        Behaviour { name: None, weight: 1, when: Vec::new(), turns }
    }

    /// A prompt that nobody knows yet fits.
    fn fits(&self, prompt: Option<&str>) -> bool {
        prompt.is_none_or(|prompt| self.when.iter().all(|text| prompt.contains(text.as_str())))
    }
}

/// The behaviour that plays, of those that fit the prompt; none where none fits.
pub(super) fn choose<'b>(
    behaviours: &'b [Behaviour],
    (seed, role, visit): (u64, &str, usize),
    prompt: Option<&str>,
) -> Option<&'b Behaviour> {
    let fitting = || behaviours.iter().filter(|behaviour| behaviour.fits(prompt));
    let total: u64 = fitting().map(|behaviour| behaviour.weight).sum();
    // The upper half of the product is evenly below the total.
    let drawn = (u128::from(draw(seed, role, visit)) * u128::from(total)) >> 64;
    let mut below = 0;
    fitting().find(|behaviour| {
        below += u128::from(behaviour.weight);
        drawn < below
    })
}

/// A number that looks random, of a seed, a role (FNV-1a of its name) and a visit.
fn draw(seed: u64, role: &str, visit: usize) -> u64 {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let role = role.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
    let visit = u64::try_from(visit).unwrap_or(u64::MAX);
    mix(mix(mix(seed) ^ role) ^ visit)
}

/// One step of SplitMix64.
fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaviour(name: &str, weight: u64, when: &[&str]) -> Behaviour {
        let when = when.iter().map(|text| (*text).to_owned()).collect();
        Behaviour { name: Some(name.to_owned()), weight, when, turns: Vec::new() }
    }

    fn chosen(behaviours: &[Behaviour], seed: u64, visit: usize, prompt: Option<&str>) -> Option<String> {
        choose(behaviours, (seed, "developer", visit), prompt)?.name.clone()
    }

    #[test]
    fn the_numbers_are_those_that_they_always_were() {
        // SplitMix64 from 0, as published with it.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(DRAWN.map(|(seed, role, visit, _)| draw(seed, role, visit)), DRAWN.map(|row| row.3));
    }

    const DRAWN: [(u64, &str, usize, u64); 4] = [
        (0, "developer", 0, 0xce98_b373_5b30_6924),
        (0, "developer", 1, 0x65ca_2026_43b7_c583),
        (7, "developer", 0, 0x02db_ba5e_ea65_3067),
        (7, "reviewer", 0, 0x03ab_c79a_8fee_e682),
    ];

    #[test]
    fn weights_are_met_over_many_seeds_and_visits_are_independent() {
        let behaviours = [behaviour("right", 7, &[]), behaviour("wrong", 2, &[]), behaviour("slow", 1, &[])];
        let (mut first, mut both) = ([0_u32; 3], 0_u32);
        for seed in 0..10_000 {
            let names = [0, 1].map(|visit| chosen(&behaviours, seed, visit, None).unwrap());
            let count = |name: &str| u32::from(names[0] == name);
            first = [first[0] + count("right"), first[1] + count("wrong"), first[2] + count("slow")];
            both += u32::from(names == ["right", "right"]);
        }
        // Within four standard deviations of 7000, 2000, 1000 and 4900.
        for (found, expected, within) in
            [(first[0], 7000, 184), (first[1], 2000, 160), (first[2], 1000, 120), (both, 4900, 200)]
        {
            assert!(found.abs_diff(expected) <= within, "{found} of 10000, expected {expected}");
        }
    }

    #[test]
    fn a_behaviour_is_drawn_from_those_that_fit_the_prompt() {
        let behaviours = [
            behaviour("approves", 9, &["adds all"]),
            behaviour("rejects", 9, &["adds", "three"]),
            behaviour("sleeps", 1, &["adds"]),
        ];
        for seed in 0..50 {
            assert_ne!(chosen(&behaviours, seed, 0, Some("It adds three")).unwrap(), "approves");
            assert_ne!(chosen(&behaviours, seed, 0, Some("It adds all")).unwrap(), "rejects");
        }
        assert_eq!(chosen(&behaviours, 0, 0, Some("Look")), None);
        assert!(chosen(&behaviours, 0, 0, None).is_some(), "a prompt that is not known yet");
    }
}
