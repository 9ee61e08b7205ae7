//! A cage that is being served, with everything around it that a test wants to look at.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_egress::{
    Allowed, Closed, Connection, Doors, Egress, Ledger, LedgerError, Refused, Resolve, Resolving,
};
use ic_policy::DomainSet;
use ic_types::host::DnsName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Where the door of every cage stands: the address of the first name that is asked for.
pub(crate) const FIRST_NAME: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 64, 0, 1));
/// Where the server stands.
pub(crate) const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));
/// Another loopback address, where nobody listens.
pub(crate) const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 8));

/// A cage that is being served.
pub(crate) struct Scene {
    pub(crate) book: Arc<Book>,
    pub(crate) script: Arc<Script>,
    pub(crate) server: TcpListener,
    /// The port of the door and of the server.
    pub(crate) port: u16,
    pub(crate) proxy: SocketAddr,
    pub(crate) dns_udp: SocketAddr,
    pub(crate) dns_tcp: SocketAddr,
    pub(crate) over: CancellationToken,
    tasks: TaskTracker,
}

/// What stands around a cage, before it is served.
pub(crate) struct Plan<'a> {
    /// Patterns, in which `PORT` stands for the port of the door and the server.
    pub(crate) allowed: &'a [&'a str],
    pub(crate) denied: &'a [&'a str],
    /// What names resolve to, answer by answer; the last one is repeated.
    pub(crate) answers: &'a [(&'a str, &'a [&'a [IpAddr]])],
    /// Where the door stands.
    pub(crate) door: IpAddr,
}

/// A cage that may reach `a.example`, which is the server.
pub(crate) const PLAIN: Plan<'_> = Plan {
    allowed: &["a.example:PORT"],
    denied: &[],
    answers: &[("a.example", &[&[SERVER]])],
    door: FIRST_NAME,
};

impl Plan<'_> {
    pub(crate) fn serve(&self) -> Scene {
        let (door, server) = same_port(self.door);
        let port = door.local_addr().unwrap().port();
        let set = |patterns: &[&str]| {
            let patterns: Vec<String> =
                patterns.iter().map(|it| it.replace("PORT", &port.to_string())).collect();
            DomainSet::parse(patterns.iter().map(String::as_str)).unwrap()
        };
        let allowed = Allowed::new(vec![set(self.allowed)], set(self.denied)).unwrap();
        let answer = |(name, answers): &(&str, &[&[IpAddr]])| {
            ((*name).to_owned(), answers.iter().map(|it| it.to_vec()).collect())
        };
        let script = Arc::new(Script::default());
        script.answers.lock().unwrap().extend(self.answers.iter().map(answer));
        let book = Arc::new(Book::new());
        let tasks = TaskTracker::new();
        let over = CancellationToken::new();
        let loopback = (Ipv4Addr::LOCALHOST, 0);
        let doors = Doors {
            dns_udp: std::net::UdpSocket::bind(loopback).unwrap(),
            dns_tcp: std::net::TcpListener::bind(loopback).unwrap(),
            proxy: std::net::TcpListener::bind(loopback).unwrap(),
            ports: vec![door],
        };
        let scene = Scene {
            proxy: doors.proxy.local_addr().unwrap(),
            dns_udp: doors.dns_udp.local_addr().unwrap(),
            dns_tcp: doors.dns_tcp.local_addr().unwrap(),
            book: Arc::clone(&book),
            script: Arc::clone(&script),
            server,
            port,
            over: over.clone(),
            tasks: tasks.clone(),
        };
        let egress = Egress::new(script, book, tasks);
        egress.serve("fetch".parse().unwrap(), allowed, doors, over).unwrap();
        scene
    }
}

/// Binds a door and a server to the same port of different addresses.
fn same_port(door_at: IpAddr) -> (std::net::TcpListener, TcpListener) {
    loop {
        let door = std::net::TcpListener::bind((door_at, 0)).unwrap();
        let port = door.local_addr().unwrap().port();
        match std::net::TcpListener::bind((SERVER, port)) {
            Ok(server) => {
                server.set_nonblocking(true).unwrap();
                return (door, TcpListener::from_std(server).unwrap());
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::AddrInUse),
        }
    }
}

// === impl Scene ===

impl Scene {
    /// Asks for the address of `name`, as `getaddrinfo` would.
    pub(crate) async fn look_up(&self, name: &str) -> Option<Ipv4Addr> {
        let reply = self.ask(&query(name, 1)).await;
        match reply[7] {
            0 => None,
            _ => Some(<[u8; 4]>::try_from(&reply[reply.len() - 4..]).unwrap().into()),
        }
    }

