//! The engine's API over its Unix socket: HTTP/1.1, one connection for each request.
//!
//! Written by hand over hyper, because we ask for a dozen things and nothing else; see decision 48. Nothing here
//! knows what a container should be like.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use ic_types::{Json, JsonLimits, Object};
use tokio::net::UnixStream;

use crate::engine::{Asked, Build, Engine, EngineError, Streams};
use crate::preflight::{API_MIN, Facts};
use crate::streams;
use crate::words::{query, text};

/// How much of an answer is read.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// How much of one line of progress is read.
const LINE_BYTES_MAX: usize = 1 << 20;
/// The request whose answer becomes a stream.
const ATTACHING: &str = "attach to the container";
/// How long the engine may take for what is done at once, and for what may take a while on a busy machine.
const QUICK: Duration = Duration::from_secs(20);
const SLOW: Duration = Duration::from_mins(2);
/// How long building or fetching an image may take without a word.
const SILENT_MAX: Duration = Duration::from_mins(15);

/// An engine, spoken to over its socket.
#[derive(Clone, Debug)]
pub struct Api {
    socket: PathBuf,
}

/// One request.
struct Ask<'a> {
    doing: &'static str,
    method: Method,
    path: String,
    body: Sent<'a>,
    within: Duration,
}

enum Sent<'a> {
    Nothing,
    Json(&'a Object),
    Archive(Bytes),
}

impl Api {
    /// Speaks to the engine at `socket`.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into() }
    }

    /// Sends a request; returns the answer's head and its body, which is still to come.
    async fn send(&self, ask: Ask<'_>) -> Result<Response<Incoming>, EngineError> {
        let Ask { doing, method, path, body, within } = ask;
        let is_upgraded = doing == ATTACHING;
        let broken = |source: Box<dyn std::error::Error + Send + Sync>| EngineError::Broken {
            doing,
            source,
        };
        let sending = async {
            let stream = UnixStream::connect(&self.socket).await.map_err(|source| {
                EngineError::Unreachable { socket: self.socket.clone(), source }
            })?;
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
                .await
                .map_err(|error| broken(error.into()))?;
            // It ends with the answer, or with the streams that it became.
            tokio::spawn(async move { connection.with_upgrades().await.ok() });
            let mut request = Request::builder().method(method).uri(path).header("Host", "engine");
            if is_upgraded {
                request = request.header("Connection", "Upgrade").header("Upgrade", "tcp");
            }
            let body = match body {
                Sent::Nothing => Bytes::new(),
                Sent::Json(object) => {
                    request = request.header("Content-Type", "application/json");
                    let mut text = String::new();
                    Json::write_object(&mut text, object);
                    Bytes::from(text)
                }
                Sent::Archive(archive) => {
                    request = request.header("Content-Type", "application/x-tar");
                    archive
                }
            };
            let request = request.body(Full::new(body)).map_err(|error| broken(error.into()))?;
            sender.send_request(request).await.map_err(|error| broken(error.into()))
        };
        let late = |_| EngineError::Late { doing, seconds: within.as_secs() };
        let response = tokio::time::timeout(within, sending).await.map_err(late)??;
        let status = response.status();
        if status.is_success()
            || status == StatusCode::SWITCHING_PROTOCOLS
            || status == StatusCode::NOT_MODIFIED
        {
            return Ok(response);
        }
        let said = self.body(doing, response).await.unwrap_or_default();
        Err(EngineError::Refused { doing, status: status.as_u16(), message: message(&said) })
    }

    async fn body(
        &self,
        doing: &'static str,
        response: Response<Incoming>,
    ) -> Result<Vec<u8>, EngineError> {
        let reading = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect();
        let late = |_| EngineError::Late { doing, seconds: SLOW.as_secs() };
        let read = tokio::time::timeout(SLOW, reading).await.map_err(late)?;
        let read = read.map_err(|source| EngineError::Broken { doing, source })?;
        Ok(read.to_bytes().to_vec())
    }

    /// Asks for something that is answered with JSON.
    async fn ask(&self, ask: Ask<'_>) -> Result<Json, EngineError> {
        let doing = ask.doing;
        let response = self.send(ask).await?;
        let bytes = self.body(doing, response).await?;
        Json::parse(&bytes, JsonLimits::CALL)
            .map_err(|error| EngineError::Broken { doing, source: error.into() })
    }

    /// Asks for something that is done, and nothing more.
    async fn tell(&self, ask: Ask<'_>) -> Result<(), EngineError> {
        let doing = ask.doing;
        let response = self.send(ask).await?;
        self.body(doing, response).await.map(drop)
    }

    /// Follows the lines of a long task to its end.
    async fn follow(
        &self,
        ask: Ask<'_>,
        tell: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), EngineError> {
        let doing = ask.doing;
        let mut body = self.send(ask).await?.into_body();
        let mut line = Vec::new();
        loop {
            let late = |_| EngineError::Late { doing, seconds: SILENT_MAX.as_secs() };
            let frame = tokio::time::timeout(SILENT_MAX, body.frame()).await.map_err(late)?;
            let Some(frame) = frame else { break };
            let frame =
                frame.map_err(|error| EngineError::Broken { doing, source: error.into() })?;
            for byte in frame.data_ref().into_iter().flatten() {
                if *byte == b'\n' {
                    progress(&std::mem::take(&mut line), tell)?;
                } else if line.len() < LINE_BYTES_MAX {
                    line.push(*byte);
                }
            }
        }
        progress(&line, tell)
    }
}

