//! Models of providers: one completion over HTTP, streamed, retried while nothing was said.
//!
//! ```text
//! Prompt ─▶ a format's body ─▶ Http ─▶ bytes ─▶ sse::Parser ─▶ a format's reader ─▶ Completion
//!              ▲                 │ a status, or an error in the stream: Fault ─▶ ModelError
//!              └─── retry::delay ┘ if it may pass, and nothing was told yet
//! ```
//!
//! Reading order: [`Client`] here, then `http` (the way there), `fault` (what providers say instead of
//! an answer), `retry`, `stream`, `sse`, `wire` (what the formats share), and the formats: `anthropic`,
//! `responses`, `chat`, `gemini`. No key is looked at outside of `key`.

mod anthropic;
mod chat;
mod fault;
mod gemini;
mod http;
mod key;
mod responses;
mod retry;
pub mod roots;
pub mod sse;
mod stream;
mod wire;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ic_home::environment::Network;
use ic_home::{Clock as _, SystemClock, random};
use ic_types::{Json, JsonLimits, ModelId, Provider};
use reqwest::Response;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::catalogue;
use crate::error::ModelError;
use crate::model::{Completing, Completion, Listener, Model, ModelName, Prompt};
use crate::usage::Usage;

pub use http::{HttpError, Timeouts};
pub use key::Credential;
pub use roots::RootsError;

use fault::{Asked, Fault};
use http::{Ask, Http, Placed};
use retry::After;
use stream::Intake;
use wire::{Progress, Reading, Traits, Trouble};

/// How much of an answer that is none is read.
const FAULT_BYTES_MAX: usize = 64 << 10;
/// How much of a listing of models is read.
const LISTING_BYTES_MAX: usize = 4 << 20;
/// How long the end of a stream whose message is complete is waited for, so that the connection can
/// be used again; nobody waits meanwhile.
const END_GRACE: Duration = Duration::from_secs(2);

/// A model of a provider.
pub struct Client {
    model: ModelId,
    traits: Traits,
    base: Url,
    credential: Option<Credential>,
    http: Http,
}

/// What a client is made of.
#[derive(Debug)]
pub struct ClientSpec {
    /// The model.
    pub model: ModelId,
    /// The key; a server of one's own may need none.
    pub credential: Option<Credential>,
    /// Where the provider is, if not at its own address.
    pub base_url: Option<Url>,
    /// How the network is reached.
    pub network: Network,
    /// How long things may take.
    pub timeouts: Timeouts,
}

/// A client that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The provider wants a key.
    #[error("there is no key for `{0}`")]
    NoKey(Provider),
    /// Nobody said where the server is.
    #[error("the address of the `openai-compatible:` server is not set")]
    NoBaseUrl,
    /// The way to it cannot be made.
    #[error(transparent)]
    Http(#[from] HttpError),
}

impl Client {
    /// Makes a client; nothing is sent.
    pub fn new(spec: ClientSpec) -> Result<Self, ClientError> {
        let ClientSpec { model, credential, base_url, network, timeouts } = spec;
        let provider = model.provider();
        if credential.is_none() && provider != Provider::OpenAiCompatible {
            return Err(ClientError::NoKey(provider));
        }
        let base = base(provider, base_url).ok_or(ClientError::NoBaseUrl)?;
        let http = Http::new(&base, &network, timeouts)?;
        let known = catalogue::find(&model);
        let traits = Traits { max_output: known.max_output, is_thinking: known.is_thinking };
        Ok(Self { model, traits, base, credential, http })
    }

    /// Asks the provider which models it has, which costs nothing.
    pub async fn models(&self) -> Result<Vec<String>, ModelError> {
        let url = self.url(&["models"], self.model.provider() == Provider::Google);
        let response = self.http.send(self.ask(url, None), self.credential.as_ref()).await?;
        let status = response.status().as_u16();
        if !response.status().is_success() {
            let body = beginning(response, FAULT_BYTES_MAX).await;
            return Err(Fault::of_body(status, &body).class(self.asked()));
        }
        let body = beginning(response, LISTING_BYTES_MAX).await;
        let limits = JsonLimits { bytes_max: LISTING_BYTES_MAX, ..JsonLimits::CALL };
        let json = Json::parse(&body, limits)
            .map_err(|error| ModelError::Protocol(format!("no list of models ({error})")))?;
        Ok(match self.model.provider() {
            Provider::Google => gemini::listed(&json),
            Provider::Anthropic | Provider::OpenAi | Provider::OpenAiCompatible => {
                anthropic::listed(&json)
            }
        })
    }

