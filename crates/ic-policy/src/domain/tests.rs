//! Tests of what a set of patterns holds for, and of what it admits, names and forbids.

use super::*;

fn destination(scheme: &str, authority: &str, repository: &str) -> Destination {
    Destination {
        scheme: Scheme::parse(scheme),
        repository: (!repository.is_empty()).then(|| repository.to_owned()),
        ..Destination::parse_authority(authority).unwrap()
    }
}

#[track_caller]
fn check(pattern: &str, holds: &[(&str, &str)], fails: &[(&str, &str)]) {
    let set = DomainSet::parse([pattern]).unwrap();
    for (expected, cases) in [(true, holds), (false, fails)] {
        for (scheme, rest) in cases {
            let (authority, repository) = rest.split_once('/').unwrap_or((rest, ""));
            let destination = destination(scheme, authority, repository);
            assert_eq!(set.contains(&destination), expected, "{pattern}: {scheme} {rest}");
        }
    }
}

#[test]
fn a_host_means_the_default_port_of_either_web_scheme() {
    check(
        "Docs.Example.com",
        &[
            ("https", "docs.example.com"),
            ("http", "docs.example.com:80"),
            ("ssh", "docs.example.com/a/b"),
        ],
        &[
            ("https", "docs.example.com:8443"),
            ("https", "docs.example.com:80"),
            ("https", "a.docs.example.com"),
            ("https", "docs.example.com.evil.example"),
            ("https", "evildocs.example.com"),
        ],
    );
    check("example.com:8080", &[("http", "example.com:8080")], &[("http", "example.com")]);
    check("example.com:443", &[("https", "example.com")], &[("http", "example.com")]);
    check(
        "https://example.com",
        &[("https", "example.com:443")],
        &[("http", "example.com"), ("", "example.com")],
    );
    check(
        "example.com",
        &[("", "example.com"), ("", "example.com:443")],
        &[("", "example.com:22")],
    );
}

#[test]
fn a_star_is_any_public_name_and_nothing_else() {
    check(
        "*",
        &[("https", "example.com"), ("http", "a.b.example")],
        &[
            ("https", "127.0.0.1"),
            ("https", "8.8.8.8"),
            ("https", "[::1]"),
            ("https", "localhost"),
            ("https", "printer"),
            ("https", "x.internal"),
            ("https", "example.com:8443"),
        ],
    );
    check(
        "*.example.com",
        &[("https", "example.com"), ("https", "a.b.example.com")],
        &[("https", "notexample.com"), ("https", "example.com.evil"), ("https", "example.com:1")],
    );
    check("https://*", &[("https", "example.com")], &[("http", "example.com")]);
}

#[test]
fn a_repository_is_exact() {
    check(
        "github.com/acme/app.git",
        &[("https", "github.com/acme/app"), ("ssh", "github.com/acme/app")],
        &[
            ("https", "github.com/acme/app2"),
            ("https", "github.com/acme"),
            ("https", "github.com"),
            ("https", "github.com:444/acme/app"),
            ("ssh", "gitlab.com/acme/app"),
        ],
    );
}

#[test]
fn one_git_is_left_off_a_repository_as_in_remotes() {
    check(
        "github.com/acme/app.git.git",
        &[("https", "github.com/acme/app.git")],
        &[("https", "github.com/acme/app")],
    );
    assert!(DomainPattern::parse("github.com/.git").is_err());
    assert_eq!(
        DomainPattern::parse("github.com/acme/.git"),
        DomainPattern::parse("github.com/acme/")
    );
}

#[test]
fn addresses_are_named_literally() {
    check(
        "127.0.0.1:8080",
        &[("http", "127.0.0.1:8080")],
        &[("http", "127.0.0.2:8080"), ("http", "localhost:8080")],
    );
    check("[::1]:9", &[("http", "[::1]:9")], &[("http", "[::1]")]);
}

#[test]
fn an_empty_set_holds_nothing() {
    assert!(!DomainSet::new(Vec::new()).contains(&destination("https", "example.com", "")));
}

/// Checks at which of some ports `pattern` admits, names and forbids connections to `host`.
#[track_caller]
fn check_ports(pattern: &str, host: &str, admits: &[u16], names: &[u16], forbids: &[u16]) {
    const PORTS: [u16; 5] = [22, 80, 443, 8080, 8443];
    let set = DomainSet::parse([pattern]).unwrap();
    let host = host.parse().unwrap();
    let ports = |holds: &dyn Fn(u16) -> bool| -> Vec<u16> {
        PORTS.into_iter().filter(|port| holds(*port)).collect()
    };
    assert_eq!(ports(&|port| set.admits(&host, port)), admits, "{pattern} admits {host}");
    assert_eq!(ports(&|port| set.names(&host, port)), names, "{pattern} names {host}");
    assert_eq!(ports(&|port| set.forbids(&host, port)), forbids, "{pattern} forbids {host}");
}

#[test]
fn a_connection_is_admitted_by_host_and_port() {
    const ALL: &[u16] = &[22, 80, 443, 8080, 8443];
    check_ports("a.example", "a.example", &[80, 443], &[], ALL);
    check_ports("a.example:8080", "a.example", &[8080], &[8080], &[8080]);
    check_ports("https://a.example", "a.example", &[443], &[], &[443]);
    check_ports("ssh://a.example", "a.example", &[22], &[], &[22]);
    check_ports("https://a.example:8443", "a.example", &[8443], &[8443], &[8443]);
    check_ports("a.example", "b.a.example", &[], &[], &[]);
    check_ports("*.a.example", "b.a.example", &[80, 443], &[], ALL);
    check_ports("*.a.example:8080", "a.example", &[8080], &[], &[8080]);
    check_ports("*", "a.example", &[80, 443], &[], ALL);
    check_ports("*:8080", "a.example", &[8080], &[], &[8080]);
    check_ports("*", "10.0.0.1", &[], &[], &[]);
    check_ports("*", "localhost", &[], &[], &[]);
    check_ports("10.0.0.1:8080", "10.0.0.1", &[8080], &[8080], &[8080]);
    check_ports("10.0.0.1", "10.0.0.1", &[80, 443], &[], ALL);
    check_ports("[::1]:22", "[::1]", &[22], &[22], &[22]);
}

