//! Reads the files that a person points us to, with a limit, and only regular ones.
//!
//! Not for anything an agent names: those go through `ic-resolve` and a judged call.

#![expect(
    clippy::disallowed_types,
    reason = "a file of requests may be a pipe, and is read line by line"
)]

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::Failure;

/// Reads `path`; `None` if nothing is there.
pub(crate) fn read_if_present(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    Ok(ic_opening::files::read_if_present(path)?)
}

/// Reads `path`, which must be there.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    Ok(ic_opening::files::read(path)?)
}

/// Opens `path`, or standard input for `-`, to read it line by line.
pub(crate) fn open_lines(path: &Path) -> Result<Box<dyn io::BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::BufReader::new(io::stdin())));
    }
    let file = File::open(path).map_err(|source| {
        Failure::config(format!("cannot read `{}`", path.display())).with_source(source)
    })?;
    Ok(Box::new(io::BufReader::with_capacity(1 << 16, file)))
}
