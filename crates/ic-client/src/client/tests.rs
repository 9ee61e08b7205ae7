//! Clients that connect and do not begin, with a clock of ours.

use std::time::Duration;

use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream,
};
use tokio::net::UnixStream;
use tokio::time::Instant;

use super::*;

const WITHIN: Duration = Duration::from_secs(10);

/// Opens nothing.
struct Closed;

impl Open for Closed {
    type Error = &'static str;

    async fn open(&mut self, _: &ClientInfo) -> Result<Arc<Broker>, &'static str> {
        Err("closed")
    }
}

/// Serves a client as one of several, until it goes or is sent away.
fn serve_it(
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
) {
    tokio::spawn(async move {
        let stop = CancellationToken::new();
        let manner = Manner { stop: &stop, slow: Slow::IsDropped, begins_within: Some(WITHIN) };
        drop(serve_one(reader, writer, Closed, manner).await);
    });
}

fn connect() -> UnixStream {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (reader, writer) = theirs.into_split();
    serve_it(reader, writer);
    ours
}

/// Connects without a socket: a clock that is stopped does not wait for those.
fn connect_here() -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    serve_it(reader, writer);
    ours
}

/// Says `words`, and returns how long the connection lasted after that.
async fn lasts(words: &str) -> Duration {
    let (mut client, since) = (connect(), Instant::now());
    client.write_all(words.as_bytes()).await.unwrap();
    let mut answers = Vec::new();
    tokio::time::timeout(6 * WITHIN, client.read_to_end(&mut answers)).await.ok();
    since.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_begin_is_sent_away() {
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let half = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"";
    for words in ["", "\n", half, ping] {
        let lasted = lasts(words).await;
        assert!((WITHIN..2 * WITHIN).contains(&lasted), "{words:?}: {lasted:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_has_begun_stays() {
    let mut client = BufReader::new(connect_here());
    let discover = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let mut answer = String::new();
    for _ in 0..3 {
        client.write_all(discover.replace('\n', " ").as_bytes()).await.unwrap();
        client.write_all(b"\n").await.unwrap();
        answer.clear();
        client.read_line(&mut answer).await.unwrap();
        assert!(answer.contains("\"result\""), "{answer}");
        tokio::time::sleep(WITHIN).await;
    }
}
