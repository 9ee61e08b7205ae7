//! A packed npm package (`.tgz`, as `npm pack` makes it): unpacked without running anything of it.
//!
//! It may come from anywhere, so it is read as a stranger's: files and directories only, each beneath the
//! directory that it is unpacked into, within limits.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use ic_home::file;
use ic_types::{Json, JsonLimits};
use rustix::fs::Mode;

use crate::error::Failure;

/// How many entries a package may have.
const ENTRIES_MAX: usize = 20_000;
/// How large a package may be when it is unpacked.
const BYTES_MAX: u64 = 3 << 30;
/// How long an entry of names may be.
const NAMES_BYTES_MAX: u64 = 64 << 10;
/// How long the manifest may be.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;
const BLOCK: usize = 512;

/// What a package says it is.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Manifest {
    pub(super) name: String,
    pub(super) version: String,
}

/// Returns whether these bytes begin like a packed package.
pub(super) fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Unpacks a package into the directory `into`, which must be there, and returns what it says it is.
pub(super) fn unpack(bytes: &[u8], into: &Path) -> Result<Manifest, Failure> {
    let refused = |why: String| {
        Failure::usage(format!("the package cannot be unpacked: {why}"))
            .with_hint("make it with `npm pack NAME@VERSION`, then try again")
    };
    let mut reader = GzDecoder::new(bytes);
    let (mut n_entries, mut n_bytes, mut long_name) = (0, 0_u64, None);
    while let Some(header) = Header::read(&mut reader).map_err(refused)? {
        n_entries += 1;
        n_bytes = n_bytes.saturating_add(header.size);
        if ENTRIES_MAX < n_entries || BYTES_MAX < n_bytes {
            return Err(refused("it is too large".to_owned()));
        }
        match header.kind {
            b'x' | b'L' => {
                let data = header.data(&mut reader, NAMES_BYTES_MAX).map_err(refused)?;
                long_name = match header.kind {
                    b'x' => pax_path(&data).or(long_name),
                    _ => Some(text(&data)),
                };
                continue;
            }
            b'g' => {
                header.data(&mut reader, NAMES_BYTES_MAX).map_err(refused)?;
                continue;
            }
            _ => {}
        }
        let name = long_name.take().unwrap_or(header.name.clone());
        let path = inside(&name).ok_or_else(|| refused(format!("a strange name: {name:?}")))?;
        match header.kind {
            b'0' | 0 => {
                let data = header.data(&mut reader, BYTES_MAX).map_err(refused)?;
                put(into, &path, &data, header.is_executable)?;
            }
            b'5' => directories(into, &path)?,
            _ => return Err(refused(format!("{name:?} is neither a file nor a directory"))),
        }
    }
    manifest(into)
}

/// Writes a file, for us alone.
fn put(into: &Path, path: &Path, data: &[u8], is_executable: bool) -> Result<(), Failure> {
    if let Some(above) = path.parent() {
        directories(into, above)?;
    }
    let path = into.join(path);
    file::create_new(&path, data)?;
    if is_executable {
        rustix::fs::chmod(&path, Mode::RWXU).map_err(|errno| {
            Failure::environment(format!("cannot unpack `{}`", path.display())).with_source(errno)
        })?;
    }
    Ok(())
}

/// Makes a directory and those above it; all of them are ours, since nothing but files and directories was made.
fn directories(into: &Path, path: &Path) -> Result<(), Failure> {
    let mut at = into.to_owned();
    for part in path.components() {
        at.push(part);
        file::create_dir(&at)?;
    }
    Ok(())
}

/// Reads what the package says it is.
fn manifest(into: &Path) -> Result<Manifest, Failure> {
    let no = || Failure::usage("this is not an npm package: it has no usable package.json");
    let bytes = file::read(into.join("package.json"), MANIFEST_BYTES_MAX)?.ok_or_else(no)?;
    let Ok(Json::Object(manifest)) = Json::parse(&bytes, JsonLimits::CALL) else {
        return Err(no());
    };
    let text = |key: &str| manifest.get(key).and_then(Json::as_str).map(str::to_owned);
    match (text("name"), text("version")) {
        (Some(name), Some(version)) => Ok(Manifest { name, version }),
        _ => Err(no()),
    }
}