    /// Tries until there is a completion, or a reason to give up.
    async fn try_to_complete(
        &self,
        prompt: Prompt<'_>,
        listener: &dyn Listener,
    ) -> Result<Completion, ModelError> {
        let body = self.body(prompt).to_string();
        let ear = Ear { listener, has_told: AtomicBool::new(false) };
        let mut n_failed = 0;
        loop {
            let (error, wanted) = match self.attempt(&body, prompt.messages.len(), &ear).await {
                Ok(completion) => return Ok(completion),
                Err(failed) => failed,
            };
            n_failed += 1;
            // What was told cannot be taken back, and would be told twice.
            if ear.has_told.load(Ordering::Relaxed) {
                return Err(error);
            }
            let chance = u32::from_be_bytes(random::bytes::<4>().unwrap_or_default());
            let Some(delay) = retry::delay(&error, n_failed, wanted, chance) else {
                return Err(error);
            };
            let told = match error {
                // How long it takes is said with it.
                ModelError::RateLimited { .. } => ModelError::RateLimited { retry_after: None },
                error => error,
            };
            listener.waiting(&told, delay);
            tokio::time::sleep(delay).await;
        }
    }

    /// Tries once; a failure comes with when the provider wants to be asked again.
    async fn attempt(
        &self,
        body: &str,
        n_messages: usize,
        ear: &Ear<'_>,
    ) -> Result<Completion, (ModelError, Option<Duration>)> {
        let ask = self.ask(self.completion_url(), Some(body.to_owned()));
        let mut response =
            self.http.send(ask, self.credential.as_ref()).await.map_err(|error| (error, None))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let mut reader = self.reader(n_messages);
        match read(&mut response, reader.as_mut(), ear).await {
            Ok(Progress::Done) => keep_connection(response),
            Ok(Progress::More) => {}
            Err(trouble) => return Err(self.class(trouble)),
        }
        reader.finish().map_err(|trouble| self.class(trouble))
    }

    fn class(&self, trouble: Trouble) -> (ModelError, Option<Duration>) {
        match trouble {
            Trouble::Error(error) => (error, None),
            Trouble::Fault(fault) => (fault.class(self.asked()), fault.wanted),
        }
    }

    /// Reads an answer that is none.
    async fn refusal(&self, response: Response) -> (ModelError, Option<Duration>) {
        let status = response.status();
        if status.is_redirection() {
            let what = "it sends us elsewhere, and a key is not taken elsewhere".to_owned();
            return (ModelError::Protocol(what), None);
        }
        let header = |name: &str| response.headers().get(name).and_then(|it| it.to_str().ok());
        let after = After {
            milliseconds: header("retry-after-ms"),
            value: header("retry-after"),
            date: header("date"),
        };
        let wanted = after.wanted(SystemClock.now());
        let body = beginning(response, FAULT_BYTES_MAX).await;
        let mut fault = Fault::of_body(status.as_u16(), &body);
        fault.wanted = wanted.or(fault.wanted);
        (fault.class(self.asked()), fault.wanted)
    }

    fn asked(&self) -> Asked<'_> {
        let (model, credential) = (&self.model, self.credential.as_ref());
        Asked { model, credential, at: self.base.as_str() }
    }

    fn ask(&self, url: Url, body: Option<String>) -> Ask {
        let (headers, placed): (&[_], _) = match self.model.provider() {
            Provider::Anthropic => {
                (&[("anthropic-version", "2023-06-01")], Placed::Plain("x-api-key"))
            }
            Provider::Google => (&[], Placed::Plain("x-goog-api-key")),
            Provider::OpenAi | Provider::OpenAiCompatible => (&[], Placed::Bearer),
        };
        Ask { url, body, headers, placed }
    }

    fn body(&self, prompt: Prompt<'_>) -> Json {
        let model = self.model.model();
        match self.model.provider() {
            Provider::Anthropic => anthropic::body(model, self.traits, prompt),
            Provider::OpenAi => responses::body(model, self.traits, prompt),
            Provider::OpenAiCompatible => chat::body(model, prompt),
            Provider::Google => gemini::body(self.traits, prompt),
        }
    }

    fn reader(&self, n_messages: usize) -> Box<dyn Reading> {
        match self.model.provider() {
            Provider::Anthropic => Box::new(anthropic::Reader::default()),
            Provider::OpenAi => Box::new(responses::Reader::default()),
            Provider::OpenAiCompatible => Box::new(chat::Reader::new(n_messages)),
            Provider::Google => Box::new(gemini::Reader::new(n_messages)),
        }
    }

    fn completion_url(&self) -> Url {
        match self.model.provider() {
            Provider::Anthropic => self.url(&["messages"], false),
            Provider::OpenAi => self.url(&["responses"], false),
            Provider::OpenAiCompatible => self.url(&["chat", "completions"], false),
            Provider::Google => {
                let method = format!("{}:streamGenerateContent", self.model.model());
                let mut url = self.url(&["models", &method], false);
                url.set_query(Some("alt=sse"));
                url
            }
        }
    }

    fn url(&self, segments: &[&str], is_long_listing: bool) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        if is_long_listing {
            url.set_query(Some("pageSize=1000"));
        }
        url
    }
}

