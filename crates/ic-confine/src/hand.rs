//! Work of our own that is done without any capability, as a caged child would have to do it.
//!
//! Root without capabilities owns root's files and no others. A thread of its own does the work,
//! because a capability that was given up does not come back. What is done is not known here.

use std::io;
use std::thread;

use rustix::thread::{CapabilitySet, CapabilitySets};

/// Does `work` on a thread that has given up every capability, and waits for it.
///
/// An error means that nothing was done, or that the work failed half-way.
pub fn without_capabilities<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("deed".to_owned());
        let working = thread.spawn_scoped(scope, || drop_capabilities().map(|()| work()))?;
        working.join().unwrap_or_else(|_| Err(io::Error::other("the work failed half-way")))
    })
}

fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets)?;
    // SECURITY: look, because everything else rests on it.
    match rustix::thread::capabilities(None)? == sets {
        true => Ok(()),
        false => Err(io::Error::other("capabilities are left that were given up")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_has_no_capability_and_we_keep_ours() {
        let before = rustix::thread::capabilities(None).unwrap();
        let during = without_capabilities(|| rustix::thread::capabilities(None).unwrap()).unwrap();
        let none = CapabilitySet::empty();
        assert_eq!((during.effective, during.permitted, during.inheritable), (none, none, none));
        assert_eq!(rustix::thread::capabilities(None).unwrap(), before);
    }

    #[test]
    fn work_that_fails_badly_is_an_error() {
        assert!(without_capabilities(|| panic!("on purpose")).is_err());
    }
}
