//! What pip says that it would install, checked: wheels of the index, each with its hash.

use std::path::Path;

use ic_types::{Json, JsonLimits, Object};

/// What a report may cost.
const LIMITS: JsonLimits = JsonLimits { bytes_max: 64 << 20, depth_max: 64, values_max: 4 << 20 };

/// What stands before the hash in a list.
const HASH: &str = "--hash=sha256:";

/// What pip would install.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) version: String,
    pub(super) integrity: String,
    /// Every package with its version and hash, as pip reads them.
    pub(super) list: String,
}

/// Returns the hash that a line of such a list names.
pub(super) fn hash_of(line: &str) -> &str {
    line.rsplit_once(HASH).map_or("", |(_, hash)| hash)
}

impl Resolved {
    /// Reads a report; every package must be a wheel of the index, which `is_ours` knows by its address.
    pub(super) fn of(
        bytes: &[u8],
        package: &str,
        is_ours: &dyn Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let unreadable = || "its report cannot be read".to_owned();
        let Ok(Json::Object(report)) = Json::parse(bytes, LIMITS) else { return Err(unreadable()) };
        let Some(Json::Array(packages)) = report.get("install") else { return Err(unreadable()) };
        let (mut lines, mut own) = (Vec::new(), None);
        for entry in packages {
            let at = |keys: &[&str]| {
                let first: Option<&Object> = object(Some(entry));
                let (last, path) = keys.split_last()?;
                let inner = path.iter().try_fold(first?, |it, key| object(it.get(key)))?;
                inner.get(last).and_then(Json::as_str)
            };
            let (name, version) = (at(&["metadata", "name"]), at(&["metadata", "version"]));
            let (Some(name), Some(version)) = (name, version) else { return Err(unreadable()) };
            // SECURITY: what begins with a dash would be an option to pip, and no package.
            let is_plain = |text: &str| {
                let is_begun = text.bytes().next().is_some_and(|it| it.is_ascii_alphanumeric());
                let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+!".contains(&byte);
                is_begun && text.bytes().all(is_part)
            };
            let shown = || name.escape_debug();
            if matches!(
                object(Some(entry)).and_then(|it| it.get("is_direct")),
                Some(Json::Bool(true))
            ) {
                return Err(format!("`{}` is named by an address, and not by the index", shown()));
            }
            let url = at(&["download_info", "url"]).unwrap_or_default();
            if !is_ours(url) {
                return Err(format!("`{}` does not come from your index", shown()));
            }
            let file = Path::new(url.split(['#', '?']).next().unwrap_or_default());
            if file.extension().is_none_or(|end| end != "whl") {
                return Err(format!("`{}` is not a wheel", shown()));
            }
            let hash = at(&["download_info", "archive_info", "hashes", "sha256"]);
            let hash =
                hash.filter(|it| it.len() == 64 && it.bytes().all(|it| it.is_ascii_hexdigit()));
            let (Some(hash), true, true) = (hash, is_plain(name), is_plain(version)) else {
                return Err(format!("`{}` has no hash", shown()));
            };
            lines.push(format!("{name}=={version} {HASH}{hash}\n"));
            if normal(name) == normal(package) {
                own = Some((version.to_owned(), format!("sha256:{hash}")));
            }
        }
        lines.sort();
        let (version, integrity) = own.ok_or("it is not among what would be installed")?;
        Ok(Self { version, integrity, list: lines.concat() })
    }
}

