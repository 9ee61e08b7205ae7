//! Installs a package of `PyPI`: wheels alone, resolved first, each then fetched and installed by its hash.
//!
//! ```text
//! resolve ─▶ a list with hashes ─┬─ kept from before ────────┐
//!                                └─ fetched, hashed, kept ───┴▶ installed without any network
//! ```
//!
//! pip runs with a hook that no code can take out again and that refuses to start any program. So nothing is
//! built, not even a dependency that is named by an address, which pip would build whatever it is told.

mod report;
mod settings;
mod wheels;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ic_home::file;
use ic_home::tree::{TreeLinks, copy_tree};
use ic_inventory::pins::PACKAGE_LIMITS;

use self::report::{Resolved, hash_of};
use self::settings::Settings;
use self::wheels::Wheels;
use super::index::Index;
use super::{Installer, Job, real_path};
use crate::error::Failure;
use crate::screen::Screen;

/// The system's own interpreter, which every cage shows.
const PYTHON: &str = "/usr/bin/python3";
/// The largest report.
const REPORT_BYTES_MAX: u64 = 64 << 20;
/// Where the packages are.
pub(crate) const PACKAGES: &str = "python";
/// pip, without the right to start anything.
///
/// SECURITY: Python tells its hooks of every process before it is started, and a hook cannot be removed.
const PIP: &str = r#"
import sys
STARTS = {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system",
          "os.startfile", "pty.spawn"}
def refuse(event, _):
    if event in STARTS:
        raise PermissionError(1, "nothing is built or run while packages are installed")
sys.addaudithook(refuse)
from pip._internal.cli.main import main
sys.argv[0] = "pip"
sys.exit(main(sys.argv[1:]))
"#;
/// Compiles what is in a directory, for the interpreter that will run it; runs nothing of it.
///
/// Sources are not compared with what was compiled when they are loaded: both are part of what is trusted.
const COMPILE: &str = r"
import compileall, py_compile, sys
compileall.compile_dir(sys.argv[1], maxlevels=64, quiet=2, stripdir=sys.argv[1],
                       invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
";
/// Prints where pip looks if nobody says where.
const DEFAULT_INDEX: &str = r#"
from pip._internal.models.index import PyPI
print(PyPI.simple_url)
print("https://" + PyPI.file_storage_domain + "/")
"#;

/// A package that is installed.
#[derive(Debug)]
pub(crate) struct Installed {
    /// Its exact version.
    pub(crate) version: String,
    /// Its hash.
    pub(crate) integrity: String,
    /// Every package with version and hash, as pip reads them.
    pub(crate) pinned: String,
    /// The program that runs it.
    pub(crate) python: PathBuf,
}

/// pip, and how it is run.
struct Pip<'a> {
    installer: &'a Installer<'a>,
    python: PathBuf,
    settings: Settings,
    index: Index,
}

/// Installs a package with all that it needs into `target/python`; `target` must be there.
pub(crate) fn install(
    installer: &Installer<'_>,
    (package, version): (&str, Option<&str>),
    target: &Path,
    screen: &mut Screen,
) -> Result<Installed, Failure> {
    let pip = Pip::find(installer, screen)?;
    let what = |why: &str| {
        Failure::environment(format!("`{package}` is not installed: {why}")).with_hint(
            "packages and all that they need have to come from your own index, as wheels; look whether \
             another version does",
        )
    };
    let spec = match version {
        Some(version) => format!("{package}=={version}"),
        None => package.to_owned(),
    };
    let report = installer.work().join("report.json");
    let words = ["--dry-run", "--ignore-installed", "--report", &text(&report), "--", &spec];
    pip.run(&format!("resolving {package}"), "install", &words, screen)?;
    let bytes = file::read(&report, REPORT_BYTES_MAX)?.unwrap_or_default();
    let is_ours = |url: &str| pip.index.holds(url) || pip.settings.is_found(url);
    let resolved = Resolved::of(&bytes, package, &is_ours).map_err(|why| what(&why))?;
    let tree = installer.work().join("tree");
    file::create_new_dir(&tree)?;
    pip.install_list(package, &resolved.list, &tree, screen)?;
    pip.compile(package, &tree, screen);
    copy_tree(&tree, &target.join(PACKAGES), (PACKAGE_LIMITS, TreeLinks::Refuse), &|_| false)
        .map_err(|error| what(&ic_types::chain(&error)))?;
    let Resolved { version, integrity, list } = resolved;
    Ok(Installed { version, integrity, pinned: list, python: pip.python })
}

impl<'a> Pip<'a> {
    fn find(installer: &'a Installer<'a>, screen: &mut Screen) -> Result<Self, Failure> {
        let python = installer.find(PYTHON).or_else(|_| installer.find("python3"))?;
        let settings = Settings::read(installer)?;
        let mut pip = Self { installer, python, settings, index: Index::default() };
        if pip.settings.needs_default() {
            // Whatever pip takes by itself; it is asked in a cage without any network.
            let job = pip.job("asking pip for its index", DEFAULT_INDEX, &[]);
            let said = installer.run(&job, screen).map_err(no_pip)?;
            let said = String::from_utf8_lossy(&said).into_owned();
            for url in said.lines() {
                pip.index.add(url)?;
            }
        }
        for url in pip.settings.urls() {
            pip.index.add(url)?;
        }
        for host in pip.settings.trusted_hosts() {
            pip.index.add_host(host)?;
        }
        Ok(pip)
    }

