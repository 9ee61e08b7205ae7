//! The trusted identities as they were read last, so that a file that did not change is parsed once.
//!
//! The file itself is read each time: what somebody trusted a moment ago counts. Nothing is written here.

use std::sync::{Arc, Mutex};

use ic_types::Digest;

use super::{Pins, PinsError, PinsFile};
use crate::locked;

/// The file, and what it said last.
#[derive(Debug)]
pub(crate) struct RememberedPins {
    file: PinsFile,
    last: Mutex<Option<(Digest, Arc<Pins>)>>,
}

impl RememberedPins {
    pub(crate) fn new(file: PinsFile) -> Self {
        Self { file, last: Mutex::default() }
    }

    /// Returns the file, to be written.
    pub(crate) fn file(&self) -> &PinsFile {
        &self.file
    }

    /// Reads what is trusted now; while the file stays as it is, the same value is returned.
    pub(crate) fn read(&self) -> Result<Arc<Pins>, PinsError> {
        let Some(bytes) = self.file.bytes()? else { return Ok(Arc::default()) };
        let digest = Digest::of(&bytes);
        let mut last = locked(&self.last);
        if let Some((known, pins)) = &*last
            && *known == digest
        {
            return Ok(Arc::clone(pins));
        }
        let pins = Arc::new(self.file.parse(&bytes)?);
        *last = Some((digest, Arc::clone(&pins)));
        Ok(pins)
    }
}
