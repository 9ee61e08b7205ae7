//! Hellos built by hand: ordinary ones, cut ones, and ones that name two servers.

use proptest::prelude::*;

use super::*;

/// Puts the length of `body` before it, in `n` bytes.
fn counted(n: usize, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&length[4 - n..], body].concat()
}

fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &counted(2, data)].concat()
}

/// The data of an SNI extension with entries of these types.
fn server_names(entries: &[(u8, &[u8])]) -> Vec<u8> {
    let entry = |(kind, name): &(u8, &[u8])| [&[*kind][..], &counted(2, name)].concat();
    counted(2, &entries.iter().flat_map(entry).collect::<Vec<u8>>())
}

fn sni(name: &str) -> Vec<u8> {
    extension(EXTENSION_SERVER_NAME, &server_names(&[(0, name.as_bytes())]))
}

/// A hello's message with `extensions`, not yet in records.
fn client_hello(extensions: &[Vec<u8>]) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend(counted(1, &[9; 32]));
    body.extend(counted(2, &[0x13, 1, 0x13, 2]));
    body.extend(counted(1, &[0]));
    body.extend(counted(2, &extensions.concat()));
    [&[1][..], &counted(3, &body)].concat()
}

/// Puts `message` into records of at most `n` bytes.
fn records(message: &[u8], n: usize) -> Vec<u8> {
    let record = |part: &[u8]| [&[22, 3, 1][..], &counted(2, part)].concat();
    message.chunks(n).flat_map(record).collect()
}

/// A hello for `name` in one record.
pub(crate) fn hello_for(name: &str) -> Vec<u8> {
    let supported_versions = extension(43, &[2, 3, 4]);
    records(&client_hello(&[supported_versions, sni(name)]), RECORD_MAX)
}

/// A hello that names nobody.
pub(crate) fn nameless_hello() -> Vec<u8> {
    records(&client_hello(&[]), RECORD_MAX)
}

fn target(host: &str) -> Target {
    Target::new(host.parse().unwrap(), 443).unwrap()
}

/// Reads `bytes` as a connection to `host` would.
fn judge(host: &str, bytes: &[u8]) -> Result<(), Refusal> {
    match read(bytes)? {
        Read::More => panic!("the hello is cut"),
        Read::Whole(hello) => hello.require(&target(host)),
    }
}

#[track_caller]
fn check(host: &str, extensions: &[Vec<u8>], expected: Result<(), &str>) {
    let judged = judge(host, &records(&client_hello(extensions), RECORD_MAX));
    let judged = judged.map_err(|refusal| refusal.to_string());
    assert_eq!(judged, expected.map_err(str::to_owned), "{host}");
}

#[test]
fn the_name_must_be_the_host() {
    check("a.example", &[sni("a.example")], Ok(()));
    check("a.example", &[sni("A.EXAMPLE")], Ok(()));
    check("a.example", &[sni("a.example.")], Ok(()));
    for other in [
        "b.example",
        "a.example.evil.example",
        "evila.example",
        "a.example..",
        "a.example:443",
        "a.example ",
        " a.example",
        "10.0.0.1",
        "ａ.example",
        "a。example",
    ] {
        let expected = format!("the TLS handshake is for `{}`", other.as_bytes().escape_ascii());
        check("a.example", &[sni(other)], Err(&expected));
    }
    check(
        "a.example",
        &[sni("a.example\0.evil.example")],
        Err("the TLS handshake is for `a.example\\x00.evil.example`"),
    );
    check("a.example", &[], Err("the TLS handshake names no server (SNI)"));
}

#[test]
fn an_address_is_named_by_nothing_or_itself() {
    check("10.0.0.1", &[], Ok(()));
    check("10.0.0.1", &[sni("10.0.0.1")], Ok(()));
    check("127.0.0.1", &[sni("localhost")], Ok(()));
    check("10.0.0.1", &[sni("10.0.0.2")], Err("the TLS handshake is for `10.0.0.2`"));
    check("10.0.0.1", &[sni("a.example")], Err("the TLS handshake is for `a.example`"));
    check("[2606:4700::1]", &[], Ok(()));
}

#[test]
fn exactly_one_server_is_named() {
    let unreadable = |why: &str| format!("the TLS handshake cannot be read: {why}");
    let names = |entries: &[(u8, &[u8])]| extension(EXTENSION_SERVER_NAME, &server_names(entries));
    check(
        "a.example",
        &[names(&[(0, b"a.example"), (0, b"b.example")])],
        Err(&unreadable("it names more than one server")),
    );
    check(
        "a.example",
        &[names(&[(0, b"a.example"), (0, b"a.example")])],
        Err(&unreadable("it names more than one server")),
    );
    check(
        "a.example",
        &[names(&[(1, b"x"), (0, b"a.example")])],
        Err(&unreadable("it names something other than a host")),
    );
    check(
        "a.example",
        &[sni("a.example"), sni("b.example")],
        Err(&unreadable("it has an extension twice")),
    );
    check(
        "a.example",
        &[sni("b.example"), sni("a.example")],
        Err(&unreadable("it has an extension twice")),
    );
    for data in [
        &[][..],
        &[0, 0],
        &server_names(&[(0, b"")]),
        &[server_names(&[(0, b"a.example")]), vec![0]].concat(),
    ] {
        check(
            "a.example",
            &[extension(EXTENSION_SERVER_NAME, data)],
            Err(&unreadable("its fields do not add up")),
        );
    }
}

