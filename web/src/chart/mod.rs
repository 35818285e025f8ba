//! Charts of scores and amounts, as SVG within a page: drawn by plotters, coloured by the page's styles.
//!
//! A chart has the colours of a light page in it; `evaluation.css` turns these into the page's own, light or dark.

mod amounts;
mod bars;
mod rows;

use maud::{Markup, PreEscaped, html};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub(crate) use self::amounts::{Spot, score_by_amount};
pub(crate) use self::bars::bars;
pub(crate) use self::rows::{Axis, Mark, Row, rows};

/// How wide a chart is, in units of its own: pages make it as wide as there is room.
const WIDTH: u32 = 460;
/// For text.
const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);
const SOFT: RGBColor = RGBColor(0x57, 0x60, 0x6a);
/// For lines that help the eye.
const RULE: RGBColor = RGBColor(0xd0, 0xd7, 0xde);
/// For the first of two evaluations and the second; one alone has the second's.
const SERIES: [RGBColor; 2] = [RGBColor(0x8a, 0x4b, 0x00), RGBColor(0x0a, 0x58, 0xb5)];
/// How many characters of a name are drawn.
const NAME: usize = 22;

type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// A chart under its title, which tells what is in it to those who do not see it.
fn figure(title: &str, svg: &str, drawn: &Drawn) -> Markup {
    html! {
        @if drawn.is_ok() {
            figure .chart {
                figcaption { (title) }
                div role="img" aria-label=(title) { (PreEscaped(svg)) }
            }
        }
    }
}

/// Letters of a size, in a colour, around a place.
fn letters(size: u32, color: &RGBColor, across: HPos) -> TextStyle<'_> {
    TextStyle::from(("sans-serif", size).into_font()).color(color).pos(Pos::new(across, VPos::Center))
}