    /// Installs what is listed, and nothing else, into `tree`.
    ///
    /// SECURITY: whoever reads what strangers packed reaches nobody: it is fetched before.
    fn install_list(
        &self,
        package: &str,
        list: &str,
        tree: &Path,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let (shown, fetched) = self.gather(package, list, screen)?;
        let list = self.installer.write_setting("requirements.txt", list.as_bytes())?;
        let [shown, fetched, tree, list] = [shown.as_path(), &fetched, tree, &list].map(text);
        let words = [
            "--no-index",
            "--find-links",
            &shown,
            "--find-links",
            &fetched,
            "--require-hashes",
            "--no-deps",
            "--no-compile",
            "--target",
            &tree,
            "--requirement",
            &list,
        ];
        let job = self.job(&format!("unpacking {package}"), PIP, &wheels_alone("install", &words));
        self.installer.run(&job, screen).map(drop).map_err(no_pip)
    }

    /// Compiles what was unpacked, so that no start has to; a package that cannot be compiled runs all the same.
    fn compile(&self, package: &str, tree: &Path, screen: &mut Screen) {
        let job = self.job(&format!("compiling {package}"), COMPILE, &[&text(tree)]);
        if let Err(failure) = self.installer.run(&job, screen) {
            screen.warning(&format!("`{package}` is not compiled, and starts slowly: {failure}"));
        }
    }

    /// Gathers the wheels of a list: those that are kept, and those that are fetched now and kept then.
    ///
    /// Returns the two directories in which they are.
    fn gather(
        &self,
        package: &str,
        list: &str,
        screen: &mut Screen,
    ) -> Result<(PathBuf, PathBuf), Failure> {
        let kept = Wheels::of(self.installer.own_home());
        let shown = self.installer.make_shown("wheels")?;
        let fetched = self.installer.work().join("wheels");
        file::create_new_dir(&fetched)?;
        let mut missing = Vec::new();
        for line in list.lines() {
            if !kept.take(hash_of(line), &shown)? {
                missing.push(line);
            }
        }
        if missing.is_empty() {
            return Ok((shown, fetched));
        }
        let wanted = format!("{}\n", missing.join("\n"));
        let wanted = self.installer.write_setting("missing.txt", wanted.as_bytes())?;
        let [to, wanted] = [&fetched, &wanted].map(text);
        let words = ["--require-hashes", "--no-deps", "--dest", &to, "--requirement", &wanted];
        let doing = match (missing.len(), list.lines().count()) {
            (1, 1) => format!("fetching {package}"),
            (n, all) => format!("fetching {n} of {all} packages for {package}"),
        };
        self.run(&doing, "download", &words, screen)?;
        let hashes: BTreeSet<&str> = missing.into_iter().map(hash_of).collect();
        kept.keep(&fetched, &hashes)?;
        Ok((shown, fetched))
    }

    fn run(
        &self,
        doing: &str,
        command: &str,
        words: &[&str],
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        // What is fetched to be resolved need not be fetched again; it is gone with the cage.
        let cache = text(self.installer.work().join("cache"));
        let words = [&["--cache-dir", &cache], words].concat();
        let job = self.job(doing, PIP, &wheels_alone(command, &words));
        let job = Job { reach: Some(self.index.allowed()?), ..job };
        self.installer.run(&job, screen).map(drop).map_err(no_pip)
    }

    fn job(&self, doing: &str, code: &str, words: &[&str]) -> Job<'_> {
        // Nothing that the environment or the directory says is loaded.
        let python = ["-I", "-B", "-c", code];
        // `PREFIX/bin/python3` loads what is in `PREFIX/lib`.
        let library = self.python.ancestors().nth(2).map(|prefix| prefix.join("lib"));
        let library = library.and_then(|path| real_path(&path).ok());
        Job {
            doing: doing.to_owned(),
            program: &self.python,
            arguments: python.iter().chain(words).map(OsString::from).collect(),
            variables: self.settings.variables(),
            directory: self.installer.work().to_owned(),
            shown: library.into_iter().chain(self.settings.directories()).collect(),
            reach: None,
        }
    }
}

/// Writes a command of pip that takes wheels and nothing else.
///
/// SECURITY: a wheel is unpacked; anything else would run a script of its own to be built.
fn wheels_alone<'a>(command: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    let wheels = [command, "--quiet", "--no-input", "--only-binary", ":all:"];
    [&wheels[..], words].concat()
}

fn no_pip(failure: Failure) -> Failure {
    failure.with_hint(
        "look whether the package is there, and whether `/usr/bin/python3 -m pip --version` works; where it does \
         not, install python3-pip. Packages come as wheels, from your index alone",
    )
}

fn text(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    path.display().to_string()
}
