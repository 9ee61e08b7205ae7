//! What others wrote of the program: their licences as they want them shown, and a bill of materials.
//!
//! What the program is built of is what cargo says; the texts are those that the packages bring.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::build::{Build, said};

/// How the names of files with licences begin, in small letters.
const TEXTS: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];
/// How deep in a package such a file is looked for: libraries in C lie in directories of their own.
const DEPTH_MAX: usize = 3;
/// The largest file that is taken for a licence.
const TEXT_BYTES_MAX: u64 = 256 << 10;

/// A package that is not ours and is part of the program.
#[derive(Debug)]
pub(super) struct Stranger {
    name: String,
    version: String,
    licence: String,
    /// The SHA-256 of what was downloaded.
    checksum: Option<String>,
    directory: PathBuf,
}

/// Returns every package of others that the program is built of, by name and version.
pub(super) fn strangers(top: &Path) -> anyhow::Result<Vec<Stranger>> {
    let metadata = said(
        Command::new("cargo")
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform"])
            .arg("x86_64-unknown-linux-gnu")
            .current_dir(top),
    )?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata.get("packages").and_then(Value::as_array);
    let packages = packages.context("cargo names no packages")?;
    // Without those that only tests use.
    let tree = said(
        Command::new("cargo")
            .args(["tree", "--locked", "-p", "ironcurtain", "--edges", "normal,build"])
            .args(["--target", "x86_64-unknown-linux-gnu", "--prefix", "none"])
            .args(["--format", "{p}", "--no-dedupe"])
            .current_dir(top),
    )?;
    let used: Vec<(&str, &str)> = tree.lines().filter_map(named).collect();
    let checksums = checksums(&std::fs::read_to_string(top.join("Cargo.lock"))?);
    let mut found = BTreeMap::new();
    for package in packages {
        let value = |key: &str| package.get(key).and_then(Value::as_str);
        let text = |key: &str| value(key).unwrap_or_default().to_owned();
        let (name, version) = (text("name"), text("version"));
        if value("source").is_none() || !used.contains(&(&name, &version)) {
            continue;
        }
        let manifest = PathBuf::from(text("manifest_path"));
        let key = (name.clone(), version.clone());
        found.insert(
            key.clone(),
            Stranger {
                checksum: checksums.get(&key).cloned(),
                directory: manifest.parent().context("a manifest lies somewhere")?.to_owned(),
                licence: text("license"),
                name,
                version,
            },
        );
    }
    Ok(found.into_values().collect())
}

/// Reads `name v1.2.3 (what else)`.
fn named(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(' ');
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

/// Returns the checksum of each package in a lock file.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let value = |key: &str| {
            let line = package.lines().find_map(|it| it.strip_prefix(&format!("{key} = \"")))?;
            Some(line.strip_suffix('"')?.to_owned())
        };
        if let (Some(name), Some(version), Some(sum)) =
            (value("name"), value("version"), value("checksum"))
        {
            found.insert((name, version), sum);
        }
    }
    found
}

/// Returns the text that goes along with the program: each licence once, with the packages under it.
pub(super) fn notices(strangers: &[Stranger]) -> anyhow::Result<String> {
    let mut by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for stranger in strangers {
        let label = format!("{} {} ({})", stranger.name, stranger.version, stranger.licence);
        let texts = texts(&stranger.directory, 0)?;
        if texts.is_empty() {
            without.push(label.clone());
        }
        for text in texts {
            let packages = by_text.entry(text).or_default();
            if packages.last() != Some(&label) {
                packages.push(label.clone());
            }
        }
    }
    let mut all = "IronCurtain contains the work of others, under these licences.\n".to_owned();
    for (text, packages) in by_text {
        write!(all, "\n{}\n{}\n\n{text}\n", "=".repeat(80), packages.join("\n"))?;
    }
    if !without.is_empty() {
        write!(
            all,
            "\n{}\nThese packages bring no text; the name of the licence is what they state:\n{}\n",
            "=".repeat(80),
            without.join("\n")
        )?;
    }
    Ok(all)
}

/// Returns the texts of licences in a package.
fn texts(directory: &Path, depth: usize) -> anyhow::Result<Vec<String>> {
    let mut entries: Vec<_> = std::fs::read_dir(directory)
        .with_context(|| format!("cannot read {}", directory.display()))?
        .collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut found = Vec::new();
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if kind.is_dir() && depth < DEPTH_MAX && name != "tests" {
            found.extend(texts(&path, depth + 1)?);
        } else if kind.is_file()
            && TEXTS.iter().any(|it| name.starts_with(it))
            && path.extension().is_none_or(|it| it != "rs")
            && entry.metadata()?.len() <= TEXT_BYTES_MAX
        {
            found.push(String::from_utf8_lossy(&std::fs::read(path)?).trim().to_owned());
        }
    }
    Ok(found)
}

/// Returns the bill of materials, in the form of `CycloneDX`.
pub(super) fn bill(build: &Build, strangers: &[Stranger]) -> anyhow::Result<String> {
    let component = |it: &Stranger| {
        let hashes: Vec<Value> =
            it.checksum.iter().map(|sum| json!({"alg": "SHA-256", "content": sum})).collect();
        json!({
            "type": "library",
            "bom-ref": format!("pkg:cargo/{}@{}", it.name, it.version),
            "name": it.name,
            "version": it.version,
            "purl": format!("pkg:cargo/{}@{}", it.name, it.version),
            // `/` is how it was written once.
            "licenses": [{"expression": it.licence.replace('/', " OR ")}],
            "hashes": hashes,
        })
    };
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": ic_types::Timestamp::from_unix_ms(build.time * 1000).to_string(),
            "component": {"type": "application", "bom-ref": "ironcurtain", "name": "ironcurtain",
                "version": build.version, "licenses": [{"expression": "Apache-2.0"}],
                "hashes": [{"alg": "SHA-256", "content": super::digest(&build.program)?}]},
        },
        "components": strangers.iter().map(component).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_tree_and_lock_file() {
        assert_eq!(named("serde v1.0.228"), Some(("serde", "1.0.228")));
        assert_eq!(named("serde_derive v1.0.2 (proc-macro)"), Some(("serde_derive", "1.0.2")));
        assert_eq!(named(""), None);
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"00ff\"\n\n\
                    [[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
        let expected = (("a".to_owned(), "1.0.0".to_owned()), "00ff".to_owned());
        assert_eq!(checksums(lock).into_iter().collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn each_licence_is_printed_once_and_what_has_none_is_named() {
        let place = tempfile::tempdir().unwrap();
        let stranger = |name: &str| {
            let directory = place.path().join(name);
            std::fs::create_dir_all(directory.join("lib/c")).unwrap();
            let (version, licence) = ("1.0.0".to_owned(), "MIT".to_owned());
            Stranger { name: name.to_owned(), version, licence, checksum: None, directory }
        };
        let (a, b, c) = (stranger("a"), stranger("b"), stranger("c"));
        std::fs::write(a.directory.join("LICENSE-MIT"), "the words\n").unwrap();
        std::fs::write(b.directory.join("lib/c/COPYING"), "the words").unwrap();
        std::fs::write(c.directory.join("licenses.rs"), "no words").unwrap();
        let text = notices(&[a, b, c]).unwrap();
        assert_eq!(text.matches("the words").count(), 1, "{text}");
        assert!(text.contains("a 1.0.0 (MIT)\nb 1.0.0 (MIT)\n"), "{text}");
        assert!(text.ends_with("state:\nc 1.0.0 (MIT)\n"), "{text}");
    }
}
