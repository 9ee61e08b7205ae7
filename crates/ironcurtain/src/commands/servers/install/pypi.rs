//! Installs a package of `PyPI`: wheels alone, each with its hash, so that nothing of it is run.

use std::path::{Path, PathBuf};

use ic_home::file;
use ic_types::{Json, JsonLimits, Object};

use super::{Asked, Placed, Runner};
use crate::error::Failure;

/// The system's own interpreter, which every cage shows.
const PYTHON: &str = "/usr/bin/python3";
/// The largest report.
const REPORT_BYTES_MAX: u64 = 64 << 20;
/// What it may cost.
const LIMITS: JsonLimits = JsonLimits { bytes_max: 64 << 20, depth_max: 64, values_max: 4 << 20 };
/// Where the packages are.
const PACKAGES: &str = "python";

pub(super) fn install(
    asked: &Asked,
    directory: &Path,
    runner: &Runner<'_>,
) -> Result<Placed, Failure> {
    let python = runner.find(PYTHON).or_else(|_| runner.find("python3"))?;
    let no_pip = |failure: Failure| {
        failure.with_hint(
            "look whether the package is there, and whether `python3 -m pip --version` works; where \
             it does not, install python3-pip",
        )
    };
    let spec = match &asked.version {
        Some(version) => format!("{}=={version}", asked.package),
        None => asked.package.clone(),
    };
    let report = directory.join("report.json");
    let report_text = report.display().to_string();
    // SECURITY: a wheel is unpacked; anything else would run a script of its own to be built.
    let wheels = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
    ];
    let resolve = ["--dry-run", "--ignore-installed", "--report", &report_text, "--", &spec];
    let _printed =
        runner.run(&python, &[&wheels[..], &resolve].concat(), directory).map_err(no_pip)?;
    let bytes = file::read(&report, REPORT_BYTES_MAX)?.unwrap_or_default();
    let what = |why: &str| Failure::environment(format!("pip resolved `{spec}`, but {why}"));
    let resolved = Resolved::of(&bytes, &asked.package).map_err(|why| what(&why))?;
    let list = directory.join("requirements.txt");
    file::create_new(&list, resolved.list.as_bytes())?;
    let (packages, list) = (directory.join(PACKAGES), list.display().to_string());
    let target = packages.display().to_string();
    let install = [
        "--require-hashes",
        "--no-deps",
        "--no-compile",
        "--target",
        &target,
        "--requirement",
        &list,
    ];
    let _printed =
        runner.run(&python, &[&wheels[..], &install].concat(), directory).map_err(no_pip)?;
    let script = asked.program.as_deref().unwrap_or(&asked.package);
    let relative = Path::new(PACKAGES).join("bin").join(script);
    let has_script = file::read(directory.join(&relative), 1 << 20)?.is_some();
    if !has_script {
        let names = file::names(packages.join("bin"))?.unwrap_or_default();
        let names: Vec<String> = names.iter().map(|name| name.display().to_string()).collect();
        return Err(what(&format!(
            "it has no program `{script}`; there are: {}; name one with `uvx --from {} PROGRAM`",
            names.join(", "),
            asked.package
        )));
    }
    Ok(Placed {
        version: resolved.version,
        integrity: resolved.integrity,
        pinned: resolved.list.into_bytes(),
        script: relative,
        program: python,
        search: Some(("PYTHONPATH", PathBuf::from(PACKAGES))),
    })
}

/// What pip would install.
#[derive(Debug)]
struct Resolved {
    version: String,
    integrity: String,
    /// Every package with its version and hash, as pip reads them.
    list: String,
}

impl Resolved {
    fn of(bytes: &[u8], package: &str) -> Result<Self, String> {
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
            let is_plain = |text: &str| {
                text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+!".contains(&byte))
            };
            let hash = at(&["download_info", "archive_info", "hashes", "sha256"]);
            let hash = hash.filter(|hash| hash.len() == 64 && is_plain(hash));
            let (Some(hash), true, true) = (hash, is_plain(name), is_plain(version)) else {
                return Err(format!("`{}` has no hash", name.escape_debug()));
            };
            lines.push(format!("{name}=={version} --hash=sha256:{hash}\n"));
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
                r#"{{"metadata":{{"name":"{name}","version":"{version}"}},"download_info":{{"archive_info":{{"hashes":{{{hashes}}}}}}}}}"#
            )
        };
        let entries: Vec<String> = entries.iter().map(entry).collect();
        format!(r#"{{"install":[{}]}}"#, entries.join(",")).into_bytes()
    }

    #[test]
    fn every_package_is_pinned_by_its_hash() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let good = report(&[("Mcp_Server.Git", "1.0", Some(&a)), ("dep", "2", Some(&b))]);
        let resolved = Resolved::of(&good, "mcp-server-git").unwrap();
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
            report(&[("other", "1", Some(&a))]),
            b"no report".to_vec(),
        ] {
            assert!(Resolved::of(&bad, "x").is_err(), "{}", String::from_utf8_lossy(&bad));
        }
    }
}