impl Engine for Api {
    fn socket(&self) -> &Path {
        &self.socket
    }

    fn facts(&self) -> Asked<'_, Facts> {
        Box::pin(async move {
            // Without a version: which one to speak is what we want to know.
            let version = self.ask(get("say its version", "/version".to_owned())).await?;
            let info = self.ask(get("describe itself", "/info".to_owned())).await?;
            Ok(Facts::read(&as_object(version), &as_object(info)))
        })
    }

    fn create<'a>(&'a self, name: &'a str, request: &'a Object) -> Asked<'a, String> {
        Box::pin(async move {
            let doing = "create the container";
            let path = versioned(&format!("/containers/create?name={}", query(name)));
            let (method, body, within) = (Method::POST, Sent::Json(request), SLOW);
            let made = as_object(self.ask(Ask { doing, method, path, body, within }).await?);
            let id = text(&made, &["Id"]).map(str::to_owned);
            id.ok_or_else(|| EngineError::Broken { doing, source: "it names no container".into() })
        })
    }

    fn inspect<'a>(&'a self, id: &'a str) -> Asked<'a, Option<Object>> {
        let path = versioned(&format!("/containers/{}/json", query(id)));
        Box::pin(async move { there(self.ask(get("describe the container", path)).await) })
    }

    fn attach<'a>(&'a self, id: &'a str, is_at_terminal: bool) -> Asked<'a, Streams> {
        Box::pin(async move {
            let path =
                format!("/containers/{}/attach?stream=1&stdin=1&stdout=1&stderr=1", query(id));
            let ask = post(ATTACHING, versioned(&path), QUICK);
            let response = self.send(ask).await?;
            let upgraded = hyper::upgrade::on(response).await;
            let upgraded = upgraded
                .map_err(|error| EngineError::Broken { doing: ATTACHING, source: error.into() })?;
            let stream = TokioIo::new(upgraded);
            Ok(if is_at_terminal { streams::of_terminal(stream) } else { streams::of(stream) })
        })
    }

    fn resize<'a>(&'a self, id: &'a str, (rows, columns): (u16, u16)) -> Asked<'a, ()> {
        let path = of(id, &format!("resize?h={rows}&w={columns}"));
        Box::pin(self.tell(post("make the terminal another size", path, QUICK)))
    }

    fn start<'a>(&'a self, id: &'a str) -> Asked<'a, ()> {
        Box::pin(self.tell(post("start the container", of(id, "start"), SLOW)))
    }

    fn wait<'a>(&'a self, id: &'a str) -> Asked<'a, i64> {
        Box::pin(async move {
            let doing = "wait for the container";
            // The head comes at once, and the rest when it has ended.
            let response = self
                .send(post(doing, of(id, "wait"), Duration::from_secs(u64::from(u32::MAX))))
                .await?;
            let bytes = response.into_body().collect().await;
            let bytes = bytes
                .map_err(|error| EngineError::Broken { doing, source: error.into() })?
                .to_bytes();
            let ended = Json::parse(&bytes, JsonLimits::CALL).map(as_object);
            let ended =
                ended.map_err(|error| EngineError::Broken { doing, source: error.into() })?;
            let code = crate::words::number(&ended, &["StatusCode"]);
            code.ok_or_else(|| EngineError::Broken {
                doing,
                source: "it names no exit code".into(),
            })
        })
    }

    fn kill<'a>(&'a self, id: &'a str) -> Asked<'a, ()> {
        Box::pin(async move {
            let killed = self.tell(post("kill the container", of(id, "kill"), SLOW)).await;
            already(killed, &[404, 409])
        })
    }

    fn pause<'a>(&'a self, id: &'a str) -> Asked<'a, ()> {
        Box::pin(self.tell(post("pause the container", of(id, "pause"), QUICK)))
    }

    fn resume<'a>(&'a self, id: &'a str) -> Asked<'a, ()> {
        Box::pin(async move {
            let resumed = self.tell(post("resume the container", of(id, "unpause"), QUICK)).await;
            already(resumed, &[404, 409, 500])
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> Asked<'a, ()> {
        Box::pin(async move {
            let doing = "remove the container";
            let path = versioned(&format!("/containers/{}?force=1&v=1", query(id)));
            let (method, body, within) = (Method::DELETE, Sent::Nothing, SLOW);
            // 409: somebody else removes it.
            already(self.tell(Ask { doing, method, path, body, within }).await, &[404, 409])
        })
    }

    fn containers<'a>(&'a self, label: &'a str) -> Asked<'a, Vec<Object>> {
        let path = versioned(&format!("/containers/json?all=1&filters={}", labelled(label)));
        Box::pin(async move { Ok(as_list(self.ask(get("list containers", path)).await?)) })
    }

    fn images<'a>(&'a self, label: &'a str) -> Asked<'a, Vec<Object>> {
        let path = versioned(&format!("/images/json?filters={}", labelled(label)));
        Box::pin(async move { Ok(as_list(self.ask(get("list images", path)).await?)) })
    }

    fn image<'a>(&'a self, name: &'a str) -> Asked<'a, Option<Object>> {
        let path = versioned(&format!("/images/{}/json", name_in_path(name)));
        Box::pin(async move { there(self.ask(get("describe the image", path)).await) })
    }

    fn networks(&self) -> Asked<'_, Vec<String>> {
        Box::pin(async move {
            let listed = self.ask(get("list networks", versioned("/networks"))).await?;
            let names = as_list(listed);
            Ok(names.iter().filter_map(|it| text(it, &["Name"]).map(str::to_owned)).collect())
        })
    }

    fn pull<'a>(&'a self, name: &'a str, tell: &'a (dyn Fn(&str) + Send + Sync)) -> Asked<'a, ()> {
        // Without a tag the engine would fetch every one that there is.
        let tag = match name.rsplit('/').next().is_some_and(|last| last.contains([':', '@'])) {
            true => "",
            false => "&tag=latest",
        };
        let path = versioned(&format!("/images/create?fromImage={}{tag}", query(name)));
        Box::pin(async move { self.follow(post("fetch the image", path, SILENT_MAX), tell).await })
    }

    fn remove_image<'a>(&'a self, name: &'a str) -> Asked<'a, ()> {
        Box::pin(async move {
            let doing = "remove the image";
            let path = versioned(&format!("/images/{}", name_in_path(name)));
            let (method, body, within) = (Method::DELETE, Sent::Nothing, SLOW);
            already(self.tell(Ask { doing, method, path, body, within }).await, &[404])
        })
    }

    fn build<'a>(
        &'a self,
        build: Build<'a>,
        tell: &'a (dyn Fn(&str) + Send + Sync),
    ) -> Asked<'a, ()> {
        Box::pin(async move {
            let mut labels = String::new();
            Json::write_object(&mut labels, build.labels);
            let mut path =
                format!("/build?t={}&rm=1&forcerm=1&labels={}", query(build.tag), query(&labels));
            if let Some(network) = build.network {
                path.push_str("&networkmode=");
                path.push_str(&query(network));
            }
            let (doing, method, within) = ("build the image", Method::POST, SILENT_MAX);
            let (path, body) = (versioned(&path), Sent::Archive(build.archive));
            self.follow(Ask { doing, method, path, body, within }, tell).await
        })
    }
}

