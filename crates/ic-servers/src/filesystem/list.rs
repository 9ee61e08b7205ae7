//! What is directly in a directory, and what is known of one file.
//!
//! Links are listed as links; nothing here looks at where they lead.

use std::fmt::Write as _;
use std::path::Path;

use ic_resolve::Kind;
use ic_types::Timestamp;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, OFlags, Statx, StatxFlags, StatxTimestamp};

use super::arguments::Arguments;
use super::beneath::{self, Entry, Whole};
use super::fault::Fault;
use super::reach::Reach;
use super::show;
use super::view::Rights;
use super::walk::ENTRIES_MAX;
use crate::tools::{Cancel, ToolResult};

/// The longest listing; even if each of its bytes is escaped, a client can take the line.
const LISTING_BYTES_MAX: usize = 4 << 20;
/// How wide names are made in a listing with sizes.
const NAME_WIDTH: usize = 30;
const SIZE_WIDTH: usize = 12;

/// Lists a directory.
pub(super) fn list(reach: &Reach, arguments: Arguments<'_>) -> Result<ToolResult, Fault> {
    let mut listing = Listing::of(reach, arguments.text("path")?)?;
    let entries = std::mem::take(&mut listing.entries);
    let mut text = String::new();
    for entry in &entries {
        if LISTING_BYTES_MAX < text.len() {
            text.push_str("[cut: the listing is too long]\n");
            break;
        }
        // Writing to a string cannot fail.
        writeln!(text, "{} {}", label(entry.kind), show::name(&entry.name)).ok();
    }
    if entries.is_empty() {
        text.push_str("The directory is empty\n");
    }
    text.push_str(&listing.notes());
    Ok(ToolResult::text(text.trim_end_matches('\n')))
}

/// Lists a directory with the sizes of its files.
pub(super) fn list_with_sizes(
    reach: &Reach,
    arguments: Arguments<'_>,
    cancel: &Cancel,
) -> Result<ToolResult, Fault> {
    let is_by_size = match arguments.optional_text("sortBy")? {
        None | Some("name") => false,
        Some("size") => true,
        Some(_) => return Err(Fault::argument("sortBy", "is neither `name` nor `size`")),
    };
    let mut listing = Listing::of(reach, arguments.text("path")?)?;
    let mut entries = Vec::new();
    for entry in std::mem::take(&mut listing.entries) {
        if cancel.is_cancelled() {
            return Err(Fault::Cancelled);
        }
        // An entry that is gone by now has no size.
        let stat = beneath::look_at(&listing.directory, &entry.name).ok().flatten();
        let is_file = entry.kind == Kind::File;
        let n_bytes = stat.filter(|_| is_file).as_ref().map_or(0, beneath::size);
        entries.push((entry, n_bytes));
    }
    if is_by_size {
        // Stable, so that equal sizes stay in the order of names.
        entries.sort_by_key(|(_, n_bytes)| std::cmp::Reverse(*n_bytes));
    }
    let mut text = String::new();
    for (entry, n_bytes) in &entries {
        if LISTING_BYTES_MAX < text.len() {
            text.push_str("[cut: the listing is too long]\n");
            break;
        }
        let (label, name) = (label(entry.kind), show::name(&entry.name));
        // Writing to a string cannot fail.
        match entry.kind {
            Kind::File => {
                let size = show::size(*n_bytes);
                writeln!(text, "{label} {name:NAME_WIDTH$} {size:>SIZE_WIDTH$}").ok();
            }
            Kind::Directory | Kind::Link | Kind::Other => {
                writeln!(text, "{label} {name}").ok();
            }
        }
    }
    let n_directories = entries.iter().filter(|(entry, _)| entry.kind == Kind::Directory).count();
    let n_files = entries.len() - n_directories;
    let n_bytes = entries.iter().fold(0, |sum: u64, (_, n_bytes)| sum.saturating_add(*n_bytes));
    let size = show::size(n_bytes);
    write!(text, "\nTotal: {n_files} files, {n_directories} directories\nCombined size: {size}\n")
        .ok();
    text.push_str(&listing.notes());
    Ok(ToolResult::text(text.trim_end_matches('\n')))
}

