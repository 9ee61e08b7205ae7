//! Whether a process holds a file or directory in such a way that a cover over its name does not keep it from being
//! written: by a descriptor, a mapping, or as the directory that it is in.
//!
//! It is for processes that stand still; others could pass it on while they are looked at.

use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::{DESCRIPTORS_MAX, Kinship, MAPS_BYTES_MAX, below, process_directory};
use crate::proc;

/// More than `/proc/PID/fdinfo/N` takes of a socket.
const INFO_BYTES_MAX: usize = 1 << 14;

/// A file or directory that somebody may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) path: &'a Path,
    pub(crate) device: u64,
    pub(crate) file: u64,
}

/// Returns whether anything below `guard` holds what is wanted, or cannot be looked at.
///
/// The first process of a cage is ours, hides, and holds nothing.
pub(crate) fn is_held_below(guard: Pid, wanted: Wanted<'_>) -> bool {
    let kinship = Kinship::now();
    let first = kinship.children(guard);
    let others = below(guard, &kinship).into_iter().filter(|pid| !first.contains(pid));
    others.into_iter().any(|pid| is_held_by(&process_directory(pid), wanted))
}

fn is_held_by(process: &Path, wanted: Wanted<'_>) -> bool {
    let is_it = |link: &Path| {
        let is_same = rustix::fs::stat(link)
            .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (wanted.device, wanted.file));
        is_same || target(link).is_some_and(|target| target.starts_with(wanted.path))
    };
    if ["cwd", "root"].iter().any(|name| is_it(&process.join(name))) {
        return true;
    }
    let descriptors = process.join("fd");
    let Ok(numbers) = proc::numbers_in(&descriptors, DESCRIPTORS_MAX) else {
        // One that has ended holds nothing; one that may not be looked at may hold anything.
        return rustix::fs::stat(&descriptors).is_ok() && !is_over(process);
    };
    let holds = |number: &i32| {
        let name = number.to_string();
        // SECURITY: also one that is open for reading, as it can be opened once more by its number.
        is_it(&descriptors.join(&name)) || has_in_flight(&process.join("fdinfo").join(name))
    };
    numbers.iter().any(holds) || is_mapped(process, wanted)
}

/// Returns whether a descriptor is a socket in which other descriptors wait to be taken.
fn has_in_flight(info: &Path) -> bool {
    let info = proc::read(info, INFO_BYTES_MAX).unwrap_or_default();
    let info = String::from_utf8_lossy(&info).into_owned();
    let waiting = info.lines().find_map(|line| line.strip_prefix("scm_fds:"));
    waiting.is_some_and(|number| number.trim() != "0")
}

/// Returns whether a file is mapped so that what is written to memory is written to it.
fn is_mapped(process: &Path, wanted: Wanted<'_>) -> bool {
    let Ok(maps) = proc::read(&process.join("maps"), MAPS_BYTES_MAX) else {
        return !is_over(process);
    };
    let maps = String::from_utf8_lossy(&maps).into_owned();
    maps.lines().any(|line| {
        // BEGIN-END PERMISSIONS OFFSET DEVICE NUMBER NAME
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_shared = words.get(1).is_some_and(|it| it.ends_with('s'));
        // The device is not compared: some file systems tell another one here.
        is_shared && words.get(4).is_some_and(|it| it.parse() == Ok(wanted.file))
    })
}

fn is_over(process: &Path) -> bool {
    // What has ended and was not waited for has no memory.
    let stat = proc::read(&process.join("statm"), INFO_BYTES_MAX).unwrap_or_default();
    stat.is_empty() || stat.starts_with(b"0 ")
}

fn target(link: &Path) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    let target = rustix::fs::readlink(link, Vec::new()).ok()?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(target.to_bytes())))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "files and processes of the test's own")]

    use super::*;
    use std::process::{Command, Stdio};

    /// Each way to hold a file is found, and nothing else is.
    #[test]
    fn whoever_holds_a_file_is_found() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        std::fs::write(&path, vec![b'x'; 8192]).unwrap();
        let stat = rustix::fs::stat(&path).unwrap();
        let wanted = Wanted { path: &path, device: stat.st_dev, file: stat.st_ino };
        let header = "import mmap, os, socket, sys, time\nf = sys.argv[1]\n";
        let footer = "\nprint('ready', flush=True)\ntime.sleep(600)";
        for (code, expected) in [
            ("pass", false),
            ("open(f).read()", false),
            ("h = open(f)", true),
            ("h = os.open(f, os.O_RDWR)", true),
            ("h = os.open(f, os.O_PATH)", true),
            ("h = os.open(f, os.O_RDWR); m = mmap.mmap(h, 4096); os.close(h)", true),
            (
                "a, b = socket.socketpair(); h = os.open(f, os.O_RDWR); socket.send_fds(a, [b'x'], [h]); os.close(h)",
                true,
            ),
        ] {
            let mut child = Command::new("/usr/bin/python3")
                .args(["-c", &format!("{header}{code}{footer}")])
                .arg(&path)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut said = [0; 5];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
            let process = process_directory(Pid::from_raw(child.id().cast_signed()).unwrap());
            let held = is_held_by(&process, wanted);
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(held, expected, "{code}");
        }
    }
}