/// Writes a name in the way in which all of its spellings are one.
fn normal(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn object(json: Option<&Json>) -> Option<&Object> {
    match json {
        Some(Json::Object(object)) => Some(object),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(entries: &[(&str, &str, Option<&str>)]) -> Vec<u8> {
        let entry = |(name, version, hash): &(&str, &str, Option<&str>)| {
            let hashes = hash.map(|hash| format!(r#""sha256":"{hash}""#)).unwrap_or_default();
            format!(
                r#"{{"metadata":{{"name":"{name}","version":"{version}"}},"is_direct":false,"download_info":{{"url":"https://x.example/{name}.whl","archive_info":{{"hashes":{{{hashes}}}}}}}}}"#
            )
        };
        let entries: Vec<String> = entries.iter().map(entry).collect();
        format!(r#"{{"install":[{}]}}"#, entries.join(",")).into_bytes()
    }

    #[test]
    fn every_package_is_pinned_by_its_hash() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let good = report(&[("Mcp_Server.Git", "1.0", Some(&a)), ("dep", "2", Some(&b))]);
        let resolved = Resolved::of(&good, "mcp-server-git", &|_| true).unwrap();
        assert_eq!(
            resolved.list,
            format!("Mcp_Server.Git==1.0 --hash=sha256:{a}\ndep==2 --hash=sha256:{b}\n")
        );
        assert_eq!(
            (resolved.version, resolved.integrity),
            ("1.0".to_owned(), format!("sha256:{a}"))
        );
        for bad in [
            report(&[("x", "1", None)]),
            report(&[("x", "1", Some("short"))]),
            report(&[("x --index-url http://evil.example", "1", Some(&a))]),
            report(&[("-r", "1", Some(&a)), ("x", "1", Some(&a))]),
            report(&[("", "1", Some(&a)), ("x", "1", Some(&a))]),
            report(&[("x", "", Some(&a))]),
            report(&[("x", "1", Some(&"z".repeat(64)))]),
            report(&[("other", "1", Some(&a))]),
            b"no report".to_vec(),
        ] {
            let is_ours = |url: &str| url.starts_with("https://x.example/");
            assert!(
                Resolved::of(&bad, "x", &is_ours).is_err(),
                "{}",
                String::from_utf8_lossy(&bad)
            );
        }
        let good = String::from_utf8(report(&[("x", "1", Some(&a))])).unwrap();
        for (from, to, why) in [
            ("\"is_direct\":false", "\"is_direct\":true", "by an address"),
            ("https://x.example", "https://evil.example", "from your index"),
            ("x.whl", "x.tar.gz", "is not a wheel"),
        ] {
            let is_ours = |url: &str| url.starts_with("https://x.example/");
            let bad = good.replace(from, to);
            let said = Resolved::of(bad.as_bytes(), "x", &is_ours).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }

    /// What reports are made of, and what pip reads otherwise.
    const WORDS: [&str; 28] = [
        "\"name\":",
        "\"version\":",
        "\"url\":",
        "\"sha256\":",
        "\"is_direct\":true",
        "\"install\":",
        "\"metadata\":",
        "https://x.example/",
        "https://x.example@evil.example/",
        "http://",
        ".whl",
        ".tar.gz",
        "#.whl",
        "?x.whl",
        " --index-url ",
        "\\n",
        "\\u000a",
        ";",
        "[x]",
        "-r ",
        "-",
        "",
        ">=1",
        " @ ",
        "null",
        "{}",
        "[]",
        ",",
    ];

    /// A report that is taken becomes a list of exact versions with hashes, and nothing that pip reads otherwise.
    #[test]
    fn fuzz_pypi_report() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        ic_fuzz::Target::new("pypi-report")
            .seeds([
                report(&[("x", "1.0", Some(&a)), ("dep", "2!1.0+x", Some(&b))]),
                report(&[("X", "1", Some(&b))]),
            ])
            .words(WORDS)
            .run(|bytes| {
                match Resolved::of(bytes, "x", &|url| url.starts_with("https://x.example/")) {
                    Ok(resolved) => {
                        for line in resolved.list.lines() {
                            let (package, hash) = line.split_once(" --hash=sha256:").unwrap();
                            let (name, version) = package.split_once("==").unwrap();
                            let is_plain = |text: &str| {
                                let first = text
                                    .bytes()
                                    .next()
                                    .is_some_and(|it| it.is_ascii_alphanumeric());
                                first
                                    && text.bytes().all(|it| {
                                        it.is_ascii_alphanumeric() || b"._-+!".contains(&it)
                                    })
                            };
                            assert!(
                                is_plain(name) && is_plain(version),
                                "pip reads `{line}` as something else"
                            );
                            assert!(
                                hash.len() == 64 && hash.bytes().all(|it| it.is_ascii_hexdigit()),
                                "{line}"
                            );
                        }
                        // The other reader has no number as large as ours may be.
                        let theirs = serde_json::from_slice::<serde_json::Value>(bytes);
                        let Ok(theirs) = theirs else {
                            return ic_fuzz::Outcome::accepted("numbers");
                        };
                        let n_packages = theirs["install"].as_array().unwrap().len();
                        assert_eq!(
                            resolved.list.lines().count(),
                            n_packages,
                            "a package is several lines"
                        );
                        ic_fuzz::Outcome::accepted(n_packages.min(4))
                    }
                    Err(why) => {
                        ic_fuzz::Outcome::refused(why.rsplit('`').next().map(str::to_owned))
                    }
                }
            });
    }
}
