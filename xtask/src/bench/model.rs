//! Times what lies between a provider's last byte and our next request: reading the message, running an
//! empty tool, building the next request. A bare client takes turns with ours.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use ic_agent::{
    Agent, Diagnostic, History, Limits, Observer, Parts, Running, SavePoint, ToolOutcome, Toolbox,
    TurnClock, execute_code,
};
use ic_home::SystemClock;
use ic_home::environment::Network;
use ic_model::{Client, ClientSpec, Credential, Message, Prices, Timeouts, ToolSpec};
use ic_testkit::ScriptedProvider;
use ic_testkit::provider::{Format, KEY, Reply, Said};
use ic_types::{Json, Secret};
use tokio_util::sync::CancellationToken;

use super::{Samples, shown};

const ROUNDS: usize = 20;
const STEPS: usize = 40;

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "From the last byte of a message to the next request, {} requests each, taking turns \
         (a bare client sends the same bytes and understands nothing):\n",
        ROUNDS * STEPS
    )?;
    for format in Format::ALL {
        let (mut ours, mut bare) = (Samples::default(), Samples::default());
        for _ in 0..ROUNDS {
            let provider = ScriptedProvider::start(script());
            take_turn(format, &provider)?;
            ours.0.extend(provider.gaps());
            bare.0.extend(by_bare_client(&requests(&provider))?);
        }
        writeln!(
            out,
            "{format:18} ours p50 {}, p99 {}; bare p50 {}, p99 {}",
            shown(ours.percentile(50)),
            shown(ours.percentile(99)),
            shown(bare.percentile(50)),
            shown(bare.percentile(99)),
        )?;
    }
    Ok(())
}

fn script() -> Vec<Reply> {
    // Each is another one, or it would be taken for a loop.
    let code = |n: usize| Reply::Says(Said::code(&[&format!("console.log({n})")]).saying("Next."));
    (0..STEPS).map(code).chain([Reply::Says(Said::text("done"))]).collect()
}

/// Lets the agent take a turn; its tool does nothing.
fn take_turn(format: Format, provider: &ScriptedProvider) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answered = runtime.block_on(async {
        let key = Arc::new(Secret::new(KEY.to_owned()));
        let client = Client::new(ClientSpec {
            model: format!("{format}:bench").parse()?,
            credential: Some(Credential::new(key, "a benchmark")),
            base_url: Some(provider.url().parse()?),
            network: Network::default(),
            timeouts: Timeouts::USUAL,
        })?;
        let parts = Parts {
            model: Arc::new(client),
            toolbox: Arc::new(Idle),
            clock: TurnClock::new(Arc::new(SystemClock)),
            system: "You are timed.".to_owned(),
            limits: Limits::OFF,
            prices: Prices::FREE,
        };
        let mut agent = Agent::new(parts, History::new())?;
        anyhow::Ok(agent.turn("go on", &Nobody, &CancellationToken::new()).await?)
    })?;
    ensure!(answered.text == "done", "an odd answer: {}", answered.text);
    Ok(())
}

/// Sends the agent's requests again, as they were, over one connection.
fn by_bare_client(bodies: &[Vec<u8>]) -> anyhow::Result<Vec<Duration>> {
    let provider = ScriptedProvider::start(script());
    let mut stream = TcpStream::connect(provider.address())?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    for bytes in bodies {
        stream.write_all(bytes)?;
        skip_answer(&mut reader)?;
    }
    Ok(provider.gaps())
}

/// Returns the requests that were recorded, as bytes.
fn requests(recorded: &ScriptedProvider) -> Vec<Vec<u8>> {
    let bytes = |request: &ic_testkit::provider::Request| {
        let body = request.body.to_string();
        let mut head =
            format!("POST {} HTTP/1.1\r\ncontent-length: {}\r\n", request.path, body.len());
        for (name, value) in &request.headers {
            if name != "content-length" {
                head.push_str(name);
                head.push_str(": ");
                head.push_str(value);
                head.push_str("\r\n");
            }
        }
        format!("{head}\r\n{body}").into_bytes()
    };
    recorded.requests().iter().map(bytes).collect()
}

/// Reads an answer in chunks to its end.
fn skip_answer(reader: &mut impl std::io::BufRead) -> anyhow::Result<()> {
    let mut line = String::new();
    while 2 < reader.read_line(&mut line)? {
        line.clear();
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).context("the size of a chunk")?;
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk)?;
        if size == 0 {
            return Ok(());
        }
    }
}

/// Tools that do nothing.
struct Idle;

impl Toolbox for Idle {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![execute_code()]
    }

    fn run<'a>(&'a self, _: &'a str, input: &'a Json, _: &'a CancellationToken) -> Running<'a> {
        let content = input.to_string();
        Box::pin(async move { Ok(ToolOutcome::done(content)) })
    }
}

/// Hears nothing.
struct Nobody;

impl Observer for Nobody {
    fn text(&self, _: &str) {}
    fn diagnostic(&self, _: Diagnostic) {}
    fn save_point(&self, _: SavePoint, _: &[Message]) {}
}
