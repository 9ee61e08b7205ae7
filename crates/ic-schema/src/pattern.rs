//! Patterns of a schema as regular expressions whose cost is known.
//!
//! The engine takes time in proportion to the text and to the size of the compiled pattern, and both
//! are paid for. Does not know where a pattern stands or what it is for.

mod ecma;

use std::collections::HashMap;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use crate::fault::FaultReason;
use crate::fuel::{Exhausted, Fuel};
use crate::text::Cut;

/// A pattern, ready to be looked for.
#[derive(Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// The limit of size that it fits in, in KiB.
    weight: u64,
    /// How it was written, cut.
    pub(crate) shown: String,
}

/// The patterns of one schema, each compiled once.
#[derive(Debug)]
pub(crate) struct Patterns {
    /// By what was written; the words say why one cannot be checked.
    seen: HashMap<String, Result<Arc<Pattern>, &'static str>>,
    n_bytes_left: usize,
    n_kib_left: u64,
}

/// The longest pattern in bytes; reading one takes as long as it is, and some signs take longer.
const BYTES_MAX: usize = 2048;
/// All patterns of a schema, in bytes.
const BYTES_ALL_MAX: usize = 32 << 10;
/// How many different patterns a schema may have.
const N_MAX: usize = 500;
/// The sizes that are tried, in KiB.
const WEIGHTS: [u64; 4] = [1, 8, 64, 256];
/// All patterns of a schema, compiled, in KiB.
const KIB_ALL_MAX: u64 = 8 << 10;
/// What the engine may remember while it searches.
const CACHE_BYTES: usize = 64 << 10;

impl Pattern {
    /// Returns whether the pattern is somewhere in `text`.
    pub(crate) fn is_in(&self, text: &str, fuel: &mut Fuel) -> Result<bool, Exhausted> {
        fuel.spend((text.len() as u64).saturating_mul(self.weight))?;
        Ok(self.regex.is_match(text))
    }
}

impl Patterns {
    pub(crate) fn new() -> Self {
        Self { seen: HashMap::new(), n_bytes_left: BYTES_ALL_MAX, n_kib_left: KIB_ALL_MAX }
    }

    /// Compiles `text`, or says why it cannot be checked, or that there is too much of it all.
    pub(crate) fn compile(
        &mut self,
        text: &str,
    ) -> Result<Result<Arc<Pattern>, &'static str>, FaultReason> {
        if let Some(known) = self.seen.get(text) {
            return Ok(known.clone());
        }
        if BYTES_MAX < text.len() {
            return Ok(Err("it is too long"));
        }
        let left = self.n_bytes_left.checked_sub(text.len()).ok_or(FaultReason::TooManyPatterns)?;
        self.n_bytes_left = left;
        if N_MAX <= self.seen.len() {
            return Err(FaultReason::TooManyPatterns);
        }
        let compiled = match ecma::translate(text) {
            Ok(translated) => self.fit(text, &translated)?.map(Arc::new),
            Err(reason) => Err(reason),
        };
        self.seen.insert(text.to_owned(), compiled.clone());
        Ok(compiled)
    }

    /// Compiles with the smallest limit that the pattern fits in.
    fn fit(
        &mut self,
        text: &str,
        translated: &str,
    ) -> Result<Result<Pattern, &'static str>, FaultReason> {
        let mut unfit = "it is too large";
        for weight in WEIGHTS {
            let left = self.n_kib_left.checked_sub(weight).ok_or(FaultReason::TooManyPatterns)?;
            match build(translated, weight) {
                Ok(regex) => {
                    self.n_kib_left = left;
                    return Ok(Ok(Pattern { regex, weight, shown: Cut::PLACE.of(text) }));
                }
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(_) => {
                    unfit = "it is not a supported regular expression";
                    break;
                }
            }
            // What did not fit has cost as much as what fits.
            self.n_kib_left = left;
        }
        Ok(Err(unfit))
    }
}

fn build(translated: &str, weight: u64) -> Result<Regex, regex::Error> {
    let n_bytes = usize::try_from(weight << 10).unwrap_or(usize::MAX);
    RegexBuilder::new(translated).size_limit(n_bytes).dfa_size_limit(CACHE_BYTES).build()
}

#[cfg(test)]
mod tests;