#[test]
fn a_repository_admits_no_connection_and_forbids_its_host() {
    let all = &[22, 80, 443, 8080, 8443];
    check_ports("a.example/o/r", "a.example", &[], &[], all);
    check_ports("a.example:22/o/r", "a.example", &[], &[], all);
}

#[test]
fn a_scheme_binds_what_is_spoken() {
    let host = "a.example".parse().unwrap();
    for (pattern, port, spoken, expected) in [
        ("a.example", 443, Some(Scheme::Https), true),
        ("a.example:22", 22, None, true),
        ("a.example:22", 22, Some(Scheme::Http), true),
        ("https://a.example:8443", 8443, Some(Scheme::Https), true),
        ("https://a.example:8443", 8443, Some(Scheme::Http), false),
        ("https://a.example:8443", 8443, None, false),
        ("ssh://a.example", 22, Some(Scheme::Ssh), true),
        ("ssh://a.example", 22, None, false),
        ("ssh://a.example", 443, Some(Scheme::Ssh), false),
    ] {
        let set = DomainSet::parse([pattern]).unwrap();
        assert_eq!(set.admits_speech(&host, port, spoken), expected, "{pattern} {spoken:?}");
    }
}

#[test]
fn ports_and_addresses_are_those_that_patterns_name() {
    let patterns =
        ["a.example", "b.example:8080", "ssh://*", "10.0.0.1", "[::1]:9", "10.0.0.2/o/r"];
    let set = DomainSet::parse(patterns).unwrap();
    assert_eq!(set.ports().collect::<Vec<_>>(), [8080, 22, 9]);
    let addresses: Vec<String> = set.addresses().map(|it| it.to_string()).collect();
    assert_eq!(addresses, ["10.0.0.1", "::1"]);
}

#[test]
fn a_rule_that_restricts_takes_a_pattern_for_as_much_as_it_can_mean() {
    for (pattern, there, by_allow, by_deny) in [
        ("a.example", ("https", "a.example", ""), true, true),
        ("a.example", ("https", "a.example:8443", ""), false, true),
        ("a.example", ("", "a.example:22", ""), false, true),
        ("a.example", ("ssh", "a.example:2222", "o/r"), false, true),
        ("a.example", ("https", "b.a.example:8443", ""), false, false),
        ("*.a.example", ("https", "b.a.example:8443", ""), false, true),
        ("*", ("https", "a.example:8443", ""), false, true),
        ("*", ("https", "printer:8443", ""), false, false),
        // What says more than the host means that alone.
        ("a.example:443", ("https", "a.example:8443", ""), false, false),
        ("https://a.example", ("https", "a.example:8443", ""), false, false),
        ("https://a.example", ("http", "a.example", ""), false, false),
        // Hosts of repositories do not mind the case of letters.
        ("a.example/Acme/App", ("https", "a.example", "Acme/App"), true, true),
        ("a.example/Acme/App", ("https", "a.example", "acme/APP"), false, true),
        ("a.example/Acme/App", ("ssh", "a.example:2222", "acme/app"), false, true),
        ("ssh://a.example/Acme/App", ("ssh", "a.example", "acme/app"), false, true),
        ("ssh://a.example/Acme/App", ("https", "a.example", "acme/app"), false, false),
        ("a.example/Acme/App", ("https", "a.example", "acme/app2"), false, false),
        ("a.example:*", ("https", "a.example:8443", ""), true, true),
        ("a.example:*", ("", "a.example:22", ""), true, true),
        ("*:*", ("https", "a.example:8443", ""), true, true),
        ("*:*", ("https", "printer:8443", ""), false, false),
        // Whatever is not local.
        ("*", ("https", "8.8.8.8", ""), false, true),
        ("*", ("https", "[2606:4700::1111]:8443", ""), false, true),
        ("*", ("https", "[::ffff:8.8.8.8]", ""), false, true),
        ("*", ("https", "192.168.1.1", ""), false, false),
        ("*", ("https", "[fe80::1]", ""), false, false),
        ("*", ("https", "[::ffff:10.0.0.1]", ""), false, false),
        ("*:*", ("https", "8.8.8.8:53", ""), true, true),
        ("=*", ("https", "8.8.8.8", ""), false, false),
        // One address in two forms.
        ("127.0.0.1", ("http", "[::ffff:127.0.0.1]", ""), false, true),
        ("127.0.0.1", ("http", "[::ffff:127.0.0.2]", ""), false, false),
        ("[::ffff:127.0.0.1]", ("http", "127.0.0.1:8080", ""), false, true),
        // Behind a `=` everybody reads the same.
        ("=a.example", ("https", "a.example", ""), true, true),
        ("=a.example", ("https", "a.example:8443", ""), false, false),
        ("=a.example/Acme/App", ("https", "a.example", "acme/app"), false, false),
    ] {
        let (scheme, authority, repository) = there;
        let there = destination(scheme, authority, repository);
        for (effect, expected) in
            [(Effect::Allow, by_allow), (Effect::Escalate, by_deny), (Effect::Deny, by_deny)]
        {
            let set = DomainSet::of_rule(effect, vec![DomainPattern::parse(pattern).unwrap()]);
            assert_eq!(set.contains(&there), expected, "{effect} {pattern}: {there}");
        }
    }
}
