//! Reads the files that a person points us to, with a limit, and only regular ones.
//!
//! Not for anything an agent names: those go through `ic-resolve` and a judged call.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "until `ic-home` exists, the user's own policy files are opened here"
)]

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::error::Failure;

/// The largest policy or server file.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Reads `path`; `None` if nothing is there.
pub(crate) fn read_if_present(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let failed = |source: io::Error| {
        Failure::config(format!("cannot read `{}`", path.display())).with_source(source)
    };
    // Looked at before it is opened: opening a pipe would wait for somebody to write to it.
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => {
            return Err(Failure::config(format!("`{}` is no regular file", path.display())));
        }
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let mut bytes = Vec::new();
    File::open(path)
        .map_err(failed)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if FILE_BYTES_MAX < bytes.len() as u64 {
        return Err(Failure::config(format!("`{}` is longer than 64 MiB", path.display())));
    }
    Ok(Some(bytes))
}

/// Reads `path`, which must be there.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    read_if_present(path)?
        .ok_or_else(|| Failure::config(format!("`{}` does not exist", path.display())))
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

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
