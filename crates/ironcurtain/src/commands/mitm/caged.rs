//! A program in a cage whose only door is the gate.
//!
//! It sees the system's programs, what the user shows it, and the certificate that it has to trust; it
//! writes to the sandbox of its session alone.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use ic_confine::{
    Access, CageSpec, Child, ChildSpec, Confinement, Hold, Launcher, Limits, Network, PROXY_PORT,
    Seen,
};
use ic_home::config::{self, Config};
use ic_home::{Environment, Home};
use ic_mitm::{Gate, Listener, Surroundings};
use ic_opening::Holding;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::record::Session;
use super::told;
use crate::commands::Exit;
use crate::error::{Failure, chain};
use crate::installer::real_path;
use crate::screen::{Screen, visible_line};

/// Where programs are looked for.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// How long the program may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(5);
/// What an agent may use: it and its helpers are many, and reserve far more memory than they use.
const LIMITS: Limits = Limits {
    tasks_max: 1024,
    memory_bytes_max: 16 << 30,
    scratch_bytes_max: 2 << 30,
    ..Limits::SERVER
};

/// A program to be run.
#[derive(Debug)]
pub(super) struct Job<'a> {
    /// The program and its arguments.
    pub(super) command: &'a [OsString],
    /// What it may read besides.
    pub(super) read: &'a [PathBuf],
    /// Its session.
    pub(super) session: &'a Session,
}

impl Job<'_> {
    /// Runs the program to its end.
    pub(super) async fn run(
        &self,
        gate: &Arc<Gate>,
        config: &Config,
        home: &Home,
        (environment, stop): (&Environment, &CancellationToken),
        screen: &mut Screen,
    ) -> Result<Exit, Failure> {
        let launcher = Launcher::this_program().map_err(|source| {
            Failure::environment("cannot find this program to start others with")
                .with_source(source)
        })?;
        let holding = Holding::try_rungs(config.confinement, &launcher, home).await?.or_refuse()?;
        let confinement = confinement(&holding)?;
        screen.notice(&match confinement {
            Confinement::Cage(rung) => format!("confinement {rung}"),
            Confinement::None => {
                "confinement none: the program has all of your rights, and its own \
                                  way into the network"
                    .to_owned()
            }
        });
        let failed = |why: String| Failure::environment(format!("cannot run the program: {why}"));
        // A program that is not held finds the gate at a port of this machine.
        let (free, proxy) = match confinement {
            Confinement::Cage(_) => (None, format!("http://127.0.0.1:{PROXY_PORT}")),
            Confinement::None => {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await;
                let listener = listener.map_err(|error| failed(error.to_string()))?;
                let address = listener.local_addr().map_err(|error| failed(error.to_string()))?;
                (Some(listener), format!("http://{address}"))
            }
        };
        let spec = self.spec(gate, confinement, &proxy, environment)?;
        let child = launcher.start(&spec).map_err(|error| failed(chain(&error)))?;
        let Child { stdin, stdout, stderr, mut process, doors, .. } = child;
        let over = CancellationToken::new();
        let listener = match (free, doors) {
            (Some(listener), _) => Some(listener),
            (None, Some(doors)) => {
                // A cage that has no doors has failed, and the program's end says why.
                doors.come().await.ok().and_then(|doors| {
                    doors.proxy.set_nonblocking(true).ok()?;
                    TcpListener::from_std(doors.proxy).ok()
                })
            }
            (None, None) => None,
        };
        let serving = listener.map(|listener| {
            let (gate, over) = (Arc::clone(gate), over.clone());
            tokio::spawn(async move { gate.serve(Listener::Tcp(listener), &over).await })
        });
        let _pump = AbortOnDropHandle::new(tokio::spawn(pump(stdin)));
        let ended = {
            let printing = print(stdout, stderr, screen);
            let waiting = async {
                tokio::select! {
                    status = process.wait() => status,
                    () = stop.cancelled() => process.stop().await,
                }
            };
            let (printed, status) = tokio::join!(printing, waiting);
            printed?;
            status
        };
        over.cancel();
        if let Some(serving) = serving {
            // Whatever became of the gate, the program has ended.
            serving.await.ok();
        }
        screen.notice(&told(gate));
        let status = ended.map_err(|error| failed(error.to_string()))?;
        Ok(self.exit(status, stop, screen))
    }

    fn exit(&self, status: ExitStatus, stop: &CancellationToken, screen: &mut Screen) -> Exit {
        match status.code() {
            _ if stop.is_cancelled() => Exit::Cancelled,
            Some(0) => Exit::Success,
            code => {
                let program = self.command.first().map(|it| it.to_string_lossy().into_owned());
                let code = code.map_or_else(|| "a signal".to_owned(), |it| format!("code {it}"));
                let program = program.unwrap_or_default();
                screen.notice(&format!("`{program}` exited with {code}"));
                Exit::Failed
            }
        }
    }

    fn spec(
        &self,
        gate: &Gate,
        confinement: Confinement,
        proxy: &str,
        environment: &Environment,
    ) -> Result<ChildSpec, Failure> {
        let (program, arguments) = match self.command.split_first() {
            Some((program, arguments)) => (PathBuf::from(program), arguments.to_vec()),
            None => return Err(Failure::usage("there is no command")),
        };
        let certificate = real_path(&self.session.certificate())?;
        let sandbox = real_path(&self.session.directory.sandbox())?;
        let shown = certificate.display().to_string();
        let found = gate.environment(&Surroundings { proxy: Some(proxy), certificate: &shown });
        let mut variables: Vec<(OsString, OsString)> =
            [("PATH", PATH), ("LANG", "C.UTF-8"), ("TZ", "UTC"), ("TERM", "dumb")]
                .map(|(name, value)| (name.into(), value.into()))
                .into();
        variables.extend(found.into_iter().map(|(name, value)| (name.into(), value.into())));
        let hold = match confinement {
            Confinement::None => {
                let own = sandbox.clone().into_os_string();
                variables.extend([("HOME".into(), own.clone()), ("TMPDIR".into(), own)]);
                Hold::Free
            }
            Confinement::Cage(rung) => {
                let mut seen = vec![
                    Seen { path: sandbox.clone(), access: Access::Write },
                    Seen { path: certificate, access: Access::Read },
                ];
                for path in self.read {
                    let path = real_path(environment.absolute(path)?.as_path())?;
                    refuse_own(&path, environment)?;
                    seen.push(Seen { path, access: Access::Read });
                }
                Hold::Caged(rung, cage(seen, environment)?)
            }
        };
        Ok(ChildSpec {
            program,
            arguments,
            environment: variables,
            directory: Some(sandbox),
            grace: GRACE,
            hold,
        })
    }
}

