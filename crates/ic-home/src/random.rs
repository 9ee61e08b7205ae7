//! Random bytes from the system, for names and keys that nobody can guess.
//!
//! Nothing is decided by chance: whatever is judged is judged the same every time.

use std::io;

/// Returns `N` random bytes.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0_u8; N];
    let n_bytes = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    match n_bytes == N {
        true => Ok(bytes),
        false => Err(io::Error::other("the system gave too few random bytes")),
    }
}
