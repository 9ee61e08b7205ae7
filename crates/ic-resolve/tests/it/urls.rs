//! URLs to fetch: one spelling, or refused.

use ic_resolve::url::parse_fetch_url;
use proptest::prelude::*;

#[track_caller]
fn check(text: &str, expected: Result<(&str, &str), &str>) {
    let found = parse_fetch_url(text);
    match (found, expected) {
        (Ok(url), Ok((sent, destination))) => {
            assert_eq!(url.text, sent, "{text}");
            assert_eq!(url.destination.to_string(), destination, "{text}");
        }
        (Err(fault), Err(reason)) => assert!(fault.to_string().contains(reason), "{text}: {fault}"),
        (found, expected) => panic!("{text}: {found:?}, expected {expected:?}"),
    }
}

#[test]
fn what_is_judged_is_what_is_sent() {
    check("HTTPS://Example.COM:443/a/../b?c#d", Ok(("https://example.com/b?c#d", "example.com")));
    check("https://example.com./x", Ok(("https://example.com/x", "example.com")));
    check("http://0x7f.1:8080/", Ok(("http://127.0.0.1:8080/", "127.0.0.1:8080")));
    check("http://bücher.example/", Ok(("http://xn--bcher-kva.example/", "xn--bcher-kva.example")));
    check(
        "https://docs.example.com\\@evil.test/",
        Ok(("https://docs.example.com/@evil.test/", "docs.example.com")),
    );
    check("http://[::0001]/", Ok(("http://[::1]/", "[::1]")));
    check(" https://example.com/a b  ", Ok(("https://example.com/a%20b", "example.com")));
    check("https://a%2eexample/", Ok(("https://a.example/", "a.example")));
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    for (text, reason) in [
        ("", "not a URL"),
        ("example.com", "not a URL"),
        ("ftp://example.com/", "`ftp:` is not fetched"),
        ("file:///etc/passwd", "`file:` is not fetched"),
        ("javascript:alert(1)", "`javascript:` is not fetched"),
        ("https://user@example.com/", "contains a user name or password"),
        ("https://user:pw@example.com/", "contains a user name or password"),
        ("https://:pw@example.com/", "contains a user name or password"),
        ("https://exam\nple.com/", "control characters"),
        ("https://example.com/\0", "control characters"),
        ("https://example.com/\n", "control characters"),
        ("\thttps://example.com/", "control characters"),
        (" \u{1f}https://example.com/", "control characters"),
        ("\u{a0}https://example.com/", "control characters, or white space around it"),
        ("https://example.com/\u{2003} ", "control characters, or white space around it"),
        (" -https://example.com", "begins with `-`"),
        ("   ", "not a URL"),
        ("-https://example.com", "begins with `-`"),
        ("https://a..example/", "no valid host"),
        ("https://a&b.example/", "no valid host"),
        ("https://-a.example/", "no valid host"),
        ("https://example.com:99999/", "not a URL"),
        ("https://exa%00mple.com/", "not a URL"),
        ("https:///", "not a URL"),
    ] {
        check(text, Err(reason));
    }
}

proptest! {
    /// A canonical URL is its own canonical form.
    #[test]
    fn resolving_a_url_is_idempotent(text in r"https?://[a-zA-Z0-9.%@:\[\]\\-]{0,24}(/[a-z.%?#]{0,8})?") {
        if let Ok(url) = parse_fetch_url(&text) {
            let again = parse_fetch_url(&url.text).unwrap();
            prop_assert_eq!(&again.text, &url.text);
            prop_assert_eq!(again.destination, url.destination);
        }
    }
}
