//! A provider of models that follows a script and speaks the four wire formats as the real ones do.
//!
//! It streams in pieces of awkward sizes, with pings in between; it limits, overloads, refuses, fails in
//! the middle and breaks off when the script says so; it checks the key and every request, and
//! remembers what it was asked. It knows only as much HTTP as its clients use, and no model thinks in it.
//!
//! Reading order: [`ScriptedProvider`] here, [`script`] (what it is told to do), [`frames`] (how that
//! looks in each format, streamed), [`whole`] (the same at once), [`rules`] (what it takes), `http` (the wire), [`brain`] (for people: the
//! offline model behind it).

#![expect(clippy::expect_used, reason = "test support: a failure is a failed test")]
#![expect(clippy::disallowed_methods, reason = "test support: it times what its clients do")]

pub mod brain;
pub mod frames;
mod http;
pub mod rules;
pub mod script;
pub mod whole;

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use frames::Format;
pub use script::{Fault, Reply, Said, Stop, Tokens, Use};

use http::{Head, Wire};

/// After this, something that is waited for will not come any more.
const DEADLINE: Duration = Duration::from_mins(1);

/// The only key that it takes, unless it is told another.
pub const KEY: &str = "sk-scripted-0123456789abcdefghijklmnop";

/// The models that it lists.
pub const MODELS: [&str; 4] = ["claude-sonnet-4-6", "gpt-5", "gemini-2.5-pro", "local-model"];

/// A provider that runs.
#[derive(Debug)]
pub struct ScriptedProvider {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// A request, as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// The format that its path means.
    pub format: Format,
    /// The path, with the query.
    pub path: String,
    /// The headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
    /// What a real provider would not have taken.
    pub faults: Vec<String>,
}

/// Where answers come from.
enum Mind {
    Script(VecDeque<Reply>),
    /// The same for a program of other people's, which asks in ways of its own.
    Stranger(VecDeque<Reply>),
    Brain,
}

/// What is called with the number of a request.
pub type Hook = Arc<dyn Fn(usize) + Send + Sync>;

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    key: String,
    hook: Option<Hook>,
}

struct State {
    mind: Mind,
    requests: Vec<Request>,
    /// How often a client closed the connection while an answer was to come.
    n_closed: usize,
    n_connections: usize,
    /// When the last byte of the latest answer was written.
    answered: Option<Instant>,
    /// The times between the last byte of an answer and the next request.
    gaps: Vec<Duration>,
    is_over: bool,
}

