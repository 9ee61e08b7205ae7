//! Frames as one SVG that plays by itself, readable on a dark and on a light page.
//!
//! A viewer that does not animate, and a reader who asked for less motion, sees the last frame.

use std::fmt::Write as _;

use super::scenes::Scene;
use super::stage::{Frame, Run, Style};

/// The width of a character and the height of a row, in pixels.
const CELL: (f64, f64) = (8.4, 19.0);
/// The space around the text, and the height of the window's bar.
const MARGIN: f64 = 16.0;
const BAR: f64 = 30.0;

/// The names of the eight colours, as classes.
const COLOURS: [&str; 8] = ["k", "r", "g", "y", "b", "m", "c", "w"];

/// Draws the frames.
pub(super) fn render(scene: &Scene, frames: &[Frame]) -> String {
    let n_rows = frames.iter().map(|it| it.rows.len()).max().unwrap_or_default();
    let width = f64::from(scene.columns) * CELL.0 + 2.0 * MARGIN;
    let height = count(n_rows) * CELL.1 + BAR + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}",
        escape(scene.caption)
    );
    svg.push_str(&timing(frames));
    svg.push_str("</style>\n");
    let _ = writeln!(
        svg,
        "<rect class=\"bg\" x=\"0.5\" y=\"0.5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"8\"/>",
        width - 1.0,
        height - 1.0
    );
    for x in [18, 38, 58] {
        let _ = writeln!(svg, "<circle class=\"dot\" cx=\"{x}\" cy=\"17\" r=\"5.5\"/>");
    }
    for (number, frame) in frames.iter().enumerate() {
        let is_last = if number + 1 == frames.len() { " last" } else { "" };
        let _ = writeln!(svg, "<g class=\"f f{number}{is_last}\" xml:space=\"preserve\">");
        for (row, runs) in frame.rows.iter().enumerate() {
            if !runs.is_empty() {
                let y = BAR + MARGIN + count(row + 1) * CELL.1 - 5.0;
                let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y:.0}\">{}</text>", line(runs));
            }
        }
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

const STYLE: &str = "
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;fill:#1f2328}
.bg{fill:#f6f8fa;stroke:#d0d7de}.dot{fill:#d0d7de}
.r{fill:#b3261e}.g{fill:#1a7f37}.y{fill:#8a5a00}.b{fill:#0550ae}.m{fill:#8250df}.c{fill:#0a6b75}.k,.w,.d{fill:#59636e}
.B{font-weight:bold}.i{font-style:italic}.u{text-decoration:underline}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.bg{fill:#0d1117;stroke:#3d444d}.dot{fill:#3d444d}
.r{fill:#ff7b72}.g{fill:#56d364}.y{fill:#e3b341}.b{fill:#79c0ff}.m{fill:#d2a8ff}.c{fill:#76e3ea}.k,.w,.d{fill:#9198a1}}
.f{visibility:hidden}.last{visibility:visible}
";

/// Shows one frame after the other, for as long as each says.
fn timing(frames: &[Frame]) -> String {
    let total: u32 = frames.iter().map(|it| it.tenths).sum();
    let mut rules = String::from("@media (prefers-reduced-motion:no-preference){");
    let mut passed = 0;
    for (number, frame) in frames.iter().enumerate() {
        let at = |tenths: u32| f64::from(tenths) * 100.0 / f64::from(total.max(1));
        let (from, to) = (at(passed), at(passed + frame.tenths));
        let _ = write!(
            rules,
            "@keyframes k{number}{{0%{{visibility:hidden}}{from:.2}%{{visibility:visible}}{to:.2}%{{visibility:{}}}}}",
            if number + 1 == frames.len() { "visible" } else { "hidden" }
        );
        let seconds = f64::from(total) / 10.0;
        let _ = write!(rules, ".f{number}{{animation:k{number} {seconds:.1}s step-end infinite}}");
        passed += frame.tenths;
    }
    rules.push_str("}\n");
    rules
}

/// One row as text with a class for each style.
fn line(runs: &[Run]) -> String {
    runs.iter()
        .map(|run| match classes(run.style) {
            classes if classes.is_empty() => escape(&run.text),
            classes => format!("<tspan class=\"{classes}\">{}</tspan>", escape(&run.text)),
        })
        .collect()
}

fn classes(style: Style) -> String {
    let colour = style.colour.and_then(|it| COLOURS.get(usize::from(it % 8)).copied());
    let flags = [(style.bold, "B"), (style.dim, "d"), (style.italic, "i"), (style.underline, "u")];
    let flags = flags.into_iter().filter_map(|(is, class)| is.then_some(class));
    colour.into_iter().chain(flags).collect::<Vec<_>>().join(" ")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A small count as a coordinate.
fn count(number: usize) -> f64 {
    f64::from(u16::try_from(number).unwrap_or(u16::MAX))
}
