//! What may be asked of a package registry: what it says of one package, or one file of one version.
//!
//! Pure: a host and a path in, a package out, or nothing. Each path is taken apart and written anew, so nothing
//! but names and versions reaches a registry. Who asks, and whether they may, is not known here.

use ic_home::config::Registry;

/// The longest path that is looked at.
const PATH_BYTES_MAX: usize = 512;
/// The longest name of a package: npm's own limit.
const NAME_BYTES_MAX: usize = 214;
/// The longest version.
const VERSION_BYTES_MAX: usize = 128;
/// How the names of files end that Python packages come in.
const PYTHON_WHEEL: &str = ".whl";
/// The same for their sources.
const PYTHON_SOURCES: [&str; 4] = [".tar.gz", ".zip", ".tar.bz2", ".tgz"];
/// What stands behind the name of such a file for what is said of it alone.
const PYTHON_METADATA: &str = ".metadata";

/// A host of a registry, and what may be asked of it.
#[derive(Debug)]
pub struct RegistryHost {
    /// Its name.
    pub name: &'static str,
    /// The registry that it belongs to.
    pub registry: Registry,
    read: fn(&[&str]) -> Option<Wanted>,
}

/// Every host of a registry that our certificate authority may vouch for.
pub static REGISTRY_HOSTS: [RegistryHost; 5] = [
    RegistryHost { name: "registry.npmjs.org", registry: Registry::Npm, read: npm },
    RegistryHost { name: "pypi.org", registry: Registry::Pypi, read: pypi_index },
    RegistryHost { name: "files.pythonhosted.org", registry: Registry::Pypi, read: pypi_file },
    RegistryHost { name: "index.crates.io", registry: Registry::Crates, read: crates_index },
    RegistryHost { name: "static.crates.io", registry: Registry::Crates, read: crates_file },
];

/// What is wanted of a registry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wanted {
    /// The path that is asked for, written by us.
    pub path: String,
    /// The package; none for what a registry says of itself.
    pub package: Option<String>,
    /// The version, if it is about one.
    pub version: Option<String>,
    /// Which form of an answer is asked for.
    pub form: Form,
}

/// The forms in which registries answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// What npm's registry says of a package.
    Npm,
    /// The list of files of a Python package.
    Python,
    /// Anything else has one form.
    Plain,
}

impl RegistryHost {
    /// Returns the host of this name, to the letter.
    pub fn named(name: &str) -> Option<&'static Self> {
        REGISTRY_HOSTS.iter().find(|it| it.name.eq_ignore_ascii_case(name))
    }

    /// Returns what a path is about, if it is about a package.
    ///
    /// SECURITY: what is passed on is written from what was understood. There is no query: none is needed, and
    /// it would carry anything.
    pub fn wanted(&self, path: &str, query: Option<&str>) -> Option<Wanted> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/@._~+-%".contains(&byte);
        if query.is_some() || PATH_BYTES_MAX < path.len() || !path.bytes().all(is_plain) {
            return None;
        }
        let path = path.strip_prefix('/')?;
        // npm writes the `/` of `@scope/name` so; nothing else is written in another way than as itself.
        let scoped = match path.strip_prefix('@').filter(|_| self.registry == Registry::Npm) {
            Some(rest) => format!("@{}", rest.replacen("%2f", "/", 1).replacen("%2F", "/", 1)),
            None => path.to_owned(),
        };
        if scoped.contains('%') {
            return None;
        }
        let parts: Vec<&str> = scoped.split('/').collect();
        (self.read)(&parts)
    }
}

impl Wanted {
    fn of(package: &str, version: Option<&str>, path: String) -> Self {
        let version = version.map(ToOwned::to_owned);
        Self { path, package: Some(package.to_owned()), version, form: Form::Plain }
    }

    fn in_form(self, form: Form) -> Self {
        Self { form, ..self }
    }
}

