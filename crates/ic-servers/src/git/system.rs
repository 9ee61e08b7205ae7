//! Where the gits that the user has look for the configuration of the system.
//!
//! That depends on how each was built: `/etc/gitconfig`, or `etc/gitconfig` where it was put. A git says so
//! itself (`git var`), or its complaint does; besides, it is derived from where it lies. Nothing is read
//! here, and no git is run that lies where an agent might have put it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ic_confine::{Excess, InnerLimits, InnerSpec, find_program, run_inner};
use ic_resolve::RealDisk;
use ic_resolve::path::{Last, follow};
use ic_types::AbsolutePath;
use rustix::fd::AsFd as _;
use rustix::fs::{Mode, OFlags};

use super::run::{PATH, Program};

/// How many gits are asked.
const GITS_MAX: usize = 4;
/// How many directories are searched for one.
const DIRECTORIES_MAX: usize = 64;
/// How long one may take to say it.
const TIME_MAX: Duration = Duration::from_secs(2);
const SAID_BYTES_MAX: usize = 16 << 10;

/// Returns the configurations of the system that the gits of a `PATH` would read.
///
/// No git is run that lies in one of the directories `untrusted`.
pub fn system_configs(path: &str, untrusted: &[&Path]) -> Vec<PathBuf> {
    let Gits { mut configs, asked } = Gits::find(path, untrusted);
    // Each takes some milliseconds, and the start of a session waits for them.
    std::thread::scope(|scope| {
        let asking: Vec<_> = asked.into_iter().map(|git| scope.spawn(|| ask(git))).collect();
        configs.extend(asking.into_iter().filter_map(|it| it.join().ok().flatten()));
    });
    configs.sort_unstable();
    configs.dedup();
    configs
}

/// The gits of a `PATH`.
pub(super) struct Gits {
    /// Where they look, going by where they lie.
    configs: Vec<PathBuf>,
    /// Those that are asked.
    pub(super) asked: Vec<PathBuf>,
}

impl Gits {
    pub(super) fn find(path: &str, untrusted: &[&Path]) -> Self {
        let mut gits = Self { configs: Vec::new(), asked: Vec::new() };
        for directory in path.split(':').chain(PATH.split(':')).take(DIRECTORIES_MAX) {
            let environment = [(OsString::from("PATH"), OsString::from(directory))];
            let Ok(file) = find_program(Path::new("git"), Path::new("/"), &environment) else {
                continue;
            };
            let led = led_to(&file);
            gits.configs.extend([&file, &led].into_iter().filter_map(|file| derived(file)));
            let is_in = |file: &Path| untrusted.iter().any(|directory| file.starts_with(directory));
            let is_new = !gits.asked.contains(&led) && gits.asked.len() < GITS_MAX;
            // SECURITY: neither as it is found nor as links lead.
            if is_new && !is_in(&file) && !is_in(&led) {
                gits.asked.push(led);
            }
        }
        gits
    }
}

fn led_to(file: &Path) -> PathBuf {
    let found = AbsolutePath::new(file).ok();
    let found = found.and_then(|it| follow(&RealDisk, &it, Last::Follow).ok());
    found.map_or_else(|| file.to_owned(), |found| found.path.as_path().to_owned())
}

/// Returns where a git that lies there looks if nobody told it otherwise when it was built.
fn derived(file: &Path) -> Option<PathBuf> {
    let above = file.parent()?.parent()?;
    let is_system = above == Path::new("/usr") || above == Path::new("/");
    Some(if is_system { PathBuf::from("/etc/gitconfig") } else { above.join("etc/gitconfig") })
}

/// Asks a git; `None` if it does not say.
fn ask(file: PathBuf) -> Option<PathBuf> {
    let program = Program::at(file);
    let said = say(&program, &["var", "GIT_CONFIG_SYSTEM"]).map(|(output, _)| output);
    let said = said.and_then(|output| output.lines().last().and_then(absolute));
    said.or_else(|| {
        // A git of before 2.42.
        let (output, complaint) =
            say(&program, &["config", "--system", "--show-origin", "--list"])?;
        let listed = output.lines().find_map(|line| line.strip_prefix("file:")?.split('\t').next());
        let missed = || complaint.split('\'').nth(1);
        listed.or_else(missed).and_then(absolute)
    })
}

fn absolute(text: &str) -> Option<PathBuf> {
    let path = PathBuf::from(text.trim());
    path.is_absolute().then_some(path)
}

/// Runs a git that can write nothing; returns what it says and what it complains about.
fn say(program: &Program, words: &[&str]) -> Option<(String, String)> {
    let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
    let environment = [
        ("PATH", PATH),
        ("LC_ALL", "C"),
        ("HOME", "/dev/null"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_DIR", "/dev/null/nowhere"),
        ("GIT_CEILING_DIRECTORIES", "/"),
        ("GIT_TERMINAL_PROMPT", "0"),
    ];
    let environment = environment.map(|(name, value)| (name.into(), value.into()));
    let root = rustix::fs::open("/", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let spec = InnerSpec {
        program: program.file(),
        arguments: &arguments,
        environment: &environment,
        directory: root.as_fd(),
        input: b"",
        runs: program.runs(),
        writes: &[],
        limits: InnerLimits {
            time_max: TIME_MAX,
            output_bytes_max: SAID_BYTES_MAX,
            complaint_bytes_max: SAID_BYTES_MAX,
            memory_bytes_max: None,
            excess: Excess::End,
        },
    };
    let said = run_inner(&spec, &|| false).ok()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((text(&said.output), text(&said.complaint)))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes files")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Makes a program that stands for a git, and returns its directory.
    fn git(at: &Path) -> PathBuf {
        let bin = at.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let file = bin.join("git");
        std::fs::write(&file, "#!/bin/sh\nexit 3\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        bin
    }

    #[test]
    fn the_git_of_this_machine_says_where_it_looks() {
        let file = Program::find().unwrap().into_file();
        let said = ask(file).expect("git says it");
        assert!(said.ends_with("gitconfig"), "{}", said.display());
        assert!(system_configs(PATH, &[]).contains(&said));
    }

    #[test]
    fn where_a_git_lies_is_enough() {
        let place = tempfile::tempdir().unwrap();
        let at = place.path().canonicalize().unwrap();
        let bin = git(&at.join("brew"));
        let found = system_configs(bin.to_str().unwrap(), &[]);
        assert!(found.contains(&at.join("brew/etc/gitconfig")), "{found:?}");
    }

    #[test]
    fn a_git_that_an_agent_may_have_put_there_is_not_run() {
        let place = tempfile::tempdir().unwrap();
        let at = place.path().canonicalize().unwrap();
        let work = at.join("w");
        let bin = git(&work);
        std::fs::create_dir_all(at.join("links")).unwrap();
        std::os::unix::fs::symlink(bin.join("git"), at.join("links/git")).unwrap();
        let path = format!("{}:{}:bin:", bin.display(), at.join("links").display());
        let is_asked = |untrusted: &[&Path]| {
            let gits = Gits::find(&path, untrusted);
            assert!(gits.configs.contains(&work.join("etc/gitconfig")), "{:?}", gits.configs);
            gits.asked.contains(&bin.join("git"))
        };
        assert!(is_asked(&[]), "the control");
        assert!(!is_asked(&[&work]));
    }

    #[test]
    fn no_git_names_nothing_more_than_those_of_the_system() {
        assert_eq!(system_configs("", &[]), system_configs(PATH, &[]));
    }
}
