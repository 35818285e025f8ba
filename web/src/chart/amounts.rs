//! A spot for each task: what it costs, and what it scores.

use maud::Markup;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{Drawn, NAME, RULE, SERIES, SOFT, WIDTH, figure, letters};
use crate::text::first_line;

const HEIGHT: u32 = 320;

/// A task in one evaluation.
pub(crate) struct Spot<'a> {
    pub(crate) name: &'a str,
    pub(crate) amount: f64,
    pub(crate) score: f64,
    /// Of which of two evaluations: 0 or 1.
    pub(crate) series: usize,
}

/// Scores against an amount; `unit` says an amount in words.
pub(crate) fn score_by_amount(title: &str, spots: &[Spot<'_>], unit: &dyn Fn(f64) -> String) -> Markup {
    let mut svg = String::new();
    let drawn = draw(&mut svg, spots, unit);
    figure(title, &svg, &drawn)
}

fn draw(svg: &mut String, spots: &[Spot<'_>], unit: &dyn Fn(f64) -> String) -> Drawn {
    let most = spots.iter().map(|spot| spot.amount).fold(0.0, f64::max);
    // Room for the names to the right; something to divide by where nothing costs anything.
    let end = if most > 0.0 { most * 1.25 } else { 1.0 };
    let root = SVGBackend::with_string(svg, (WIDTH, HEIGHT)).into_drawing_area();
    let mut chart = ChartBuilder::on(&root)
        .margin_top(10)
        .margin_right(16)
        .set_label_area_size(LabelAreaPosition::Left, 40)
        .set_label_area_size(LabelAreaPosition::Bottom, 30)
        .build_cartesian_2d(0.0..end, 0.0..1.05)?;
    chart
        .configure_mesh()
        .x_labels(5)
        .y_labels(6)
        .x_label_formatter(&|value| unit(*value))
        .y_label_formatter(&|value| format!("{value:.1}"))
        .label_style(letters(15, &SOFT, HPos::Center))
        .axis_style(RULE)
        .bold_line_style(RULE)
        .light_line_style(TRANSPARENT)
        .draw()?;
    let places = spots.iter().map(|spot| chart.backend_coord(&(spot.amount, spot.score)));
    let mut names = Names { taken: places.map(|(x, y)| [x - 5, y - 5, x + 5, y + 5]).collect() };
    for spot in spots {
        let color = SERIES[spot.series.min(1)];
        chart.draw_series([Circle::new((spot.amount, spot.score), 5, color.filled())])?;
        // The names once: by those of the last evaluation.
        if spot.series == 1 {
            let name = first_line(spot.name, NAME);
            if let Some((place, is_before)) =
                names.place(&name, chart.backend_coord(&(spot.amount, spot.score)))
            {
                let across = if is_before { HPos::Right } else { HPos::Left };
                root.draw(&Text::new(name, place, letters(14, &SOFT, across)))?;
            }
        }
    }
    root.present()
}

/// Where names and spots are, so that none is written over another.
#[derive(Default)]
struct Names {
    taken: Vec<[i32; 4]>,
}

impl Names {
    /// Beside a spot, or a line above or below, and whether it ends there; none where all of that is taken. Sizes are guesses on the safe side.
    fn place(&mut self, name: &str, (x, y): (i32, i32)) -> Option<((i32, i32), bool)> {
        let wide = 8 * i32::try_from(name.chars().count()).ok()?;
        let sides = [(x + 9, false), (x - 9, true)];
        for (down, (at, is_before)) in
            [0, -14, 14].into_iter().flat_map(|down| sides.map(|side| (down, side)))
        {
            let left = if is_before { at - wide } else { at };
            let space = [left, y + down - 7, left + wide, y + down + 7];
            let fits = space[0] > 40 && space[2] < WIDTH as i32;
            if fits && !self.taken.iter().any(|other| overlap(&space, other)) {
                self.taken.push(space);
                return Some(((at, y + down), is_before));
            }
        }
        None
    }
}

fn overlap(one: &[i32; 4], other: &[i32; 4]) -> bool {
    one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_written_over_another() {
        let mut names = Names::default();
        let places: Vec<_> = (0..9).map(|_| names.place("a-task", (200, 100))).collect();
        assert_eq!(places[..2], [Some(((209, 100), false)), Some(((191, 100), true))]);
        assert_eq!(places.iter().flatten().count(), 6, "all sides are taken then");
        assert!(names.place("at-the-edge-of-the-chart", (450, 10)).unwrap().1);
    }
}