fn npm(parts: &[&str]) -> Option<Wanted> {
    let (name, base, written, rest) = match parts {
        [scope, base, rest @ ..] if scope.starts_with('@') => {
            let is_scope = scope.strip_prefix('@').is_some_and(is_npm_name);
            let name = format!("{scope}/{base}");
            (is_scope && name.len() <= NAME_BYTES_MAX).then_some(())?;
            (name, *base, format!("{scope}%2f{base}"), rest)
        }
        [base, rest @ ..] => ((*base).to_owned(), *base, (*base).to_owned(), rest),
        [] => return None,
    };
    is_npm_name(base).then_some(())?;
    match rest {
        [] => Some(Wanted::of(&name, None, format!("/{written}")).in_form(Form::Npm)),
        [version] if is_version(version) => {
            Some(Wanted::of(&name, Some(version), format!("/{written}/{version}")))
        }
        ["-", file] => {
            let version = file.strip_suffix(".tgz")?.strip_prefix(base)?.strip_prefix('-')?;
            is_version(version).then_some(())?;
            Some(Wanted::of(&name, Some(version), format!("/{name}/-/{file}")))
        }
        _ => None,
    }
}

fn pypi_index(parts: &[&str]) -> Option<Wanted> {
    match parts {
        ["simple", name, ""] | ["simple", name] if is_python_name(name) => {
            Some(Wanted::of(name, None, format!("/simple/{name}/")).in_form(Form::Python))
        }
        ["pypi", name, "json"] if is_python_name(name) => {
            Some(Wanted::of(name, None, format!("/pypi/{name}/json")))
        }
        ["pypi", name, version, "json"] if is_python_name(name) && is_version(version) => {
            Some(Wanted::of(name, Some(version), format!("/pypi/{name}/{version}/json")))
        }
        _ => None,
    }
}

fn pypi_file(parts: &[&str]) -> Option<Wanted> {
    let is_hash = |text: &str, n_bytes: usize| {
        text.len() == n_bytes && text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
    };
    let ["packages", first, second, third, file] = parts else { return None };
    (is_hash(first, 2) && is_hash(second, 2) && is_hash(third, 60)).then_some(())?;
    let archive = file.strip_suffix(PYTHON_METADATA).unwrap_or(file);
    let (stem, name, version) = if let Some(stem) = archive.strip_suffix(PYTHON_WHEEL) {
        // name-version(-build)-python-abi-platform
        let mut words = stem.split('-');
        (stem, words.next()?, words.next()?)
    } else {
        let stem = PYTHON_SOURCES.iter().find_map(|end| archive.strip_suffix(end))?;
        let (name, version) = stem.rsplit_once('-')?;
        (stem, name, version)
    };
    let is_file = stem.bytes().all(|it| it.is_ascii_alphanumeric() || b"._+-".contains(&it));
    (is_file && is_python_name(name) && is_version(version)).then_some(())?;
    Some(Wanted::of(name, Some(version), format!("/{}", parts.join("/"))))
}

fn crates_index(parts: &[&str]) -> Option<Wanted> {
    let path = format!("/{}", parts.join("/"));
    let (directory, name) = match parts {
        ["config.json"] => {
            let (package, version) = (None, None);
            return Some(Wanted { path, package, version, form: Form::Plain });
        }
        [directory @ .., name] => (directory, *name),
        [] => return None,
    };
    is_crate_name(name).then_some(())?;
    // The directory follows from the name, so it says nothing of its own.
    let part = |range: std::ops::Range<usize>| name.get(range);
    let expected = match name.len() {
        1 => vec!["1"],
        2 => vec!["2"],
        3 => vec!["3", part(0..1)?],
        _ => vec![part(0..2)?, part(2..4)?],
    };
    let is_lower = !name.bytes().any(|it| it.is_ascii_uppercase());
    (is_lower && directory == expected.as_slice()).then(|| Wanted::of(name, None, path))
}

