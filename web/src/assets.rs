//! What pages need besides themselves, in the program.

/// Styles of pages.
pub(crate) const STYLE: &str = include_str!("../assets/style.css");
/// Styles of the graph.
pub(crate) const GRAPH: &str = include_str!("../assets/graph.css");
/// Styles of evaluations.
pub(crate) const EVALUATION: &str = include_str!("../assets/evaluation.css");
const APP: &str = include_str!("../assets/app.js");
const WORKER: &str = include_str!("../assets/worker.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// The content of an asset and its type.
pub(crate) fn asset(name: &str) -> Option<(String, &'static str)> {
    let (parts, kind): (&[&str], _) = match name {
        "style.css" => (&[STYLE, GRAPH, EVALUATION], "text/css; charset=utf-8"),
        "app.js" => (&[APP], "text/javascript; charset=utf-8"),
        "worker.js" => (&[WORKER], "text/javascript; charset=utf-8"),
        "icon.svg" => (&[ICON], "image/svg+xml"),
        _ => return None,
    };
    Some((parts.concat(), kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_together_are_small() {
        let size: usize = ["style.css", "app.js", "worker.js", "icon.svg"]
            .iter()
            .map(|name| asset(name).unwrap().0.len())
            .sum();
        assert!(size < 500_000, "{size} bytes");
    }
}
