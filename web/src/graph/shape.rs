//! Curves through points, and the head of an arrow, as SVG writes them.

use std::fmt::Write as _;

use super::Place;

/// How long and half as wide the head of an arrow is.
const HEAD: (f64, f64) = (9.0, 4.0);

/// A number with one digit, so that pictures are small and alike on every machine.
pub(super) fn short(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The course of an edge and the head at its end: a B-spline that ends where the head begins.
pub(super) fn course(points: &[Place]) -> (String, String) {
    let [.., before, end] = points else { return (String::new(), String::new()) };
    let (dx, dy) = (end.x - before.x, end.y - before.y);
    let length = dx.hypot(dy).max(0.001);
    let (dx, dy) = (dx / length, dy / length);
    let base = Place { x: end.x - dx * HEAD.0, y: end.y - dy * HEAD.0 };
    let side = |sign: f64| (base.x - dy * HEAD.1 * sign, base.y + dx * HEAD.1 * sign);
    let head =
        [(end.x, end.y), side(1.0), side(-1.0)].map(|(x, y)| format!("{},{}", short(x), short(y))).join(" ");
    let mut points = points.to_vec();
    if let Some(last) = points.last_mut() {
        *last = base;
    }
    (spline(&points), head)
}

/// A uniform cubic B-spline through the first and the last point.
fn spline(points: &[Place]) -> String {
    let [first, .., last] = points else { return String::new() };
    let mut path = format!("M{} {}", short(first.x), short(first.y));
    if let [_, _] = points {
        write!(path, "L{} {}", short(last.x), short(last.y)).expect("a String takes everything");
        return path;
    }
    let mix = |one: &Place, other: &Place, part: f64| Place {
        x: one.x + (other.x - one.x) * part,
        y: one.y + (other.y - one.y) * part,
    };
    let entry = mix(first, &points[1], 1.0 / 6.0);
    write!(path, "L{} {}", short(entry.x), short(entry.y)).expect("a String takes everything");
    let around = std::iter::once(first).chain(points).chain([last]).copied().collect::<Vec<_>>();
    for window in around.windows(4) {
        let [_, one, two, three] = window else { continue };
        let (a, b) = (mix(one, two, 1.0 / 3.0), mix(one, two, 2.0 / 3.0));
        let end =
            Place { x: (one.x + 4.0 * two.x + three.x) / 6.0, y: (one.y + 4.0 * two.y + three.y) / 6.0 };
        let numbers = [a.x, a.y, b.x, b.y, end.x, end.y].map(short).join(" ");
        write!(path, "C{numbers}").expect("a String takes everything");
    }
    write!(path, "L{} {}", short(last.x), short(last.y)).expect("a String takes everything");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_ends_where_its_edge_does() {
        let points = [(0.0, 0.0), (0.0, 50.0), (0.0, 100.0)].map(|(x, y)| Place { x, y });
        let (course, head) = course(&points);
        assert!(course.starts_with("M0 0L") && course.ends_with("L0 91"), "{course}");
        assert_eq!(head, "0,100 -4,91 4,91");
        assert_eq!(super::course(&points[..1]), (String::new(), String::new()));
    }
}
