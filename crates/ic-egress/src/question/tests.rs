//! Ordinary questions, and packets that no resolver would send.

use proptest::prelude::*;

use super::*;

/// A query for `labels`, with fields that tests bend.
struct Query<'a> {
    flags: u16,
    counts: [u16; 4],
    labels: &'a [&'a [u8]],
    kind: u16,
    class: u16,
    rest: &'a [u8],
}

const PLAIN: Query<'_> = Query {
    flags: RECURSION_DESIRED,
    counts: [1, 0, 0, 0],
    labels: &[b"Api", b"example", b"com"],
    kind: TYPE_A,
    class: CLASS_INTERNET,
    rest: &[],
};

impl Query<'_> {
    fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0x12, 0x34];
        out.extend(self.flags.to_be_bytes());
        out.extend(self.counts.iter().flat_map(|n| n.to_be_bytes()));
        for label in self.labels {
            out.push(u8::try_from(label.len()).unwrap());
            out.extend(*label);
        }
        out.push(0);
        out.extend(self.kind.to_be_bytes());
        out.extend(self.class.to_be_bytes());
        out.extend(self.rest);
        out
    }
}

fn question(bytes: &[u8]) -> Question {
    match read(bytes) {
        Packet::Question(question) => question,
        other => panic!("{other:?}"),
    }
}

