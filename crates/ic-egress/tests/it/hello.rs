//! The first message of a TLS client, built by hand.

/// A hello for `name`, or for nobody, in records of at most `n` bytes.
pub(crate) fn hello(name: Option<&str>, n: usize) -> Vec<u8> {
    let mut extensions = Vec::new();
    if let Some(name) = name {
        let entry = [&[0][..], &counted(name.as_bytes())].concat();
        extensions.extend([0, 0]);
        extensions.extend(counted(&counted(&entry)));
    }
    let mut body = vec![3, 3];
    body.extend([5; 32]);
    // No session, one cipher suite, no compression.
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend(counted(&extensions));
    let message = [&[1, 0][..], &counted(&body)].concat();
    message.chunks(n).flat_map(|part| [&[22, 3, 1][..], &counted(part)].concat()).collect()
}

/// Puts the length of `bytes` before them, in two bytes.
fn counted(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    [&length.to_be_bytes()[..], bytes].concat()
}