impl Model for Client {
    fn name(&self) -> ModelName {
        ModelName::Provided(self.model.clone())
    }

    fn complete<'a>(
        &'a self,
        prompt: Prompt<'a>,
        listener: &'a dyn Listener,
        cancel: &'a CancellationToken,
    ) -> Completing<'a> {
        Box::pin(async move {
            tokio::select! {
                biased;
                // What is dropped here closes its connection.
                () = cancel.cancelled() => Err(ModelError::Cancelled),
                completed = self.try_to_complete(prompt, listener) => completed,
            }
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("model", &self.model).finish_non_exhaustive()
    }
}

/// Remembers whether anything was told.
struct Ear<'a> {
    listener: &'a dyn Listener,
    has_told: AtomicBool,
}

impl Listener for Ear<'_> {
    fn text(&self, delta: &str) {
        self.has_told.store(true, Ordering::Relaxed);
        self.listener.text(delta);
    }

    fn usage(&self, usage: Usage) {
        self.listener.usage(usage);
    }

    fn waiting(&self, error: &ModelError, delay: Duration) {
        self.listener.waiting(error, delay);
    }
}

/// Reads events until the message is complete, or the stream ends.
async fn read(
    response: &mut Response,
    reader: &mut dyn Reading,
    ear: &Ear<'_>,
) -> Result<Progress, Trouble> {
    let mut intake = Intake::default();
    loop {
        let chunk = response.chunk().await;
        let Some(chunk) = chunk.map_err(|error| http::cut_because(&error))? else {
            return Ok(Progress::More);
        };
        if intake.take(&chunk, reader, ear)? == Progress::Done {
            return Ok(Progress::Done);
        }
    }
}

/// Lets the stream come to its end while nobody waits, so that its connection can be used again.
fn keep_connection(mut response: Response) {
    tokio::spawn(tokio::time::timeout(END_GRACE, async move {
        while let Ok(Some(_)) = response.chunk().await {}
    }));
}

/// Reads at most `bytes_max` of a body; what breaks off is taken as far as it came.
async fn beginning(mut response: Response, bytes_max: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = bytes_max.saturating_sub(body.len());
        body.extend(chunk.iter().take(room));
        if room < chunk.len() {
            break;
        }
    }
    body
}

/// Returns the address under which a provider's methods are.
///
/// People write it with the version and without: the version is added where it is missing.
fn base(provider: Provider, configured: Option<Url>) -> Option<Url> {
    let usual = match provider {
        Provider::Anthropic => "https://api.anthropic.com/v1",
        Provider::OpenAi => "https://api.openai.com/v1",
        Provider::Google => "https://generativelanguage.googleapis.com/v1beta",
        Provider::OpenAiCompatible => "",
    };
    let Some(mut url) = configured else { return Url::parse(usual).ok() };
    let last = url.path_segments().and_then(|mut it| it.rfind(|part| !part.is_empty()));
    let (version, is_there) = match provider {
        Provider::Anthropic => ("v1", last == Some("v1")),
        Provider::Google => ("v1beta", matches!(last, Some("v1" | "v1beta" | "v1alpha"))),
        Provider::OpenAi | Provider::OpenAiCompatible => ("v1", last.is_some()),
    };
    if let (false, Ok(mut path)) = (is_there, url.path_segments_mut()) {
        path.pop_if_empty().push(version);
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_added_where_it_is_missing() {
        let anthropic = Provider::Anthropic;
        let compatible = Provider::OpenAiCompatible;
        for (provider, configured, expected) in [
            (anthropic, None, "https://api.anthropic.com/v1"),
            (anthropic, Some("https://g.example"), "https://g.example/v1"),
            (anthropic, Some("https://g.example/v1/"), "https://g.example/v1/"),
            (anthropic, Some("https://g.example/anthropic/"), "https://g.example/anthropic/v1"),
            (Provider::OpenAi, Some("https://g.example"), "https://g.example/v1"),
            (Provider::OpenAi, Some("https://g.example/openai"), "https://g.example/openai"),
            (Provider::Google, Some("https://g.example/"), "https://g.example/v1beta"),
            (Provider::Google, Some("https://g.example/v1"), "https://g.example/v1"),
            (compatible, Some("http://127.0.0.1:8080"), "http://127.0.0.1:8080/v1"),
            (compatible, Some("http://127.0.0.1:8080/api/v3"), "http://127.0.0.1:8080/api/v3"),
        ] {
            let configured = configured.map(|it| Url::parse(it).unwrap());
            let shown = format!("{provider} {configured:?}");
            assert_eq!(base(provider, configured).unwrap().as_str(), expected, "{shown}");
        }
        assert_eq!(base(compatible, None), None);
    }
}
