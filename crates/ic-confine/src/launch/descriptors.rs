//! Keeps the descriptors that we were started with from the server.
//!
//! What Rust opens is closed when a program is run. But whoever started us may have left open what
//! they pleased (editors do), and that would go on to every server. The descriptors 0, 1 and 2 are
//! none of this module's business.

use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::{LaunchError, cannot};
use crate::{proc, sys};

/// The first that a server does not get.
const FIRST: i32 = 3;
/// The most that we look at; where there are more, nothing is started.
const DESCRIPTORS_MAX: usize = 1 << 16;
/// More than `/proc/self/fdinfo/N` has to say before it comes to the flags.
const INFO_BYTES_MAX: usize = 4096;

/// Sees to it that no descriptor but 0, 1 and 2 reaches a program that we run.
pub(super) fn keep_from_children() -> Result<(), LaunchError> {
    sys::close_when_run(FIRST.cast_unsigned()).map_err(cannot("keep descriptors to ourselves"))?;
    // SECURITY: nothing else keeps them from the server, so we look.
    let numbers = proc::numbers_in(Path::new("/proc/self/fd"), DESCRIPTORS_MAX)
        .map_err(cannot("list the open descriptors"))?;
    if numbers.len() == DESCRIPTORS_MAX {
        return Err(LaunchError::TooManyDescriptors);
    }
    numbers.into_iter().filter(|number| FIRST <= *number).try_for_each(check)
}

fn check(number: i32) -> Result<(), LaunchError> {
    match proc::read(&Path::new("/proc/self/fdinfo").join(number.to_string()), INFO_BYTES_MAX) {
        Ok(text) if has_flag(&text) => Ok(()),
        Ok(_) => Err(LaunchError::Descriptor { number }),
        // The one with which the directory was listed; it is closed already.
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(cannot("look at the open descriptors")(errno)),
    }
}

/// Reads the line `flags: <octal>`; what cannot be read has no flag.
fn has_flag(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| OFlags::from_bits_retain(flags).contains(OFlags::CLOEXEC))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_descriptor_that_says_so_is_closed() {
        assert!(has_flag(b"pos:\t0\nflags:\t02000000\nmnt_id:\t15\n"));
        assert!(has_flag(b"pos:\t0\nflags:\t02100002\nmnt_id:\t15\n"));
        for text in ["pos:\t0\nflags:\t0100002\n", "pos:\t0\n", "flags:\tx\n", "flags:\t2000000z"] {
            assert!(!has_flag(text.as_bytes()), "{text}");
        }
    }
}
