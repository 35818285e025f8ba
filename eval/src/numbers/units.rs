//! What repeats of one task come to.

use super::SAME;

/// A task: the mean of its repeats, or the difference of two such means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    /// The mean.
    pub(super) value: f64,
    /// How far it would move if the task were repeated again; none with a single repeat.
    pub(super) noise: Option<Noise>,
    /// How many repeats there are; of two runs, the fewer.
    pub(super) repeats: usize,
}

/// The variance of a mean of repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Noise {
    pub(super) variance: f64,
    /// Its square over its degrees of freedom, which adds up (Welch and Satterthwaite).
    pub(super) uncertainty: f64,
}

impl Unit {
    /// A task's repeats; none if there are none.
    pub(super) fn of(scores: &[f64]) -> Option<Unit> {
        let value = mean(scores)?;
        let noise = variance(scores).map(|variance| {
            let of_mean = variance / scores.len() as f64;
            Noise { variance: of_mean, uncertainty: of_mean * of_mean / (scores.len() - 1) as f64 }
        });
        Some(Unit { value, noise, repeats: scores.len() })
    }

    /// How much this is above `before`, the same task in another run.
    pub(super) fn above(self, before: Unit) -> Unit {
        let noise = self.noise.zip(before.noise).map(|(one, other)| Noise {
            variance: one.variance + other.variance,
            uncertainty: one.uncertainty + other.uncertainty,
        });
        let value = difference(before.value, self.value);
        Unit { value, noise, repeats: self.repeats.min(before.repeats) }
    }
}

/// How much more `after` is than `before`; nothing where rounding alone tells them apart.
pub(crate) fn difference(before: f64, after: f64) -> f64 {
    let delta = after - before;
    if delta.abs() <= SAME { 0.0 } else { delta }
}

/// The arithmetic mean; none of nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The variance with one less in the denominator; none of fewer than two.
pub(super) fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    // Equal values have no variance, however they and their sum were rounded.
    let (least, most) = values
        .iter()
        .fold((values[0], values[0]), |(least, most), value| (value.min(least), value.max(most)));
    if most - least <= SAME {
        return Some(0.0);
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares / (values.len() - 1) as f64)
}

/// The standard error across all tasks of what repeats alone move, and its degrees of freedom; none if a task has a single
/// repeat.
pub(super) fn error_of_repeats(units: &[Unit]) -> Option<(f64, f64)> {
    let noises =
        units.iter().map(|unit| unit.noise).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())?;
    let variance: f64 = noises.iter().map(|noise| noise.variance).sum();
    let uncertainty: f64 = noises.iter().map(|noise| noise.uncertainty).sum();
    let degrees = if uncertainty > 0.0 { variance * variance / uncertainty } else { f64::INFINITY };
    Some((variance.sqrt() / units.len() as f64, degrees))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_have_a_mean_and_its_noise() {
        let unit = Unit::of(&[0.0, 1.0, 1.0, 1.0]).unwrap();
        assert_eq!((unit.value, unit.repeats), (0.75, 4));
        assert!((unit.noise.unwrap().variance - 0.0625).abs() < 1e-12, "0.25 over 4");
        assert_eq!(Unit::of(&[0.5]).unwrap().noise, None);
        assert_eq!(Unit::of(&[]), None);
        assert_eq!(variance(&[0.1, 0.1, 0.1]), Some(0.0), "in spite of rounding");
        assert_eq!(variance(&[0.3 - 0.2, 0.4 - 0.3, 0.6 - 0.5]), Some(0.0), "of the values, too");
        assert_eq!(difference(0.1 + 0.2, 0.3), 0.0);
    }

    #[test]
    fn one_single_repeat_leaves_the_noise_unknown() {
        let known = Unit::of(&[0.0, 1.0]).unwrap();
        let unknown = Unit::of(&[1.0]).unwrap();
        assert!(error_of_repeats(&[known, known]).is_some());
        assert!(error_of_repeats(&[known, unknown]).is_none());
        assert!(error_of_repeats(&[]).is_none());
        assert_eq!(known.above(unknown), Unit { value: -0.5, noise: None, repeats: 1 });
    }
}