fn crates_file(parts: &[&str]) -> Option<Wanted> {
    let (name, version) = match parts {
        ["crates", name, version, "download"] => (*name, *version),
        ["crates", name, file] => {
            (*name, file.strip_suffix(".crate")?.strip_prefix(*name)?.strip_prefix('-')?)
        }
        _ => return None,
    };
    let is_one = is_crate_name(name) && is_version(version);
    is_one.then(|| Wanted::of(name, Some(version), format!("/{}", parts.join("/"))))
}

/// Returns whether this can be a part of the name of a package of npm's; `-` is where its own interface lies.
fn is_npm_name(name: &str) -> bool {
    let is_part = |it: u8| it.is_ascii_alphanumeric() || b"._~-".contains(&it);
    let begins = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    name.len() <= NAME_BYTES_MAX
        && name.bytes().all(is_part)
        && name.bytes().next().is_some_and(begins)
}

fn is_python_name(name: &str) -> bool {
    let is_part = |it: u8| it.is_ascii_alphanumeric() || b"._-".contains(&it);
    let is_end = |it: Option<u8>| it.is_some_and(|it| it.is_ascii_alphanumeric());
    let is_long = NAME_BYTES_MAX < name.len();
    !is_long
        && name.bytes().all(is_part)
        && is_end(name.bytes().next())
        && is_end(name.bytes().last())
}

fn is_crate_name(name: &str) -> bool {
    let is_part = |it: u8| it.is_ascii_alphanumeric() || b"_-".contains(&it);
    let begins = name.bytes().next().is_some_and(|it| it.is_ascii_alphabetic());
    name.len() <= 64 && name.bytes().all(is_part) && begins
}

