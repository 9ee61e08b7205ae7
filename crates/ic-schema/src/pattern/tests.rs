//! What patterns mean, which cannot be checked, and what they may cost.

use super::*;

#[track_caller]
fn check(pattern: &str, fits: &[&str], others: &[&str]) {
    let compiled = Patterns::new().compile(pattern).unwrap().unwrap();
    for text in fits {
        assert!(compiled.is_in(text, &mut Fuel::full()).unwrap(), "{pattern} is not in {text:?}");
    }
    for text in others {
        assert!(!compiled.is_in(text, &mut Fuel::full()).unwrap(), "{pattern} is in {text:?}");
    }
}

#[test]
fn a_pattern_is_looked_for_anywhere_unless_it_says_where() {
    check("b+", &["abc", "b"], &["ac", ""]);
    check("^b+$", &["b", "bb"], &["ab", "b\n", "\nb"]);
    check("", &["", "a"], &[]);
}

#[test]
fn classes_mean_what_ecmascript_means() {
    check(r"^\d$", &["7"], &["٣", "a"]);
    check(r"^\D$", &["٣", "a"], &["7"]);
    check(r"^\w+$", &["a_Z9"], &["é", "a-b"]);
    check(r"^[\W]$", &["é", "-"], &["a"]);
    check(r"^\s$", &[" ", "\t", "\u{a0}", "\u{feff}", "\u{2029}"], &["\u{85}", "a"]);
    check(r"^\S$", &["\u{85}", "a"], &[" ", "\u{feff}"]);
    check(r"^.$", &["a", "é", "😀", "\u{85}"], &["\n", "\r", "\u{2028}", ""]);
    check(r"\bé", &["aé"], &["éa", "é"]);
    check(r"a\B", &["ab"], &["a", "aé"]);
}

#[test]
fn signs_in_a_class_stand_for_themselves() {
    check(r"^[\w-.]+$", &["a-b.c"], &["a b"]);
    check(r"^[\w.-]+$", &["a-b.c"], &["a b"]);
    check(r"^[a-\d]+$", &["a-1"], &["b"]);
    check("^[-[a&&b~~c]+$", &["[", "&", "~", "a", "b", "c", "-"], &["d", "]"]);
    check(r"^[^\]\\]$", &["a"], &["]", "\\"]);
    check(r"^[\b]$", &["\u{8}"], &["b"]);
    check(r"^[+--]$", &["+", ",", "-"], &["."]);
    check("^[^]$", &["a", "\n"], &[""]);
    check("[]", &[], &["", "a"]);
    check(r"^[\s\S]$", &["a", "\n"], &[""]);
    check(r"^[\u0000-\u001f]$", &["\0", "\u{1f}"], &[" "]);
    check("^[^a^]$", &["b"], &["a", "^"]);
}

#[test]
fn escapes_and_loose_braces_are_read() {
    check(r"^\/\-\.$", &["/-."], &["/-a"]);
    check(r"^\x41\u0042\u{43}\cA\0\t\v$", &["ABC\u{1}\0\t\u{b}"], &["ABC"]);
    check(r"^\uD83D\uDE00$", &["😀"], &["\u{d83}"]);
    check(r"^{a}$", &["{a}"], &["a"]);
    check(r"^a{2}b{1,}c{0,1}$", &["aab", "aabbc"], &["ab", "aabcc"]);
    check(r"^]}#x $", &["]}#x "], &["]}"]);
    check(r"^\p{L}\P{L}$", &["é1"], &["1é"]);
    check(r"^\p{Script=Greek}$", &["λ"], &["l"]);
    check(r"^(?<year>\d{4})-(?:\d\d)(x|y)?$", &["2026-11", "2026-11y"], &["2026"]);
    check(r"^(?P<a_b>c)$", &["c"], &[]);
    check(r"^a+?b*?$", &["aab"], &["b"]);
}

#[test]
fn what_cannot_be_said_has_a_reason() {
    for (pattern, reason) in [
        (r"^(?!a)", "look-around"),
        (r"(?=a)", "look-around"),
        (r"(?<=a)b", "look-around"),
        (r"(?<!a)b", "look-around"),
        (r"(a)\1", "back-reference"),
        (r"(?<n>a)\k<n>", "back-reference"),
        (r"(?i)a", "group"),
        (r"(?>a)", "group"),
        (r"a{,5}", "repeats"),
        (r"\Aa\Z", "escape"),
        (r"\uD83D", "escape"),
        (r"\xZZ", "escape"),
        (r"a\", "escape"),
        (r"[a", "class"),
        (r"[z-a]", "class"),
        (r"(a", "not a supported regular expression"),
        (r"a)", "not a supported regular expression"),
        (r"*a", "not a supported regular expression"),
        (r"\p{Nonsense}", "not a supported regular expression"),
        (&r"\p{L}".repeat(17), "too many kinds"),
        ("a{1000}{1000}", "too large"),
        (r"(?:\p{L}{1000}){1000}", "too large"),
        (&"a".repeat(3000), "too long"),
    ] {
        let found = Patterns::new().compile(pattern).unwrap().unwrap_err();
        assert!(found.contains(reason), "{pattern}: {found}");
    }
}

#[test]
fn a_pattern_that_explodes_elsewhere_is_quick_or_exhausted_here() {
    let compiled = Patterns::new().compile("(a+)+$").unwrap().unwrap();
    let text = "a".repeat(100_000) + "b";
    assert_eq!(compiled.is_in(&text, &mut Fuel::full()), Ok(false));
    let heavy = Patterns::new().compile("[01]*1[01]{1000}x").unwrap().unwrap();
    assert_eq!(heavy.is_in(&"01".repeat(50_000), &mut Fuel::full()), Err(Exhausted));
}

#[test]
fn there_is_an_end_to_patterns() {
    let compile_all = |texts: &mut dyn Iterator<Item = String>| {
        let mut patterns = Patterns::new();
        let mut texts = texts.enumerate();
        texts.find_map(|(n, text)| patterns.compile(&text).err().map(|reason| (n, reason)))
    };
    let many = compile_all(&mut (0..1000).map(|n| format!("a{n}")));
    assert_eq!(many, Some((500, FaultReason::TooManyPatterns)));
    let large = compile_all(&mut (0..500).map(|n| format!("a{n}[^b]{{500}}")));
    assert!(large.is_some_and(|(n, _)| n < 40));
    let failing = compile_all(&mut (0..500).map(|n| format!("a{n}{{1000}}{{1000}}")));
    assert!(failing.is_some_and(|(n, _)| n < 40));
    let long = compile_all(&mut (0..500).map(|n| format!("{n}{}", "a".repeat(1000))));
    assert!(long.is_some_and(|(n, _)| n < 40));
    let same = compile_all(&mut (0..1000).map(|_| "[^b]{500}".to_owned()));
    assert_eq!(same, None);
}
