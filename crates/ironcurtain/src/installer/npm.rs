//! Installs a package of npm: locked first, the lock checked, and then exactly that lock installed.
//!
//! Every package of the lock comes from the user's registry, by version and integrity. No script of a package
//! is run, and there is no git: a dependency on a repository, a file, a directory or an address is refused.

mod lock;
mod settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ic_home::file;
use ic_home::tree::{TreeLinks, copy_tree};
use ic_inventory::pins::PACKAGE_LIMITS;
use ic_types::Object;

use self::lock::Lock;
use self::settings::Settings;
use super::index::Index;
use super::{Installer, Job, NOWHERE};
use crate::error::Failure;
use crate::screen::Screen;

/// The largest list of packages.
const LOCK_BYTES_MAX: u64 = 64 << 20;
/// Where the packages are.
pub(crate) const MODULES: &str = "node_modules";

/// A package that is to be installed: a name of the registry, and a version if that is said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Its name, `@scope/name` or `name`.
    pub(crate) package: &'a str,
    /// Its version, or what the registry calls it.
    pub(crate) version: Option<&'a str>,
}

/// A package that is installed.
#[derive(Debug)]
pub(crate) struct Installed {
    /// Its exact version.
    pub(crate) version: String,
    /// Its integrity.
    pub(crate) integrity: String,
    /// Every package with version and integrity, a line each.
    pub(crate) pinned: String,
    /// What the lock says of the package itself.
    pub(crate) entry: Object,
    /// The program that runs it.
    pub(crate) node: PathBuf,
}

/// npm, and how it is run.
struct Npm<'a> {
    installer: &'a Installer<'a>,
    node: PathBuf,
    /// The script that npm is.
    script: PathBuf,
    shown: Vec<PathBuf>,
    variables: Vec<(String, String)>,
}

/// Installs a package with all that it needs into `target/node_modules`; `target` must be there.
pub(crate) fn install(
    installer: &Installer<'_>,
    wanted: Wanted<'_>,
    target: &Path,
    screen: &mut Screen,
) -> Result<Installed, Failure> {
    let mut npm = Npm::find(installer)?;
    let index = npm.configure(screen)?;
    let what = |why: &str| {
        Failure::environment(format!("`{}` is not installed: {why}", wanted.package)).with_hint(
            "packages and all that they need have to come from your own registry, by version; look whether \
             another version does",
        )
    };
    let (bytes, lock) = npm.lock(wanted, &index, screen)?;
    let own = format!("{MODULES}/{}", wanted.package);
    let entry =
        lock.entry(&own).ok_or_else(|| what("it is not among what would be installed"))?.clone();
    let text =
        |key: &str| entry.get(key).and_then(ic_types::Json::as_str).unwrap_or_default().to_owned();
    let (version, integrity) = (text("version"), text("integrity"));
    let tree = npm.tree(wanted, (&version, &index), (&bytes, lock.len()), screen)?;
    // What npm says that it did, read again: a package can bring a list of its own.
    let done = file::read(tree.join(MODULES).join(".package-lock.json"), LOCK_BYTES_MAX)?;
    let done = Lock::read(&done.unwrap_or_default(), &index).map_err(|why| what(&why))?;
    if let Some(line) = done.not_in(&lock) {
        return Err(what(&format!("`{line}` was installed, and was not locked")));
    }
    let (from, to) = (tree.join(MODULES), target.join(MODULES));
    copy_tree(&from, &to, (PACKAGE_LIMITS, TreeLinks::Refuse), &|_| false)
        .map_err(|error| what(&ic_types::chain(&error)))?;
    file::replace(target.join("package-lock.json"), &bytes)?;
    Ok(Installed { version, integrity, pinned: lock.pinned(), entry, node: npm.node })
}

impl<'a> Npm<'a> {
    fn find(installer: &'a Installer<'a>) -> Result<Self, Failure> {
        let (script, node) = (installer.find("npm")?, installer.find("node")?);
        if script.extension().is_none_or(|end| end != "js") {
            return Err(Failure::environment(format!(
                "`npm` is `{}`, which is not npm itself but a program that finds it",
                script.display()
            ))
            .with_hint("put the directory of the real npm first in PATH, then run this again"));
        }
        // `npm/bin/npm-cli.js` in a directory of packages; the file of node is shown by itself.
        let shown = script.ancestors().nth(2).map(Path::to_owned).into_iter().collect();
        Ok(Self { installer, node, script, shown, variables: Vec::new() })
    }

    /// Writes npm's settings, and returns where packages come from.
    fn configure(&mut self, screen: &mut Screen) -> Result<Index, Failure> {
        let mut settings = Settings::read(self.installer, &self.node)?;
        self.set(&settings, &Index::default())?;
        if settings.registry().is_none() {
            // Whatever npm takes by itself; it is asked in a cage without any network.
            let job = self.job("asking npm for its registry", &["config", "get", "registry"]);
            let said = self.installer.run(&job, screen)?;
            settings.set_registry(String::from_utf8_lossy(&said).trim());
        }
        let mut index = Index::default();
        for url in settings.registries() {
            index.add(url)?;
        }
        self.set(&settings, &index)?;
        Ok(index)
    }

