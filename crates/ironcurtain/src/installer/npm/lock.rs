//! A lock of npm's, checked: every package from the registry, by version and integrity.
//!
//! A package can bring a list of its own, and then that list says where its parts come from; so nothing is
//! believed because npm wrote it.

use ic_types::{Json, JsonLimits, Object};

use super::super::index::Index;
use super::MODULES;

/// What a lock may cost.
const LIMITS: JsonLimits = JsonLimits { bytes_max: 64 << 20, depth_max: 64, values_max: 4 << 20 };
/// The digests that are taken, the weakest last: old packages have no other.
const DIGESTS: [&str; 4] = ["sha512-", "sha384-", "sha256-", "sha1-"];

/// A lock that was checked.
#[derive(Debug)]
pub(super) struct Lock {
    packages: Object,
    /// One for each package.
    lines: Vec<String>,
}

impl Lock {
    /// Reads and checks a lock.
    pub(super) fn read(bytes: &[u8], index: &Index) -> Result<Self, String> {
        let packages = packages(bytes).ok_or("its list of packages cannot be read")?;
        let mut lines = Vec::new();
        for (path, entry) in packages.iter().filter(|(path, _)| !path.is_empty()) {
            let shown = || path.escape_debug();
            let Json::Object(entry) = entry else {
                return Err(format!("`{}` is not a package", shown()));
            };
            if !is_path(path) {
                return Err(format!("`{}` is not a place for a package", shown()));
            }
            lines.extend(line(path, entry, &packages, index)?);
        }
        if lines.is_empty() {
            return Err("its list of packages is empty".to_owned());
        }
        lines.sort();
        Ok(Self { packages, lines })
    }

    /// Returns what is said of the package at `path`.
    pub(super) fn entry(&self, path: &str) -> Option<&Object> {
        object(self.packages.get(path))
    }

    /// Returns how many packages there are.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns every package with version and integrity, a line each.
    pub(super) fn pinned(&self) -> String {
        self.lines.concat()
    }

    /// Returns a package that is not in `other`.
    pub(super) fn not_in(&self, other: &Self) -> Option<&str> {
        self.lines
            .iter()
            .find(|line| other.lines.binary_search(line).is_err())
            .map(|it| it.trim_end())
    }
}

/// Returns the line of one package; none if it lies in the archive of another one.
fn line(
    path: &str,
    entry: &Object,
    packages: &Object,
    index: &Index,
) -> Result<Option<String>, String> {
    let shown = || path.escape_debug();
    if is_true(entry, "link") {
        return Err(format!("`{}` is a link to a directory", shown()));
    }
    let resolved = text(entry, "resolved");
    if let Some(resolved) = resolved.filter(|it| !index.holds(it)) {
        let place = resolved.split('?').next().unwrap_or_default().escape_debug();
        return Err(format!("`{}` comes from `{place}`, which is not your registry", shown()));
    }
    let integrity = text(entry, "integrity").filter(|it| is_integrity(it));
    if is_true(entry, "inBundle") && integrity.is_none() {
        // It came in the archive of another one, whose integrity covers it.
        return match has_bundler(path, packages) {
            true => Ok(None),
            false => {
                Err(format!("`{}` is said to be part of a package that is not there", shown()))
            }
        };
    }
    // SECURITY: the line is compared and kept; a version with a line break would be two packages in it.
    let version = text(entry, "version").filter(|it| is_version(it));
    let (Some(version), Some(_)) = (version, resolved) else {
        return Err(format!("`{}` has no version or no address", shown()));
    };
    let Some(integrity) = integrity else {
        return Err(format!("`{}` has no integrity", shown()));
    };
    Ok(Some(format!("{path} {version} {integrity}\n")))
}

