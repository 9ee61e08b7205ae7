//! Clients of providers against a scripted one: what only a library can be asked, such as short
//! time-outs, proxies, and conversations that other providers began.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_home::environment::Network;
use ic_model::offline::EXECUTE_CODE;
use ic_model::{
    AssistantBlock, Client, ClientError, ClientSpec, Completion, Credential, Listener, Message,
    Model as _, ModelError, Prompt, Silent, StopReason, Timeouts, ToolSpec, ToolUseId, UserBlock,
};
use ic_testkit::ScriptedProvider;
use ic_testkit::provider::{Format, KEY, Reply, Said};
use ic_types::{Json, JsonLimits, Object, Provider, Secret};
use tokio_util::sync::CancellationToken;

pub(crate) fn spec(format: Format, base_url: &str) -> ClientSpec {
    let model = match format {
        Format::Anthropic => "claude-sonnet-4-6",
        Format::Responses => "openai:gpt-5",
        Format::Chat => "openai-compatible:local-model",
        Format::Gemini => "google:gemini-2.5-pro",
    };
    let key = Arc::new(Secret::new(KEY.to_owned()));
    ClientSpec {
        model: model.parse().unwrap(),
        credential: Some(Credential::new(key, "a test")),
        base_url: Some(url::Url::parse(base_url).unwrap()),
        network: Network::default(),
        timeouts: Timeouts::USUAL,
    }
}

#[derive(Default)]
struct Ear(Mutex<String>);

impl Listener for Ear {
    fn text(&self, delta: &str) {
        self.0.lock().unwrap().push_str(delta);
    }
}

