//! What the guard of a cage tells the host about covers that it renewed.
//!
//! What a mount lies on can be replaced outside; the guard then covers what is there by now, and says so. What the
//! host makes of it is not known here.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::orders::Identity;

/// More than the longest path and two numbers take.
const NEWS_BYTES_MAX: usize = 8192;

/// What is covered by now, where that is not what was there when the cage was made.
#[derive(Debug)]
pub struct Renewals {
    channel: tokio::net::UnixDatagram,
    covered: Mutex<HashMap<PathBuf, Identity>>,
}

impl Renewals {
    pub(crate) fn new(channel: UnixDatagram) -> io::Result<Self> {
        channel.set_nonblocking(true)?;
        let channel = tokio::net::UnixDatagram::from_std(channel)?;
        Ok(Self { channel, covered: Mutex::default() })
    }

    /// Waits until a cover was renewed, or the guard is gone.
    pub async fn news(&self) {
        if self.channel.readable().await.is_ok() && self.take() {
            return;
        }
        std::future::pending::<()>().await;
    }

    /// Waits until the guard tells something, at most for `limit`; for a thread that may be held up.
    pub fn wait(&self, limit: Duration) {
        let limit = Timespec::try_from(limit).ok();
        // An interruption is a reason to look.
        poll(&mut [PollFd::new(&self.channel, PollFlags::IN)], limit.as_ref()).ok();
    }

    /// Returns whether what is covered at `path` is the file with this device and number.
    pub fn has(&self, path: &Path, (device, file): (u64, u64)) -> bool {
        self.take();
        let covered = self.covered.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        covered.get(path) == Some(&Identity { device, file })
    }

    /// Takes what came; returns whether anything did.
    fn take(&self) -> bool {
        let mut has_come = false;
        let mut bytes = vec![0; NEWS_BYTES_MAX];
        while let Ok(n_bytes @ 1..) = self.channel.try_recv(&mut bytes) {
            let news = bytes.get(..n_bytes).unwrap_or_default();
            if let Some((path, identity)) = read(news) {
                let mut covered =
                    self.covered.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                covered.insert(path, identity);
                has_come = true;
            }
        }
        has_come
    }
}

/// Says that a place is covered.
pub(crate) fn told(path: &Path, identity: Identity) -> Vec<u8> {
    let mut bytes = format!("{} {} ", identity.device, identity.file).into_bytes();
    bytes.extend_from_slice(path.as_os_str().as_bytes());
    bytes
}

fn read(bytes: &[u8]) -> Option<(PathBuf, Identity)> {
    let mut words = bytes.splitn(3, |byte| *byte == b' ');
    let mut number = || std::str::from_utf8(words.next()?).ok()?.parse::<u64>().ok();
    let (device, file) = (number()?, number()?);
    let path = PathBuf::from(OsStr::from_bytes(words.next()?));
    Some((path, Identity { device, file }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_read_as_they_were_told() {
        let (path, identity) = (Path::new("/w/a b/.envrc"), Identity { device: 7, file: 9 });
        assert_eq!(read(&told(path, identity)), Some((path.to_owned(), identity)));
        for other in ["", "7", "7 9", "x 9 /w"] {
            assert_eq!(read(other.as_bytes()), None, "{other}");
        }
    }
}
