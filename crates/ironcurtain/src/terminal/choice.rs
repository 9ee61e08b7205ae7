//! One of a few things, chosen with a key: not before the question could be read, and never by what was
//! typed before.

use ic_terminal::gate::{Arrival, Page, Reach};
use ic_terminal::{Decoder, Gate, Key, Piece};
use ic_types::visible;
use tokio::time::Instant;

use super::console::moment;
use super::paint::{Paint, Tone};
use super::raw::{RawMode, restore};
use super::tty::{Tty, Typed};
use crate::error::Failure;
use crate::screen::Screen;
use crate::signals::Signals;

/// What can be chosen.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// What is asked.
    pub(crate) lines: Vec<String>,
    /// The keys, and what they mean.
    pub(crate) keys: Vec<(char, &'static str)>,
}

/// Asks; `None` if whoever is asked wants nothing of it.
///
/// Where the terminal gives no keys, a letter and Enter are typed.
pub(crate) async fn choose_one(
    choice: Choice,
    mut terminal: Tty,
    takes_keys: bool,
    paint: Paint,
    screen: &mut Screen,
) -> Result<Option<char>, Failure> {
    let unusable = |source| Failure::environment("cannot use the terminal").with_source(source);
    let mut signals = Signals::listen()?;
    let raw = match takes_keys {
        true => Some(RawMode::enter(&terminal.handle().map_err(unusable)?).map_err(unusable)?),
        false => None,
    };
    for line in &choice.lines {
        screen.progress(line, str::to_owned);
    }
    let began = Instant::now();
    let page = Page { from: 0, to: 1, of: 1 };
    let mut gate = Gate::shut();
    gate.stands((), page, began.elapsed());
    let mut decoder = Decoder::default();
    let chosen = loop {
        let opens_at = gate.opens_at().map(|at| began + at);
        let letter = tokio::select! {
            biased;
            () = signals.any() => break None,
            () = moment(opens_at) => {
                // SECURITY: what was typed before the question was read is no answer to it.
                terminal.forget_typed();
                if gate.open(began.elapsed()) {
                    let prompt = choice.prompt(takes_keys);
                    screen.progress(&prompt, |row| paint.text(Tone::Question, row));
                }
                continue;
            }
            typed = letter(&mut terminal, &mut decoder, takes_keys) => {
                let Some((letter, arrival)) = typed else { break None };
                gate.arrives(arrival, began.elapsed());
                match letter {
                    Some(letter) => letter,
                    None => continue,
                }
            }
        };
        let hint = match gate.key(Reach::Whole) {
            Ok(()) if choice.keys.iter().any(|(key, _)| *key == letter) => break Some(letter),
            Ok(()) => format!("({letter} is not one of the keys)"),
            Err(why) => format!("({})", why.to_hint(&letter.to_string())),
        };
        screen.progress(&visible(&hint), |row| paint.text(Tone::Quiet, row));
        gate.drawn_again(began.elapsed());
    };
    if raw.is_some() {
        restore();
    }
    Ok(chosen)
}

/// Waits for a letter, or something else that was typed; `None` if nothing is wanted.
async fn letter(
    terminal: &mut Tty,
    decoder: &mut Decoder,
    takes_keys: bool,
) -> Option<(Option<char>, Arrival)> {
    if takes_keys {
        let bytes = terminal.bytes().await;
        if bytes.is_empty() {
            return None;
        }
        let Piece { keys, is_alone } = decoder.read(&bytes);
        let arrival = if is_alone { Arrival::Alone } else { Arrival::Mixed };
        return match keys.first() {
            Some(Key::Ctrl('c' | 'd')) => None,
            Some(Key::Char(c)) => Some((Some(*c), arrival)),
            _ => Some((None, Arrival::Mixed)),
        };
    }
    match terminal.typed().await {
        Typed::End => None,
        Typed::Noise => Some((None, Arrival::Mixed)),
        Typed::Line(line) => {
            let mut letters = line.chars();
            match (letters.next(), letters.next()) {
                (Some(letter), None) => Some((Some(letter), Arrival::Alone)),
                _ => Some((Some(' '), Arrival::Alone)),
            }
        }
    }
}

impl Choice {
    fn prompt(&self, takes_keys: bool) -> String {
        let keys: Vec<String> =
            self.keys.iter().map(|(key, what)| format!("{key} {what}")).collect();
        let then = if takes_keys { "" } else { " (then Enter)" };
        format!("{} · Ctrl-C cancel{then}", keys.join(" · "))
    }
}
