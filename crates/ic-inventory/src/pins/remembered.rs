//! The trusted identities as they were read last, so that a file that did not change is parsed once.
//!
//! The file itself is read each time: what somebody trusted a moment ago counts. Nothing is written here.

use std::sync::{Arc, Mutex};

use super::{Pins, PinsError, PinsFile};
use ic_types::locked;

/// The file, and what it said last.
#[derive(Debug)]
pub struct RememberedPins {
    file: PinsFile,
    /// The bytes of the file, and what they say.
    last: Mutex<Option<(Vec<u8>, Arc<Pins>)>>,
}

impl RememberedPins {
    /// Remembers what is in `file`; nothing is read before it is asked for.
    pub fn new(file: PinsFile) -> Self {
        Self { file, last: Mutex::default() }
    }

    /// Returns the file, to be written.
    pub fn file(&self) -> &PinsFile {
        &self.file
    }

    /// Reads what is trusted now; while the file stays as it is, the same value is returned.
    pub fn read(&self) -> Result<Arc<Pins>, PinsError> {
        let Some(bytes) = self.file.bytes()? else { return Ok(Arc::default()) };
        let mut last = locked(&self.last);
        if let Some((known, pins)) = &*last
            && *known == bytes
        {
            return Ok(Arc::clone(pins));
        }
        let pins = Arc::new(self.file.parse(&bytes)?);
        *last = Some((bytes, Arc::clone(&pins)));
        Ok(pins)
    }
}
