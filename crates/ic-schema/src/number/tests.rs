//! Order, whole numbers and multiples, by tables and by what small integers do.

use super::*;
use ic_types::{Json, JsonLimits};
use proptest::prelude::*;

fn number(text: &str) -> Number {
    match Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap() {
        Json::Number(number) => number,
        other => panic!("{other}"),
    }
}

#[track_caller]
fn check(left: &str, expected: Ordering, right: &str) {
    let (left_number, right_number) = (number(left), number(right));
    let (a, b) = (Decimal::of(&left_number), Decimal::of(&right_number));
    assert_eq!(a.cmp(&b), expected, "{left} and {right}");
    assert_eq!(b.cmp(&a), expected.reverse(), "{right} and {left}");
}

#[test]
fn numbers_are_ordered_by_value_and_not_by_how_they_are_written() {
    use Ordering::{Equal, Less};
    for (left, expected, right) in [
        ("0", Equal, "-0"),
        ("0", Equal, "0.000e999"),
        ("1", Equal, "1.0"),
        ("1", Equal, "10e-1"),
        ("1", Equal, "0.001e+3"),
        ("1200", Equal, "12E2"),
        ("-1", Less, "0"),
        ("-1", Less, "1"),
        ("-2", Less, "-1"),
        ("-10", Less, "-9.99"),
        ("0", Less, "1e-400"),
        ("9", Less, "10"),
        ("0.09", Less, "0.1"),
        ("1.05", Less, "1.5"),
        ("1.5", Less, "1.50000000000000000000000000001"),
        ("9007199254740992", Less, "9007199254740993"),
        ("1e400", Less, "1e401"),
        ("99e399", Less, "1e401"),
        ("-1e400", Less, "1e-400"),
        ("123456789012345678901234567890", Less, "123456789012345678901234567891"),
        ("1e99999999999999999999", Equal, "1e999999999999999999999"),
        ("1e-99999999999999999999", Less, "1e99999999999999999999"),
    ] {
        check(left, expected, right);
    }
}

#[test]
fn whole_numbers_are_found_by_value() {
    for text in ["0", "-0.0", "5", "5.0", "-5", "50e-1", "0.5e1", "1e400", "1.50e1"] {
        assert!(Decimal::of(&number(text)).is_whole(), "{text}");
    }
    for text in ["0.5", "5.01", "1e-1", "15e-2", "9007199254740993.5", "1e-400"] {
        assert!(!Decimal::of(&number(text)).is_whole(), "{text}");
    }
}

#[test]
fn counts_are_whole_and_not_negative() {
    for (text, expected) in [
        ("0", Some(0)),
        ("-0", Some(0)),
        ("3", Some(3)),
        ("3.0", Some(3)),
        ("1e2", Some(100)),
        ("18446744073709551615", Some(u64::MAX)),
        ("1e30", Some(u64::MAX)),
        ("0e30", Some(0)),
        ("-1", None),
        ("1.5", None),
    ] {
        assert_eq!(Decimal::of(&number(text)).to_count(), expected, "{text}");
    }
}

#[test]
fn multiples_are_exact() {
    let is_multiple = |value: &str, divisor: &str| {
        let divisor = Decimal::of(&number(divisor)).to_divisor().unwrap();
        Decimal::of(&number(value)).is_multiple_of(divisor)
    };
    for (value, divisor) in [
        ("0", "7"),
        ("14", "7"),
        ("-14", "7"),
        ("0.3", "0.1"),
        ("19.99", "0.01"),
        ("4.5", "1.5"),
        ("1e400", "10"),
        ("1e400", "0.001"),
        ("1e400", "1e399"),
        ("9007199254740993", "3"),
        ("123456789123456789123456789", "3"),
        ("1000000000000000000", "0.000000001"),
    ] {
        assert!(is_multiple(value, divisor), "{value} by {divisor}");
    }
    for (value, divisor) in [
        ("13", "7"),
        ("0.35", "0.1"),
        ("1", "1.5"),
        ("1e400", "7"),
        ("9007199254740993", "2"),
        ("1e399", "1e400"),
        ("1e-400", "1"),
        ("0.5", "1"),
    ] {
        assert!(!is_multiple(value, divisor), "{value} by {divisor}");
    }
    for bad in ["0", "-1", "0.0", "123456789012345678901"] {
        assert!(Decimal::of(&number(bad)).to_divisor().is_none(), "{bad}");
    }
}

proptest! {
    #[test]
    fn small_numbers_are_ordered_as_integers_are(
        a in -100_000_i64..100_000, b in -100_000_i64..100_000, shift in 0_u32..4,
    ) {
        let write = |n: i64| number(&format!("{n}e-{shift}"));
        let (x, y) = (write(a), write(b));
        prop_assert_eq!(Decimal::of(&x).cmp(&Decimal::of(&y)), a.cmp(&b));
    }

    #[test]
    fn small_multiples_are_those_of_integers(
        value in -100_000_i64..100_000, divisor in 1_i64..2_000, shift in 0_u32..4,
    ) {
        let write = |n: i64| number(&format!("{n}e-{shift}"));
        let (value_number, divisor_number) = (write(value), write(divisor));
        let by = Decimal::of(&divisor_number).to_divisor().unwrap();
        prop_assert_eq!(Decimal::of(&value_number).is_multiple_of(by), value % divisor == 0);
    }
}
