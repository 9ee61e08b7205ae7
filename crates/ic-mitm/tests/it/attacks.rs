//! Agents that do not behave: nothing of what they try reaches the provider.

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use tokio::io::AsyncWriteExt as _;

use crate::stage::{KEY, Says, Setting, Stage, whole};

/// What is done to a request.
type Change = Box<dyn Fn(&mut Request<Full<Bytes>>)>;

const BODY: &str = r#"{"model":"claude-sonnet-4-6","messages":[]}"#;

async fn stage() -> Stage {
    Stage::set(Setting::default(), |_| Says::Answer(200, Vec::new(), vec![Bytes::from("{}")])).await
}

/// Checks that nothing was sent, and that no answer makes an agent try again.
#[track_caller]
fn check_refused(stage: &Stage, what: &str, answer: &str) {
    assert!(stage.got().is_empty(), "{what} reached the provider: {:?}", stage.got());
    assert!(!answer.contains(KEY), "{what}: {answer}");
    let status = answer.split(' ').nth(1).unwrap_or_default();
    assert!(
        !matches!(status, "200" | "401" | "429") && !status.starts_with('5'),
        "{what}: {answer}"
    );
}

#[tokio::test]
async fn only_the_provider_s_host_is_connected_to() {
    let stage = stage().await;
    for target in [
        "evil.example:443",
        "api.anthropic.com:80",
        "api.anthropic.com:444",
        "api.anthropic.com:22",
        "api.anthropic.com.:443",
        "api.anthropic.com.evil.example:443",
        "evil.api.anthropic.com:443",
        "x@api.anthropic.com:443",
        "api.openai.com:443",
        "127.0.0.1:443",
        "[::1]:443",
        "localhost:443",
        "2130706433:443",
        "api.anthropic.com%00.evil.example:443",
        "api.anthropic.com%2eevil.example:443",
        "169.254.169.254:80",
    ] {
        let request =
            format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n");
        let answer = stage.raw(request.as_bytes()).await;
        check_refused(&stage, target, &answer);
        assert!(
            answer.starts_with("HTTP/1.1 403") || answer.starts_with("HTTP/1.1 400"),
            "{target}: {answer}"
        );
    }
    // With its own name it is.
    let host = "API.Anthropic.com:443";
    let answer = stage
        .raw(format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\nno TLS\r\n").as_bytes())
        .await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // A last word of TLS, and the end.
    let rest = answer.split("\r\n\r\n").nth(1).unwrap();
    assert!(rest.len() <= 7, "what is not TLS is closed: {answer:?}");
    assert!(stage.book.refused.lock().unwrap().len() >= 12);
}

#[tokio::test]
async fn what_is_not_connect_is_refused() {
    let stage = stage().await;
    let fake = stage.gate.fake().as_str().to_owned();
    for request in [
        format!(
            "GET http://api.anthropic.com/v1/models HTTP/1.1\r\nHost: api.anthropic.com\r\nx-api-key: {fake}\r\nConnection: close\r\n\r\n"
        ),
        "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
            .to_owned(),
        format!(
            "POST /v1/messages HTTP/1.1\r\nHost: api.anthropic.com\r\nx-api-key: {fake}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
        ),
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
        "OPTIONS * HTTP/1.1\r\nHost: api.anthropic.com\r\nConnection: close\r\n\r\n".to_owned(),
    ] {
        let answer = stage.raw(request.as_bytes()).await;
        check_refused(&stage, &request, &answer);
        assert!(
            answer.starts_with("HTTP/1.1 403") || answer.starts_with("HTTP/1.0 403"),
            "{request}: {answer}"
        );
    }
    for garbage in [
        b"GET /\r\n\r\n".as_slice(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(),
        b"\x05\x01\x00".as_slice(),
        b"CONNECT api.anthropic.com:443 HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n".as_slice(),
        b"CONNECT api.anthropic.com:443\0 HTTP/1.1\r\n\r\n".as_slice(),
    ] {
        let mut all = garbage.to_vec();
        // So that whoever waits for more hears that nothing comes.
        all.extend(b"\r\n\r\n");
        let answer = stage.raw(&all).await;
        check_refused(&stage, &format!("{garbage:?}"), &answer);
    }
}

#[tokio::test]
async fn sni_and_host_have_to_agree() {
    let stage = stage().await;
    // The gate shows the certificate of the host that was connected to, so another name fails.
    for sni in ["evil.example", "api.openai.com", "127.0.0.1"] {
        assert!(stage.tls(&["http/1.1"], sni).await.is_err(), "{sni}");
    }
    // Whoever does not look at certificates is told so inside of TLS.
    let request = format!(
        "GET /v1/models HTTP/1.1\r\nHost: api.anthropic.com\r\nx-api-key: {}\r\nConnection: close\r\n\r\n",
        stage.gate.fake().as_str()
    );
    for (sni, status) in [
        (Some("evil.example"), 403),
        (Some("api.openai.com"), 403),
        (None, 403),
        (Some("api.anthropic.com"), 200),
    ] {
        let answer = stage.say_to_anybody(sni, request.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{sni:?}: {answer}");
    }
    assert_eq!(stage.got.lock().unwrap().drain(..).count(), 1);
    for host in ["evil.example", "api.openai.com", "api.anthropic.com:80", "api.anthropic.com."] {
        let mut request = stage.request("http/1.1", "/v1/messages", BODY);
        request.headers_mut().insert("host", host.parse().unwrap());
        let (status, answer) = stage.attempt(host, "http/1.1", request).await;
        assert_eq!(status, 403, "{host}: {answer}");
        let mut request = stage.request("h2", "/v1/messages", BODY);
        *request.uri_mut() = format!("https://{host}/v1/messages").parse().unwrap();
        let (status, answer) = stage.attempt(host, "h2", request).await;
        assert_eq!(status, 403, "{host}: {answer}");
    }
    assert!(stage.got().is_empty());
}

#[tokio::test]
async fn only_the_session_s_key_is_taken() {
    let stage = stage().await;
    let insert = |name: &'static str, value: &'static str| -> Change {
        Box::new(move |request| drop(request.headers_mut().insert(name, value.parse().unwrap())))
    };
    let append = |name: &'static str, value: &'static str| -> Change {
        Box::new(move |request| assert!(request.headers_mut().append(name, value.parse().unwrap())))
    };
    let uri = |uri: &'static str| -> Change {
        Box::new(move |request| *request.uri_mut() = uri.parse().unwrap())
    };
    let changes: Vec<(&str, Change)> = vec![
        ("foreign key", insert("x-api-key", "sk-ant-api03-attacker")),
        ("no key", Box::new(|request| drop(request.headers_mut().remove("x-api-key")))),
        ("second key", append("x-api-key", "sk-ant-api03-attacker")),
        ("bearer", insert("authorization", "Bearer sk-ant-oat01-attacker")),
        ("cookie", insert("cookie", "sessionKey=sk-ant-sid01")),
        ("another provider's", insert("x-goog-api-key", "AIza")),
        ("query", uri("/v1/messages?api_key=sk-ant-api03-attacker")),
        ("query", uri("/v1/messages?beta=true&x-api-key=sk-ant-api03-attacker")),
        ("query, parted otherwise", uri("/v1/messages?beta=true;key=sk-ant-api03-attacker")),
        ("proxy", insert("proxy-authorization", "Basic eDp5")),
    ];
    let n_changes = changes.len();
    for (what, change) in changes {
        let mut request = stage.request("http/1.1", "/v1/messages", BODY);
        change(&mut request);
        let (status, answer) = stage.attempt(what, "http/1.1", request).await;
        assert_eq!(status, 403, "{what}: {answer}");
        assert!(!answer.contains("attacker"), "{what}: {answer}");
    }
    assert!(stage.got().is_empty());
    assert_eq!(stage.book.refused.lock().unwrap().len(), n_changes);
    let written = format!("{:?}", stage.book.refused.lock().unwrap());
    assert!(!written.contains("attacker"), "{written}");
}

#[tokio::test]
async fn only_endpoints_of_the_list_are_reached() {
    let stage = stage().await;
    for (path, status) in [
        ("/v1/messages/../files", 403),
        ("/v1/messages/%2e%2e/files", 403),
        ("//v1/messages", 403),
        ("/v1/messages;x", 403),
        ("/V1/MESSAGES", 403),
        ("/v1/files", 403),
        ("/v1/messages/batches", 403),
        ("/v1/organizations/me", 403),
        ("/api/claude_code/settings", 404),
        ("/api/event_logging/v2/batch", 404),
    ] {
        let request = stage.request("http/1.1", path, BODY);
        let answer = stage.attempt(path, "http/1.1", request).await;
        assert_eq!(answer.0, status, "{path}: {}", answer.1);
    }
    for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let mut request = stage.request("h2", "/v1/messages", BODY);
        *request.method_mut() = method.parse().unwrap();
        let answer = stage.attempt(method, "h2", request).await;
        assert_eq!(answer.0, 403, "{method}");
    }
    let mut request = stage.request("h2", "/v1/models", BODY);
    *request.method_mut() = hyper::Method::GET;
    let (status, answer) = stage.attempt("a body where none belongs", "h2", request).await;
    assert!(status == 403 && answer.contains("takes no body"), "{answer}");
    // The provider of this stage has no answer to this one.
    let mut request = stage.request("h2", "/v1/messages", BODY);
    *request.method_mut() = hyper::Method::HEAD;
    assert_eq!(stage.send("h2", request).await.status(), 403);
    // A method in a header is not a method.
    let mut request = stage.request("h2", "/v1/models", "");
    *request.method_mut() = hyper::Method::GET;
    request.headers_mut().insert("x-http-method-override", "DELETE".parse().unwrap());
    assert_eq!(whole(stage.send("h2", request).await).await.0, 200);
    let got = stage.got();
    assert_eq!((got.len(), got[0].method.as_str()), (1, "GET"));
    assert!(!got[0].headers.contains_key("x-http-method-override"));
}

#[tokio::test]
async fn upgrades_are_answered_so_that_agents_do_without() {
    let stage = stage().await;
    let fake = stage.gate.fake().as_str().to_owned();
    let request = format!(
        "GET /v1/responses HTTP/1.1\r\nHost: api.anthropic.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nx-api-key: {fake}\r\n\r\n"
    );
    let mut stream = stage.tls(&["http/1.1"], stage.host()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 426");
    // A connection in the connection.
    let nested =
        "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\nConnection: close\r\n\r\n";
    let answer = stage.say(nested.as_bytes()).await;
    check_refused(&stage, "nested", &answer);
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[tokio::test]
async fn smuggled_requests_do_not_reach_the_provider() {
    let stage = stage().await;
    let fake = stage.gate.fake().as_str().to_owned();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nHost: api.anthropic.com\r\nx-api-key: {fake}\r\nContent-Type: application/json\r\n"
    );
    let inner = "POST /v1/files HTTP/1.1\r\nHost: api.anthropic.com\r\nContent-Length: 0\r\n\r\n";
    let n = BODY.len();
    for framing in [
        // Two lengths, one of them wrong.
        format!("Content-Length: {n}\r\nContent-Length: {}\r\n\r\n{BODY}{inner}", n + inner.len()),
        format!("Content-Length: {n}, {}\r\n\r\n{BODY}{inner}", n + 1),
        format!("Content-Length: +{n}\r\n\r\n{BODY}"),
        format!("Content-Length: -1\r\n\r\n{BODY}"),
        format!("Content-Length : {n}\r\n\r\n{BODY}{inner}"),
        // Both kinds of framing.
        format!("Transfer-Encoding: chunked, identity\r\n\r\n{n:x}\r\n{BODY}\r\n0\r\n\r\n{inner}"),
        format!("Transfer-Encoding: xchunked\r\n\r\n{n:x}\r\n{BODY}\r\n0\r\n\r\n{inner}"),
        format!(
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n{n:x}\r\n{BODY}\r\n0\r\n\r\n{inner}"
        ),
        // Folded headers, bare line feeds, sizes that are none.
        format!("X: a\r\n Content-Length: {n}\r\n\r\n{BODY}{inner}"),
        format!("Transfer-Encoding: chunked\r\n\r\n0x{n:x}\r\n{BODY}\r\n0\r\n\r\n"),
        format!("Transfer-Encoding: chunked\r\n\r\n-{n:x}\r\n{BODY}\r\n0\r\n\r\n"),
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\nx\r\n0\r\n\r\n".to_owned(),
    ] {
        stage.got.lock().unwrap().clear();
        let mut stream = stage.tls(&["http/1.1"], stage.host()).await.unwrap();
        stream.write_all(format!("{head}{framing}").as_bytes()).await.unwrap();
        stream.shutdown().await.ok();
        let mut answer = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut answer).await.ok();
        // What reaches the provider is at most the one request, in our own words.
        let got = stage.got();
        assert!(
            got.iter().all(|it| it.path == "/v1/messages" && it.body == BODY),
            "{framing}: {got:?}"
        );
        assert!(got.len() <= 1, "{framing}: {got:?}");
    }
    // A length beside chunks: the chunks count, and the rest is a request of its own, which is refused.
    stage.got.lock().unwrap().clear();
    let both = format!(
        "{head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n{n:x};ext=1\r\n{BODY}\r\n0\r\nX-Trailer: x\r\n\r\n"
    );
    let answer = stage.say(format!("{both}{inner}GET / HTTP/1.1\r\nHost: api.anthropic.com\r\nConnection: close\r\n\r\n").as_bytes()).await;
    let is_over = answer.contains("connection: close") && answer.matches("HTTP/1.1").count() == 1;
    assert!(
        is_over || answer.contains("HTTP/1.1 403") || answer.starts_with("HTTP/1.1 400"),
        "{answer}"
    );
    assert!(
        stage
            .got()
            .iter()
            .all(|it| it.path == "/v1/messages" && !it.headers.contains_key("x-trailer"))
    );
}

#[tokio::test]
async fn bodies_that_cannot_be_understood_are_refused() {
    let stage = stage().await;
    let changes: Vec<(&str, &str, &str)> = vec![
        ("content-encoding", "gzip", BODY),
        ("content-encoding", "br, gzip", BODY),
        ("content-type", "text/plain", BODY),
        ("content-type", "application/json; charset=utf-16", BODY),
        ("x", "x", r#"{"model":"a","model":"b"}"#),
        ("x", "x", "\u{feff}{\"model\":\"a\"}"),
        ("x", "x", "{\"model\":\"a\"}garbage"),
        ("x", "x", ""),
    ];
    for (name, value, body) in changes {
        let mut request = stage.request("h2", "/v1/messages", body);
        request.headers_mut().insert(
            hyper::header::HeaderName::from_bytes(name.as_bytes()).unwrap(),
            value.parse().unwrap(),
        );
        let (status, answer) = stage.attempt(body, "h2", request).await;
        assert_eq!(status, 403, "{name} {value} {body}: {answer}");
    }
    // As long as it likes: it is read to its end, so that the answer is heard.
    for protocol in ["http/1.1", "h2"] {
        let long = format!(r#"{{"model":"m","system":"{}"}}"#, "x".repeat(100 << 20));
        let (status, answer) =
            whole(stage.send(protocol, stage.request(protocol, "/v1/messages", &long)).await).await;
        assert_eq!(status, 403, "{answer}");
        assert!(answer.contains("longer than"), "{answer}");
        let mut request = stage.request(protocol, "/v1/messages", &long);
        request.headers_mut().insert("x-api-key", "wrong".parse().unwrap());
        assert_eq!(whole(stage.send(protocol, request).await).await.0, 403);
    }
    assert!(stage.got().is_empty());
}
