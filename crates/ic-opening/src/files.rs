//! Reads the files that a person points us to, with a limit, and only regular ones.
//!
//! Not for anything an agent names: those go through `ic-resolve` and a judged call.

use std::path::Path;

use crate::fault::Fault;

/// The largest policy or server file.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Reads `path`; `None` if nothing is there.
///
/// The user may have put a link there: these are files that people keep where they like.
pub fn read_if_present(path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    ic_home::file::read_following(path, FILE_BYTES_MAX).map_err(Fault::from)
}

/// Reads `path`, which must be there.
pub fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    read_if_present(path)?
        .ok_or_else(|| Fault::config(format!("`{}` does not exist", path.display())))
}
