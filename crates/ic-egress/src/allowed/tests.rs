//! Tables of what patterns admit, and of the addresses that they open.

use super::*;

fn set(patterns: &[&str]) -> DomainSet {
    DomainSet::parse(patterns.iter().copied()).unwrap()
}

fn allowed(patterns: &[&str]) -> Allowed {
    Allowed::new(vec![set(patterns)], set(&[])).unwrap()
}

fn target(text: &str) -> Target {
    let (host, port) = text.rsplit_once(':').unwrap();
    Target::new(host.parse().unwrap(), port.parse().unwrap()).unwrap()
}

/// Admits `to` and checks `addresses`, as a connection would.
fn reach(allowed: &Allowed, to: &str, addresses: &[&str]) -> Result<Checked, Refusal> {
    let addresses: Vec<IpAddr> = addresses.iter().map(|it| it.parse().unwrap()).collect();
    allowed.check(allowed.admit(target(to))?, &addresses)
}

#[track_caller]
fn check(patterns: &[&str], to: &str, addresses: &[&str], expected: Result<(), &str>) {
    let reached = reach(&allowed(patterns), to, addresses);
    let reached = reached.map(drop).map_err(|refusal| refusal.to_string());
    assert_eq!(reached, expected.map_err(str::to_owned), "{patterns:?} {to} {addresses:?}");
}

const NOT_ALLOWED: Result<(), &str> = Err("it is not among the allowed domains");

#[test]
fn no_list_and_an_empty_list_allow_nothing() {
    let none = Allowed::new(Vec::new(), set(&[])).unwrap();
    assert_eq!(reach(&none, "a.example:443", &["8.8.8.8"]).unwrap_err(), Refusal::NotAllowed);
    assert_eq!(none.admit_name(&name("a.example")), Err(Refusal::NotAllowed));
    check(&[], "a.example:443", &["8.8.8.8"], NOT_ALLOWED);
}

fn name(text: &str) -> DnsName {
    match text.parse().unwrap() {
        Host::Name(name) => name,
        Host::V4(_) | Host::V6(_) => panic!("{text} is an address"),
    }
}

#[test]
fn every_list_must_hold() {
    let both = Allowed::new(
        vec![set(&["*.example", "10.0.0.1:80"]), set(&["a.example:80", "10.0.0.1:80"])],
        set(&[]),
    )
    .unwrap();
    assert!(reach(&both, "a.example:80", &["8.8.8.8"]).is_ok());
    assert!(reach(&both, "a.example:443", &["8.8.8.8"]).is_err());
    assert!(reach(&both, "b.example:80", &["8.8.8.8"]).is_err());
    // Both must name the host or the address, and here each does so in its own way.
    assert!(reach(&both, "a.example:80", &["10.0.0.1"]).is_ok());
    assert!(reach(&both, "a.example:80", &["10.0.0.2"]).is_err());
}

#[test]
fn public_addresses_need_an_admitted_name() {
    check(&["a.example"], "a.example:443", &["8.8.8.8", "2606:4700::1"], Ok(()));
    check(&["a.example"], "a.example:80", &["8.8.8.8"], Ok(()));
    check(&["a.example"], "a.example:22", &["8.8.8.8"], NOT_ALLOWED);
    check(&["*"], "a.example:443", &["8.8.8.8"], Ok(()));
    check(&["*"], "8.8.8.8:443", &["8.8.8.8"], NOT_ALLOWED);
    check(&["*"], "localhost:443", &["127.0.0.1"], NOT_ALLOWED);
    check(&["8.8.8.8"], "8.8.8.8:443", &["8.8.8.8"], Ok(()));
    check(&["https://a.example"], "a.example:80", &["8.8.8.8"], NOT_ALLOWED);
    check(&["a.example/o/r"], "a.example:443", &["8.8.8.8"], NOT_ALLOWED);
}

#[test]
fn special_addresses_must_be_named_with_their_port() {
    let private = Err("it leads to 10.0.0.5, a private address");
    check(&["db.example:5432"], "db.example:5432", &["10.0.0.5"], Ok(()));
    check(&["10.0.0.5:5432"], "10.0.0.5:5432", &["10.0.0.5"], Ok(()));
    check(&["*.example:5432", "10.0.0.5:5432"], "db.example:5432", &["10.0.0.5"], Ok(()));
    check(&["db.example"], "db.example:443", &["10.0.0.5"], private);
    check(&["https://db.example"], "db.example:443", &["10.0.0.5"], private);
    check(&["*.example:5432"], "db.example:5432", &["10.0.0.5"], private);
    check(&["*:5432"], "db.example:5432", &["10.0.0.5"], private);
    check(&["*.example:5432", "10.0.0.5:80"], "db.example:5432", &["10.0.0.5"], private);
    check(&["10.0.0.5"], "10.0.0.5:443", &["10.0.0.5"], private);
    check(&["db.example"], "db.example:443", &["::ffff:10.0.0.5"], private);
    check(
        &["db.example"],
        "db.example:443",
        &["64:ff9b::10.0.0.5"],
        Err("it leads to 64:ff9b::a00:5, a private address"),
    );
}