/// Returns whether a package above `path` is there with its integrity, and brings what lies in it.
fn has_bundler(path: &str, packages: &Object) -> bool {
    let mut above = path;
    while let Some((parent, _)) = above.rsplit_once(&format!("/{MODULES}/")) {
        let entry = object(packages.get(parent));
        let holds = |entry: &Object| {
            !is_true(entry, "inBundle") && text(entry, "integrity").is_some_and(is_integrity)
        };
        if entry.is_some_and(holds) {
            return true;
        }
        above = parent;
    }
    false
}

fn packages(bytes: &[u8]) -> Option<Object> {
    let Ok(Json::Object(lock)) = Json::parse(bytes, LIMITS) else { return None };
    object(lock.get("packages")).cloned()
}

/// Returns whether `path` is `node_modules/NAME`, or that in another package.
fn is_path(path: &str) -> bool {
    let Some(rest) = path.strip_prefix("node_modules/") else { return false };
    rest.split("/node_modules/").all(|name| {
        let (scope, name) = match name.strip_prefix('@') {
            Some(scoped) => scoped.split_once('/').unwrap_or(("", "")),
            None => ("x", name),
        };
        is_name(scope) && is_name(name)
    })
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    !name.is_empty() && !name.starts_with('.') && name != MODULES && name.bytes().all(is_plain)
}

fn is_version(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
    !text.is_empty() && text.bytes().all(is_plain)
}

fn is_integrity(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=- ".contains(&byte);
    DIGESTS.iter().any(|digest| text.starts_with(digest)) && text.bytes().all(is_plain)
}

fn is_true(entry: &Object, key: &str) -> bool {
    matches!(entry.get(key), Some(Json::Bool(true)))
}

