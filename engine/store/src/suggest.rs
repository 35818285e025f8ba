//! Which known name was probably meant.
//!
//! Apart because every error that refuses a name says what there is instead, nearest first. Here, since those who refuse
//! names import nothing else in common.

/// All known names, the ones that resemble `name` most first.
pub fn sorted<S: AsRef<str>>(name: &str, known: impl IntoIterator<Item = S>) -> Vec<String> {
    let mut known: Vec<String> = known.into_iter().map(|known| known.as_ref().to_owned()).collect();
    known.sort_by_cached_key(|known| (distance(name, known), known.clone()));
    known
}

/// The one that was probably meant; `None` if nothing resembles the name.
pub fn one<S: AsRef<str>>(name: &str, known: impl IntoIterator<Item = S>) -> Option<String> {
    let best = sorted(name, known).into_iter().next()?;
    let bound = (name.chars().count().max(best.chars().count()) / 3).max(1);
    (distance(name, &best) <= bound).then_some(best)
}

/// The first of all known names as [`sorted`] has them, if it is `least` alike or more ([`likeness`]).
pub fn alike<S: AsRef<str>>(name: &str, known: impl IntoIterator<Item = S>, least: f64) -> Option<String> {
    sorted(name, known).into_iter().next().filter(|best| likeness(name, best) >= least)
}

/// How alike two names are, from 0 to 1, which is equal: for who ranks very many, of which it must not hold all.
pub fn likeness(left: &str, right: &str) -> f64 {
    let length = left.chars().count().max(right.chars().count());
    let count = |number: usize| u32::try_from(number).map_or(f64::MAX, f64::from);
    if length == 0 { 1.0 } else { (1.0 - count(distance(left, right)) / count(length)).max(0.0) }
}

/// Longer texts resemble nothing, in bytes: comparing takes time by the product of the lengths.
const COMPARED: usize = 300;

fn distance(left: &str, right: &str) -> usize {
    if left.len().max(right.len()) > COMPARED {
        return usize::MAX;
    }
    strsim::damerau_levenshtein(&left.to_lowercase(), &right.to_lowercase())
}

#[cfg(test)]
mod tests {
    #[test]
    fn resemblance_orders_and_bounds() {
        let known = ["reviewer", "fixer", "finder"];
        assert_eq!(super::sorted("fixr", known), ["fixer", "finder", "reviewer"]);
        assert_eq!(super::one("Reviwer", known).as_deref(), Some("reviewer"));
        assert_eq!(super::one("deploy", known), None);
        let tools = ["read_file", "write_file", "grep"];
        assert_eq!(super::one("readfile", tools).as_deref(), Some("read_file"));
        assert_eq!(super::one("xyz", tools), None);
        assert_eq!(super::one("x", Vec::<String>::new()), None);
        let parameters = ["path", "old_string"];
        assert_eq!(super::one("oldStr", parameters), None);
        assert_eq!(super::alike("oldStr", parameters, 0.6).as_deref(), Some("old_string"));
        assert_eq!(super::alike("oldStr", parameters, 0.7), None);
        assert_eq!(super::one(&"fixer".repeat(1 << 20), known), None);
        assert_eq!((super::likeness("", ""), super::likeness("Fixer", "fixer")), (1.0, 1.0));
        assert_eq!((super::likeness("abcd", "abdc"), super::likeness("ab", "")), (0.75, 0.0));
        assert_eq!(super::likeness(&"fixer".repeat(1 << 20), "fixer"), 0.0);
    }
}
