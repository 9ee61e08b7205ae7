//! Measures how fast the model takes what programs send, and another model for comparison.
//!
//! `cargo run --release -p ic-screen --example throughput`

#![expect(clippy::disallowed_methods, reason = "a figure for people, by the clock")]

use std::io::Write as _;
use std::time::Instant;

use ic_screen::{Frame, Painter, Screen, Size};

const BYTES: usize = 64 << 20;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let cases = [
        ("plain text, scrolling", plain()),
        ("colours and moves", colours()),
        ("wide characters and emoji", wide()),
    ];
    for (name, piece) in cases {
        let whole = piece.repeat(BYTES / piece.len());
        let (ours, theirs) = (ours(&whole), theirs(&whole));
        writeln!(out, "{name}: {ours:.0} MB/s; vt100: {theirs:.0} MB/s")?;
    }
    writeln!(out, "drawing a changed screen of 200×60: {:.0} µs", drawing())
}

fn ours(bytes: &[u8]) -> f64 {
    let mut screen = Screen::new(Size::new(60, 200));
    let start = Instant::now();
    for piece in bytes.chunks(16 << 10) {
        screen.feed(piece);
    }
    per_second(bytes.len(), start)
}

fn theirs(bytes: &[u8]) -> f64 {
    let mut parser = vt100::Parser::new(60, 200, 0);
    let start = Instant::now();
    for piece in bytes.chunks(16 << 10) {
        parser.process(piece);
    }
    per_second(bytes.len(), start)
}

fn drawing() -> f64 {
    let size = Size::new(60, 200);
    let (mut screen, mut painter) = (Screen::new(size), Painter::default());
    let piece = colours();
    let start = Instant::now();
    let mut n_bytes = 0;
    for _ in 0..200 {
        screen.feed(&piece);
        n_bytes += painter.paint(Frame::of(&screen, size)).len();
    }
    assert!(0 < n_bytes);
    start.elapsed().as_secs_f64() * 1e6 / 200.0
}

fn per_second(n_bytes: usize, start: Instant) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let n_bytes = n_bytes as f64;
    n_bytes / 1e6 / start.elapsed().as_secs_f64()
}

fn plain() -> Vec<u8> {
    (0..100)
        .flat_map(|n| {
            format!("{n:4} the quick brown fox jumps over the lazy dog, and over again\r\n")
                .into_bytes()
        })
        .collect()
}

fn colours() -> Vec<u8> {
    (0..60)
        .flat_map(|n| {
            format!(
                "\x1b[{};{}H\x1b[38;2;{n};100;200mwords\x1b[0m and \x1b[1;44mmore\x1b[m\x1b[K",
                n + 1,
                n * 2 + 1
            )
            .into_bytes()
        })
        .collect()
}

fn wide() -> Vec<u8> {
    "│ ✔ 漢字を書く 😀 👨\u{200d}👩\u{200d}👧 e\u{301} ─────────\r\n".repeat(50).into_bytes()
}
