//! The key under the log: 32 random bytes that the beginning of each chain and each head stand on.
//!
//! Whoever has the key can forge; whoever has only the log cannot. It never leaves this machine.

use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use ic_home::file::{self, FileError};
use ic_types::{Digest, Secret, SessionId};
use sha2::Sha256;

/// The key of the audit log.
#[derive(Debug)]
pub struct AuditKey(Secret<Vec<u8>>);

/// A key that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file could not be read or made.
    #[error("cannot use the audit key `{}`", .path.display())]
    File {
        /// The key's file.
        path: PathBuf,
        /// What went wrong.
        source: FileError,
    },
    /// The file does not hold 32 bytes.
    #[error("the audit key `{}` holds {length} bytes instead of 32", .path.display())]
    Length {
        /// The key's file.
        path: PathBuf,
        /// How many bytes it holds.
        length: usize,
    },
    /// There is no key, so nothing can be checked.
    #[error("there is no audit key at `{}`", .0.display())]
    Absent(PathBuf),
    /// The system gave no random bytes.
    #[error("the system gave no random bytes for the audit key")]
    Random(#[source] std::io::Error),
}

impl AuditKey {
    const BYTES: usize = 32;

    /// Reads the key at `path`.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let file_error = |source| KeyError::File { path: path.to_owned(), source };
        // One byte more than it should have, so that a longer file is noticed.
        match file::read(path, 4096).map_err(file_error)? {
            None => Err(KeyError::Absent(path.to_owned())),
            Some(bytes) if bytes.len() == Self::BYTES => Ok(Self(Secret::new(bytes))),
            Some(bytes) => Err(KeyError::Length { path: path.to_owned(), length: bytes.len() }),
        }
    }

    /// Reads the key at `path`, or makes one if there is none yet.
    ///
    /// Two processes that do this at once end up with the same key.
    pub fn read_or_create(path: &Path) -> Result<Self, KeyError> {
        match Self::read(path) {
            Err(KeyError::Absent(_)) => {}
            found => return found,
        }
        let mut bytes = vec![0; Self::BYTES];
        let n = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
            .map_err(|errno| KeyError::Random(errno.into()))?;
        if n != Self::BYTES {
            return Err(KeyError::Random(std::io::ErrorKind::UnexpectedEof.into()));
        }
        let created = file::create_new(path, &bytes);
        drop(Secret::new(bytes));
        // If another process was faster, its key is the key.
        match (Self::read(path), created) {
            (Ok(key), _) => Ok(key),
            (Err(_), Err(source)) => Err(KeyError::File { path: path.to_owned(), source }),
            (Err(error), Ok(())) => Err(error),
        }
    }

    /// Makes a key of given bytes, for tests and benchmarks.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Secret::new(bytes.to_vec()))
    }

    /// Returns the `prevHash` of a session's first record.
    pub(crate) fn beginning(&self, session: &SessionId) -> Digest {
        self.mac(session.as_str().as_bytes())
    }

    /// Returns the code that vouches for `bytes`.
    pub(crate) fn mac(&self, bytes: &[u8]) -> Digest {
        // A key of any length is a key for HMAC.
        match Hmac::<Sha256>::new_from_slice(self.0.expose()) {
            Ok(mac) => Digest::from_bytes(mac.chain_update(bytes).finalize().into_bytes().into()),
            Err(_) => Digest::of(bytes),
        }
    }
}
