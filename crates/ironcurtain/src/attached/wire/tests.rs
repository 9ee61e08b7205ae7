//! What is said arrives, and nothing else is understood.

use std::os::fd::AsFd as _;

use super::*;

const ALL: [Wish; 3] = [Wish::Attach, Wish::Take, Wish::Watch];

async fn read_all(mut bytes: &[u8]) -> io::Result<Vec<Told>> {
    let mut all = Vec::new();
    while let Some(told) = Told::read(&mut bytes).await? {
        all.push(told);
    }
    Ok(all)
}

#[tokio::test]
async fn what_is_said_arrives() {
    let mut said = vec![
        Told::Welcome,
        Told::Titled(true),
        Told::Titled(false),
        Told::Refused("no\u{1f600}".to_owned()),
        Told::Said(String::new()),
        Told::Ended(143),
    ];
    said.extend([Why::Left, Why::Taken, Why::Over].map(Told::Goodbye));
    let bytes: Vec<u8> = said.iter().flat_map(Told::to_bytes).collect();
    assert_eq!(read_all(&bytes).await.unwrap(), said);
    for word in [Word::Go, Word::Resized, Word::Continued, Word::Leave, Word::End] {
        assert_eq!(Word::of(word.byte()), Some(word));
    }
    let long = Told::Said("é".repeat(5000)).to_bytes();
    assert_eq!(read_all(&long).await.unwrap(), [Told::Said("é".repeat(2048))]);
}

#[tokio::test]
async fn nothing_else_is_understood() {
    for bytes in [
        &b"W\0\x01x"[..],
        b"X\0\0",
        b"T\0\x01\x02",
        b"G\0\x01?",
        b"G\0\0",
        b"S\0\x02\xff\xff",
        b"S\xff\xff",
        b"S\0\x05abc",
        b"W\0",
        b"E\0\x02ab",
    ] {
        assert!(read_all(bytes).await.is_err(), "{bytes:?}");
    }
    assert_eq!((0..=255).filter(|byte| Word::of(*byte).is_some()).count(), Word::ALL.len());
}

#[tokio::test]
async fn a_hello_brings_one_terminal_and_nothing_else() {
    let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY;
    let terminal = rustix::pty::openpt(flags).unwrap();
    for wish in ALL {
        let (ours, theirs) = UnixStream::pair().unwrap();
        say_hello(&ours, wish, terminal.as_fd()).await.unwrap();
        let (heard, terminal) = hear_hello(&theirs).await.unwrap();
        assert_eq!(heard, wish);
        assert!(fcntl_getfl(&terminal).unwrap().contains(OFlags::NONBLOCK));
    }
    // No terminal, one that cannot be written to, two of them, another version.
    let (pipe, _kept) = rustix::pipe::pipe().unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    say_hello(&ours, Wish::Attach, pipe.as_fd()).await.unwrap();
    assert!(hear_hello(&theirs).await.is_err());
    for (hello, n_descriptors) in
        [(b"ic\x01a", 0), (b"ic\x01a", 2), (b"ic\x02a", 1), (b"ic\x01?", 1), (b"xx\x01a", 1)]
    {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors = vec![terminal.as_fd(); n_descriptors];
        if !descriptors.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        }
        sendmsg(&ours, &[IoSlice::new(hello)], &mut ancillary, SendFlags::empty()).unwrap();
        assert!(hear_hello(&theirs).await.is_err(), "{hello:?}, {n_descriptors}");
    }
}