/// Returns the code of a fault.
fn fault(bytes: &[u8]) -> u16 {
    match read(bytes) {
        Packet::Fault(reply) => {
            assert_eq!(reply[..2], bytes[..2], "the number is repeated");
            assert_eq!(reply[4..], [0; 8], "a fault repeats nothing");
            u16::from(reply[3] & 0xf)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_allowed_name_has_its_address() {
    let query = PLAIN.bytes();
    let question = question(&query);
    assert_eq!(question.name.as_ref().unwrap().as_str(), "api.example.com");
    let reply = question.answer(Answer::Address(Ipv4Addr::new(127, 64, 0, 1)));
    let mut expected = vec![0x12, 0x34, 0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
    expected.extend(&query[12..]);
    expected.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 127, 64, 0, 1]);
    assert_eq!(reply, expected);
}

#[test]
fn other_kinds_of_an_allowed_name_are_empty() {
    for kind in [28, 5, 12, 15, 16, 33, 64, 65, 255, 0] {
        let question = question(&Query { kind, ..PLAIN }.bytes());
        let reply = question.answer(Answer::Address(Ipv4Addr::new(127, 64, 0, 1)));
        assert_eq!(reply[3] & 0xf, 0, "kind {kind}");
        assert_eq!(reply[6..8], [0, 0], "kind {kind}");
    }
}

#[test]
fn other_names_do_not_exist() {
    let reply = question(&PLAIN.bytes()).answer(Answer::NoSuchName);
    assert_eq!((reply[3] & 0xf, &reply[6..8]), (3, &[0, 0][..]));
    let reply = question(&PLAIN.bytes()).answer(Answer::Failed);
    assert_eq!((reply[3] & 0xf, &reply[6..8]), (2, &[0, 0][..]));
}

#[test]
fn extensions_are_tolerated() {
    let opt = [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0];
    let query = Query { counts: [1, 0, 0, 1], rest: &opt, ..PLAIN };
    assert!(question(&query.bytes()).name.is_some());
    // As many of them as are claimed, since nobody looks.
    let query = Query { counts: [1, 0, 0, u16::MAX], ..PLAIN };
    assert!(question(&query.bytes()).name.is_some());
}

#[test]
fn names_that_no_host_has_are_no_names() {
    for labels in [
        &[][..],
        &[b"a.example".as_slice(), b"com"],
        &[b"exa\0mple", b"com"],
        &[b"exa mple", b"com"],
        &[b"-a", b"com"],
        &[b"127", b"0", b"0", b"1"],
        &[b"0x7f", b"1"],
        &[b"2130706433"],
        &[b"ex\xe4mple", b"com"],
        &["１２７".as_bytes(), b"0", b"0", b"1"],
        &[b"a%41", b"com"],
    ] {
        let query = Query { labels, ..PLAIN }.bytes();
        assert_eq!(question(&query).name, None, "{labels:?}");
    }
}

#[test]
fn what_is_no_question_is_a_fault() {
    for opcode in 1..16 {
        let query = Query { flags: opcode << 11, ..PLAIN };
        assert_eq!(fault(&query.bytes()), NOT_IMPLEMENTED);
    }
    for counts in [[0, 0, 0, 0], [2, 0, 0, 0], [u16::MAX; 4], [1, 1, 0, 0], [1, 0, 1, 0]] {
        assert_eq!(fault(&Query { counts, ..PLAIN }.bytes()), FORMAT_ERROR, "{counts:?}");
    }
    for class in [0, 2, 3, 4, 254, 255, 0x8001] {
        assert_eq!(fault(&Query { class, ..PLAIN }.bytes()), REFUSED, "class {class}");
    }
    assert_eq!(fault(&Query { flags: TRUNCATED, ..PLAIN }.bytes()), FORMAT_ERROR);
}

#[test]
fn an_answer_is_met_with_silence() {
    let query = Query { flags: RESPONSE, ..PLAIN }.bytes();
    assert!(matches!(read(&query), Packet::Silence));
    for n in 0..4 {
        assert!(matches!(read(&PLAIN.bytes()[..n]), Packet::Silence), "{n} bytes");
    }
}

#[test]
fn a_cut_packet_is_a_fault() {
    let query = PLAIN.bytes();
    for n in 4..query.len() {
        assert_eq!(fault(&query[..n]), FORMAT_ERROR, "{n} bytes");
    }
}

#[test]
fn pointers_are_not_followed() {
    let head = &PLAIN.bytes()[..12];
    for name in [
        // To itself, forward, into the head, and after a label.
        &[0xc0, 12][..],
        &[0xc0, 14],
        &[0xc0, 0],
        &[1, b'a', 0xc0, 12],
        &[0x40, b'a'],
        &[0x80, b'a'],
    ] {
        let packet = [head, name, &[0, 1, 0, 1]].concat();
        assert_eq!(fault(&packet), FORMAT_ERROR, "{name:?}");
    }
}

#[test]
fn a_name_is_at_most_255_bytes_long() {
    let label = [b'a'; 63];
    let labels = |last: usize| [&label[..], &label, &label, &label[..last]];
    // Four labels with their lengths, and the empty one.
    assert!(question(&Query { labels: &labels(61), ..PLAIN }.bytes()).name.is_some());
    assert_eq!(fault(&Query { labels: &labels(62), ..PLAIN }.bytes()), FORMAT_ERROR);
    let endless: Vec<&[u8]> = vec![b"a"; 20_000];
    assert_eq!(fault(&Query { labels: &endless, ..PLAIN }.bytes()), FORMAT_ERROR);
}

proptest! {
    /// Any bytes are read to an end, and what is answered is small.
    #[test]
    fn no_packet_does_harm(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..600),
        is_question: bool,
    ) {
        if is_question && let Some(head) = bytes.get_mut(2..12) {
            head.copy_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        }
        match read(&bytes) {
            Packet::Question(question) => {
                let reply = question.answer(Answer::Address(Ipv4Addr::LOCALHOST));
                prop_assert!(reply.len() <= 512);
                prop_assert!(reply[2] & 0x80 != 0);
            }
            Packet::Fault(reply) => prop_assert_eq!(reply.len(), 12),
            Packet::Silence => {}
        }
    }

    /// A name that can be a host's is read as itself, in lower case.
    #[test]
    fn names_are_read_as_they_are(name in "[a-zA-Z][a-z0-9]{0,20}(\\.[a-z][a-z0-9]{0,20}){1,4}") {
        let labels: Vec<&[u8]> = name.split('.').map(str::as_bytes).collect();
        let read = question(&Query { labels: &labels, ..PLAIN }.bytes()).name;
        let read = read.map(|it| it.as_str().to_owned());
        // Labels such as `xn--` and numbers in hexadecimal do not occur in this alphabet.
        prop_assert_eq!(read, Some(name.to_ascii_lowercase()));
    }
}