    /// Sends a datagram to the name server, and returns the answer.
    pub(crate) async fn ask(&self, packet: &[u8]) -> Vec<u8> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        socket.send_to(packet, self.dns_udp).await.unwrap();
        let mut reply = vec![0; 1024];
        let n = within(socket.recv(&mut reply)).await.unwrap();
        reply.truncate(n);
        reply
    }

    /// Connects to `name` as a program that knows of no proxy does.
    pub(crate) async fn connect(&self, name: &str) -> TcpStream {
        let address = self.look_up(name).await.unwrap();
        TcpStream::connect((address, self.port)).await.unwrap()
    }

    /// Sends `head` to the proxy, with `PORT` replaced, and returns the connection.
    pub(crate) async fn ask_proxy(&self, head: &str) -> TcpStream {
        let mut client = TcpStream::connect(self.proxy).await.unwrap();
        client.write_all(self.with_port(head).as_bytes()).await.unwrap();
        client
    }

    /// Opens a tunnel to `a.example` through the proxy.
    pub(crate) async fn tunnel(&self) -> (TcpStream, TcpStream) {
        let mut client = self.ask_proxy("CONNECT a.example:PORT HTTP/1.1\r\n\r\n").await;
        let server = self.accept().await;
        assert_eq!(read_head(&mut client).await, "HTTP/1.1 200 Connection established\r\n\r\n");
        (client, server)
    }

    pub(crate) fn with_port(&self, text: &str) -> String {
        text.replace("PORT", &self.port.to_string())
    }

    /// Returns the next connection that the server gets.
    pub(crate) async fn accept(&self) -> TcpStream {
        within(self.server.accept()).await.unwrap().0
    }

    /// Ends the session, and returns what was recorded.
    pub(crate) async fn end(&self) -> Vec<String> {
        self.over.cancel();
        self.tasks.close();
        within(self.tasks.wait()).await;
        self.book.lines()
    }

    /// Ends the session, and requires that nobody ever connected to the server again.
    pub(crate) async fn end_unreached(self) -> Vec<String> {
        let lines = self.end().await;
        let server = self.server.into_std().unwrap();
        assert_eq!(server.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        lines
    }
}

// === impl Book ===

/// A ledger that can be read, and that can fail.
pub(crate) struct Book {
    lines: watch::Sender<Vec<String>>,
    pub(crate) is_broken: AtomicBool,
}

impl Book {
    fn new() -> Self {
        Self { lines: watch::Sender::new(Vec::new()), is_broken: AtomicBool::new(false) }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// Waits until a line begins with `start`, and returns it.
    pub(crate) async fn line(&self, start: &str) -> String {
        let mut lines = self.lines.subscribe();
        let has = |lines: &Vec<String>| lines.iter().any(|line| line.starts_with(start));
        let lines = within(lines.wait_for(has)).await.unwrap();
        lines.iter().find(|line| line.starts_with(start)).unwrap().clone()
    }

    fn write(&self, line: String) {
        self.lines.send_modify(|lines| lines.push(line));
    }
}

impl Ledger for Book {
    fn opened(&self, connection: &Connection) -> Result<(), LedgerError> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(LedgerError::new("the disk is full"));
        }
        let Connection { server, door, target, addresses, .. } = connection;
        let addresses: Vec<String> = addresses.iter().map(|it| it.ip().to_string()).collect();
        let (door, addresses) = (door.as_str(), addresses.join(" "));
        self.write(format!("opened {} for {server} by {door} at {addresses}", target.host()));
        Ok(())
    }

    fn refused(&self, refused: &Refused) {
        let host = refused.host.as_ref().map_or("?".to_owned(), ToString::to_string);
        let (door, why, times) = (refused.door.as_str(), &refused.why, refused.times);
        self.write(format!("refused {host} by {door}, {times}: {why}"));
    }

    fn closed(&self, connection: &Connection, closed: &Closed) {
        let Closed { address, sent, received, ending, .. } = closed;
        let at = address.map_or("nobody".to_owned(), |it| it.ip().to_string());
        let (host, ending) = (connection.target.host(), ending.as_str());
        self.write(format!("closed {host} at {at}, {sent} sent, {received} received: {ending}"));
    }
}

// === impl Script ===

/// A resolver that answers from a script.
#[derive(Default)]
pub(crate) struct Script {
    answers: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    /// The names that were asked for, in order.
    pub(crate) asked: Mutex<Vec<String>>,
    /// Whether it never answers.
    pub(crate) is_silent: AtomicBool,
}

impl Resolve for Script {
    fn resolve(&self, name: DnsName, _port: u16) -> Resolving<'_> {
        self.asked.lock().unwrap().push(name.as_str().to_owned());
        if self.is_silent.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        let mut answers = self.answers.lock().unwrap();
        let answer = answers.get_mut(name.as_str()).map(|answers| {
            let first = answers.pop_front().unwrap();
            if answers.is_empty() {
                answers.push_back(first.clone());
            }
            first
        });
        let answer = answer.ok_or_else(|| io::Error::other("no such host"));
        Box::pin(std::future::ready(answer))
    }
}

// === helpers of tests ===

/// Awaits `future`, and gives up loudly instead of hanging.
///
/// Longer than most of what a test with a stopped clock waits for.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_mins(2), future).await.expect("it never happened")
}

/// A DNS question for records of `kind`.
pub(crate) fn query(name: &str, kind: u16) -> Vec<u8> {
    let mut out = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.').filter(|label| !label.is_empty()) {
        out.push(u8::try_from(label.len()).unwrap());
        out.extend(label.as_bytes());
    }
    out.push(0);
    out.extend(kind.to_be_bytes());
    out.extend([0, 1]);
    out
}

/// Reads up to and with the first empty line.
pub(crate) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match within(stream.read_u8()).await {
            Ok(byte) => head.push(byte),
            Err(error) => panic!("{error} after {}", head.escape_ascii()),
        }
    }
    String::from_utf8(head).unwrap()
}

pub(crate) async fn read_exactly(stream: &mut TcpStream, n: usize) -> String {
    let mut bytes = vec![0; n];
    within(stream.read_exact(&mut bytes)).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads to the end; being cut off is an end too.
pub(crate) async fn read_rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    match within(stream.read_to_end(&mut rest)).await {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
    rest
}

pub(crate) async fn read_text(stream: &mut TcpStream) -> String {
    String::from_utf8(read_rest(stream).await).unwrap()
}