/// Returns whether this can be a version, or the tag of one.
fn is_version(version: &str) -> bool {
    let is_part = |it: u8| it.is_ascii_alphanumeric() || b"._+-".contains(&it);
    let begins = version.bytes().next().is_some_and(|it| it.is_ascii_alphanumeric());
    version.len() <= VERSION_BYTES_MAX && version.bytes().all(is_part) && begins
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab";

    #[track_caller]
    fn check(host: &str, path: &str, expected: Option<(&str, Option<&str>, &str)>) {
        let host = RegistryHost::named(host).unwrap();
        let wanted = host.wanted(path, None);
        let found = wanted.as_ref().map(|it| {
            (it.package.as_deref().unwrap_or("-"), it.version.as_deref(), it.path.as_str())
        });
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn packages_and_their_versions_are_found_in_paths() {
        let npm = "registry.npmjs.org";
        check(npm, "/left-pad", Some(("left-pad", None, "/left-pad")));
        check(npm, "/@a%2fb", Some(("@a/b", None, "/@a%2fb")));
        check(npm, "/@a%2Fb", Some(("@a/b", None, "/@a%2fb")));
        check(npm, "/@a/b", Some(("@a/b", None, "/@a%2fb")));
        check(npm, "/x/latest", Some(("x", Some("latest"), "/x/latest")));
        check(
            npm,
            "/x/-/x-1.0.0-rc.1.tgz",
            Some(("x", Some("1.0.0-rc.1"), "/x/-/x-1.0.0-rc.1.tgz")),
        );
        check(npm, "/@a/b/-/b-1.0.0.tgz", Some(("@a/b", Some("1.0.0"), "/@a/b/-/b-1.0.0.tgz")));
        check("pypi.org", "/simple/Flask/", Some(("Flask", None, "/simple/Flask/")));
        check("pypi.org", "/simple/flask", Some(("flask", None, "/simple/flask/")));
        check(
            "pypi.org",
            "/pypi/flask/3.0/json",
            Some(("flask", Some("3.0"), "/pypi/flask/3.0/json")),
        );
        let files = "files.pythonhosted.org";
        for (file, name, version) in [
            ("flask-3.0.0-py3-none-any.whl", "flask", "3.0.0"),
            ("flask-3.0.0-py3-none-any.whl.metadata", "flask", "3.0.0"),
            ("zope.interface-5.0.tar.gz", "zope.interface", "5.0"),
            ("a-b-1.0.zip", "a-b", "1.0"),
        ] {
            let path = format!("/packages/ab/cd/{HASH}/{file}");
            check(files, &path, Some((name, Some(version), &path)));
        }
        let index = "index.crates.io";
        check(index, "/config.json", Some(("-", None, "/config.json")));
        for (path, name) in
            [("/1/a", "a"), ("/2/ab", "ab"), ("/3/a/abc", "abc"), ("/se/rd/serde", "serde")]
        {
            check(index, path, Some((name, None, path)));
        }
        for path in ["/crates/serde/1.0.0/download", "/crates/serde/serde-1.0.0.crate"] {
            check("static.crates.io", path, Some(("serde", Some("1.0.0"), path)));
        }
    }

    /// Paths that no host takes.
    const NOWHERE: &str =
        "// /.. /. /x//y /x/../y /x/%2e%2e/y /x%2fy /x%00 /x\\y /x;y /x#y /ä x * /x/-/../y /./x";

    #[track_caller]
    fn nothing(host: &str, paths: &str) {
        let host = RegistryHost::named(host).unwrap();
        let long = format!("/{}", "a".repeat(300));
        let odd = ["", "/", "/x y", &long];
        for path in NOWHERE.split(' ').chain(paths.split_whitespace()).chain(odd) {
            assert_eq!(host.wanted(path, None), None, "{} {path}", host.name);
        }
    }

    #[test]
    fn what_is_not_about_a_package_is_nothing() {
        nothing(
            "registry.npmjs.org",
            "/-/npm/v1/user /-/v1/search /-/package/x/dist-tags /-/all /- /x/-/y-1.0.0.tgz /x/-/x-1.0.0.txt \
             /x/-/x-.tgz /@a /@a%2f /@%2fb /@a%2fb%2fc /@a%252fb /x/1.0.0/more /x/-/x-1.0.0.tgz/more /.x /@a%2f.. \
             /@..%2fb /@a%2f.b /-rev /x/-rev /~x /x/",
        );
        nothing(
            "pypi.org",
            "/simple/ /simple /pypi /search/ /legacy/ /simple/x/y /simple/x%2fy/ /simple/-x/ \
             /pypi/x/1.0/json/more /x",
        );
        let of_file = |file: &str| format!(" /packages/ab/cd/{HASH}/{file}");
        let files = ["x-1.exe", "../x-1.zip", "x.zip", "x-1.whl/y"].map(of_file).concat();
        let files = format!(
            "{files} /packages/AB/cd/{HASH}/x-1.zip /packages/x /packages/ab/cd/ef/x-1.tar.gz /x"
        );
        nothing("files.pythonhosted.org", &files);
        nothing(
            "index.crates.io",
            "/serde /se/rd/tokio /aa/bb/serde /1/ab /SE/RD/SERDE /me /api/v1/crates /se/rd/serde/more \
             /config.json/x /3/b/abc /x",
        );
        nothing(
            "static.crates.io",
            "/crates/serde /crates/serde/1.0.0 /crates/serde/tokio-1.0.0.crate /crates/serde/1.0.0/download/x \
             /crates/se%72de/1.0.0/download /crates/serde//download /x",
        );
    }

    #[test]
    fn a_query_is_nothing_whatever_it_says() {
        for (host, path) in
            [("registry.npmjs.org", "/x"), ("pypi.org", "/simple/x/"), ("index.crates.io", "/2/ab")]
        {
            let host = RegistryHost::named(host).unwrap();
            assert!(host.wanted(path, None).is_some());
            for query in ["", "a", "write=true", "x=https://evil.example"] {
                assert_eq!(host.wanted(path, Some(query)), None, "{query}");
            }
        }
    }

    #[test]
    fn hosts_are_named_to_the_letter() {
        assert!(RegistryHost::named("PYPI.org").is_some());
        for name in [
            "",
            "pypi.org.",
            "evil.pypi.org",
            "pypi.org.evil.example",
            "test.pypi.org",
            "crates.io",
        ] {
            assert!(RegistryHost::named(name).is_none(), "{name}");
        }
    }
}
