//! Where a log's bytes go: a file that is only appended to, and a seam for tests to break.

#![expect(
    clippy::disallowed_types,
    reason = "the log is one of the few files that are kept open; it is opened by ic-home"
)]

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use ic_home::file::{self, Doing, FileError};

/// A place that bytes are appended to.
pub trait Sink: Send {
    /// Appends all of `bytes`; what was written of them before a failure stays until `cut`.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Removes everything behind the first `length` bytes.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// Returns a handle with which another thread can make the bytes durable.
    fn durable(&self) -> Arc<dyn Durable>;

    /// Lets others write the log; nothing more is appended here.
    fn release(&mut self) {}
}

/// Makes what was appended survive the machine.
pub trait Durable: Send + Sync {
    /// Returns when everything appended so far is on the disk.
    fn sync(&self) -> io::Result<()>;

    /// Returns whether what is appended to is still what stands at `path`.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
}

/// A log file.
#[derive(Debug)]
pub struct FileSink {
    file: Arc<File>,
}

impl FileSink {
    /// Opens the log at `path` for this process alone; `None` if another one writes it.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, FileError> {
        let file = file::open_append(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file: Arc::new(file) })),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(source)) => {
                Err(FileError::System { doing: Doing::Lock, path: path.to_owned(), source })
            }
        }
    }
}

impl Sink for FileSink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (&*self.file).write_all(bytes)?;
        // SECURITY: writing to a file that has been removed succeeds, and records nothing.
        match rustix::fs::fstat(&self.file)?.st_nlink {
            0 => Err(io::Error::new(io::ErrorKind::NotFound, "the log has been removed")),
            _ => Ok(()),
        }
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn durable(&self) -> Arc<dyn Durable> {
        Arc::clone(&self.file) as Arc<dyn Durable>
    }

    fn release(&mut self) {
        // If this fails the lock goes with the file, when nobody holds the log any more.
        self.file.unlock().ok();
    }
}

impl Durable for File {
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let ours = rustix::fs::fstat(self)?;
        let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
        match rustix::fs::statat(rustix::fs::CWD, path, flags) {
            Ok(there) => Ok((there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}