/// Returns where an entry belongs beneath the package: npm puts everything into one directory, which is left out.
fn inside(name: &str) -> Option<PathBuf> {
    let mut parts = name.trim_end_matches('/').split('/');
    let is_plain = |part: &str| {
        !part.is_empty() && part != "." && part != ".." && !part.contains(char::is_control)
    };
    let top = parts.next().filter(|it| is_plain(it));
    let rest: Vec<&str> = parts.collect();
    (top.is_some() && rest.iter().all(|it| is_plain(it))).then(|| rest.iter().collect())
}

/// The header of one entry of an archive.
#[derive(Debug)]
struct Header {
    name: String,
    size: u64,
    kind: u8,
    is_executable: bool,
}

impl Header {
    /// Reads the next one; there is none after a block of nothing, or at the end.
    fn read(reader: &mut impl Read) -> Result<Option<Self>, String> {
        let mut block = [0; BLOCK];
        let read = reader.read_exact(&mut block);
        read.map_err(|error| format!("it ends too early ({error})"))?;
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let field = |from: usize, to: usize| block.get(from..to).unwrap_or_default();
        let sum: u64 = field(0, 148).iter().chain(field(156, BLOCK)).map(|it| u64::from(*it)).sum();
        // The checksum itself counts as spaces.
        if octal(field(148, 156)) != Some(sum + 8 * 32) {
            return Err("a header is damaged".to_owned());
        }
        let size = octal(field(124, 136)).ok_or("a size cannot be read")?;
        let mode = octal(field(100, 108)).unwrap_or(0);
        let (name, prefix) = (text(field(0, 100)), text(field(345, 500)));
        let has_prefix = field(257, 262) == b"ustar" && !prefix.is_empty();
        let name = if has_prefix { format!("{prefix}/{name}") } else { name };
        let kind = field(156, 157).first().copied().unwrap_or(0);
        Ok(Some(Self { name, size, kind, is_executable: mode & 0o111 != 0 }))
    }

    /// Reads what belongs to it, which fills whole blocks.
    fn data(&self, reader: &mut impl Read, bytes_max: u64) -> Result<Vec<u8>, String> {
        if bytes_max < self.size {
            return Err("an entry is too large".to_owned());
        }
        let mut data = Vec::new();
        let padded = self.size.next_multiple_of(BLOCK as u64);
        let read = reader.take(padded).read_to_end(&mut data);
        read.map_err(|error| format!("it is damaged ({error})"))?;
        if data.len() as u64 != padded {
            return Err("it ends too early".to_owned());
        }
        data.truncate(usize::try_from(self.size).unwrap_or(usize::MAX));
        Ok(data)
    }
}

/// Reads a number as archives write it.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = text(field);
    u64::from_str_radix(digits.trim(), 8).ok()
}

/// Reads a text that ends where the field does, or at a zero.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(field.get(..end).unwrap_or_default()).into_owned()
}

/// Finds a long name among the extended attributes of an entry: lines `LENGTH path=NAME`.
fn pax_path(data: &[u8]) -> Option<String> {
    let lines = String::from_utf8_lossy(data);
    let mut found = lines.lines().filter_map(|line| line.split_once(' ')?.1.strip_prefix("path="));
    found.next_back().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_beneath_the_package() {
        for (name, expected) in [
            ("package/package.json", Some("package.json")),
            ("package/bin/x", Some("bin/x")),
            ("other/bin/", Some("bin")),
            ("package", Some("")),
            ("../x", None),
            ("package/../x", None),
            ("/etc/passwd", None),
            ("package//x", None),
            ("package/./x", None),
            ("package/a\u{0}b", None),
            ("", None),
        ] {
            assert_eq!(inside(name), expected.map(PathBuf::from), "{name:?}");
        }
    }

    #[test]
    fn long_names_are_found() {
        let data = b"30 mtime=1700000000.0\n25 path=package/long/name\n";
        assert_eq!(pax_path(data).as_deref(), Some("package/long/name"));
        assert_eq!(pax_path(b"12 size=100\n"), None);
    }
}