impl ScriptedProvider {
    /// Starts a provider that follows `script`.
    pub fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        Self::start_with(script, None)
    }

    /// Starts a provider that calls `hook` with the number of each request, from 1, before it answers.
    pub fn start_with(script: impl IntoIterator<Item = Reply>, hook: Option<Hook>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Self::serve(listener, Mind::Script(script.into_iter().collect()), hook)
    }

    /// Starts a provider for an agent of other people's: what it sends is not compared with what our own
    /// clients send, a request that offers no tools (a title, say) is answered with a few words, and so
    /// is whatever comes after the script.
    pub fn start_for_stranger(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Self::serve(listener, Mind::Stranger(script.into_iter().collect()), None)
    }

    /// Likewise, and calls `hook` with the number of each request, from 1, before it answers.
    pub fn start_for_stranger_with(script: impl IntoIterator<Item = Reply>, hook: Hook) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Self::serve(listener, Mind::Stranger(script.into_iter().collect()), Some(hook))
    }

    /// Serves people on `listener`: whoever asks is answered by the offline model.
    pub fn start_for_people(listener: TcpListener) -> Self {
        Self::serve(listener, Mind::Brain, None)
    }

    fn serve(listener: TcpListener, mind: Mind, hook: Option<Hook>) -> Self {
        let address = listener.local_addr().expect("an address");
        let state = State {
            mind,
            requests: Vec::new(),
            n_closed: 0,
            n_connections: 0,
            answered: None,
            gaps: Vec::new(),
            is_over: false,
        };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        let shared = Arc::new(Shared { state, changed, key: KEY.to_owned(), hook });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let mut state = serving.lock();
                if state.is_over {
                    return;
                }
                state.n_connections += 1;
                drop(state);
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || shared.converse(stream));
            }
        });
        Self { address, shared }
    }

    /// Returns the base URL, without a version.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds to the script.
    pub fn push(&self, replies: impl IntoIterator<Item = Reply>) {
        if let Mind::Script(script) | Mind::Stranger(script) = &mut self.shared.lock().mind {
            script.extend(replies);
        }
    }

    /// Returns what it was asked, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// Returns how often it was asked.
    pub fn n_requests(&self) -> usize {
        self.shared.lock().requests.len()
    }

    /// Returns the request at `at`, the first at 0.
    pub fn request(&self, at: usize) -> Option<Request> {
        self.shared.lock().requests.get(at).cloned()
    }

    /// Returns how many replies of the script are left.
    pub fn left(&self) -> usize {
        match &self.shared.lock().mind {
            Mind::Script(script) | Mind::Stranger(script) => script.len(),
            Mind::Brain => 0,
        }
    }

    /// Returns how many connections were made.
    pub fn n_connections(&self) -> usize {
        self.shared.lock().n_connections
    }

    /// Returns the times between the last byte of an answer and the request after it.
    pub fn gaps(&self) -> Vec<Duration> {
        self.shared.lock().gaps.clone()
    }

    /// Waits until it was asked `n` times.
    #[track_caller]
    pub fn until_asked(&self, n: usize) {
        self.until("it is asked", |state| n <= state.requests.len());
    }

    /// Waits until a client has closed its connection while an answer was to come.
    #[track_caller]
    pub fn until_closed(&self) {
        self.until("the client closes", |state| state.n_closed != 0);
    }

    /// Checks that it took all that it was asked.
    #[track_caller]
    pub fn check(&self) {
        // Faults are few, and requests of long conversations are long.
        let requests: Vec<(usize, Request)> = {
            let state = self.shared.lock();
            let faulty = state.requests.iter().enumerate().filter(|(_, it)| !it.faults.is_empty());
            faulty.map(|(at, request)| (at, request.clone())).collect()
        };
        for (at, request) in requests {
            assert!(request.faults.is_empty(), "{at}: {:#?} in {:#}", request.faults, request.body);
        }
    }

    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn(&State) -> bool) {
        let state = self.shared.lock();
        let waited = self.shared.changed.wait_timeout_while(state, DEADLINE, |it| !is_so(it));
        let (_state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!timeout.timed_out(), "nobody knows when {what}");
    }
}

impl Drop for ScriptedProvider {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        // Whoever waits for a connection has to be woken.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves one connection, request by request.
    fn converse(&self, stream: TcpStream) {
        let Ok(mut wire) = Wire::new(stream) else { return };
        while let Ok(Some((head, body))) = wire.request() {
            let Some(format) = Format::of_path(&head.path) else {
                let nothing = json!({"error": {"message": "there is nothing here"}});
                if wire.answer(404, &[], &nothing).is_err() {
                    return;
                }
                continue;
            };
            let is_over = match head.method.as_str() {
                // Two providers list their models under the same path.
                "GET" if head.header("x-api-key").is_some() => {
                    self.list(&mut wire, Format::Anthropic, &head)
                }
                "GET" => self.list(&mut wire, format, &head),
                _ => self.complete(&mut wire, format, head, &body),
            };
            if is_over {
                return;
            }
        }
    }

    /// Lists the models; returns whether the connection is over.
    fn list(&self, wire: &mut Wire, format: Format, head: &Head) -> bool {
        if !self.is_known(format, head) {
            return fail(wire, format, &Fault::BadKey);
        }
        let listed = match format {
            Format::Gemini => {
                let named = MODELS.map(|it| json!({"name": format!("models/{it}")}));
                json!({"models": named})
            }
            Format::Anthropic | Format::Responses | Format::Chat => {
                json!({"data": MODELS.map(|it| json!({"id": it, "object": "model"}))})
            }
        };
        wire.answer(200, &[], &listed).is_err()
    }

    /// Answers a request for a completion; returns whether the connection is over.
    fn complete(&self, wire: &mut Wire, format: Format, head: Head, body: &[u8]) -> bool {
        let came = Instant::now();
        let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let is_known = self.is_known(format, &head);
        let Head { path, headers, .. } = head;
        let faults = match &self.lock().mind {
            Mind::Stranger(_) => Vec::new(),
            Mind::Script(_) | Mind::Brain => rules::check(format, &path, &body),
        };
        let request = Request { format, path, headers, body, faults: faults.clone() };
        let reply = self.next(&request, came);
        if !is_known {
            return fail(wire, format, &Fault::BadKey);
        }
        if request.model() == "no-such-model" {
            return fail(wire, format, &Fault::UnknownModel);
        }
        if !faults.is_empty() {
            return fail(wire, format, &Fault::Rejected(faults.join("; ")));
        }
        let over = self.play(wire, format, &request, reply);
        self.lock().answered = Some(Instant::now());
        over
    }

