//! Keeps the descriptors that we were started with from the server.
//!
//! What Rust opens is closed when a program is run. But whoever started us may have left open what
//! they pleased (editors do), and that would go on to every server. The descriptors 0, 1 and 2 are
//! none of this module's business.

use std::path::Path;

use rustix::io::Errno;

use super::{LaunchError, cannot};
use crate::{proc, sys};

/// The first that a server does not get.
const FIRST: i32 = 3;
/// The most that we look at; where there are more, nothing is started.
const DESCRIPTORS_MAX: usize = 1 << 16;

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
    match sys::is_closed_when_run(number) {
        Ok(true) => Ok(()),
        Ok(false) => Err(LaunchError::Descriptor { number }),
        // The one with which the directory was listed; it is closed already.
        Err(error) if error.raw_os_error() == Some(Errno::BADF.raw_os_error()) => Ok(()),
        Err(error) => Err(cannot("look at the open descriptors")(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn only_a_descriptor_that_says_so_is_closed() {
        let (one, other) = std::io::pipe().unwrap();
        rustix::io::fcntl_setfd(&other, rustix::io::FdFlags::empty()).unwrap();
        assert!(check(one.as_raw_fd()).is_ok(), "what Rust opens is closed");
        let refused = check(other.as_raw_fd());
        assert!(matches!(refused, Err(LaunchError::Descriptor { .. })), "{refused:?}");
        // No process has so many.
        assert!(check(i32::MAX).is_ok(), "what is not open reaches nobody");
    }
}
