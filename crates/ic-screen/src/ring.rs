//! The last that a person gave a program: typed and pasted told apart.
//!
//! Reports, mouse and focus never come here. What the person meant by it is not known here.

use std::collections::VecDeque;

/// How much is kept.
pub const BYTES_MAX: usize = 32 << 10;

/// Where something came from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Source {
    /// Keys.
    Typed,
    /// A paste, which never counts as the person's own request.
    Pasted,
}

/// The last that was typed and pasted.
#[derive(Debug, Default)]
pub struct Ring {
    runs: VecDeque<(Source, VecDeque<u8>)>,
    n_bytes: usize,
}

impl Ring {
    /// Keeps something; the oldest is forgotten.
    pub fn push(&mut self, source: Source, bytes: &[u8]) {
        let bytes = bytes.get(bytes.len().saturating_sub(BYTES_MAX)..).unwrap_or_default();
        if bytes.is_empty() {
            return;
        }
        match self.runs.back_mut() {
            Some((last, run)) if *last == source => run.extend(bytes),
            _ => self.runs.push_back((source, bytes.iter().copied().collect())),
        }
        self.n_bytes += bytes.len();
        while BYTES_MAX < self.n_bytes {
            let surplus = self.n_bytes - BYTES_MAX;
            let Some((_, run)) = self.runs.front_mut() else { return };
            let n_gone = surplus.min(run.len());
            run.drain(..n_gone);
            self.n_bytes -= n_gone;
            if run.is_empty() {
                self.runs.pop_front();
            }
        }
    }

    /// Returns what is kept, oldest first.
    pub fn runs(&self) -> impl Iterator<Item = (Source, Vec<u8>)> {
        self.runs.iter().map(|(source, run)| (*source, run.iter().copied().collect()))
    }

    /// Returns how much is kept.
    pub fn len(&self) -> usize {
        self.n_bytes
    }

    /// Returns whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.n_bytes == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_is_kept_and_typed_and_pasted_are_told_apart() {
        let mut ring = Ring::default();
        ring.push(Source::Typed, b"a");
        ring.push(Source::Typed, b"b");
        ring.push(Source::Pasted, b"c");
        let runs: Vec<_> = ring.runs().collect();
        assert_eq!(runs, [(Source::Typed, b"ab".to_vec()), (Source::Pasted, b"c".to_vec())]);
        ring.push(Source::Pasted, &vec![b'd'; BYTES_MAX - 2]);
        let runs: Vec<_> = ring.runs().collect();
        assert_eq!(runs.first(), Some(&(Source::Typed, b"b".to_vec())), "one byte was too many");
        assert_eq!(ring.len(), BYTES_MAX);
        ring.push(Source::Typed, &vec![b'e'; BYTES_MAX * 3]);
        assert_eq!(ring.runs().count(), 1);
        assert_eq!(ring.len(), BYTES_MAX);
    }
}
