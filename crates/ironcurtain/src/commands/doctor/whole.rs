//! Does all of it work together: a client, a session, a judged call in a cage, a page from another host,
//! and the log?
//!
//! A proxy of our own is started with a home, a policy and a sandbox that are made for the moment, and
//! talked to as a client would. What a part of it does by itself is tried elsewhere, and no host but this
//! one is reached.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ic_client::socket::Socket;
use ic_confine::{Child, ChildSpec, Confinement, Hold};
use ic_home::file;
use ic_opening::Holding;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, UnixStream};

use super::children::PATH;
use super::{Check, Patient};
use crate::error::chain;
use crate::trial::Trial;

const NAME: &str = "whole call";
const SOCKET: &str = "socket";
/// How long all of it may take.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// How much of what the proxy says is read.
const WORDS_BYTES_MAX: u64 = 1 << 20;
/// What is written, and what the page says.
const WORDS: &str = "The doctor was here.";

pub(super) fn check(patient: &Patient<'_>, holding: Option<&Holding>, checks: &mut Vec<Check>) {
    let Some(trial) = &patient.trial else {
        let why = "there is no directory to try it in";
        checks.extend([NAME, SOCKET].map(|name| Check::not_tried(name, why)));
        return;
    };
    checks.push(match holding.map(|holding| holding.confinement) {
        Some(Confinement::Cage(rung)) => whole(trial, rung.has_network()),
        Some(Confinement::None) | None => {
            Check::not_tried(NAME, "no cage works, or it is unknown which one would")
        }
    });
    checks.push(socket(trial));
}

fn whole(trial: &Trial, has_network: bool) -> Check {
    let clinic = Clinic { root: trial.path().join("clinic") };
    let talked = trial.block_on(async {
        match tokio::time::timeout(WAIT_MAX, clinic.treat(trial, has_network)).await {
            Ok(talked) => talked,
            Err(_) => Err(format!("nothing came of it in {} s", WAIT_MAX.as_secs())),
        }
    });
    let fetched = match has_network {
        true => " and fetched a page of this machine",
        // What makes cages here leaves them no network.
        false => "",
    };
    match talked {
        Ok(()) => Check::ok(
            NAME,
            format!("a client of a proxy wrote a file{fetched}, and the log says so and is intact"),
        ),
        Err(why) => {
            Check::failed(NAME, why, "put right what else failed; if nothing did, report it")
        }
    }
}

/// Binds a socket as `proxy --socket` does, and connects to it.
fn socket(trial: &Trial) -> Check {
    // In a directory of its own: whoever binds one locks where it lies.
    let directory = trial.path().join("door");
    let path = directory.join("s");
    let tried = trial.block_on(async {
        file::create_dir(&directory).map_err(|error| chain(&error))?;
        let socket = Socket::bind(&path).await.map_err(|error| chain(&error))?;
        let connected = tokio::time::timeout(WAIT_MAX, async {
            let (client, _) = tokio::join!(UnixStream::connect(&path), socket.accept());
            client.map(drop)
        });
        match connected.await {
            Ok(client) => client.map_err(|error| error.to_string()),
            Err(_) => Err("nothing can connect to it".to_owned()),
        }
    });
    match tried {
        Ok(()) => Check::ok(SOCKET, "made one, and connected to it as ourselves"),
        Err(why) => Check::warning(
            SOCKET,
            format!("`proxy --socket` would not work here: {why}"),
            "give it a short path on a file system that has sockets",
        ),
    }
}

/// A home, a policy and a sandbox, for one proxy.
struct Clinic {
    root: PathBuf,
}

