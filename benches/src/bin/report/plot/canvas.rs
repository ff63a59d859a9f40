//! Drawing for all plots: shapes, text, colours, and a logarithmic axis.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A plot and its name.
pub(crate) struct Plotted {
    pub(crate) title: String,
    pub(crate) svg: String,
}

pub(crate) const INK: RGBColor = RGBColor(29, 36, 48);
pub(crate) const GREY: RGBColor = RGBColor(104, 114, 138);
pub(crate) const RULE: RGBColor = RGBColor(216, 221, 230);
pub(crate) const BAND: RGBColor = RGBColor(246, 247, 250);
pub(crate) const BLUE: RGBColor = RGBColor(31, 95, 191);
pub(crate) const GREEN: RGBColor = RGBColor(34, 139, 84);
pub(crate) const ORANGE: RGBColor = RGBColor(208, 120, 16);

/// For contenders without a colour of their own, in order.
const OTHERS: [RGBColor; 6] =
    [ORANGE, RGBColor(140, 86, 168), GREEN, RGBColor(190, 60, 90), RGBColor(20, 140, 160), RGBColor(120, 110, 60)];

/// The colour of a contender. dlbridge always has the same one.
pub(crate) fn colour(contender: &str, index: usize) -> RGBColor {
    if contender.starts_with("dlbridge") { BLUE } else { OTHERS[index % OTHERS.len()] }
}

/// The area that a plot is drawn on, measured in pixels.
pub(crate) struct Canvas<'a>(DrawingArea<SVGBackend<'a>, Shift>);

/// Draws on a white canvas.
pub(crate) fn draw(width: i32, height: i32, paint: impl FnOnce(&Canvas<'_>)) -> String {
    let mut svg = String::new();
    {
        let canvas = Canvas(SVGBackend::with_string(&mut svg, (width as u32, height as u32)).into_drawing_area());
        canvas.fill((0, 0), (width, height), &WHITE);
        paint(&canvas);
        canvas.0.present().expect(TAKEN);
    }
    svg
}

const TAKEN: &str = "a string takes everything";

impl Canvas<'_> {
    pub(crate) fn fill(&self, from: (i32, i32), to: (i32, i32), colour: &impl Color) {
        self.0.draw(&Rectangle::new([from, to], colour.filled())).expect(TAKEN);
    }

    pub(crate) fn line(&self, points: &[(i32, i32)], colour: &impl Color, width: u32) {
        self.0.draw(&PathElement::new(points.to_vec(), colour.stroke_width(width))).expect(TAKEN);
    }

    pub(crate) fn dot(&self, at: (i32, i32), radius: i32, colour: &impl Color) {
        self.0.draw(&Circle::new(at, radius, colour.filled())).expect(TAKEN);
    }

    /// Text that begins, ends or has its middle at a point; its size in pixels.
    pub(crate) fn text(&self, text: &str, at: (i32, i32), size: i32, colour: RGBColor, side: HPos) {
        let size = f64::from(size) * 1.24; // plotters measures text in another unit than pixels.
        let style = ("sans-serif", size).into_font().color(&colour).pos(Pos::new(side, VPos::Center));
        self.0.draw_text(text, &style, at).expect(TAKEN);
    }
}

/// A logarithmic axis over pixels.
pub(crate) struct Axis {
    from: f64,
    to: f64,
    pixels: (i32, i32),
}

impl Axis {
    /// An axis that covers all values, with some room at both ends.
    pub(crate) fn over(values: impl IntoIterator<Item = f64>, pixels: (i32, i32)) -> Self {
        let (mut from, mut to) = (f64::INFINITY, 0f64);
        for value in values {
            (from, to) = (from.min(value), to.max(value));
        }
        Self { from: from / 1.2, to: to * 1.05, pixels }
    }

    pub(crate) fn at(&self, value: f64) -> i32 {
        let (first, last) = self.pixels;
        let part = (value / self.from).ln() / (self.to / self.from).ln();
        first + (part.clamp(0., 1.) * f64::from(last - first)).round() as i32
    }

    /// The powers of ten around the values, and steps between them if there are few.
    fn steps(&self) -> Vec<f64> {
        let (low, high) = (self.from.log10().floor() as i32, self.to.log10().ceil() as i32);
        let between: &[f64] = match high - low {
            _ if self.to < 3. * self.from => &[1., 1.1, 1.2, 1.5, 2., 3., 5., 7., 8., 9.],
            0..=2 => &[1., 2., 5.],
            3..=4 => &[1., 3.],
            _ => &[1.],
        };
        (low..=high).flat_map(|power| between.iter().map(move |step| step * 10f64.powi(power))).collect()
    }

    /// The steps to be drawn.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let is_within = |tick: &f64| (self.from..=self.to).contains(tick);
        self.steps().into_iter().filter(is_within).collect()
    }
}
