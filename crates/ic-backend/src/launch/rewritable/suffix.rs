//! What the end of a file's name says: is it data, or is it code?
//!
//! Settings are neither: they can name programs, so a file of settings counts as code once it is there.

use std::ffi::OsStr;
use std::path::Path;

/// Ends of files that no program runs or takes orders from.
const DATA: [&str; 33] = [
    "avi", "bmp", "csv", "db", "db3", "doc", "docx", "duckdb", "flac", "gif", "jpeg", "jpg",
    "jsonl", "log", "md", "mkv", "mp3", "mp4", "ndjson", "ods", "odt", "ogg", "parquet", "pdf",
    "png", "rst", "sqlite", "sqlite3", "tsv", "txt", "wav", "webp", "xlsx",
];
/// Ends of files that are run, or that say what is run.
const CODE: [&str; 42] = [
    "bat", "bash", "bin", "cjs", "class", "cmd", "conf", "cts", "dll", "env", "exe", "ex", "exs",
    "fish", "go", "ini", "jar", "js", "json", "jsx", "lua", "mjs", "mts", "node", "php", "pl",
    "pm", "ps1", "pth", "py", "pyc", "pyz", "rb", "rs", "sh", "so", "toml", "ts", "tsx", "wasm",
    "yaml", "yml",
];

/// Returns whether a file of this name is data.
pub(super) fn is_of_data(path: &OsStr) -> bool {
    ends_in(path, &DATA)
}

/// Returns whether a file of this name would be code, or settings.
pub(super) fn is_of_code(path: &OsStr) -> bool {
    ends_in(path, &CODE)
}

fn ends_in(path: &OsStr, known: &[&str]) -> bool {
    let end = Path::new(path).extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    end.is_some_and(|end| known.contains(&end.as_str()))
}
