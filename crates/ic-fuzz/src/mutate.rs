//! Inputs made from other inputs.
//!
//! Knows no format. What it knows of structure is common to many: words, brackets that nest, numbers in
//! digits, and counts in bytes before what they count.

use std::ops::Range;

use crate::dice::Dice;

/// How often something is repeated at most; deep enough for a limit on depth to be met.
const REPEATS_MAX: usize = 200;
/// Bytes at the edges of things.
const EDGES: [u8; 16] = *b"\0\x01\x7f\x80\xff\xc0\xfe\n\r\t \"\\/:.";
/// Numbers at the edges of things.
const NUMBERS: [&str; 14] = [
    "0",
    "-0",
    "1",
    "-1",
    "255",
    "256",
    "65535",
    "65536",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "18446744073709551616",
    "1e400",
    "0.1",
];

/// Makes inputs.
pub(crate) struct Mutator {
    words: Vec<Vec<u8>>,
    bytes_max: usize,
}

type Step = fn(&Mutator, &mut Vec<u8>, &[Vec<u8>], &mut Dice);

const STEPS: [Step; 17] = [
    Mutator::flip,
    Mutator::set,
    Mutator::edge,
    Mutator::delete,
    Mutator::copy,
    Mutator::repeat,
    Mutator::word,
    Mutator::word,
    Mutator::replace,
    Mutator::replace,
    Mutator::swap,
    Mutator::splice,
    Mutator::borrow,
    Mutator::number,
    Mutator::count,
    Mutator::nest,
    Mutator::cut,
];

impl Mutator {
    pub(crate) fn new(words: &[Vec<u8>], bytes_max: usize) -> Self {
        Self { words: words.to_vec(), bytes_max }
    }

    /// Makes the next input of one of `corpus`.
    pub(crate) fn next(&self, corpus: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
        let mut input = dice.pick(corpus).cloned().unwrap_or_default();
        loop {
            if let Some(step) = dice.pick(&STEPS) {
                step(self, &mut input, corpus, dice);
            }
            input.truncate(self.bytes_max);
            if dice.is_one_in(3) {
                return input;
            }
        }
    }

    fn flip(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        let (at, bit) = (dice.below(input.len()), dice.below(8));
        if let Some(byte) = input.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }

    fn set(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        let (at, value) = (dice.below(input.len()), dice.byte());
        if let Some(byte) = input.get_mut(at) {
            *byte = value;
        }
    }

    fn edge(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        let at = dice.below(input.len() + 1);
        input.splice(at..at, dice.pick(&EDGES).copied());
    }

    fn delete(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        let range = if dice.is_one_in(2) { token(input, dice) } else { dice.range(input.len()) };
        input.drain(range);
    }

    fn copy(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        let taken = slice(input, dice.range(input.len())).to_vec();
        let at = boundary(input, dice);
        input.splice(at..at, taken);
    }

    fn repeat(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        let range = if dice.is_one_in(2) { token(input, dice) } else { dice.range(input.len()) };
        let taken = slice(input, range.clone()).to_vec();
        let longest = if dice.is_one_in(4) { REPEATS_MAX } else { 4 };
        let n = 1 + dice.below(longest);
        // Nothing longer than an input may be is built first and cut then.
        let n = n.min(self.bytes_max / taken.len().max(1));
        input.splice(range.start..range.start, taken.repeat(n));
    }

    fn word(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        let at = boundary(input, dice);
        input.splice(at..at, dice.pick(&self.words).cloned().unwrap_or_default());
    }

    fn replace(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        let range = token(input, dice);
        input.splice(range, dice.pick(&self.words).cloned().unwrap_or_default());
    }

    fn swap(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        let (one, other) = (token(input, dice), token(input, dice));
        let (first, second) = if one.start <= other.start { (one, other) } else { (other, one) };
        if first.end <= second.start {
            let (a, b) =
                (slice(input, first.clone()).to_vec(), slice(input, second.clone()).to_vec());
            input.splice(second, a);
            input.splice(first, b);
        }
    }

    /// The beginning of one input and the end of another.
    fn splice(&self, input: &mut Vec<u8>, corpus: &[Vec<u8>], dice: &mut Dice) {
        let Some(other) = dice.pick(corpus) else { return };
        input.truncate(boundary(input, dice));
        input.extend(other.iter().skip(boundary(other, dice)));
    }

