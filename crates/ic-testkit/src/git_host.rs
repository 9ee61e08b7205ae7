//! Git hosts on loopback: one over https with bad manners on request, one over ssh, and an ssh agent.
//!
//! The https host is `git_host.py`, the ssh host is the real `sshd`, and the agent the real one. Each
//! ends when it is dropped. Whoever wants one where its programs are missing gets `None`, and is told.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "test support: it makes files and starts programs, and a failure is a failed test"
)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Place;

/// How long a host may take to listen.
const PATIENCE: Duration = Duration::from_mins(1);
/// The environment of git in tests: nobody's configuration.
const QUIET: [(&str, &str); 4] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("HOME", "/nonexistent"),
];

/// A host over https.
#[derive(Debug)]
pub struct HttpsHost {
    child: Child,
    /// Where it listens.
    pub port: u16,
    /// The certificate by which it is known.
    pub certificate: PathBuf,
    log: PathBuf,
}

/// A host over ssh.
#[derive(Debug)]
pub struct SshHost {
    child: Child,
    /// Where it listens.
    pub port: u16,
    /// The user that can sign in.
    pub user: String,
    /// The line by which it is known.
    pub known_hosts: String,
}

/// An ssh agent with a key in it.
#[derive(Debug)]
pub struct SshAgent {
    child: Child,
    /// Where it listens.
    pub socket: PathBuf,
    /// The key, for `authorized_keys`.
    pub public_key: String,
}

impl HttpsHost {
    /// Starts a host that serves the repositories in `repositories`, and takes `password` from ada.
    pub fn start(place: &Place, repositories: &Path, password: &str, lead: &str) -> Self {
        let directory = place.dir("https");
        let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| directory.join(name));
        let log = directory.join("requests");
        run(Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"])
            .args(["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"])
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&certificate));
        let script = directory.join("host.py");
        fs::write(&script, include_str!("git_host.py")).expect("a script");
        let mut child = Command::new("python3")
            .arg(&script)
            .args([repositories, &certificate, &key, &log])
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("PASSWORD", password)
            .env("LEAD", lead)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the host starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("the host says its port");
        let port = line.trim().parse().expect("a port");
        Self { child, port, certificate, log }
    }

    /// Returns the URL of a repository that is served in some manner.
    pub fn url(&self, manner: &str, repository: &str) -> String {
        format!("https://127.0.0.1:{}/{manner}/{repository}", self.port)
    }

    /// Returns what was asked of it so far, one line of JSON each.
    pub fn requests(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl SshHost {
    /// Starts a host for whoever has the key; `None` if there is no sshd.
    pub fn start(place: &Place, public_key: &str) -> Option<Self> {
        let sshd = Self::program()?;
        let directory = place.dir("sshd");
        let key = directory.join("host_key");
        run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key));
        let keys = directory.join("authorized_keys");
        fs::write(&keys, public_key).expect("a file of keys");
        let user = run(Command::new("id").arg("-un")).trim().to_owned();
        if user == "root" {
            // Where it puts nothing, but without which it does not start.
            fs::create_dir_all("/run/sshd").expect("a directory for sshd");
        }
        let public = fs::read_to_string(key.with_extension("pub")).expect("a public key");
        let public: Vec<&str> = public.split(' ').take(2).collect();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let port = free_port();
            let config = directory.join("config");
            let text = format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nPidFile none\nUsePAM no\n\
                 StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
                 PermitRootLogin yes\nAuthorizedKeysFile {}\nLogLevel ERROR\n\
                 MaxStartups 100\nAcceptEnv GIT_PROTOCOL\n",
                key.display(),
                keys.display()
            );
            fs::write(&config, text).expect("a config");
            let mut child = Command::new(sshd)
                .args(["-D", "-e", "-f"])
                .arg(&config)
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("sshd starts");
            // Somebody else may have taken the port meanwhile; then another one is tried.
            while Instant::now() < deadline && child.try_wait().expect("a state").is_none() {
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    let known_hosts = format!("[127.0.0.1]:{port} {}\n", public.join(" "));
                    return Some(Self { child, port, user, known_hosts });
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            end(&mut child);
            assert!(Instant::now() < deadline, "sshd does not listen");
        }
    }

    /// Returns where sshd is; the other programs of ssh come with it.
    pub fn program() -> Option<&'static str> {
        let sshd = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"];
        let found = sshd.into_iter().find(|path| Path::new(path).exists());
        if found.is_none() {
            eprintln!("NOTE: there is no sshd, so nothing is tried over ssh");
        }
        found
    }

    /// Returns the URL of a repository.
    pub fn url(&self, repository: &Path) -> String {
        format!("ssh://{}@127.0.0.1:{}{}", self.user, self.port, repository.display())
    }
}

impl SshAgent {
    /// Starts an agent with a new key in it.
    pub fn start(place: &Place) -> Self {
        let directory = place.dir("agent");
        let key = directory.join("key");
        run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key));
        let socket = directory.join("socket");
        let child = Command::new("ssh-agent")
            .args(["-D", "-a"])
            .arg(&socket)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("the agent starts");
        let deadline = Instant::now() + PATIENCE;
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(Instant::now() < deadline, "the agent does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        run(Command::new("ssh-add").arg("-q").arg(&key).env("SSH_AUTH_SOCK", &socket));
        let public_key = fs::read_to_string(key.with_extension("pub")).expect("a public key");
        // The key is in the agent alone from now on.
        fs::remove_file(&key).expect("the key is removed");
        Self { child, socket, public_key }
    }
}

/// Makes a bare repository with one commit on `main`, and returns its number.
pub fn make_repository(path: &Path, file: &str, text: &str) -> String {
    fs::create_dir_all(path).expect("a directory");
    git(path, &["init", "-q", "--bare", "-b", "main", "."]);
    git(path, &["config", "http.receivepack", "true"]);
    let work = tempfile::tempdir().expect("a directory");
    let at = work.path();
    git(at, &["init", "-q", "-b", "main", "."]);
    fs::write(at.join(file), text).expect("a file");
    git(at, &["add", "."]);
    git(at, &["commit", "-q", "-m", "first"]);
    git(at, &["push", "-q", path.to_str().expect("text"), "main"]);
    git(path, &["rev-parse", "main"])
}

/// Runs git as a person would, with nobody's configuration.
pub fn git(directory: &Path, words: &[&str]) -> String {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let mut command = Command::new("git");
    command.args(identity).args(words).current_dir(directory).env_clear().envs(QUIET);
    run(&mut command).trim().to_owned()
}

fn run(command: &mut Command) -> String {
    let ran = command.stdin(Stdio::null()).output().expect("the program starts");
    let complaint = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{command:?}: {complaint}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

fn end(child: &mut Child) {
    child.kill().ok();
    child.wait().ok();
}

impl Drop for HttpsHost {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

impl Drop for SshHost {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

impl Drop for SshAgent {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}