#[test]
fn metadata_and_link_local_addresses_must_be_named_themselves() {
    let refused = Err("it leads to 169.254.169.254, a cloud metadata address");
    check(&["meta.example:80"], "meta.example:80", &["169.254.169.254"], refused);
    check(&["169.254.169.254"], "169.254.169.254:80", &["169.254.169.254"], refused);
    check(&["169.254.169.254:80"], "169.254.169.254:80", &["169.254.169.254"], Ok(()));
    check(
        &["meta.example:80", "169.254.169.254:80"],
        "meta.example:80",
        &["169.254.169.254"],
        Ok(()),
    );
    check(
        &["a.example:80"],
        "a.example:80",
        &["fe80::1"],
        Err("it leads to fe80::1, a link-local address"),
    );
}

#[test]
fn nothing_opens_addresses_of_nobody_and_of_everybody() {
    for (address, kind) in
        [("0.0.0.0", "unspecified"), ("224.0.0.1", "multicast"), ("255.255.255.255", "broadcast")]
    {
        let to = format!("{address}:80");
        let expected = format!("it leads to {address}, a {kind} address");
        check(&[&to], &to, &[address], Err(&expected));
        check(&[&to, "a.example:80"], "a.example:80", &[address], Err(&expected));
    }
}

#[test]
fn one_bad_address_refuses_all() {
    let bad = Err("it leads to 127.0.0.1, a loopback address");
    check(&["a.example"], "a.example:443", &["8.8.8.8", "127.0.0.1"], bad);
    check(&["a.example"], "a.example:443", &["127.0.0.1", "8.8.8.8"], bad);
    let mut many = vec!["8.8.8.8"; 100];
    many.push("127.0.0.1");
    check(&["a.example"], "a.example:443", &many, bad);
}

#[test]
fn what_is_denied_is_refused_by_name_and_by_address() {
    let allowed = Allowed::new(vec![set(&["*", "*:8080"])], set(&["evil.example", "9.9.9.9"]));
    let allowed = allowed.unwrap();
    for port in [80, 443, 8080] {
        let refused = reach(&allowed, &format!("evil.example:{port}"), &["8.8.8.8"]);
        assert_eq!(refused.unwrap_err(), Refusal::Denied);
        for address in ["9.9.9.9", "::ffff:9.9.9.9", "64:ff9b::9.9.9.9"] {
            let refused = reach(&allowed, &format!("a.example:{port}"), &["8.8.8.8", address]);
            assert!(matches!(refused.unwrap_err(), Refusal::DeniedAddress(_)), "{address}");
        }
    }
    assert_eq!(allowed.admit_name(&name("evil.example")), Err(Refusal::Denied));
    assert_eq!(allowed.admit_name(&name("good.example")), Ok(()));
    assert_eq!(allowed.admit_name(&name("localhost")), Err(Refusal::NotAllowed));
}

#[test]
fn a_connection_that_ends_where_it_began_must_be_named() {
    let check = |patterns: &[&str], local: &str, address: &str| {
        let (local, address) = (local.parse().unwrap(), address.parse().unwrap());
        allowed(patterns).check_made(&target("a.example:80"), local, address)
    };
    assert_eq!(check(&["*"], "9.9.9.1", "9.9.9.9"), Ok(()));
    let own = Refusal::Special("9.9.9.9".parse().unwrap(), Special::Own);
    assert_eq!(check(&["*"], "9.9.9.9", "9.9.9.9"), Err(own.clone()));
    assert_eq!(check(&["*"], "::ffff:9.9.9.9", "9.9.9.9"), Err(own));
    assert_eq!(check(&["a.example:80"], "9.9.9.9", "9.9.9.9"), Ok(()));
    assert_eq!(check(&["9.9.9.9:80"], "9.9.9.9", "9.9.9.9"), Ok(()));
}

#[test]
fn doors_are_for_what_patterns_name() {
    let allowed = allowed(&[
        "a.example:8080",
        "ssh://b.example",
        "10.0.0.1:5432",
        "[2606:4700::1]",
        "127.0.0.1:9",
        "[::1]:9",
        "[::ffff:10.0.0.2]:9",
        "224.0.0.1",
        "0.0.0.0:1",
    ]);
    assert_eq!(allowed.ports(), [1, 9, 22, 80, 443, 5432, 8080]);
    let addresses: Vec<_> = allowed.addresses().iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["10.0.0.1", "2606:4700::1"]);
}

