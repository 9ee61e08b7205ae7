//! The way to a provider: a proxy of the company's, and certificates that only it believes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use ic_testkit::provider::{Format, KEY, Said, frames};
use ic_testkit::{Output, Place, Says, Web};

use super::secrets::search;
use super::{model, variables};
use crate::place;

/// A provider that speaks TLS, and answers every request with the same words.
fn provider() -> Web {
    Web::start_tls(|_| {
        let events = frames::of(Format::Anthropic, &Said::text("from afar"), "m").concat();
        vec![("/v1/messages", Says::page("text/event-stream", events))]
    })
}

/// A proxy that makes connections for whoever asks, and notes what it was asked.
struct Proxy {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&heads);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let noted = Arc::clone(&noted);
                std::thread::spawn(move || connect(&stream.unwrap(), &noted));
            }
        });
        Self { port, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// Reads the head of a request to connect, and carries bytes both ways until both have ended.
fn connect(client: &TcpStream, noted: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    noted.lock().unwrap().push(head);
    let Ok(server) = TcpStream::connect(target.replace("localhost", "127.0.0.1")) else { return };
    let (mut to_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    to_client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
    let mut from_server = server;
    let back = std::thread::spawn(move || {
        std::io::copy(&mut from_server, &mut to_client).ok();
        to_client.shutdown(Shutdown::Write).ok();
    });
    std::io::copy(&mut reader, &mut to_server).ok();
    to_server.shutdown(Shutdown::Write).ok();
    back.join().unwrap();
}

/// Makes a place whose provider is at `url`, with these variables besides.
fn with(url: &str, besides: &[(&str, &str)]) -> Place {
    let (base_url, key) = variables(Format::Anthropic);
    let place = place().with_variable(base_url, url).with_variable(key, KEY);
    let place = besides.iter().fold(place, |place, (name, value)| place.with_variable(name, value));
    place.dir("work");
    place
}

/// Writes down whom the provider's certificate is of, while what is returned first is kept.
fn authority(web: &Web) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("authority.pem");
    std::fs::write(&file, web.authority()).unwrap();
    let file = file.to_str().unwrap().to_owned();
    (directory, file)
}

fn ask(place: &Place) -> Output {
    let words = ["start", "--model", model(Format::Anthropic), "--workspace", "work", "hello"];
    place.run(words)
}

#[test]
fn a_certificate_of_the_company_is_believed_if_it_is_named() {
    let web = provider();
    let url = web.url("");
    let refused = ask(&with(&url, &[]));
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("no secure connection to the provider"), "{refused:?}");
    assert!(refused.stderr.contains("SSL_CERT_FILE"), "{refused:?}");
    assert_eq!(web.paths().len(), 0, "whoever is not believed is told nothing");
    let (_kept, file) = authority(&web);
    let answered = ask(&with(&url, &[("SSL_CERT_FILE", &file)]));
    assert_eq!((answered.code, answered.stdout.as_str()), (0, "from afar\n"), "{answered:?}");
    let key = format!("x-api-key: {KEY}");
    assert!(web.asked()[0].to_lowercase().contains(&key), "{:?}", web.asked());
}

#[test]
fn a_proxy_of_the_company_is_gone_through_unless_a_host_is_excepted() {
    let (web, proxy) = (provider(), Proxy::start());
    let (_kept, file) = authority(&web);
    let address = format!("http://someone:proxy-pass-word@127.0.0.1:{}", proxy.port);
    let variables = [("SSL_CERT_FILE", file.as_str()), ("HTTPS_PROXY", address.as_str())];
    let place = with(&web.url(""), &variables);
    let answered = ask(&place);
    assert_eq!((answered.code, answered.stdout.as_str()), (0, "from afar\n"), "{answered:?}");
    let heads = proxy.heads();
    let [head] = heads.as_slice() else { panic!("{heads:?}") };
    assert!(head.starts_with(&format!("CONNECT localhost:{} HTTP/1.1", web.port())), "{head}");
    // The proxy is told who asks, and the provider's key is none of its business.
    assert!(head.to_lowercase().contains("proxy-authorization: basic "), "{head}");
    assert!(!head.contains(KEY), "{head}");
    let told = format!("{}{}", answered.stdout, answered.stderr);
    assert!(!told.contains("proxy-pass-word"), "{told}");
    assert!(3 < search(&place));
    let excepted = [variables[0], variables[1], ("NO_PROXY", "localhost")];
    let direct = ask(&with(&web.url(""), &excepted));
    assert_eq!((direct.code, direct.stdout.as_str()), (0, "from afar\n"), "{direct:?}");
    assert_eq!(proxy.heads().len(), 1, "{:?}", proxy.heads());
    assert_eq!(web.paths(), ["/v1/messages", "/v1/messages"]);
}
