//! Times cages: the start of a child on every rung, a call that is served by one of its own, and a
//! connection that leaves a cage; each beside the same thing without a cage, in turns.

use std::io::{Read as _, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use ic_confine::{Access, CageSpec, Child, ChildSpec, Hold, Launcher, Limits, Network, Rung, Seen};
use ic_egress::{
    Allowed, Closed, Connection, Doors, Egress, Ledger, LedgerError, Refused, SystemResolver,
};
use ic_policy::DomainSet;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Samples, build_binary, shown};
use crate::ground::{Ground, reading};
use crate::peer::Peer;

const STARTS: usize = 200;
const CALLS: usize = 200;
const ROUNDS: usize = 10;
const CONNECTIONS: usize = 100;

/// Connects again and again to what its arguments say, and prints how long each took until it had an
/// answer, in nanoseconds.
const CONNECT: &str = "
import socket, sys, time
host, port, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for _ in range(n):
    before = time.perf_counter_ns()
    with socket.create_connection((host, port)) as it:
        it.sendall(b'\\0')
        it.recv(1)
    print(time.perf_counter_ns() - before)
";

/// Runs the benchmark.
pub(super) fn run(out: &mut dyn Write, given: Option<&Path>) -> anyhow::Result<()> {
    let binary = build_binary(given)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(starts(out, &binary))?;
    one_shots(out, &binary)?;
    runtime.block_on(egress(out, &binary))
}

async fn starts(out: &mut dyn Write, binary: &Path) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let launcher = Launcher::at(binary);
    let mut ways = vec![("in no cage, with its guard".to_owned(), Hold::Free)];
    for rung in Rung::ALL {
        match launcher.try_rung(rung, place.path()).await {
            Ok(()) => ways.push((format!("on the rung `{rung}`"), caged(rung, place.path()))),
            Err(fault) => writeln!(out, "NOTE: `{rung}` does not work here: {}", fault.reason)?,
        }
    }
    let mut plain = Samples::default();
    let mut samples: Vec<_> = ways.iter().map(|_| Samples::default()).collect();
    for _ in 0..STARTS {
        plain.time(start_plainly)?;
        for ((_, hold), samples) in ways.iter().zip(&mut samples) {
            let start = Instant::now();
            start_held(&launcher, hold).await?;
            samples.0.push(start.elapsed());
        }
    }
    // The system counts in units that are longer than one start, so many are counted together.
    let before = used_by_children()?;
    for _ in 0..STARTS {
        start_plainly()?;
    }
    let mut used = vec![used_by_children()?.saturating_sub(before)];
    for (_, hold) in &ways {
        let before = used_by_children()?;
        for _ in 0..STARTS {
            start_held(&launcher, hold).await?;
        }
        used.push(used_by_children()?.saturating_sub(before));
    }
    writeln!(
        out,
        "\n| start and end of a child | min | p50 | p99 | added min | added p50 | CPU of all of it |\n\
         |---|---:|---:|---:|---:|---:|---:|"
    )?;
    let base = [plain.percentile(0), plain.percentile(50)];
    let names = std::iter::once("plain").chain(ways.iter().map(|(name, _)| name.as_str()));
    let all = std::iter::once(&mut plain).chain(&mut samples);
    for ((name, samples), used) in names.zip(all).zip(used) {
        let [min, p50, p99] = [0, 50, 99].map(|percent| samples.percentile(percent));
        let times = [min, p50, p99, min.saturating_sub(base[0]), p50.saturating_sub(base[1])];
        let used = used / u32::try_from(STARTS)?;
        let times: Vec<String> = times.into_iter().chain([used]).map(shown).collect();
        writeln!(out, "| {name} | {} |", times.join(" | "))?;
    }
    Ok(())
}

fn start_plainly() -> anyhow::Result<()> {
    ensure!(Command::new("/bin/true").status()?.success(), "a child fails");
    Ok(())
}

async fn start_held(launcher: &Launcher, hold: &Hold) -> anyhow::Result<()> {
    let mut child = launcher.start(&spec("/bin/true", &[], hold.clone()))?;
    ensure!(child.process.wait().await?.success(), "a child fails");
    Ok(())
}