/// Says what is known of a file or directory.
pub(super) fn info(reach: &Reach, arguments: Arguments<'_>) -> Result<ToolResult, Fault> {
    let reached = reach.reach(arguments.text("path")?, Rights::READ)?;
    let is = beneath::kind(&reached.look()?);
    let handle = reached.open("look at", OFlags::PATH | OFlags::NOFOLLOW)?;
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let stat = rustix::fs::statx(&handle, Path::new(""), AtFlags::EMPTY_PATH, wanted)
        .map_err(|error| reached.fault("look at", error))?;
    let mode = stat.stx_mode & 0o7777;
    let mut text = String::new();
    // Writing to a string cannot fail.
    writeln!(text, "size: {}", stat.stx_size).ok();
    writeln!(text, "created: {}", created(&stat)).ok();
    writeln!(text, "modified: {}", time(stat.stx_mtime)).ok();
    writeln!(text, "accessed: {}", time(stat.stx_atime)).ok();
    writeln!(text, "isDirectory: {}", is == Kind::Directory).ok();
    writeln!(text, "isFile: {}", is == Kind::File).ok();
    write!(text, "permissions: {mode:03o}").ok();
    Ok(ToolResult::text(text))
}

/// Names the directories of the view.
pub(super) fn allowed(reach: &Reach) -> ToolResult {
    let mut text = String::from("Allowed directories:");
    for (opened, fault) in reach.directories() {
        let path = show::path(opened.path.as_path());
        // Writing to a string cannot fail.
        write!(text, "\n{path} ({})", opened.rights).ok();
        if fault.is_some() {
            text.push_str(" - was not there when the server started");
        }
    }
    if reach.directories().next().is_none() {
        text.push_str(" none");
    }
    ToolResult::text(text)
}

/// The entries of a directory, less those that are left out.
struct Listing {
    directory: OwnedFd,
    entries: Vec<Entry>,
    n_left_out: usize,
    whole: Whole,
}

impl Listing {
    fn of(reach: &Reach, text: &str) -> Result<Self, Fault> {
        let reached = reach.reach(text, Rights::READ)?;
        let handle = reached.hold_directory()?;
        let listed = beneath::list(&handle, Path::new(""), ENTRIES_MAX);
        let (directory, mut entries, whole) =
            listed.map_err(|error| reached.fault("list", error))?;
        let n_all = entries.len();
        let left_out = reach.left_out_beneath(&reached.path);
        entries.retain(|entry| {
            let path = reached.path.join(&entry.name);
            !path.is_ok_and(|path| left_out.contains(&path))
        });
        Ok(Self { directory, n_left_out: n_all - entries.len(), entries, whole })
    }

    fn notes(&self) -> String {
        let mut notes = String::new();
        // Writing to a string cannot fail.
        if 0 < self.n_left_out {
            let left_out = ic_types::counted(self.n_left_out, "entry", "entries");
            write!(
                notes,
                "\nLeft out because it is protected or closed by the policy: {left_out}\n"
            )
            .ok();
        }
        if self.whole == Whole::Cut {
            write!(notes, "\nCut after {ENTRIES_MAX} entries\n").ok();
        }
        notes
    }
}

fn label(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "[FILE]",
        Kind::Directory => "[DIR]",
        Kind::Link => "[LINK]",
        Kind::Other => "[OTHER]",
    }
}

fn created(stat: &Statx) -> String {
    match StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME) {
        true => time(stat.stx_btime),
        false => "unknown".to_owned(),
    }
}

fn time(time: StatxTimestamp) -> String {
    match u64::try_from(time.tv_sec) {
        Ok(seconds) => {
            let ms =
                seconds.saturating_mul(1000).saturating_add(u64::from(time.tv_nsec / 1_000_000));
            Timestamp::from_unix_ms(ms).to_string()
        }
        Err(_) => "before 1970".to_owned(),
    }
}