impl Clinic {
    /// Lets a client make two calls, and looks what became of them.
    async fn treat(&self, trial: &Trial, has_network: bool) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
        let host = listener.local_addr().map_err(|error| error.to_string())?.to_string();
        self.set_up(&host).map_err(|error| chain(&error))?;
        let written = self.root.join("sandbox/doctor.txt");
        let write = ("filesystem__write_file", json!({"path": written, "content": WORDS}));
        let fetch = ("fetch__http_fetch", json!({"url": format!("http://{host}/")}));
        let calls = if has_network { vec![write, fetch] } else { vec![write] };
        let options = ["policy", "servers", "sandbox"].map(|name| self.option(name));
        let arguments: Vec<String> =
            std::iter::once("proxy".to_owned()).chain(options.into_iter().flatten()).collect();
        tokio::select! {
            // Whoever asks is answered, as long as it takes.
            never = serve(&listener) => return Err(never),
            talked = self.talk(trial, arguments, &calls) => talked?,
        }
        match file::read(&written, WORDS_BYTES_MAX).map_err(|error| chain(&error))? {
            Some(bytes) if bytes == WORDS.as_bytes() => {}
            _ => return Err("a file that a call wrote is not what was written".to_owned()),
        }
        let verify = ["audit", "verify"].map(str::to_owned).to_vec();
        self.talk(trial, verify, &[]).await
    }

    fn set_up(&self, host: &str) -> Result<(), file::FileError> {
        for name in ["", "policy", "sandbox", "home"] {
            file::create_dir(self.root.join(name))?;
        }
        let path = |role: &str| json!({"path": [role], "content": ["none"]});
        let annotations = json!({"servers": {
            "filesystem": {"tools": [{"toolName": "write_file", "args": path("write-path")}]},
            "fetch": {"tools": [{"toolName": "http_fetch", "args": {"url": ["fetch-url"]}}]},
        }});
        let rule =
            json!({"name": "all", "if": {}, "then": "allow", "reason": "the doctor tries it"});
        let servers = json!({
            "filesystem": {"builtin": "filesystem"},
            "fetch": {"builtin": "fetch", "allowedDomains": [host]},
        });
        for (name, content) in [
            ("policy/tool-annotations.json", annotations),
            ("policy/compiled-policy.json", json!({"rules": [rule]})),
            ("servers", servers),
        ] {
            file::replace(self.root.join(name), content.to_string().as_bytes())?;
        }
        Ok(())
    }

    fn option(&self, name: &str) -> [String; 2] {
        [format!("--{name}"), self.root.join(name).display().to_string()]
    }

    /// Runs this program to its end while a client makes its calls, which all have to be served.
    async fn talk(
        &self,
        trial: &Trial,
        arguments: Vec<String>,
        calls: &[(&str, Value)],
    ) -> Result<(), String> {
        let spec = self.spec(arguments);
        let Child { mut stdin, stdout, stderr, mut process, .. } =
            trial.launcher().start(&spec).map_err(|error| chain(&error))?;
        let asked = async move {
            for line in requests(calls) {
                stdin.write_all(format!("{line}\n").as_bytes()).await?;
            }
            // The end of input is the end of the session, once all is answered.
            drop(stdin);
            std::io::Result::Ok(())
        };
        let mut answers = BufReader::new(stdout.take(WORDS_BYTES_MAX)).lines();
        let answered = async {
            let mut served = 0;
            while let Some(line) = answers.next_line().await.map_err(|error| error.to_string())? {
                let message: Value = serde_json::from_str(&line).unwrap_or_default();
                if message.get("id").and_then(Value::as_u64).is_some_and(|id| 1 < id) {
                    served += usize::from(is_good(&message)?);
                }
            }
            Ok::<usize, String>(served)
        };
        let mut words = String::new();
        let mut stderr = stderr.take(WORDS_BYTES_MAX);
        let heard = stderr.read_to_string(&mut words);
        // A proxy that ended early is told by its words.
        let (_, served, _) = tokio::join!(asked, answered, heard);
        let status = process.wait().await.map_err(|error| error.to_string())?;
        match (served?, status.code()) {
            (n, Some(0)) if n == calls.len() => Ok(()),
            (n, code) => {
                let last = words.trim().lines().last().unwrap_or("nothing").to_owned();
                Err(format!("{n} of {} calls were served, exit {code:?}: {last}", calls.len()))
            }
        }
    }

    fn spec(&self, arguments: Vec<String>) -> ChildSpec {
        let at = |name: &str, path: &Path| (name.into(), path.as_os_str().to_owned());
        ChildSpec {
            program: PathBuf::from("/proc/self/exe"),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: vec![
                ("PATH".into(), PATH.into()),
                at("HOME", &self.root),
                at("IRONCURTAIN_HOME", &self.root.join("home")),
            ],
            directory: Some(self.root.join("sandbox")),
            grace: Duration::from_secs(5),
            hold: Hold::Free,
        }
    }
}

/// Returns what a client says; for no calls, nothing.
fn requests(calls: &[(&str, Value)]) -> Vec<Value> {
    if calls.is_empty() {
        return Vec::new();
    }
    let client = json!({"name": "doctor", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let mut lines = vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    lines.extend(calls.iter().zip(2_u64..).map(|((name, arguments), id)| {
        let params = json!({"name": name, "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    }));
    lines
}

/// Returns whether a call was served; one that was refused is an error in its own words.
fn is_good(answer: &Value) -> Result<bool, String> {
    let said = |path: &str| answer.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let is_error = answer.pointer("/result/isError").and_then(Value::as_bool) == Some(true);
    match is_error || answer.get("error").is_some() {
        true => {
            let (refused, failed) = (said("/result/content/0/text"), said("/error/message"));
            Err(format!("a call was not served: {refused}{failed}"))
        }
        false => Ok(true),
    }
}

/// Answers whoever asks with a page; returns what went wrong.
async fn serve(listener: &TcpListener) -> String {
    loop {
        let (mut stream, _) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => return error.to_string(),
        };
        let mut request = [0; 4 << 10];
        // Whoever breaks off is told of by the call.
        let answered = async {
            let _n_bytes = stream.read(&mut request).await?;
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n";
            let answer = format!("{head}Content-Length: {}\r\n\r\n{WORDS}", WORDS.len());
            stream.write_all(answer.as_bytes()).await?;
            stream.shutdown().await
        };
        answered.await.ok();
    }
}
