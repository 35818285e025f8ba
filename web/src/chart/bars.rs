//! A bar for each hour: how much was done in it.

use maud::Markup;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{Drawn, RULE, SERIES, SOFT, WIDTH, figure, letters};
use crate::text::rfc3339;

const HEIGHT: u32 = 200;

/// Amounts by the time when each hour began, in milliseconds, the oldest first.
pub(crate) fn bars(title: &str, hours: &[(u64, u64)]) -> Markup {
    let mut svg = String::new();
    let drawn = draw(&mut svg, hours);
    figure(title, &svg, &drawn)
}

fn draw(svg: &mut String, hours: &[(u64, u64)]) -> Drawn {
    let most = hours.iter().map(|(_, amount)| *amount).max().unwrap_or(0).max(4);
    let root = SVGBackend::with_string(svg, (WIDTH, HEIGHT)).into_drawing_area();
    let mut chart = ChartBuilder::on(&root)
        .margin_top(10)
        .margin_right(16)
        .set_label_area_size(LabelAreaPosition::Left, 46)
        .set_label_area_size(LabelAreaPosition::Bottom, 30)
        .build_cartesian_2d(0.0..hours.len().max(1) as f64, 0.0..most as f64 * 1.05)?;
    // `2026-11-24T18:00:00Z`: the hour of the day, by UTC.
    let hour = |at: &f64| {
        let begun = hours.get(*at as usize).map(|(begun, _)| rfc3339(*begun));
        begun.and_then(|text| text.get(11..16).map(str::to_owned)).unwrap_or_default()
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(6)
        .y_labels(4)
        .x_label_formatter(&hour)
        .y_label_formatter(&|amount| format!("{amount:.0}"))
        .label_style(letters(15, &SOFT, HPos::Center))
        .axis_style(RULE)
        .bold_line_style(RULE)
        .light_line_style(TRANSPARENT)
        .draw()?;
    let bar = |(at, (_, amount)): (usize, &(u64, u64))| {
        let left = at as f64;
        Rectangle::new([(left + 0.15, 0.0), (left + 0.85, *amount as f64)], SERIES[1].filled())
    };
    chart.draw_series(hours.iter().enumerate().map(bar))?;
    root.present()
}
