//! A row for each task: where its score is, and within which interval.

use std::ops::Range;

use maud::{Markup, html};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use uwf_eval::numbers::Interval;

use super::{Drawn, INK, NAME, RULE, SERIES, SOFT, WIDTH, figure, letters};
use crate::text::first_line;

/// Rows that are drawn; a chart of more is none that anybody reads.
const MOST: usize = 60;
const ROW: u32 = 26;
const NAMES: u32 = 150;
const BELOW: u32 = 30;

/// A row: a name, and a mark for each evaluation.
pub(crate) struct Row<'a> {
    pub(crate) name: &'a str,
    pub(crate) marks: Vec<Mark>,
    /// Whether it is what the others come to.
    pub(crate) is_sum: bool,
}

/// Where something is, and within which interval.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) at: Option<f64>,
    pub(crate) interval: Option<Interval>,
    /// Of which of two evaluations: 0 or 1.
    pub(crate) series: usize,
}

/// What is possible.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    /// 0 to 1.
    Score,
    /// Below and above 0.
    Difference,
}

impl Axis {
    fn range(self, rows: &[Row<'_>]) -> Range<f64> {
        let marks = rows.iter().flat_map(|row| &row.marks);
        let ends = marks.flat_map(|mark| {
            [mark.at, mark.interval.map(|it| it.low), mark.interval.map(|it| it.high)].into_iter().flatten()
        });
        let farthest = ends.map(f64::abs).fold(0.1, f64::max);
        match self {
            Axis::Score => 0.0..1.0,
            Axis::Difference => {
                let end = (farthest * 10.0).ceil() / 10.0;
                -end..end
            }
        }
    }
}

/// The chart, and how many rows are not in it.
pub(crate) fn rows(title: &str, all: &[Row<'_>], axis: Axis) -> Markup {
    let shown = &all[..all.len().min(MOST)];
    let mut svg = String::new();
    let drawn = draw(&mut svg, shown, axis);
    html! {
        (figure(title, &svg, &drawn))
        @if all.len() > shown.len() { p .faint { (all.len() - shown.len()) " more are not drawn" } }
    }
}

fn draw(svg: &mut String, rows: &[Row<'_>], axis: Axis) -> Drawn {
    let range = axis.range(rows);
    let height = ROW * u32::try_from(rows.len()).unwrap_or(0) + BELOW + 8;
    let root = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    let mut chart = ChartBuilder::on(&root)
        .margin_top(8)
        .margin_right(16)
        .set_label_area_size(LabelAreaPosition::Left, NAMES)
        .set_label_area_size(LabelAreaPosition::Bottom, BELOW)
        .build_cartesian_2d(range.clone(), 0.0..rows.len() as f64)?;
    let tick = |value: &f64| {
        if axis == Axis::Score { format!("{value:.1}") } else { format!("{:+.1}", value + 0.0) }
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_labels(6)
        .x_label_formatter(&tick)
        .label_style(letters(15, &SOFT, HPos::Center))
        .axis_style(RULE)
        .bold_line_style(RULE)
        .light_line_style(TRANSPARENT)
        .draw()?;
    if axis == Axis::Difference {
        let line = PathElement::new(vec![(0.0, 0.0), (0.0, rows.len() as f64)], SOFT.stroke_width(1));
        chart.draw_series([line])?;
    }
    for (at, row) in rows.iter().enumerate() {
        let middle = (rows.len() - at) as f64 - 0.5;
        let (_, y) = chart.backend_coord(&(range.start, middle));
        let name = first_line(row.name, NAME);
        let color = if row.is_sum { INK } else { SOFT };
        root.draw(&Text::new(name, (NAMES as i32 - 8, y), letters(16, &color, HPos::Right)))?;
        for (order, mark) in row.marks.iter().enumerate() {
            let y = middle + offset(order, row.marks.len());
            let color = SERIES[mark.series.min(1)];
            if let Some(Interval { low, high }) = mark.interval {
                let (low, high) = (low.max(range.start), high.min(range.end));
                chart.draw_series([PathElement::new(vec![(low, y), (high, y)], color.stroke_width(2))])?;
            }
            if let Some(at) = mark.at {
                let radius = if row.is_sum { 6 } else { 4 };
                chart.draw_series([Circle::new((at, y), radius, color.filled())])?;
            }
        }
    }
    root.present()
}

/// How far a mark is above the middle of its row.
fn offset(order: usize, of: usize) -> f64 {
    if of < 2 { 0.0 } else { 0.18 - 0.36 * order as f64 / (of - 1) as f64 }
}
