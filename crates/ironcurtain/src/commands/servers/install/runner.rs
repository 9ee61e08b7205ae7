//! Runs an installer: the user's own program, with the user's network and settings, and nothing on its
//! standard input.
//!
//! What it prints is text of a stranger, of which the end is kept to explain a failure.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ic_confine::{Child, ChildSpec, Hold, find_program};
use ic_home::Environment;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::error::Failure;
use crate::screen::visible;
use crate::trial::Trial;

/// How long an installer may take.
const INSTALL_MAX: Duration = Duration::from_mins(10);
/// How much of what it prints is kept.
const OUTPUT_BYTES_MAX: usize = 64 << 20;
/// How much of its complaints is shown.
const SHOWN_LINES_MAX: usize = 8;
/// The variables of the user's that say where packages come from and how they are reached.
const VARIABLES: [&str; 32] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "NPM_CONFIG_USERCONFIG",
    "npm_config_userconfig",
    "NPM_CONFIG_CACHE",
    "npm_config_cache",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_CERT",
    "PIP_CONFIG_FILE",
    "PIP_FIND_LINKS",
    "PIP_NO_INDEX",
    "PIP_TRUSTED_HOST",
    "PIP_DEFAULT_TIMEOUT",
];

/// What runs installers.
#[derive(Debug)]
pub(in super::super) struct Runner<'a> {
    trial: &'a Trial,
    environment: Vec<(OsString, OsString)>,
}

impl<'a> Runner<'a> {
    /// Makes a runner with the user's settings.
    pub(in super::super) fn new(trial: &'a Trial, environment: &Environment) -> Self {
        let variables = environment.server_variables(VARIABLES.map(str::to_owned));
        let pair = |(name, value): (String, String)| (OsString::from(name), OsString::from(value));
        Self { trial, environment: variables.into_iter().map(pair).collect() }
    }

    /// Finds a program of the user's.
    pub(in super::super) fn find(&self, program: &str) -> Result<PathBuf, Failure> {
        find_program(Path::new(program), Path::new("/"), &self.environment).map_err(|error| {
            Failure::environment(format!("`{program}` is needed to install this, and is not there"))
                .with_source(error)
                .with_hint(format!("install `{program}`, then run this again"))
        })
    }

    /// Runs a program to its end, and returns what it printed.
    pub(super) fn run(
        &self,
        program: &Path,
        arguments: &[&str],
        directory: &Path,
    ) -> Result<Vec<u8>, Failure> {
        let spec = ChildSpec {
            program: program.to_owned(),
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: self.environment.clone(),
            directory: Some(directory.to_owned()),
            grace: Duration::from_secs(2),
            hold: Hold::Free,
        };
        let shown = program.display();
        let failed = |why: String| Failure::environment(format!("`{shown}` failed: {why}"));
        self.trial.block_on(async {
            let started = self.trial.launcher().start(&spec);
            let child = started.map_err(|error| failed(ic_types::chain(&error)))?;
            let Child { stdin, stdout, stderr, mut process, .. } = child;
            drop(stdin);
            let running = async {
                let (out, err, status) = tokio::join!(read(stdout), read(stderr), process.wait());
                (out, err, status)
            };
            let (out, err, status) = tokio::time::timeout(INSTALL_MAX, running)
                .await
                .map_err(|_| failed(format!("it took longer than {} s", INSTALL_MAX.as_secs())))?;
            match status {
                Ok(status) if status.success() => Ok(out),
                Ok(status) => Err(failed(status.to_string()).with_details(last_lines(&err, &out))),
                Err(error) => Err(failed(error.to_string())),
            }
        })
    }
}

async fn read(mut stream: impl AsyncRead + Unpin) -> Vec<u8> {
    let (mut kept, mut chunk) = (Vec::new(), vec![0; 1 << 16]);
    while let Ok(n_bytes @ 1..) = stream.read(&mut chunk).await {
        let room = OUTPUT_BYTES_MAX.saturating_sub(kept.len()).min(n_bytes);
        kept.extend_from_slice(chunk.get(..room).unwrap_or_default());
    }
    kept
}

fn last_lines(err: &[u8], out: &[u8]) -> Vec<String> {
    let words = if err.trim_ascii().is_empty() { out } else { err };
    let text = String::from_utf8_lossy(words);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(SHOWN_LINES_MAX);
    lines.iter().skip(from).map(|line| visible(line)).collect()
}
