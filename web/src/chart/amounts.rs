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
    // Room for the names to the right; and something to divide by where nothing costs anything.
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
    for spot in spots {
        let color = SERIES[spot.series.min(1)];
        chart.draw_series([Circle::new((spot.amount, spot.score), 5, color.filled())])?;
        // The names once: by those of the last evaluation.
        if spot.series == 1 && spots.len() <= 24 {
            let (x, y) = chart.backend_coord(&(spot.amount, spot.score));
            let is_right = spot.amount > end * 0.6;
            let (x, across) = if is_right { (x - 9, HPos::Right) } else { (x + 9, HPos::Left) };
            root.draw(&Text::new(first_line(spot.name, NAME), (x, y), letters(14, &SOFT, across)))?;
        }
    }
    root.present()
}