/// Returns the time on a processor of all children that have ended, and of theirs.
fn used_by_children() -> anyhow::Result<Duration> {
    /// What the kernel counts in, whatever its own clock.
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name may hold anything, and ends at the last parenthesis.
    let (_, numbers) = stat.rsplit_once(')').context("the name of a process")?;
    let numbers: Vec<&str> = numbers.split_whitespace().collect();
    let ticks = |at: usize| -> anyhow::Result<u32> {
        Ok(numbers.get(at).context("the times of a process")?.parse()?)
    };
    Ok(TICK * (ticks(13)? + ticks(14)?))
}

/// Times reads in the sandbox, and in a directory that the long-lived server does not see.
fn one_shots(out: &mut dyn Write, binary: &Path) -> anyhow::Result<()> {
    let tools = reading(&[("read_text_file", &["head", "tail"])]);
    let annotations = json!({"servers": {"filesystem": {"tools": tools}}});
    let ground = Ground::new(&json!({"filesystem": {"builtin": "filesystem"}}), &annotations)?;
    let rule = |name: &str, within: PathBuf| {
        json!({
            "name": name, "then": "allow", "reason": "it is measured",
            "if": {"paths": {"roles": ["read-path"], "within": within}},
        })
    };
    let rules = [rule("a", ground.path("sandbox")), rule("b", ground.path("later"))];
    let policy = json!({"rules": rules});
    std::fs::write(ground.path("policy/compiled-policy.json"), policy.to_string())?;
    let mut proxy = Peer::start(&mut ground.proxy(binary))?;
    let reading = |file: &str, count: usize| {
        let arguments = json!({"path": ground.path(file), "head": count});
        json!({"name": "filesystem__read_text_file", "arguments": arguments})
    };
    // The first call starts the server; what comes to be after that is not in its view.
    proxy.fly(1, 1, &mut || reading("sandbox/file.txt", 1))?;
    std::fs::create_dir(ground.path("later"))?;
    std::fs::write(ground.path("later/file.txt"), "a small file\n")?;
    let (mut long_lived, mut one_shot) = (Samples::default(), Samples::default());
    for count in 1..=CALLS {
        for (samples, file) in
            [(&mut long_lived, "sandbox/file.txt"), (&mut one_shot, "later/file.txt")]
        {
            samples.0.extend(proxy.fly(1, 1, &mut || reading(file, count))?);
        }
    }
    proxy.close()?;
    writeln!(out, "\n| a read through the proxy | p50 | p99 | added p50 |\n|---|---:|---:|---:|")?;
    let base = long_lived.percentile(50);
    row(out, "by the long-lived server", &mut long_lived, base)?;
    row(out, "by one of its own", &mut one_shot, base)
}

async fn egress(out: &mut dyn Write, binary: &Path) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let launcher = Launcher::at(binary);
    if let Err(fault) = launcher.try_rung(Rung::Namespaces, place.path()).await {
        writeln!(out, "NOTE: no egress without `namespaces`: {}", fault.reason)?;
        return Ok(());
    }
    let port = answer_connections()?;
    let script = place.path().join("connect.py");
    std::fs::write(&script, CONNECT)?;
    let (mut direct, mut through) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        direct.0.extend(connect_directly(&script, port)?);
        through.0.extend(connect_from_cage(&launcher, place.path(), &script, port).await?);
    }
    writeln!(
        out,
        "\n| connect, one byte there, one back | p50 | p99 | added p50 |\n|---|---:|---:|---:|"
    )?;
    let base = direct.percentile(50);
    row(out, "direct", &mut direct, base)?;
    row(out, "from a cage, through the host", &mut through, base)
}

/// Starts a server that sends back what it gets, and returns its port.
fn answer_connections() -> anyhow::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (mut stream, mut byte) = (stream, [0]);
            // Whoever does not say anything wants nothing.
            stream.read_exact(&mut byte).and_then(|()| stream.write_all(&byte)).ok();
        }
    });
    Ok(port)
}