/// SECURITY: the keys lie in our own home, and whatever holds it holds them.
fn refuse_own(path: &Path, environment: &Environment) -> Result<(), Failure> {
    let own = environment.ironcurtain_home()?;
    let own = real_path(own.as_path())?;
    match own.starts_with(path) || path.starts_with(&own) {
        false => Ok(()),
        true => Err(Failure::usage(format!(
            "`--read {}` would show the IronCurtain home, which holds keys",
            path.display()
        ))
        .with_hint("name a directory beside it")),
    }
}

fn cage(seen: Vec<Seen>, environment: &Environment) -> Result<CageSpec, Failure> {
    Ok(CageSpec {
        seen,
        hidden: Vec::new(),
        absent: Vec::new(),
        placed: Vec::new(),
        links: Vec::new(),
        follows_links: true,
        home: environment.home()?.as_path().to_owned(),
        scratch: None,
        // Its loopback, on which the gate alone listens.
        network: Network::Doors { ports: Vec::new(), addresses: Vec::new() },
        unix_sockets: false,
        opens_beneath: false,
        relaxed: Vec::new(),
        limits: LIMITS,
        user: None,
    })
}

/// Returns what holds the program; it needs a loopback of its own, which not every cage can have.
fn confinement(holding: &Holding) -> Result<Confinement, Failure> {
    match (holding.mode, holding.confinement) {
        (_, Confinement::Cage(rung)) if rung.has_network() => Ok(holding.confinement),
        (config::Confinement::Enforce, _) => Err(Failure::environment(
            "the program needs a cage with a network of its own, and this machine can make none",
        )
        .with_hint(
            "let this machine use user namespaces, or install bubblewrap; `ironcurtain doctor` says how",
        )),
        (config::Confinement::Warn | config::Confinement::Off, _) => Ok(Confinement::None),
    }
}

/// Returns lines that a terminal only shows.
fn visible_lines(text: &str) -> String {
    let shown = |line: &str| match line.strip_suffix('\n') {
        Some(line) => format!("{}\n", visible_line(line)),
        None => visible_line(line),
    };
    text.split_inclusive('\n').map(shown).collect()
}

/// Hands on what is typed or piped to us.
async fn pump(mut stdin: tokio::process::ChildStdin) {
    // The program may read nothing, or end first.
    tokio::io::copy(&mut tokio::io::stdin(), &mut stdin).await.ok();
    stdin.shutdown().await.ok();
}

/// Prints what the program says, made harmless where a terminal would obey it.
async fn print(
    mut stdout: impl AsyncRead + Unpin,
    mut stderr: impl AsyncRead + Unpin,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let is_terminal = std::io::stdout().is_terminal();
    let (mut out, mut err) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    let (mut out_open, mut err_open) = (true, true);
    while out_open || err_open {
        tokio::select! {
            read = stdout.read(&mut out), if out_open => match read {
                Ok(0) | Err(_) => out_open = false,
                Ok(n_bytes) => {
                    let bytes = out.get(..n_bytes).unwrap_or_default();
                    match is_terminal {
                        true => screen.script_text(&String::from_utf8_lossy(bytes))?,
                        false => screen.out().write_all(bytes).map_err(Failure::output)?,
                    }
                    screen.out().flush().map_err(Failure::output)?;
                }
            },
            read = stderr.read(&mut err), if err_open => match read {
                Ok(0) | Err(_) => err_open = false,
                Ok(n_bytes) => {
                    let text = String::from_utf8_lossy(err.get(..n_bytes).unwrap_or_default());
                    screen.send(&visible_lines(&text));
                }
            },
        }
    }
    Ok(())
}