fn get(doing: &'static str, path: String) -> Ask<'static> {
    Ask { doing, method: Method::GET, path, body: Sent::Nothing, within: QUICK }
}

fn post(doing: &'static str, path: String, within: Duration) -> Ask<'static> {
    Ask { doing, method: Method::POST, path, body: Sent::Nothing, within }
}

/// Returns the path of something that is done to a container.
fn of(id: &str, what: &str) -> String {
    versioned(&format!("/containers/{}/{what}", query(id)))
}

/// Returns a path of the version that we speak. [`Facts`] says whether the engine speaks it.
fn versioned(path: &str) -> String {
    let (major, minor) = API_MIN;
    format!("/v{major}.{minor}{path}")
}

/// The name of an image has slashes and a colon, which the API takes as they are.
fn name_in_path(name: &str) -> String {
    let parts: Vec<String> =
        name.split('/').map(|part| query(part).replace("%3A", ":").replace("%40", "@")).collect();
    parts.join("/")
}

fn labelled(label: &str) -> String {
    let filters = crate::words::object([("label", crate::words::list([label]))]);
    let mut text = String::new();
    Json::write_object(&mut text, &filters);
    query(&text)
}

fn as_object(json: Json) -> Object {
    match json {
        Json::Object(object) => object,
        _ => Object::new(),
    }
}

fn as_list(json: Json) -> Vec<Object> {
    match json {
        Json::Array(list) => list.into_iter().map(as_object).collect(),
        _ => Vec::new(),
    }
}

/// Turns what is not there into nothing.
fn there(answer: Result<Json, EngineError>) -> Result<Option<Object>, EngineError> {
    match answer {
        Ok(json) => Ok(Some(as_object(json))),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes what was so already for done.
fn already(done: Result<(), EngineError>, statuses: &[u16]) -> Result<(), EngineError> {
    match done {
        Err(EngineError::Refused { status, .. }) if statuses.contains(&status) => Ok(()),
        done => done,
    }
}

/// Returns what the engine says in an answer that refuses.
fn message(said: &[u8]) -> String {
    let json = Json::parse(said, JsonLimits::CALL).map(as_object);
    let message = json.ok().and_then(|it| text(&it, &["message"]).map(str::to_owned));
    let message = message.unwrap_or_else(|| String::from_utf8_lossy(said).into_owned());
    ic_types::visible(message.trim())
}

/// Tells a line of progress; one that says what went wrong is the end.
fn progress(line: &[u8], tell: &(dyn Fn(&str) + Send + Sync)) -> Result<(), EngineError> {
    let Ok(Json::Object(said)) = Json::parse(line, JsonLimits::CALL) else { return Ok(()) };
    if let Some(error) = text(&said, &["error"]) {
        return Err(EngineError::Build { message: ic_types::visible(error.trim()) });
    }
    let words = text(&said, &["stream"]).or_else(|| text(&said, &["status"])).unwrap_or_default();
    for words in words.lines().map(str::trim_end).filter(|it| !it.is_empty()) {
        tell(&ic_types::visible(words));
    }
    Ok(())
}
