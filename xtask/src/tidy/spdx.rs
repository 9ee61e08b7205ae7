//! Licence expressions: may we take a package under licences that we accept?
//!
//! Understands `OR`, `AND`, `WITH` and parentheses as SPDX defines them, and the old `/` for `OR`.

use std::iter::Peekable;
use std::str::SplitWhitespace;

/// A licence expression that cannot be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Malformed;

/// Returns whether some choice that `expression` leaves needs only licences in `accepted`.
pub(super) fn is_satisfied(expression: &str, accepted: &[&str]) -> Result<bool, Malformed> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut reader = Reader { words: spaced.split_whitespace().peekable(), accepted };
    let is_satisfied = reader.alternatives()?;
    match reader.words.next() {
        Some(_) => Err(Malformed),
        None => Ok(is_satisfied),
    }
}

/// Reads an expression from left to right; each method reads one level of precedence.
struct Reader<'a> {
    words: Peekable<SplitWhitespace<'a>>,
    accepted: &'a [&'a str],
}

impl<'a> Reader<'a> {
    fn alternatives(&mut self) -> Result<bool, Malformed> {
        let mut is_satisfied = self.conjunction()?;
        while self.take("OR") {
            is_satisfied |= self.conjunction()?;
        }
        Ok(is_satisfied)
    }

    fn conjunction(&mut self) -> Result<bool, Malformed> {
        let mut is_satisfied = self.term()?;
        while self.take("AND") {
            is_satisfied &= self.term()?;
        }
        Ok(is_satisfied)
    }

    fn term(&mut self) -> Result<bool, Malformed> {
        if self.take("(") {
            let is_satisfied = self.alternatives()?;
            return if self.take(")") { Ok(is_satisfied) } else { Err(Malformed) };
        }
        let licence = self.name()?;
        if self.take("WITH") {
            let exception = self.name()?;
            return Ok(self.accepted.contains(&format!("{licence} WITH {exception}").as_str()));
        }
        Ok(self.accepted.contains(&licence))
    }

    fn name(&mut self) -> Result<&'a str, Malformed> {
        match self.words.next() {
            None | Some("OR" | "AND" | "WITH" | "(" | ")") => Err(Malformed),
            Some(name) => Ok(name),
        }
    }

    /// Takes the next word if it is `expected`.
    fn take(&mut self, expected: &str) -> bool {
        self.words.next_if(|word| *word == expected).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, expected: Result<bool, Malformed>) {
        let accepted = ["MIT", "ISC", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];
        assert_eq!(is_satisfied(expression, &accepted), expected, "{expression:?}");
    }

    #[test]
    fn one_alternative_is_enough() {
        check("MIT", Ok(true));
        check("GPL-3.0-only", Ok(false));
        check("GPL-3.0-only OR MIT", Ok(true));
        check("GPL-3.0-only/MIT", Ok(true));
        check("GPL-3.0-only OR LGPL-3.0-only", Ok(false));
    }

    #[test]
    fn every_part_of_a_conjunction_counts() {
        check("MIT AND ISC", Ok(true));
        check("MIT AND GPL-3.0-only", Ok(false));
        check("(MIT OR GPL-3.0-only) AND ISC", Ok(true));
        check("(MIT OR ISC) AND GPL-3.0-only", Ok(false));
    }

    #[test]
    fn and_binds_before_or() {
        check("MIT OR ISC AND GPL-3.0-only", Ok(true));
        check("GPL-3.0-only AND MIT OR ISC", Ok(true));
        check("GPL-3.0-only AND (MIT OR ISC)", Ok(false));
    }

    #[test]
    fn an_exception_is_part_of_the_name() {
        check("Apache-2.0 WITH LLVM-exception", Ok(true));
        check("MIT WITH LLVM-exception", Ok(false));
        check("GPL-2.0-only WITH Classpath-exception-2.0 OR MIT", Ok(true));
    }

    #[test]
    fn what_cannot_be_read_is_not_accepted() {
        for bad in ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT ISC", "MIT WITH", "()", "/"] {
            check(bad, Err(Malformed));
        }
    }
}
