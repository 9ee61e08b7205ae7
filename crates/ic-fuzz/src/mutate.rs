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

/// An input in the making.
pub(crate) struct Mutator<'a> {
    input: Vec<u8>,
    words: &'a [Vec<u8>],
    corpus: &'a [Vec<u8>],
    bytes_max: usize,
}

impl<'a> Mutator<'a> {
    /// Begins with one of `corpus`.
    pub(crate) fn new(
        words: &'a [Vec<u8>],
        corpus: &'a [Vec<u8>],
        bytes_max: usize,
        dice: &mut Dice,
    ) -> Self {
        let input = dice.pick(corpus).cloned().unwrap_or_default();
        Self { input, words, corpus, bytes_max }
    }

    /// Changes the input once or several times.
    pub(crate) fn mutate(mut self, dice: &mut Dice) -> Vec<u8> {
        loop {
            self.step(dice);
            self.input.truncate(self.bytes_max);
            if dice.is_one_in(3) {
                return self.input;
            }
        }
    }

    fn step(&mut self, dice: &mut Dice) {
        match dice.below(17) {
            0 => self.flip(dice),
            1 => self.set(dice),
            2 => self.edge(dice),
            3 => self.delete(dice),
            4 => self.copy(dice),
            5 => self.repeat(dice),
            6 | 7 => self.word(dice),
            8 | 9 => self.replace(dice),
            10 => self.swap(dice),
            11 => self.splice(dice),
            12 => self.borrow(dice),
            13 => self.number(dice),
            14 => self.count(dice),
            15 => self.nest(dice),
            _ => self.cut(dice),
        }
    }

    fn flip(&mut self, dice: &mut Dice) {
        let (at, bit) = (dice.below(self.input.len()), dice.below(8));
        if let Some(byte) = self.input.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }

    fn set(&mut self, dice: &mut Dice) {
        let (at, value) = (dice.below(self.input.len()), dice.byte());
        if let Some(byte) = self.input.get_mut(at) {
            *byte = value;
        }
    }

    fn edge(&mut self, dice: &mut Dice) {
        let at = dice.below(self.input.len() + 1);
        self.input.splice(at..at, dice.pick(&EDGES).copied());
    }

    fn delete(&mut self, dice: &mut Dice) {
        let range = self.part(dice);
        self.input.drain(range);
    }

    fn copy(&mut self, dice: &mut Dice) {
        let taken = slice(&self.input, dice.range(self.input.len())).to_vec();
        self.insert(taken, dice);
    }

    fn repeat(&mut self, dice: &mut Dice) {
        let range = self.part(dice);
        let taken = slice(&self.input, range.clone()).to_vec();
        let longest = if dice.is_one_in(4) { REPEATS_MAX } else { 4 };
        // Nothing longer than an input may be is built first and cut then.
        let n = (1 + dice.below(longest)).min(self.bytes_max / taken.len().max(1));
        self.input.splice(range.start..range.start, taken.repeat(n));
    }

    fn word(&mut self, dice: &mut Dice) {
        let word = dice.pick(self.words).cloned().unwrap_or_default();
        self.insert(word, dice);
    }

    fn replace(&mut self, dice: &mut Dice) {
        let range = token(&self.input, dice);
        self.input.splice(range, dice.pick(self.words).cloned().unwrap_or_default());
    }

    fn swap(&mut self, dice: &mut Dice) {
        let (one, other) = (token(&self.input, dice), token(&self.input, dice));
        let (first, second) = if one.start <= other.start { (one, other) } else { (other, one) };
        if first.end <= second.start {
            let a = slice(&self.input, first.clone()).to_vec();
            let b = slice(&self.input, second.clone()).to_vec();
            self.input.splice(second, a);
            self.input.splice(first, b);
        }
    }

    /// The beginning of one input and the end of another.
    fn splice(&mut self, dice: &mut Dice) {
        let Some(other) = dice.pick(self.corpus) else { return };
        self.input.truncate(boundary(&self.input, dice));
        self.input.extend(other.iter().skip(boundary(other, dice)));
    }

    /// A part of another input.
    fn borrow(&mut self, dice: &mut Dice) {
        let Some(other) = dice.pick(self.corpus) else { return };
        let taken = slice(other, dice.range(other.len())).to_vec();
        self.insert(taken, dice);
    }

    fn number(&mut self, dice: &mut Dice) {
        let (from, end) = (dice.below(self.input.len()), self.input.len());
        let Some(start) = (from..end).find(|at| is_digit(&self.input, *at)) else { return };
        let end = (start..end).find(|at| !is_digit(&self.input, *at)).unwrap_or(end);
        let number = dice.pick(&NUMBERS).copied().unwrap_or_default();
        self.input.splice(start..end, number.bytes());
    }

    /// A count of one to four bytes becomes another one; half of the time, what it counts does too.
    fn count(&mut self, dice: &mut Dice) {
        let (width, at) = (1 + dice.below(4), dice.below(self.input.len()));
        let Some(bytes) = self.input.get_mut(at..at + width) else { return };
        let count = bytes.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
        let (n, grows) = (1 + dice.below(3), dice.is_one_in(2));
        let new = if grows { count.saturating_add(n) } else { count.saturating_sub(n) };
        for (n_shifted, byte) in bytes.iter_mut().rev().enumerate() {
            *byte = (new >> (8 * n_shifted)).to_le_bytes()[0];
        }
        let counted = at + width;
        if dice.is_one_in(2) {
            if grows {
                let more: Vec<u8> = (0..n).map(|_| dice.byte()).collect();
                self.input.splice(counted..counted, more);
            } else {
                self.input.drain(counted..self.input.len().min(counted + n));
            }
        }
    }

    /// Puts a bracketed part into itself.
    fn nest(&mut self, dice: &mut Dice) {
        let (from, end) = (dice.below(self.input.len()), self.input.len());
        let opens = |byte: &u8| matches!(byte, b'[' | b'{' | b'(' | b'<');
        let Some(start) = (from..end).find(|at| self.input.get(*at).is_some_and(opens)) else {
            return;
        };
        let Some(end) = closing(&self.input, start) else { return };
        let at = start + 1 + dice.below(end - start);
        let longest = if dice.is_one_in(4) { REPEATS_MAX } else { 3 };
        let part = |range: Range<usize>| slice(&self.input, range).to_vec();
        let (whole, before, after) = (part(start..end + 1), part(start..at), part(at..end + 1));
        let n = (1 + dice.below(longest)).min(self.bytes_max / whole.len().max(1));
        self.input.splice(start..=end, [before.repeat(n), whole, after.repeat(n)].concat());
    }

    fn cut(&mut self, dice: &mut Dice) {
        self.input.truncate(dice.below(self.input.len() + 1));
    }

    fn insert(&mut self, taken: Vec<u8>, dice: &mut Dice) {
        let at = boundary(&self.input, dice);
        self.input.splice(at..at, taken);
    }

    /// A token, or any part.
    fn part(&self, dice: &mut Dice) -> Range<usize> {
        if dice.is_one_in(2) { token(&self.input, dice) } else { dice.range(self.input.len()) }
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
