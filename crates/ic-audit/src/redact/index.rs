//! Finds the places in a text that are worth a closer look, in one pass over its bytes.
//!
//! Every secret has a beginning of three characters, or stands after a word that has one. Each
//! three characters of the text are looked up in a table of bits that is small enough to stay in
//! the fastest cache; nearly all are not in it, and nothing more is done about them.

use super::names::LAST_WORDS;
use super::own_keys::OwnKeys;
use super::shapes::{SHAPES, Shape};
use super::{forms, scan};

/// Something to look for.
#[derive(Clone, Copy)]
pub(super) enum Clue {
    /// A token, by its beginning.
    Token(&'static Shape, &'static str),
    /// The last word of a name.
    Word(&'static str),
    /// One of our own keys, by its number.
    OwnKey(usize),
    /// What we wrote ourselves.
    Mark,
    /// The heading of a PEM block, `PRIVATE KEY`.
    Pem,
    /// The header of a JSON Web Token.
    Jwt,
    /// The colon and slashes of a URL.
    Url,
    /// The option of `curl` for user and password.
    CurlUser(&'static str),
    /// The word before a token in an HTTP header.
    Bearer,
    /// The middle of a token of a Telegram bot.
    Telegram,
    /// The number that a token of a Discord bot begins with.
    Discord,
}

/// Three characters, each without its case: the lowest five bits are all that is kept.
const N_KEYS: usize = 1 << 15;

/// All clues, by how they begin.
pub(super) struct Index {
    /// A bit for each key that some clue begins with.
    bits: [u64; N_KEYS / 64],
    /// Invariant: sorted by key.
    clues: Vec<(usize, Clue)>,
}

impl Index {
    pub(super) fn new(own_keys: &OwnKeys) -> Self {
        let mut clues: Vec<(usize, Clue)> = fixed_clues().collect();
        for shape in SHAPES {
            for prefix in shape.prefixes {
                let keys = token_keys(shape, prefix).into_iter();
                clues.extend(keys.map(|key| (key, Clue::Token(shape, prefix))));
            }
        }
        let beginnings = own_keys.beginnings();
        clues.extend(beginnings.map(|(number, begin)| (key_of(begin), Clue::OwnKey(number))));
        clues.sort_by_key(|(key, _)| *key);

        let mut bits = [0; N_KEYS / 64];
        for (key, _) in &clues {
            if let Some(word) = bits.get_mut(key / 64) {
                *word |= 1 << (key % 64);
            }
        }
        Self { bits, clues }
    }

    /// Calls `look` with each clue that may stand in `bytes`, and where; places rise.
    pub(super) fn each(&self, bytes: &[u8], mut look: impl FnMut(Clue, usize)) {
        let mut key = 0;
        for (last, byte) in bytes.iter().enumerate() {
            // Older characters are cut off only where the key is used: one step less between bytes.
            key = key << 5 | usize::from(byte & 31);
            let word = self.bits.get(key % N_KEYS / 64).copied().unwrap_or_default();
            if word >> (key % 64) & 1 == 0 {
                continue;
            }
            let Some(at) = last.checked_sub(2) else { continue };
            let key = key % N_KEYS;
            let first = self.clues.partition_point(|(other, _)| *other < key);
            let rest = self.clues.get(first..).unwrap_or_default();
            for (_, clue) in rest.iter().take_while(|(other, _)| *other == key) {
                look(*clue, at);
            }
        }
    }
}

fn fixed_clues() -> impl Iterator<Item = (usize, Clue)> {
    let starting =
        |text: &str, clue| text.as_bytes().first_chunk().map(|begin| (key_of(*begin), clue));
    let single = [
        starting(scan::MARK, Clue::Mark),
        starting(forms::PEM, Clue::Pem),
        starting(forms::JWT, Clue::Jwt),
        starting(forms::URL, Clue::Url),
        starting(forms::BEARER, Clue::Bearer),
        starting(forms::TELEGRAM, Clue::Telegram),
    ];
    let words = LAST_WORDS.iter().filter_map(move |word| starting(word, Clue::Word(word)));
    let curl =
        forms::CURL_USER.into_iter().filter_map(move |flag| starting(flag, Clue::CurlUser(flag)));
    let discord = forms::discord_beginnings().map(|begin| (key_of(begin), Clue::Discord));
    single.into_iter().flatten().chain(words).chain(curl).chain(discord)
}

/// Returns the keys of a token: more than one if its beginning is shorter than a key.
fn token_keys(shape: &Shape, prefix: &str) -> Vec<usize> {
    if let Some(begin) = prefix.as_bytes().first_chunk() {
        return vec![key_of(*begin)];
    }
    let begun = prefix.bytes().fold(0, extend);
    let bodies = (0..=u8::MAX).filter(|byte| shape.body.holds(*byte));
    let mut keys: Vec<usize> = bodies.map(|byte| extend(begun, byte)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn key_of(begin: [u8; 3]) -> usize {
    begin.into_iter().fold(0, extend)
}

const fn extend(key: usize, byte: u8) -> usize {
    (key << 5 | (byte & 31) as usize) % N_KEYS
}
