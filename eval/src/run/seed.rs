//! The seed of a case: the same on every machine, for the same evaluation's seed, task and repeat.
//!
//! FNV-1a of 64 bits over the three, folded to 32, so that it is exact wherever it is written as a number.

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The seed of the case `repeat` of a task.
pub fn seed_of(seed: u64, task: &str, repeat: u32) -> u64 {
    let text = format!("{seed}/{task}/{repeat}");
    let hash = text.bytes().fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    (hash >> 32) ^ (hash & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::seed_of;

    #[test]
    fn seeds_are_the_same_everywhere_and_differ() {
        assert_eq!(seed_of(0, "fix", 1), seed_of(0, "fix", 1));
        let mut seeds: Vec<u64> = (1..=1000).map(|repeat| seed_of(7, "fix", repeat)).collect();
        assert!(seeds.iter().all(|seed| *seed <= u64::from(u32::MAX)));
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 1000);
    }
}
