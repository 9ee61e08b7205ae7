//! Numbers as they are written: compared and divided exactly, without doubles.
//!
//! Does not calculate: it orders, tells whole numbers from others, and finds multiples.

use std::cmp::Ordering;

use ic_types::Number;

/// A number as a row of digits and a power of ten.
///
/// Invariant: the digits, `whole` and then `fraction`, neither begin nor end with a zero, and there
/// are none for zero, which has no sign and no power of ten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal<'a> {
    is_negative: bool,
    whole: &'a str,
    fraction: &'a str,
    /// The power of ten that the last digit counts.
    power: i64,
}

/// What numbers have to be multiples of.
///
/// Invariant: `digits` is not zero, and is no multiple of ten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    digits: u64,
    power: i64,
}

/// Powers of ten beyond this count as this: no document can hold enough digits to reach it.
const POWER_MAX: i64 = 1_000_000_000_000_000;

impl<'a> Decimal<'a> {
    pub(crate) fn of(number: &'a Number) -> Self {
        let text = number.as_str();
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text),
        };
        // One sign after the other: looking for one is much faster than looking for either.
        let (digits, power) = match text.split_once('e').or_else(|| text.split_once('E')) {
            Some((digits, power)) => (digits, parse_power(power)),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let fraction = fraction.trim_end_matches('0');
        let mut power = power.saturating_sub_unsigned(fraction.len() as u64);
        let mut trimmed = whole;
        if fraction.is_empty() {
            trimmed = whole.trim_end_matches('0');
            power = power.saturating_add_unsigned((whole.len() - trimmed.len()) as u64);
        }
        let whole = trimmed.trim_start_matches('0');
        let fraction = if whole.is_empty() { fraction.trim_start_matches('0') } else { fraction };
        match whole.is_empty() && fraction.is_empty() {
            true => Self { is_negative: false, whole, fraction, power: 0 },
            false => Self { is_negative, whole, fraction, power },
        }
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        self.whole.bytes().chain(self.fraction.bytes())
    }

    fn n_digits(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    fn is_zero(&self) -> bool {
        self.n_digits() == 0
    }

    /// Returns whether nothing stands behind the point, as in `5`, `5.0` and `50e-1`.
    pub(crate) fn is_whole(&self) -> bool {
        0 <= self.power
    }

    /// Returns a whole number that is not negative, or the greatest one that we can count to.
    pub(crate) fn to_count(self) -> Option<u64> {
        if self.is_negative || !self.is_whole() {
            return None;
        }
        let zeros = u32::try_from(self.power).ok().and_then(|power| 10_u64.checked_pow(power));
        let digits = to_u64(self.digits());
        let count = digits.zip(zeros).and_then(|(digits, zeros)| digits.checked_mul(zeros));
        Some(if self.is_zero() { 0 } else { count.unwrap_or(u64::MAX) })
    }

    /// Returns the number as what others have to be multiples of; none if it is not positive, or has
    /// more digits than we can divide by.
    pub(crate) fn to_divisor(self) -> Option<Divisor> {
        if self.is_negative || self.is_zero() {
            return None;
        }
        Some(Divisor { digits: to_u64(self.digits())?, power: self.power })
    }

    /// Returns whether the number is `divisor` so and so many times.
    pub(crate) fn is_multiple_of(&self, divisor: Divisor) -> bool {
        if self.is_zero() {
            return true;
        }
        // The last digit is not zero, so what counts a higher power of ten cannot reach it.
        let Ok(n_zeros) = u64::try_from(self.power.saturating_sub(divisor.power)) else {
            return false;
        };
        let modulus = u128::from(divisor.digits);
        let remainder = self
            .digits()
            .fold(0, |remainder, digit| (remainder * 10 + u128::from(digit - b'0')) % modulus);
        (remainder * power_of_ten(n_zeros, modulus)).is_multiple_of(modulus)
    }

    /// Writes the number in the one form that equal numbers share.
    pub(crate) fn write(&self, out: &mut String) {
        if self.is_negative {
            out.push('-');
        }
        out.push_str(self.whole);
        out.push_str(self.fraction);
        out.push('e');
        out.push_str(&self.power.to_string());
    }

    fn compare_size(&self, other: &Self) -> Ordering {
        // Where the first digit stands decides, and then digit by digit.
        let height = |it: &Self| it.power.saturating_add_unsigned(it.n_digits() as u64);
        height(self).cmp(&height(other)).then_with(|| self.digits().cmp(other.digits()))
    }
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |it: &Self| match (it.is_zero(), it.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| match (self.is_zero(), self.is_negative) {
            (true, _) => Ordering::Equal,
            (false, true) => other.compare_size(self),
            (false, false) => self.compare_size(other),
        })
    }
}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal<'_> {}

/// Reads the part behind the `e`.
fn parse_power(text: &str) -> i64 {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let power = digits.bytes().fold(0, |power: i64, digit| {
        power.saturating_mul(10).saturating_add(i64::from(digit - b'0')).min(POWER_MAX)
    });
    if is_negative { -power } else { power }
}

fn to_u64(mut digits: impl Iterator<Item = u8>) -> Option<u64> {
    digits.try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

/// Returns the remainder of a power of ten; `modulus` has at most 64 bits.
fn power_of_ten(mut exponent: u64, modulus: u128) -> u128 {
    let (mut result, mut base) = (1 % modulus, 10 % modulus);
    while exponent != 0 {
        if exponent % 2 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        exponent /= 2;
    }
    result
}

#[cfg(test)]
mod tests;
