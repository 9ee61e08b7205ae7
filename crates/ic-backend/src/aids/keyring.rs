//! Where the user's own credentials are, and how programs of the user's are asked for them.
//!
//! The one place in which the host runs a program for a call. It runs outside of any cage, with the
//! user's environment and configuration, in the root directory, so that no repository's configuration
//! is near. What it is asked is fixed; of what a call says, nothing but judged parts of its URL gets in,
//! on its standard input.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ic_confine::{Child, ChildSpec, Hold, Launcher};
use ic_servers::git::AGENT_BYTES_MAX;
use ic_types::AbsolutePath;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

/// How long a program of the user's may take; it may ask the person.
const TIME_MAX: Duration = Duration::from_mins(2);
/// How long the agent may take; it may ask the person to touch a key.
const AGENT_TIME_MAX: Duration = Duration::from_mins(2);
/// The most that a program may answer.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// How long a program may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// Where the user's own credentials are.
#[derive(Clone, Debug, Default)]
pub struct Keyring {
    /// The environment in which the user's programs run.
    pub environment: Vec<(OsString, OsString)>,
    /// The user's home directory.
    pub home: Option<AbsolutePath>,
    /// The socket of the user's ssh agent.
    pub agent: Option<PathBuf>,
}

/// What is asked for aids.
#[derive(Debug)]
pub(crate) struct Lender {
    pub(super) keyring: Keyring,
    launcher: Launcher,
}

/// What a program of the user's said.
pub(super) struct Answered {
    pub(super) output: Vec<u8>,
    pub(super) is_success: bool,
}

impl Lender {
    pub(crate) fn new(keyring: Keyring, launcher: Launcher) -> Self {
        Self { keyring, launcher }
    }

    /// Runs git outside of any repository, with the user's configuration.
    pub(super) async fn git(&self, words: &[&str], input: &[u8]) -> Result<Answered, String> {
        let git = ic_servers::git::find_git().map_err(|error| error.to_string())?;
        self.run(&git, words, input).await
    }

    /// Runs a program to its end.
    pub(super) async fn run(
        &self,
        program: &Path,
        words: &[&str],
        input: &[u8],
    ) -> Result<Answered, String> {
        let mut environment = self.keyring.environment.clone();
        // Nobody is there to type; and nothing may be taken for a repository.
        let fixed = [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "false"),
            ("SSH_ASKPASS", "false"),
            ("GIT_CEILING_DIRECTORIES", "/"),
            ("GIT_DIR", "/dev/null/nowhere"),
            ("LC_ALL", "C.UTF-8"),
        ];
        environment.retain(|(name, _)| fixed.iter().all(|(known, _)| name != known));
        environment.extend(fixed.map(|(name, value)| (name.into(), value.into())));
        let spec = ChildSpec {
            program: program.to_owned(),
            arguments: words.iter().map(OsString::from).collect(),
            environment,
            directory: Some(PathBuf::from("/")),
            grace: GRACE,
            hold: Hold::Free,
        };
        let child = self.launcher.start(&spec).map_err(|error| crate::chain(&error))?;
        let Child { mut stdin, stdout, mut stderr, mut process, .. } = child;
        let talking = async {
            stdin.write_all(input).await.ok();
            drop(stdin);
            let reading = async move {
                let (mut output, mut stdout) = (Vec::new(), stdout.take(ANSWER_BYTES_MAX));
                // Whoever says more than that is not heard any more, and need not be waited for.
                stdout.read_to_end(&mut output).await.map(|_| output)
            };
            // What it complains about may name secrets, and is nobody's business here.
            let mut dropped = tokio::io::sink();
            let complaints = tokio::io::copy(&mut stderr, &mut dropped);
            let (read, _) = tokio::join!(reading, complaints);
            let output = read.map_err(|error| error.to_string())?;
            let status = process.wait().await.map_err(|error| error.to_string())?;
            Ok(Answered { output, is_success: status.success() })
        };
        let talked = tokio::time::timeout(TIME_MAX, talking).await;
        talked.unwrap_or_else(|_| Err("the user's program took too long".to_owned()))
    }

    /// Asks the user's ssh agent.
    ///
    /// One call has one connection to it, which the agent can bind to a host.
    pub(super) async fn ask_agent(
        &self,
        connection: &mut Option<UnixStream>,
        message: &[u8],
    ) -> Result<Vec<u8>, String> {
        let Some(socket) = &self.keyring.agent else {
            return Err("the user has no ssh agent (SSH_AUTH_SOCK is not set)".to_owned());
        };
        let asking = async {
            let stream = match connection {
                Some(stream) => stream,
                None => connection.insert(UnixStream::connect(socket).await?),
            };
            let length = u32::try_from(message.len()).map_err(std::io::Error::other)?;
            stream.write_all(&length.to_be_bytes()).await?;
            stream.write_all(message).await?;
            let length =
                usize::try_from(stream.read_u32().await?).map_err(std::io::Error::other)?;
            if AGENT_BYTES_MAX < length {
                return Err(std::io::Error::other("its output is too long"));
            }
            let mut answer = vec![0; length];
            stream.read_exact(&mut answer).await?;
            Ok(answer)
        };
        match tokio::time::timeout(AGENT_TIME_MAX, asking).await {
            Ok(asked) => asked.map_err(|error| format!("the ssh agent does not answer: {error}")),
            Err(_) => Err("the ssh agent does not answer in time".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::UnixListener;

    /// Asks an agent that answers with so many bytes.
    async fn asked(n_bytes: usize) -> Result<usize, String> {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("agent");
        let listener = UnixListener::bind(&socket).unwrap();
        let keyring = Keyring { agent: Some(socket), ..Keyring::default() };
        let lender = Lender::new(keyring, Launcher::at("/nowhere"));
        let answering = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let length = stream.read_u32().await.unwrap();
            let mut heard = vec![0; usize::try_from(length).unwrap()];
            stream.read_exact(&mut heard).await.unwrap();
            assert_eq!(heard, b"hello");
            stream.write_u32(u32::try_from(n_bytes).unwrap()).await.unwrap();
            // Whoever asked may have gone away by now.
            stream.write_all(&vec![7; n_bytes]).await.ok();
        };
        let mut connection = None;
        let (answer, ()) = tokio::join!(
            async {
                let answer = lender.ask_agent(&mut connection, b"hello").await;
                drop(connection.take());
                answer
            },
            answering
        );
        answer.map(|answer| answer.len())
    }

    #[tokio::test]
    async fn an_agent_that_says_too_much_is_not_heard() {
        assert_eq!(asked(AGENT_BYTES_MAX).await, Ok(AGENT_BYTES_MAX));
        let refused = asked(AGENT_BYTES_MAX + 1).await.unwrap_err();
        assert!(refused.contains("output is too long"), "{refused}");
    }
}
