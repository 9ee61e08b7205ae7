//! Installs a package of npm: exact versions, with the integrity of each, and no script is run.

use std::path::{Path, PathBuf};

use ic_home::file;
use ic_types::{Json, JsonLimits, Object};

use super::{Asked, Placed, Runner};
use crate::error::Failure;

/// The largest list of packages.
const LOCK_BYTES_MAX: u64 = 64 << 20;
/// What it may cost.
const LIMITS: JsonLimits = JsonLimits { bytes_max: 64 << 20, depth_max: 64, values_max: 4 << 20 };
/// What keeps npm from looking for another project above.
const MANIFEST: &str = "{\"name\":\"installed-server\",\"private\":true}\n";

pub(super) fn install(
    asked: &Asked,
    directory: &Path,
    runner: &Runner<'_>,
) -> Result<Placed, Failure> {
    let (npm, node) = (runner.find("npm")?, runner.find("node")?);
    file::create_new(directory.join("package.json"), MANIFEST.as_bytes())?;
    let spec = match &asked.version {
        Some(version) => format!("{}@{version}", asked.package),
        None => asked.package.clone(),
    };
    let arguments = [
        "install",
        // SECURITY: nothing of a package runs outside of a cage.
        "--ignore-scripts",
        "--save-exact",
        "--package-lock=true",
        "--omit=dev",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--loglevel=error",
        // It asks again for what does not match its digest, and waits more than a minute in between.
        "--fetch-retry-mintimeout=1000",
        "--fetch-retry-maxtimeout=5000",
        "--",
        &spec,
    ];
    runner.run(&npm, &arguments, directory)?;
    let path = directory.join("package-lock.json");
    let bytes = file::read(&path, LOCK_BYTES_MAX)?.unwrap_or_default();
    let what = |why: &str| Failure::environment(format!("npm installed `{spec}`, but {why}"));
    let Ok(Json::Object(lock)) = Json::parse(&bytes, LIMITS) else {
        return Err(what("its list of packages cannot be read"));
    };
    let Some(Json::Object(packages)) = lock.get("packages") else {
        return Err(what("its list of packages is empty"));
    };
    let pinned = pinned(packages).map_err(|why| what(&why))?;
    let own = format!("node_modules/{}", asked.package);
    let Some(Json::Object(package)) = packages.get(&own) else {
        return Err(what("it is not among what was installed"));
    };
    let text = |key: &str| package.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let script = script(package, asked).map_err(|why| what(&why))?;
    Ok(Placed {
        version: text("version"),
        integrity: text("integrity"),
        pinned: pinned.into_bytes(),
        script: Path::new(&own).join(script),
        program: node,
        search: None,
    })
}

/// Returns every package with its integrity, a line each; refuses one that could be anything.
fn pinned(packages: &Object) -> Result<String, String> {
    let mut lines = Vec::new();
    for (path, package) in packages.iter().filter(|(path, _)| !path.is_empty()) {
        let Json::Object(package) = package else { continue };
        let text = |key: &str| package.get(key).and_then(Json::as_str);
        let is_bundled = matches!(package.get("inBundle"), Some(Json::Bool(true)));
        match text("integrity") {
            Some(integrity) => {
                lines.push(format!("{path} {} {integrity}\n", text("version").unwrap_or("-")));
            }
            // It came in the archive of another one, whose integrity covers it.
            None if is_bundled => {}
            None => return Err(format!("`{}` has no integrity", path.escape_debug())),
        }
    }
    lines.sort();
    Ok(lines.concat())
}

/// Finds the file that is run.
fn script(package: &Object, asked: &Asked) -> Result<PathBuf, String> {
    let Some(Json::Object(programs)) = package.get("bin") else {
        return Err("it has no program".to_owned());
    };
    let short = asked.package.rsplit('/').next().unwrap_or_default();
    let wanted = asked.program.as_deref().unwrap_or(short);
    let only = match (programs.len(), &asked.program) {
        (1, None) => programs.iter().next().map(|(_, path)| path),
        _ => None,
    };
    let Some(path) = programs.get(wanted).or(only).and_then(Json::as_str) else {
        let names: Vec<String> = programs.keys().map(|it| it.escape_debug().to_string()).collect();
        return Err(format!(
            "it has no program `{wanted}`, but {}; name one with `npx -p {} PROGRAM`",
            names.join(", "),
            asked.package
        ));
    };
    let path = Path::new(path.trim_start_matches("./"));
    match path.components().all(|part| matches!(part, std::path::Component::Normal(_))) {
        true => Ok(path.to_owned()),
        false => Err("its program lies outside of it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::servers::install::Ecosystem;

    fn object(text: &str) -> Object {
        match Json::parse(text.as_bytes(), LIMITS).unwrap() {
            Json::Object(object) => object,
            _ => panic!("{text}"),
        }
    }

    fn asked(package: &str, program: Option<&str>) -> Asked {
        Asked {
            ecosystem: Ecosystem::Npm,
            package: package.to_owned(),
            version: None,
            program: program.map(str::to_owned),
            arguments: Vec::new(),
        }
    }

    #[test]
    fn what_has_no_integrity_is_refused() {
        let good = object(
            r#"{"":{},"node_modules/b":{"version":"2","integrity":"sha512-b"},
            "node_modules/a":{"version":"1","integrity":"sha512-a"},"node_modules/a/c":{"inBundle":true}}"#,
        );
        assert_eq!(
            pinned(&good).unwrap(),
            "node_modules/a 1 sha512-a\nnode_modules/b 2 sha512-b\n"
        );
        let bad = object(r#"{"node_modules/a":{"version":"1","resolved":"git+ssh://x"}}"#);
        assert_eq!(pinned(&bad).unwrap_err(), "`node_modules/a` has no integrity");
    }

    #[test]
    fn the_program_lies_in_the_package() {
        let found =
            |bin: &str, asked: &Asked| script(&object(&format!(r#"{{"bin":{bin}}}"#)), asked);
        let plain = asked("@a/x", None);
        assert_eq!(found(r#"{"x":"./dist/i.js"}"#, &plain).unwrap(), Path::new("dist/i.js"));
        assert_eq!(found(r#"{"other":"i.js"}"#, &plain).unwrap(), Path::new("i.js"));
        assert_eq!(found(r#"{"y":"y.js","x":"x.js"}"#, &plain).unwrap(), Path::new("x.js"));
        assert!(found(r#"{"y":"y.js","z":"z.js"}"#, &plain).is_err());
        let named = asked("@a/x", Some("y"));
        assert_eq!(found(r#"{"y":"y.js","x":"x.js"}"#, &named).unwrap(), Path::new("y.js"));
        assert!(found(r#"{"x":"x.js"}"#, &named).is_err());
        for outside in ["../x.js", "/etc/x.js", "a/../../x.js"] {
            assert!(found(&format!(r#"{{"x":"{outside}"}}"#), &plain).is_err(), "{outside}");
        }
    }
}