    /// A part of another input.
    fn borrow(&self, input: &mut Vec<u8>, corpus: &[Vec<u8>], dice: &mut Dice) {
        let Some(other) = dice.pick(corpus) else { return };
        let taken = slice(other, dice.range(other.len())).to_vec();
        let at = boundary(input, dice);
        input.splice(at..at, taken);
    }

    fn number(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        let from = dice.below(input.len());
        let Some(start) = (from..input.len()).find(|at| is_digit(input, *at)) else { return };
        let end = (start..input.len()).find(|at| !is_digit(input, *at)).unwrap_or(input.len());
        let number = dice.pick(&NUMBERS).copied().unwrap_or_default();
        input.splice(start..end, number.bytes());
    }

    /// A count of one to four bytes becomes another one; half of the time, what it counts does too.
    fn count(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        let (width, at) = (1 + dice.below(4), dice.below(input.len()));
        let Some(bytes) = input.get(at..at + width) else { return };
        let count = bytes.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
        let n = 1 + dice.below(3);
        let grows = dice.is_one_in(2);
        let new = if grows { count.saturating_add(n) } else { count.saturating_sub(n) };
        for (n_shifted, place) in (at..at + width).rev().enumerate() {
            if let Some(byte) = input.get_mut(place) {
                *byte = (new >> (8 * n_shifted)).to_le_bytes()[0];
            }
        }
        let counted = at + width;
        if dice.is_one_in(2) && counted <= input.len() {
            if grows {
                let more: Vec<u8> = (0..n).map(|_| dice.byte()).collect();
                input.splice(counted..counted, more);
            } else {
                input.drain(counted..input.len().min(counted + n));
            }
        }
    }

    /// Puts a bracketed part into itself.
    fn nest(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        let from = dice.below(input.len());
        let opens = |byte: &u8| matches!(byte, b'[' | b'{' | b'(' | b'<');
        let Some(start) = (from..input.len()).find(|at| input.get(*at).is_some_and(opens)) else {
            return;
        };
        let Some(end) = closing(input, start) else { return };
        let whole = slice(input, start..end + 1).to_vec();
        let longest = if dice.is_one_in(4) { REPEATS_MAX } else { 3 };
        let at = start + 1 + dice.below(end - start);
        let (before, after) =
            (slice(input, start..at).to_vec(), slice(input, at..end + 1).to_vec());
        let n = (1 + dice.below(longest)).min(self.bytes_max / whole.len().max(1));
        input.splice(start..=end, [before.repeat(n), whole, after.repeat(n)].concat());
    }

    fn cut(&self, input: &mut Vec<u8>, _: &[Vec<u8>], dice: &mut Dice) {
        input.truncate(dice.below(input.len() + 1));
    }
}

fn slice(input: &[u8], range: Range<usize>) -> &[u8] {
    input.get(range).unwrap_or_default()
}

fn is_digit(input: &[u8], at: usize) -> bool {
    input.get(at).is_some_and(u8::is_ascii_digit)
}

/// Where a token begins: a run of letters, digits and what is not ASCII, or any other byte.
fn boundary(input: &[u8], dice: &mut Dice) -> usize {
    if dice.is_one_in(4) { dice.below(input.len() + 1) } else { token(input, dice).start }
}

fn token(input: &[u8], dice: &mut Dice) -> Range<usize> {
    let at = dice.below(input.len());
    if !is_of_word(input, at) {
        return at..input.len().min(at + 1);
    }
    let start = (0..at).rev().find(|it| !is_of_word(input, *it)).map_or(0, |it| it + 1);
    let end = (at..input.len()).find(|it| !is_of_word(input, *it)).unwrap_or(input.len());
    start..end
}

fn is_of_word(input: &[u8], at: usize) -> bool {
    input.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
}

/// Finds what closes the bracket at `start`, by counting brackets of the same kind.
fn closing(input: &[u8], start: usize) -> Option<usize> {
    let open = *input.get(start)?;
    let close = match open {
        b'(' => b')',
        open => open + 2,
    };
    let mut depth = 0_usize;
    for (at, byte) in input.iter().enumerate().skip(start) {
        if *byte == open {
            depth += 1;
        } else if *byte == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}
