//! A kind of session that this program does not have, made of public items of the libraries alone.
//!
//! Its agent is a shell script in a process of its own, which speaks MCP on its standard streams.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ic_backend::Witness;
use ic_broker::Broker;
use ic_client::client::{ClientInfo, Open, serve};
use ic_confine::{Child, ChildHandle, ChildSpec, Hold, Launcher};
use ic_escalation::{Pending, Reply, Told};
use ic_home::Environment;
use ic_opening::{SessionWanted, Wanted};
use ic_policy::SandboxKind;
use ic_session::{
    AtTerminal, Closing, Event, Info, Journal, News, ProxySession, ResolveError, SessionHandle,
    SessionKind, Status, Wait,
};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::place;

/// What the script says, one message a line; each but the notification is answered before the next.
const SCRIPT: &str = r#"
say() { printf '%s\n' "$1"; }
ask() { say "$1"; read -r answer; printf '%s\n' "$answer" >> "$ANSWERS"; }
call() { ask "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"tools/call\",\"params\":{\"name\":\"filesystem__$2\",\"arguments\":$3}}"; }
ask '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"script","version":"1"}}}'
say '{"jsonrpc":"2.0","method":"notifications/initialized"}'
call 2 write_file '{"path":"made.txt","content":"by a script"}'
call 3 read_text_file "{\"path\":\"$HOME/.ssh/id_ed25519\"}"
call 4 read_text_file "{\"path\":\"$HOME/asked.txt\"}"
"#;

/// A session whose agent is a program.
struct ProgramSession {
    session: ProxySession,
    program: ChildHandle,
    serving: JoinHandle<()>,
    stop: CancellationToken,
}

/// Gives the program the session that is there.
struct Given(Arc<Broker>);

impl Open for Given {
    type Error = Infallible;

    async fn open(&mut self, _client: &ClientInfo) -> Result<Arc<Broker>, Infallible> {
        Ok(Arc::clone(&self.0))
    }
}

impl ProgramSession {
    async fn open(launcher: Launcher, environment: &Environment, program: ChildSpec) -> Self {
        let wanted = Wanted { policy: None, sandbox: None, protected: Vec::new(), servers: None };
        let session = SessionWanted {
            wanted,
            name: None,
            own_sandbox: SandboxKind::Session,
            about: None,
            resumed: None,
            kind: SessionKind::Proxy,
            agent: "script",
            seen_as: None,
            task: None,
            wait: Wait::ForAnybody,
            at_terminal: AtTerminal::default(),
        };
        let mut news = None;
        let opened = session
            .open(
                launcher.clone(),
                |directory| {
                    let made = Arc::new(News::new(Journal::open(&directory.log())?));
                    news = Some(Arc::clone(&made));
                    Ok(made as Arc<dyn Witness>)
                },
                environment,
            )
            .await
            .unwrap();
        assert!(opened.header.lines[0].starts_with("session "), "{:?}", opened.header);
        let session = ProxySession::new(opened.ground, news.unwrap(), None);
        let Child { stdin, stdout, process, .. } = launcher.start(&program).unwrap();
        let (stop, given) = (CancellationToken::new(), Given(session.broker()));
        let serving = tokio::spawn({
            let stop = stop.clone();
            async move { drop(serve(stdout, stdin, given, &stop).await) }
        });
        Self { session, program: process, serving, stop }
    }
}

impl SessionHandle for ProgramSession {
    fn info(&self) -> Info {
        self.session.info()
    }

    fn events(&self) -> broadcast::Receiver<Event> {
        self.session.events()
    }

    fn pending_escalations(&self) -> Vec<Pending> {
        self.session.pending_escalations()
    }

    fn resolve_escalation(&self, shown: &Pending, reply: &Reply) -> Result<Told, ResolveError> {
        self.session.resolve_escalation(shown, reply)
    }

    fn close(&self) -> Closing<'_> {
        self.stop.cancel();
        self.session.close()
    }
}

#[tokio::test]
async fn a_session_of_another_kind_is_opened_asked_and_closed() {
    let place = place();
    place.write("home/asked.txt", "what a person approved");
    place.write("home/.ssh/id_ed25519", "a key");
    let answers = place.path("answers.jsonl");
    let variables = [("HOME", place.path("home")), ("PATH", "/usr/bin:/bin".into())];
    let variables = variables.map(|(name, value)| (name.into(), value.into_os_string()));
    let environment = Environment::of(&variables, Some(place.root())).unwrap();
    let mut of_program = variables.to_vec();
    of_program.push(("ANSWERS".into(), answers.clone().into_os_string()));
    let program = ChildSpec {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), SCRIPT.into()],
        environment: of_program,
        directory: None,
        grace: Duration::from_secs(1),
        hold: Hold::Free,
    };
    let launcher = Launcher::at(env!("CARGO_BIN_EXE_ironcurtain"));
    let mut session = ProgramSession::open(launcher, &environment, program).await;
    let mut events = session.events();
    let handle: &dyn SessionHandle = &session;
    assert_eq!((handle.info().kind, handle.info().status), (SessionKind::Proxy, Status::Ready));

    // The person who runs it is told of the question, sees it, and answers it.
    let raised = loop {
        if let Event::EscalationRaised(id) = events.recv().await.unwrap() {
            break id;
        }
    };
    let pending = handle.pending_escalations();
    let shown = pending.iter().find(|it| it.request().escalation == raised).unwrap();
    handle.resolve_escalation(shown, &Reply::Approve(None)).unwrap();

    (&mut session.serving).await.unwrap();
    session.program.wait().await.ok();
    session.close().await.unwrap();
    session.close().await.unwrap();
    assert_eq!(session.info().status, Status::Closed);

    let answers = std::fs::read_to_string(answers).unwrap();
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), 4, "{answers:?}");
    assert!(answers[2].contains(r#""isError":true"#), "{}", answers[2]);
    assert!(answers[3].contains("what a person approved"), "{}", answers[3]);
    let directory = &place.sessions()[0];
    let made = std::fs::read_to_string(directory.join("sandbox/made.txt")).unwrap();
    assert_eq!(made, "by a script");
    let verified = place.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    let record = std::fs::read_to_string(directory.join("audit.jsonl")).unwrap();
    assert!(record.lines().last().unwrap().contains(r#""event":"closed""#), "{record}");
}