    /// Remembers a request, and returns what is to be said to it.
    fn next(&self, request: &Request, came: Instant) -> Reply {
        let mut state = self.lock();
        state.requests.push(request.clone());
        let gap = state.answered.take().map(|answered| came.duration_since(answered));
        state.gaps.extend(gap);
        let reply = match &mut state.mind {
            Mind::Brain => None,
            Mind::Stranger(script) => {
                let has_tools = request.offers_tools();
                let next = has_tools.then(|| script.pop_front()).flatten();
                Some(next.unwrap_or_else(|| Reply::Says(Said::text("That is all."))))
            }
            Mind::Script(script) => {
                let over = || Reply::Fails(Fault::Rejected("the script is over".to_owned()));
                Some(script.pop_front().unwrap_or_else(over))
            }
        };
        let n_requests = state.requests.len();
        self.changed.notify_all();
        drop(state);
        if let Some(hook) = &self.hook {
            hook(n_requests);
        }
        reply.unwrap_or_else(|| brain::reply(request))
    }

    fn play(&self, wire: &mut Wire, format: Format, request: &Request, reply: Reply) -> bool {
        let frames = |said: &Said| frames::of(format, said, &request.model());
        match reply {
            Reply::Says(said) if !request.is_streamed() => {
                wire.answer(200, &[], &whole::of(format, &said, &request.model())).is_err()
            }
            Reply::Says(said) => wire.stream(&frames(&said)).and_then(|()| wire.end()).is_err(),
            Reply::Fails(fault) => fail(wire, format, &fault),
            Reply::FailsAfter(n_frames, said, fault) => {
                let mut frames = frames(&said);
                frames.truncate(n_frames);
                frames.push(frames::error(format, &fault));
                wire.stream(&frames).and_then(|()| wire.end()).is_err()
            }
            Reply::CutsAfter(n_frames, said) => {
                let mut frames = frames(&said);
                frames.truncate(n_frames);
                wire.stream(&frames).ok();
                true
            }
            Reply::HangsAfter(n_frames, said) => {
                let mut frames = frames(&said);
                frames.truncate(n_frames);
                if wire.stream(&frames).is_ok() {
                    wire.until_closed();
                }
                self.lock().n_closed += 1;
                self.changed.notify_all();
                true
            }
            Reply::Raw(bytes) => {
                wire.raw(&bytes).ok();
                true
            }
        }
    }

    fn is_known(&self, format: Format, head: &Head) -> bool {
        let bearer = format!("Bearer {}", self.key);
        let is_bearer = head.header("authorization") == Some(bearer.as_str());
        match format {
            // Its own SDKs send it either way.
            Format::Anthropic if is_bearer => head.header("x-api-key").is_none(),
            Format::Anthropic | Format::Gemini => {
                head.header(format.key_header()) == Some(self.key.as_str())
            }
            Format::Responses | Format::Chat => is_bearer,
        }
    }
}

fn fail(wire: &mut Wire, format: Format, fault: &Fault) -> bool {
    let (status, headers, body) = frames::failure(format, fault);
    wire.answer(status, &headers, &body).is_err()
}

impl Request {
    /// Returns whether the model may use tools.
    pub fn offers_tools(&self) -> bool {
        let holds =
            |it: &Value| it.get("tools").is_some_and(|it| it.as_array() != Some(&Vec::new()));
        // Some have them in the conversation.
        let items = self.body.get("input").and_then(Value::as_array);
        holds(&self.body) || items.is_some_and(|items| items.iter().any(holds))
    }

    /// Returns whether the answer is to come in events.
    pub fn is_streamed(&self) -> bool {
        match self.format {
            Format::Gemini => self.path.contains(":streamGenerateContent"),
            Format::Anthropic | Format::Responses | Format::Chat => {
                self.body.get("stream").and_then(Value::as_bool) == Some(true)
            }
        }
    }

    /// Returns the model that is asked for.
    pub fn model(&self) -> String {
        match self.format {
            Format::Gemini => {
                let name = self.path.rsplit('/').next().unwrap_or_default();
                name.split(':').next().unwrap_or_default().to_owned()
            }
            Format::Anthropic | Format::Responses | Format::Chat => {
                self.body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned()
            }
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