#[test]
fn a_hidden_name_is_refused() {
    check(
        "a.example",
        &[sni("a.example"), extension(EXTENSION_ENCRYPTED_HELLO, &[0; 64])],
        Err("the TLS handshake hides the server's name (encrypted client hello)"),
    );
}

#[test]
fn records_that_no_client_sends_are_refused() {
    let message = client_hello(&[sni("a.example")]);
    let first = records(&message[..20], 20);
    let fault = |bytes: &[u8]| match read(bytes) {
        Err(Refusal::Hello(why)) => why,
        other => panic!("{other:?}"),
    };
    let alert = [21, 3, 1, 0, 2, 1, 0];
    assert_eq!(fault(&[&first[..], &alert].concat()), "it has another record inside");
    let old = [22, 2, 1, 0, 1, 1];
    assert_eq!(fault(&[&first[..], &old].concat()), "it has another record inside");
    let empty = [22, 3, 1, 0, 0];
    assert_eq!(fault(&[&first[..], &empty].concat()), "a record has an impossible length");
    assert_eq!(fault(&empty), "a record has an impossible length");
    assert_eq!(fault(&[22, 3, 1, 0x40, 1]), "a record has an impossible length");
    assert_eq!(fault(&records(&[2, 0, 0, 1, 0], 9)), "it does not begin with a client hello");
    assert_eq!(fault(&records(&[1, 0, 0x40, 1], 9)), "it is too long");
    let two = [message.clone(), message.clone()].concat();
    assert_eq!(fault(&records(&two, RECORD_MAX)), "another message follows in the same record");
    // What follows in a record of its own is not part of the hello.
    let early = [records(&message, RECORD_MAX), vec![20, 3, 3, 0, 1, 1]].concat();
    assert!(matches!(read(&early), Ok(Read::Whole(_))));
}

#[test]
fn a_message_whose_lengths_lie_is_refused() {
    let message = client_hello(&[sni("a.example")]);
    // The lengths of everything that has one, from the session to the name.
    for at in [38, 72, 77, 80, 84, 86, 89] {
        let mut bent = message.clone();
        bent[at] ^= 0x11;
        let judged = judge("a.example", &records(&bent, RECORD_MAX));
        assert!(judged.is_err(), "a changed byte {at} went unnoticed");
    }
}

#[test]
fn tls_is_known_by_its_first_bytes() {
    assert_eq!(is_tls(&[]), None);
    assert_eq!(is_tls(&[22]), None);
    assert_eq!(is_tls(&[22, 3]), Some(true));
    assert_eq!(is_tls(&[22, 2]), Some(false));
    assert_eq!(is_tls(b"GET"), Some(false));
    assert_eq!(is_tls(&[0x80, 0x2e, 1, 3, 1]), Some(false));
}

proptest! {
    /// However a hello is cut into records, it is read as the same.
    #[test]
    fn cuts_do_not_matter(n in 1_usize..400) {
        let message = client_hello(&[extension(43, &[2, 3, 4]), sni("a.example")]);
        let bytes = records(&message, n);
        prop_assert_eq!(read(&bytes), read(&records(&message, RECORD_MAX)));
        for cut in 0..bytes.len() {
            prop_assert_eq!(read(&bytes[..cut]), Ok(Read::More));
        }
    }

    /// Any bytes are read to an end.
    #[test]
    fn no_bytes_do_harm(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..300),
        at in 0_usize..200,
        value: u8,
    ) {
        read(&bytes).ok();
        if let Some(byte) = bytes.get_mut(at) {
            *byte = value;
        }
        let mut hello = hello_for("a.example");
        if let Some(byte) = hello.get_mut(at) {
            *byte = value;
        }
        read(&hello).ok();
    }

    /// No change of one byte makes a hello for somebody else pass.
    #[test]
    fn no_bent_hello_names_another(at in 0_usize..200, value: u8) {
        let mut bytes = hello_for("b.example");
        if let Some(byte) = bytes.get_mut(at) {
            *byte = value;
        }
        if let Ok(Read::Whole(hello)) = read(&bytes) {
            // The case of letters means nothing in a name.
            let name = hello.server_name.as_deref();
            let is_a = name.is_some_and(|name| name.eq_ignore_ascii_case(b"a.example"));
            prop_assert_eq!(hello.require(&target("a.example")).is_ok(), is_a);
        }
    }
}