fn words(script: &Path, port: u16) -> [String; 4] {
    let script = script.display().to_string();
    [script, "127.0.0.1".to_owned(), port.to_string(), CONNECTIONS.to_string()]
}

fn connect_directly(script: &Path, port: u16) -> anyhow::Result<Vec<Duration>> {
    let output = Command::new("/usr/bin/python3")
        .args(words(script, port))
        .stderr(Stdio::inherit())
        .output()?;
    times(&String::from_utf8(output.stdout)?)
}

async fn connect_from_cage(
    launcher: &Launcher,
    place: &Path,
    script: &Path,
    port: u16,
) -> anyhow::Result<Vec<Duration>> {
    let list = DomainSet::parse([format!("127.0.0.1:{port}").as_str()])?;
    let allowed = Allowed::new(vec![list], DomainSet::new(Vec::new()))?;
    let network =
        Network::Doors { ports: allowed.ports().to_vec(), addresses: allowed.addresses().to_vec() };
    let Hold::Caged(rung, mut cage) = caged(Rung::Namespaces, place) else {
        anyhow::bail!("a cage is a cage")
    };
    cage.network = network;
    cage.seen.push(Seen { path: script.to_owned(), access: Access::Read });
    let words = words(script, port);
    let words = words.each_ref().map(String::as_str);
    let spec = spec("/usr/bin/python3", &words, Hold::Caged(rung, cage));
    let Child { stdin, mut stdout, stderr: _stderr, mut process, doors, .. } =
        launcher.start(&spec)?;
    drop(stdin);
    let doors = doors.context("there are doors")?.come().await?;
    let doors = Doors {
        dns_udp: doors.dns_udp,
        dns_tcp: doors.dns_tcp,
        proxy: doors.proxy,
        ports: doors.ports,
    };
    let over = CancellationToken::new();
    let egress =
        Egress::new(Arc::new(SystemResolver::new()), Arc::new(NoLedger), TaskTracker::new());
    egress.serve("bench".parse()?, allowed, doors, over.clone())?;
    let mut text = String::new();
    stdout.read_to_string(&mut text).await?;
    process.wait().await?;
    over.cancel();
    times(&text)
}

fn times(text: &str) -> anyhow::Result<Vec<Duration>> {
    let times = text.lines().map(|line| Ok(Duration::from_nanos(line.parse()?)));
    let times: Vec<_> = times.collect::<anyhow::Result<_>>()?;
    ensure!(times.len() == CONNECTIONS, "only {} connections", times.len());
    Ok(times)
}

/// Writes nothing down: what that costs is measured elsewhere.
struct NoLedger;

impl Ledger for NoLedger {
    fn opened(&self, _: &Connection) -> Result<(), LedgerError> {
        Ok(())
    }

    fn refused(&self, _: &Refused) {}

    fn closed(&self, _: &Connection, _: &Closed) {}
}

fn caged(rung: Rung, place: &Path) -> Hold {
    let cage = CageSpec {
        seen: Vec::new(),
        hidden: Vec::new(),
        absent: Vec::new(),
        placed: Vec::new(),
        links: Vec::new(),
        home: PathBuf::from("/home/bench"),
        scratch: Some(place.to_owned()),
        network: Network::None,
        unix_sockets: false,
        opens_beneath: false,
        relaxed: Vec::new(),
        follows_links: false,
        limits: Limits::SERVER,
        user: None,
    };
    Hold::Caged(rung, cage)
}

fn spec(program: &str, arguments: &[&str], hold: Hold) -> ChildSpec {
    ChildSpec {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        environment: Vec::new(),
        directory: None,
        grace: Duration::from_secs(1),
        hold,
    }
}

fn row(
    out: &mut dyn Write,
    what: &str,
    samples: &mut Samples,
    base: Duration,
) -> anyhow::Result<()> {
    let (p50, p99) = (samples.percentile(50), samples.percentile(99));
    let added = shown(p50.saturating_sub(base));
    writeln!(out, "| {what} | {} | {} | {added} |", shown(p50), shown(p99))?;
    Ok(())
}