    /// Writes the settings, with credentials for `index` alone.
    fn set(&mut self, settings: &Settings, index: &Index) -> Result<(), Failure> {
        let path = self.installer.write_setting("npmrc", settings.written(index).as_bytes())?;
        let cache = self.installer.work().join("cache");
        let text = |path: &Path| path.display().to_string();
        let mut variables = vec![
            ("npm_config_userconfig", text(&path)),
            ("npm_config_globalconfig", format!("{NOWHERE}/npmrc")),
            ("npm_config_cache", text(&cache)),
            // SECURITY: settings of a project, which a package could bring, count less than these.
            ("npm_config_git", format!("{NOWHERE}/git")),
            ("npm_config_script_shell", format!("{NOWHERE}/sh")),
        ];
        for (name, value) in [
            ("npm_config_ignore_scripts", "true"),
            ("npm_config_allow_git", "none"),
            ("npm_config_allow_directory", "none"),
            ("npm_config_allow_file", "none"),
            ("npm_config_bin_links", "false"),
            ("npm_config_audit", "false"),
            ("npm_config_fund", "false"),
            ("npm_config_update_notifier", "false"),
            ("npm_config_loglevel", "error"),
            ("npm_config_logs_max", "0"),
            ("npm_config_omit", "dev"),
            ("npm_config_lockfile_version", "3"),
            ("npm_config_omit_lockfile_registry_resolved", "false"),
            // It asks again for what does not match its digest, and waits more than a minute in between.
            ("npm_config_fetch_retry_mintimeout", "1000"),
            ("npm_config_fetch_retry_maxtimeout", "5000"),
            ("NODE_DISABLE_COMPILE_CACHE", "1"),
        ] {
            variables.push((name, value.to_owned()));
        }
        if let Some(file) = settings.extra_certificates() {
            variables.push(("NODE_EXTRA_CA_CERTS", text(file)));
        }
        self.variables =
            variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(())
    }

    /// Lets npm lock the package, and checks the lock.
    fn lock(
        &self,
        wanted: Wanted<'_>,
        index: &Index,
        screen: &mut Screen,
    ) -> Result<(Vec<u8>, Lock), Failure> {
        let directory = self.installer.work().join("lock");
        file::create_dir(&directory)?;
        file::create_new(directory.join("package.json"), manifest(None).as_bytes())?;
        let spec = format!("{}@{}", wanted.package, wanted.version.unwrap_or("latest"));
        let words =
            ["install", "--package-lock-only", "--save-exact", "--package-lock=true", "--", &spec];
        let doing = format!("resolving {}", wanted.package);
        let job = self.job(&doing, &words);
        let job = Job { directory: directory.clone(), reach: Some(index.allowed()?), ..job };
        let _printed = self.installer.run(&job, screen)?;
        let bytes =
            file::read(directory.join("package-lock.json"), LOCK_BYTES_MAX)?.unwrap_or_default();
        let lock = Lock::read(&bytes, index).map_err(|why| {
            Failure::environment(format!("`{}` is not installed: {why}", wanted.package)).with_hint(
                "packages and all that they need have to come from your own registry, by version; look \
                 whether another version does",
            )
        })?;
        Ok((bytes, lock))
    }

    /// Lets npm install what was locked into a directory that nobody had before, and returns it.
    fn tree(
        &self,
        wanted: Wanted<'_>,
        (version, index): (&str, &Index),
        (lock, n_packages): (&[u8], usize),
        screen: &mut Screen,
    ) -> Result<PathBuf, Failure> {
        let directory = self.installer.work().join("tree");
        file::create_new_dir(&directory)?;
        let manifest = manifest(Some((wanted.package, version)));
        file::create_new(directory.join("package.json"), manifest.as_bytes())?;
        file::create_new(directory.join("package-lock.json"), lock)?;
        let doing = match n_packages {
            1 => format!("installing {}", wanted.package),
            n => format!("installing {} and {} packages that it needs", wanted.package, n - 1),
        };
        let job = self.job(&doing, &["ci"]);
        let job = Job { directory: directory.clone(), reach: Some(index.allowed()?), ..job };
        let _printed = self.installer.run(&job, screen)?;
        Ok(directory)
    }

    fn job(&self, doing: &str, words: &[&str]) -> Job<'_> {
        let script = std::iter::once(self.script.clone().into_os_string());
        Job {
            doing: doing.to_owned(),
            program: &self.node,
            arguments: script.chain(words.iter().map(OsString::from)).collect(),
            variables: self.variables.clone(),
            directory: self.installer.work().to_owned(),
            shown: self.shown.clone(),
            reach: None,
        }
    }
}

/// What keeps npm from looking for another project above.
fn manifest(dependency: Option<(&str, &str)>) -> String {
    let mut manifest = Object::new();
    manifest.insert("name", "installed-package");
    manifest.insert("private", true);
    if let Some((name, version)) = dependency {
        let mut dependencies = Object::new();
        dependencies.insert(name, version);
        manifest.insert("dependencies", dependencies);
    }
    ic_types::Json::Object(manifest).to_string()
}