fn text<'a>(entry: &'a Object, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(Json::as_str)
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

    fn read(packages: &str) -> Result<String, String> {
        let mut index = Index::default();
        index.add("https://packages.example/").unwrap();
        let lock = format!(r#"{{"packages":{{"":{{}},{packages}}}}}"#);
        Lock::read(lock.as_bytes(), &index).map(|lock| lock.pinned())
    }

    fn good(path: &str, more: &str) -> String {
        format!(
            r#""{path}":{{"version":"1","resolved":"https://packages.example/x.tgz","integrity":"sha512-YQ=="{more}}}"#
        )
    }

    #[test]
    fn packages_of_the_registry_are_pinned() {
        let two =
            [good("node_modules/b", ""), good("node_modules/@s/a/node_modules/c", "")].join(",");
        assert_eq!(
            read(&two).unwrap(),
            "node_modules/@s/a/node_modules/c 1 sha512-YQ==\nnode_modules/b 1 sha512-YQ==\n"
        );
        let bundled = format!(
            r#"{},"node_modules/b/node_modules/c":{{"version":"1","inBundle":true}}"#,
            good("node_modules/b", "")
        );
        assert_eq!(read(&bundled).unwrap(), "node_modules/b 1 sha512-YQ==\n");
    }

    #[test]
    fn whatever_comes_from_elsewhere_is_refused() {
        let with = |resolved: &str, rest: &str| {
            format!(r#""node_modules/a":{{"version":"1","resolved":"{resolved}"{rest}}}"#)
        };
        let integrity = r#","integrity":"sha512-YQ==""#;
        for (packages, why) in [
            (with("https://evil.example/x.tgz", integrity), "which is not your registry"),
            (with("http://packages.example/x.tgz", integrity), "which is not your registry"),
            (
                with("git+ssh://git@packages.example/x.git#abc", integrity),
                "which is not your registry",
            ),
            (with("git+file:///x#abc", ""), "which is not your registry"),
            (with("file:../x", ""), "which is not your registry"),
            (with("https://packages.example/x.tgz", ""), "has no integrity"),
            (
                with("https://packages.example/x.tgz", r#","integrity":"md5-YQ==""#),
                "has no integrity",
            ),
            (with("../x", r#","link":true"#), "is a link"),
            (r#""node_modules/a":{"version":"1"}"#.to_owned(), "no address"),
            (r#""node_modules/a":{"version":"1","inBundle":true}"#.to_owned(), "that is not there"),
            (with("https://evil.example/x", r#","inBundle":true"#), "which is not your registry"),
            (
                good("node_modules/a", "")
                    .replace(r#""1""#, r#""1 sha512-YQ==\nnode_modules/b 1""#),
                "no version",
            ),
            (good("node_modules/a", "").replace(r#""1""#, r#""""#), "no version"),
            (r#""node_modules/a":"x""#.to_owned(), "is not a package"),
            (good("../x", ""), "is not a place"),
            (good("node_modules/../x", ""), "is not a place"),
            (good("node_modules/.bin", ""), "is not a place"),
            (good("node_modules/a/../../x", ""), "is not a place"),
            (good("packages/a", ""), "is not a place"),
            (r#""x":{}"#.to_owned(), "is not a place"),
        ] {
            let said = read(&packages).unwrap_err();
            assert!(said.contains(why), "{packages}: {said}");
        }
        assert!(Lock::read(b"{}", &Index::default()).is_err());
    }

    /// A lock that is taken names each package once, from the registry, in words that npm's list has.
    #[test]
    fn fuzz_npm_lock() {
        let two =
            [good("node_modules/b", ""), good("node_modules/@s/a/node_modules/c", "")].join(",");
        let bundled = r#""node_modules/b/node_modules/d":{"version":"1.2.3-x+y","inBundle":true}"#;
        ic_fuzz::Target::new("npm-lock")
            .seeds([
                format!(
                    r#"{{"lockfileVersion":3,"packages":{{"":{{"name":"x"}},{two},{bundled}}}}}"#
                ),
                format!(
                    r#"{{"packages":{{{}}}}}"#,
                    good("node_modules/a", r#","link":false,"dev":true"#)
                ),
            ])
            .words([
                "\"node_modules/",
                "/node_modules/",
                "\"version\":",
                "\"resolved\":",
                "\"integrity\":",
                "\"link\":true",
                "\"inBundle\":true",
                "sha512-YQ==",
                "sha1-",
                "md5-",
                "https://packages.example/",
                "https://packages.example@evil.example/",
                "http://",
                "git+ssh://",
                "file:../x",
                "\\n",
                "\\u000a",
                "\\u0000",
                " ",
                "..",
                "@",
                ".bin",
                "null",
                "{}",
                ",",
            ])
            .run(|bytes| {
                let mut index = Index::default();
                index.add("https://packages.example/").unwrap();
                match Lock::read(bytes, &index) {
                    Ok(lock) => {
                        says_what_it_was_given(&lock, bytes);
                        ic_fuzz::Outcome::accepted(lock.len().min(4))
                    }
                    Err(why) => {
                        ic_fuzz::Outcome::refused(why.rsplit('`').next().map(str::to_owned))
                    }
                }
            });
    }

    /// Holds the lines of a lock against another reading of the same bytes.
    fn says_what_it_was_given(lock: &Lock, bytes: &[u8]) {
        assert_eq!(lock.pinned().lines().count(), lock.len(), "a package is several lines");
        // The other reader has no number as large as ours may be.
        let Ok(theirs) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
        for line in lock.pinned().lines() {
            let (path, rest) = line.split_once(' ').unwrap();
            let entry = &theirs["packages"][path];
            let text = |key: &str| entry[key].as_str().unwrap();
            assert_eq!(rest, format!("{} {}", text("version"), text("integrity")));
            let url = url::Url::parse(text("resolved")).unwrap();
            let place = (url.scheme(), url.host_str(), url.port());
            assert_eq!(place, ("https", Some("packages.example"), None), "{line}");
            assert!(text("resolved").to_ascii_lowercase().starts_with("https://"), "{line}");
            assert!(!path.contains("/../") && !rest.contains(|it: char| it.is_control()));
        }
    }
}