#[test]
fn more_doors_than_a_cage_has_are_an_error() {
    let many = |n: u16| -> Vec<String> { (1..=n).map(|it| format!("a.example:{it}")).collect() };
    let make = |patterns: Vec<String>| {
        Allowed::new(vec![DomainSet::parse(patterns.iter().map(String::as_str)).unwrap()], set(&[]))
    };
    assert!(make(many(62)).is_ok());
    assert_eq!(
        make(many(65)).unwrap_err().to_string(),
        "the allowed domains name 67 ports; at most 64 can be served"
    );
    assert!(make((1..=65).map(|it| format!("10.0.0.{it}")).collect()).is_err());
}

#[test]
fn an_address_in_the_cage_means_itself_and_perhaps_localhost() {
    let meant = |address: &str| -> Vec<String> {
        meant(address.parse().unwrap(), 80).iter().map(ToString::to_string).collect()
    };
    assert_eq!(meant("127.0.0.1"), ["127.0.0.1:80", "localhost:80"]);
    assert_eq!(meant("::1"), ["[::1]:80", "localhost:80"]);
    assert_eq!(meant("::ffff:127.0.0.1"), ["127.0.0.1:80", "localhost:80"]);
    assert_eq!(meant("127.0.0.2"), ["127.0.0.2:80"]);
    assert_eq!(meant("10.0.0.1"), ["10.0.0.1:80"]);
    assert!(meant("127.64.0.1").is_empty());
}

#[test]
fn a_refusal_says_which_line_would_help() {
    let remedy = |patterns: &[&str], to: &str, address: &str| {
        reach(&allowed(patterns), to, &[address]).unwrap_err().remedy(&target(to))
    };
    assert_eq!(remedy(&[], "a.example:443", "8.8.8.8").as_deref(), Some("a.example"));
    assert_eq!(remedy(&[], "a.example:22", "8.8.8.8").as_deref(), Some("a.example:22"));
    assert_eq!(remedy(&["*"], "a.example:80", "10.0.0.1").as_deref(), Some("a.example:80"));
    assert_eq!(
        remedy(&["a.example:80"], "a.example:80", "169.254.1.1").as_deref(),
        Some("169.254.1.1:80")
    );
    assert_eq!(remedy(&["a.example:80"], "a.example:80", "0.0.0.0"), None);
}

#[test]
fn what_a_call_is_about_is_reached_at_its_port_and_in_public_only() {
    let judged = |text: &str, named: &[&str]| {
        let (scheme, rest) = text.split_once("://").unwrap();
        let scheme = match scheme {
            "https" => Scheme::Https,
            _ => Scheme::Ssh,
        };
        let parsed = Destination::parse_authority(rest).unwrap();
        let destination = Destination { scheme: Some(scheme), ..parsed };
        Allowed::judged(&[destination], set(named), set(&["denied.example"])).unwrap()
    };
    let by_call = judged("https://a.example", &["b.example:443"]);
    assert!(reach(&by_call, "a.example:443", &["8.8.8.8"]).is_ok());
    for (to, address) in [
        ("a.example:80", "8.8.8.8"),
        ("b.a.example:443", "8.8.8.8"),
        ("a.example:443", "127.0.0.1"),
        ("a.example:443", "10.0.0.1"),
        ("a.example:443", "169.254.169.254"),
    ] {
        assert!(reach(&by_call, to, &[address]).is_err(), "{to} {address}");
    }
    assert!(by_call.admit_speech(&target("a.example:443"), Some(Scheme::Http)).is_err());
    assert!(by_call.admit_speech(&target("a.example:443"), Some(Scheme::Https)).is_ok());
    let local = judged("ssh://127.0.0.1:2222", &["127.0.0.1:22"]);
    assert!(reach(&local, "127.0.0.1:2222", &["127.0.0.1"]).is_err());
    let local = judged("ssh://127.0.0.1:2222", &["127.0.0.1:2222"]);
    assert!(reach(&local, "127.0.0.1:2222", &["127.0.0.1"]).is_ok());
    assert!(reach(&local, "127.0.0.1:22", &["127.0.0.1"]).is_err());
    assert!(local.admit_speech(&target("127.0.0.1:2222"), Some(Scheme::Https)).is_err());
    let denied = judged("https://denied.example", &["denied.example:443"]);
    assert!(reach(&denied, "denied.example:443", &["8.8.8.8"]).is_err());
}