fn tools() -> Vec<ToolSpec> {
    let schema = Json::parse(br#"{"type":"object"}"#, JsonLimits::CALL).unwrap();
    let Json::Object(input_schema) = schema else { panic!() };
    vec![ToolSpec { name: EXECUTE_CODE.to_owned(), description: "runs".to_owned(), input_schema }]
}

pub(crate) fn says(text: &str) -> Message {
    Message::User(vec![UserBlock::Text(text.to_owned())])
}

pub(crate) async fn ask(
    client: &Client,
    messages: &[Message],
) -> (Result<Completion, ModelError>, String) {
    let (ear, tools) = (Ear::default(), tools());
    let prompt = Prompt { system: "You are tested.", messages, tools: &tools };
    let completion = client.complete(prompt, &ear, &CancellationToken::new()).await;
    (completion, ear.0.into_inner().unwrap())
}

#[tokio::test]
async fn text_is_told_as_it_comes_and_is_the_text_of_the_message() {
    for format in Format::ALL {
        let provider = ScriptedProvider::start([Reply::Says(Said::text("Grüße, 😀!"))]);
        let client = Client::new(spec(format, &provider.url())).unwrap();
        let (completion, told) = ask(&client, &[says("hello")]).await;
        let completion = completion.unwrap();
        let last = completion.blocks.last();
        assert_eq!(last, Some(&AssistantBlock::Text("Grüße, 😀!".to_owned())), "{format}");
        assert_eq!((told.as_str(), completion.stop), ("Grüße, 😀!", StopReason::EndTurn));
        let usage = completion.usage;
        assert_eq!((usage.prompt, usage.completion, usage.cached), (100, 10, 0), "{format}");
        provider.check();
    }
}

/// A conversation in which a message of every provider stands.
fn of_everybody() -> Vec<Message> {
    let mut messages = vec![says("begin")];
    for (at, provider) in Provider::ALL.into_iter().enumerate() {
        let id = ToolUseId::try_from(format!("functions.run:{at}")).unwrap();
        let mut block = Object::new();
        block.insert("secret-of", provider.as_str());
        let mut input = Object::new();
        input.insert("code", "1");
        messages.push(Message::Assistant(vec![
            AssistantBlock::Verbatim { provider, block: block.into() },
            AssistantBlock::Text("I use a tool.".to_owned()),
            AssistantBlock::ToolUse {
                id: id.clone(),
                name: EXECUTE_CODE.to_owned(),
                input: input.into(),
            },
        ]));
        let content = "1".to_owned();
        messages.push(Message::User(vec![
            UserBlock::ToolResult { id, content, is_error: at == 1 },
            UserBlock::Note("something".to_owned()),
        ]));
    }
    messages
}

#[tokio::test]
async fn what_one_provider_signed_is_sent_to_no_other() {
    for format in Format::ALL {
        let provider = ScriptedProvider::start([Reply::Says(Said::text("x"))]);
        let client = Client::new(spec(format, &provider.url())).unwrap();
        ask(&client, &of_everybody()).await.0.ok();
        let request = &provider.requests()[0];
        let body = request.body.to_string();
        let ours = format!(r#""secret-of":"{format}""#);
        for other in Format::ALL.into_iter().filter(|it| *it != format) {
            assert!(!body.contains(&format!(r#""secret-of":"{other}""#)), "{format}: {body}");
        }
        // Compatible servers get back only what they are known to give.
        assert_eq!(body.contains(&ours), format != Format::Chat, "{format}: {body}");
        // Apart from that odd block, and from signatures that others do not give, it is one that it takes.
        let is_expected = |fault: &&String| {
            [
                "secret-of",
                "a block ``",
                "Invalid value: ''",
                "thought_signature",
                ".text: Field required",
            ]
            .iter()
            .any(|part| fault.contains(part))
        };
        let others: Vec<_> = request.faults.iter().filter(|it| !is_expected(it)).collect();
        assert!(others.is_empty(), "{format}: {others:#?}");
    }
}

/// Cancelling waits for nothing: not for a byte, not for a time-out.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_cancelled_is_over_at_once() {
    for format in Format::ALL {
        // Before the first byte of the answer, and while it stalls in the middle.
        for n_events in [0, 4] {
            let provider =
                ScriptedProvider::start([Reply::HangsAfter(n_events, Said::text("this stops"))]);
            let client = Client::new(spec(format, &provider.url())).unwrap();
            let (messages, cancel) = ([says("hello")], CancellationToken::new());
            let prompt = Prompt { system: "You are tested.", messages: &messages, tools: &[] };
            let mut completing = client.complete(prompt, &Silent, &cancel);
            let asked = async {
                while provider.requests().is_empty() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                ended = &mut completing => panic!("{format}: {ended:?}"),
                () = asked => {}
            }
            cancel.cancel();
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let polled = completing.as_mut().poll(&mut context);
            assert_eq!(polled, std::task::Poll::Ready(Err(ModelError::Cancelled)), "{format}");
            drop(completing);
            // Nobody waits for a time-out, which takes minutes.
            provider.until_closed();
        }
    }
}

// Connections are closed by another task, which has to run while this one waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_says_nothing_for_too_long_is_left() {
    for format in Format::ALL {
        let said = Said::text("this stops");
        let provider = ScriptedProvider::start([Reply::HangsAfter(4, said)]);
        let timeouts = Timeouts { idle: Duration::from_millis(300), ..Timeouts::USUAL };
        let client = Client::new(ClientSpec { timeouts, ..spec(format, &provider.url()) }).unwrap();
        let (completion, told) = ask(&client, &[says("hello")]).await;
        if !told.is_empty() {
            let expected = ModelError::Cut("nothing more came for too long".to_owned());
            assert_eq!(completion, Err(expected), "{format}");
        }
        provider.until_closed();
    }
}

/// A proxy that notes the first line it is sent, and refuses.
fn proxy() -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let heard = std::thread::spawn(move || {
        let mut heard = String::new();
        // A client may try again.
        for stream in listener.incoming().take(3) {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            reader.read_line(&mut heard).unwrap();
            let mut line = String::new();
            while 2 < reader.read_line(&mut line).unwrap() {
                line.clear();
            }
            stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").unwrap();
            stream.read_to_end(&mut Vec::new()).ok();
        }
        heard
    });
    (format!("http://user:pass-word@{address}"), heard)
}

#[tokio::test]
async fn a_proxy_is_used_and_its_password_is_not_told() {
    let (address, heard) = proxy();
    let network = Network { https_proxy: Some(address), ..Network::default() };
    let spec = ClientSpec { network, ..spec(Format::Anthropic, "https://models.example") };
    let client = Client::new(spec).unwrap();
    let (completion, _) = ask(&client, &[says("hello")]).await;
    let error = completion.unwrap_err();
    assert!(matches!(error, ModelError::Network(_)), "{error:?}");
    assert!(!format!("{error:?} {client:?}").contains("pass-word"), "{error:?}");
    drop(client);
    let heard = heard.join().unwrap();
    assert!(heard.starts_with("CONNECT models.example:443 HTTP/1.1"), "{heard}");
}

#[tokio::test]
async fn a_host_without_proxy_is_reached_without_it() {
    // Nobody listens there, so that who is asked would be no answer.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let network = Network {
        https_proxy: Some(format!("http://{closed}")),
        no_proxy: Some("127.0.0.1, models.example".to_owned()),
        ..Network::default()
    };
    let provider = ScriptedProvider::start([Reply::Says(Said::text("direct"))]);
    let plain = ClientSpec { network: network.clone(), ..spec(Format::Chat, &provider.url()) };
    let (completion, told) = ask(&Client::new(plain).unwrap(), &[says("hello")]).await;
    assert!(completion.is_ok(), "{completion:?}");
    assert_eq!(told, "direct");
    // It fails because it is no secure server, and not because of the proxy.
    let secure = format!("https://{}", provider.address());
    let secure = ClientSpec { network, ..spec(Format::Chat, &secure) };
    let (completion, _) = ask(&Client::new(secure).unwrap(), &[says("hello")]).await;
    assert!(matches!(completion, Err(ModelError::Tls(_))), "{completion:?}");
}

#[test]
fn what_cannot_be_used_is_said() {
    let secure = "https://models.example";
    let with = |network: Network| {
        Client::new(ClientSpec { network, ..spec(Format::Anthropic, secure) })
            .map_err(|error| error.to_string())
            .map(|_| ())
    };
    let proxy = Some("::no proxy, pass-word::".to_owned());
    let error = with(Network { https_proxy: proxy, ..Network::default() }).unwrap_err();
    assert_eq!(error, "`HTTPS_PROXY` is not a valid proxy address");
    let missing = Some("/nowhere/ca.pem".into());
    let error = with(Network { extra_roots: missing, ..Network::default() }).unwrap_err();
    assert_eq!(error, "`SSL_CERT_FILE` names `/nowhere/ca.pem`, which is not there");
    let empty = tempfile::NamedTempFile::new().unwrap();
    let extra_roots = Some(empty.path().to_owned());
    let error = with(Network { extra_roots, ..Network::default() }).unwrap_err();
    assert!(error.ends_with("which contains no certificate"), "{error}");
    let without = ClientSpec { credential: None, ..spec(Format::Gemini, secure) };
    assert!(matches!(Client::new(without), Err(ClientError::NoKey(Provider::Google))));
}

#[tokio::test]
async fn compatible_servers_speak_each_in_its_own_way() {
    let event = |data: &str| format!("data: {data}\n\n");
    let chunk = |delta: &str, stop: &str| {
        event(&format!(r#"{{"choices":[{{"delta":{delta},"finish_reason":{stop}}}]}}"#))
    };
    let call = |fields: &str| chunk(&format!(r#"{{"tool_calls":[{{{fields}}}]}}"#), "null");
    let stop = chunk("{}", "\"stop\"");
    let function = |name: &str, arguments: &str| {
        format!(r#""function":{{"name":"{name}","arguments":{arguments}}}"#)
    };
    for (stream, expected) in [
        // No id, no index, whole arguments as an object, no end of the stream.
        (
            call(&function("a", r#"{"x":1}"#)) + &call(&function("b", "{}")) + &stop,
            vec![("call-1-0", "a", r#"{"x":1}"#), ("call-1-1", "b", "{}")],
        ),
        // The same index for every call.
        (
            call(&format!(r#""index":0,"id":"p",{}"#, function("a", "\"{}\"")))
                + &call(&format!(r#""index":0,"id":"q",{}"#, function("b", "\"{}\"")))
                + &stop,
            vec![("p", "a", "{}"), ("q", "b", "{}")],
        ),
        // In pieces, the id only once, and arguments that are no JSON.
        (
            call(&format!(r#""index":0,"id":"p",{}"#, function("a", "\"\"")))
                + &call(r#""index":0,"function":{"arguments":"{\"x\""}"#)
                + &call(r#""index":0,"function":{"arguments":":2}"}"#)
                + &call(&format!(r#""index":1,"id":"q",{}"#, function("b", "\"{oops\"")))
                + &stop,
            vec![("p", "a", r#"{"x":2}"#), ("q", "b", r#""{oops""#)],
        ),
    ] {
        let raw = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{stream}",
            stream.len()
        );
        let provider = ScriptedProvider::start([Reply::Raw(raw.into_bytes())]);
        let client = Client::new(spec(Format::Chat, &provider.url())).unwrap();
        let (completion, _) = ask(&client, &[says("hello")]).await;
        let completion = completion.unwrap();
        let uses: Vec<(String, String, String)> = completion
            .blocks
            .iter()
            .map(|block| match block {
                AssistantBlock::ToolUse { id, name, input } => {
                    (id.to_string(), name.clone(), input.to_string())
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let uses: Vec<_> =
            uses.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
        assert_eq!(uses, expected, "{stream}");
        assert_eq!(completion.stop, StopReason::ToolUse);
    }
}
