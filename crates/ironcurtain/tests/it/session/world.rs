//! A home in which sessions are opened in this process, with real servers and workers in real cages.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ic_agent::{Diagnostic, Limits};
use ic_audit::{Redactor, SyncMode};
use ic_backend::Ending;
use ic_confine::{Confinement, Launcher};
use ic_escalation::{Board, Pending, Registry};
use ic_home::{Clock as _, Home, SystemClock};
use ic_inventory::servers_file::ServersFile;
use ic_judge::Judge;
use ic_model::Prices;
use ic_policy::{Builtin, Policy, SandboxKind};
use ic_resolve::{Places, RealDisk, Resolver, bounds};
use ic_session::{
    AtTerminal, BuiltIn, CallFate, Description, Event, Ground, Held, Journal, Mind, News,
    OpenError, Opening, SessionDirectory, SessionHandle as _, SessionKind, Wait, Workbench,
};
use ic_store::{Conversation, Saving};
use ic_testkit::Place;
use ic_types::AbsolutePath;
use tokio::sync::broadcast::Receiver;
use tokio_util::sync::CancellationToken;

use super::model::Scripted;
use crate::place;

/// After this an event will not come any more.
const DEADLINE: Duration = Duration::from_secs(30);

/// A home, and what holds the processes of its sessions.
pub(super) struct World {
    pub(super) place: Place,
    pub(super) home: Home,
    launcher: Launcher,
    confinement: Confinement,
}

/// How a session is opened.
#[derive(Clone, Copy)]
pub(super) struct Options {
    pub(super) limits: Limits,
    pub(super) prices: Prices,
    pub(super) wait: Wait,
    /// How long a question waits.
    pub(super) timeout: Duration,
}

pub(super) const USUAL: Options = Options {
    limits: Limits::OFF,
    prices: Prices::FREE,
    wait: Wait::ForAnybody,
    timeout: Duration::from_mins(10),
};

impl World {
    pub(super) async fn new() -> Self {
        let place = place();
        place.dir("home/Documents");
        let home = Home::new(AbsolutePath::new(place.path("home/.ironcurtain")).unwrap());
        home.prepare().unwrap();
        let launcher = Launcher::at(env!("CARGO_BIN_EXE_ironcurtain"));
        let rung = launcher.strongest(&place.dir("probe")).await.expect("a cage");
        Self { place, home, launcher, confinement: Confinement::Cage(rung) }
    }

    /// Opens what a session stands on.
    pub(super) fn ground(&self, options: Options) -> Result<(Ground, Arc<News>), OpenError> {
        self.ground_at(options, &AtTerminal::default())
    }

    /// Opens what a session stands on, with somebody at its terminal.
    pub(super) fn ground_at(
        &self,
        options: Options,
        at_terminal: &AtTerminal,
    ) -> Result<(Ground, Arc<News>), OpenError> {
        let directory = SessionDirectory::create(&self.home, None, SessionKind::BuiltIn, "test")?;
        let news = Arc::new(News::new(Journal::open(&directory.log())?));
        let opening = Opening {
            named_policy: None,
            home: &self.home,
            description: Description {
                kind: SessionKind::BuiltIn,
                agent: "test",
                about: None,
                task: Some("a task"),
                workspace: None,
            },
            judge: self.judge(&directory),
            directory,
            policy: "built-in `default`",
            servers: ServersFile::builtin(),
            held: Held { confinement: self.confinement, mode: "required", exceptions: Vec::new() },
            redactor: Arc::new(Redactor::new([])),
            sync: SyncMode::Group,
            record_bytes_max: ic_audit::BYTES_MAX,
            launcher: self.launcher.clone(),
            variables: Vec::new(),
            keyring: ic_backend::Keyring::default(),
            certificates: None,
            shown: Vec::new(),
            packages: None,
            notify: None,
            discretion: ic_session::Discretion::default(),
            wait: options.wait,
            at_terminal: at_terminal.clone(),
            timeout: options.timeout,
            witness: Arc::clone(&news) as Arc<dyn ic_backend::Witness>,
        };
        Ok((opening.open()?, news))
    }

    /// Opens a session in which `model` thinks, and listens to it from the beginning.
    pub(super) async fn open(&self, model: &Arc<Scripted>, options: Options) -> (BuiltIn, Ears) {
        self.open_at(model, options, &AtTerminal::default()).await
    }

    /// Opens a session with somebody at its terminal.
    pub(super) async fn open_at(
        &self,
        model: &Arc<Scripted>,
        options: Options,
        at_terminal: &AtTerminal,
    ) -> (BuiltIn, Ears) {
        let (ground, news) = self.ground_at(options, at_terminal).unwrap();
        let ears = Ears(news.subscribe());
        let sandbox = ground.directory.sandbox().to_str().unwrap().to_owned();
        let clock = Arc::new(SystemClock);
        let id = &ground.directory.id;
        let found = Conversation::find(&self.home, id, Saving::Always, clock).unwrap();
        let workbench = Workbench::new(ground, news, self.launcher.clone(), self.confinement);
        let Options { limits, prices, .. } = options;
        let (model, notes) = (Arc::clone(model) as _, Vec::new());
        let mind = Mind { model, prices, limits, sandbox, notes };
        (BuiltIn::open(workbench, mind, found).await.unwrap(), ears)
    }

    /// Opens what runs code, without anybody who thinks.
    pub(super) fn workbench(&self, options: Options) -> Workbench {
        let (ground, news) = self.ground(options).unwrap();
        Workbench::new(ground, news, self.launcher.clone(), self.confinement)
    }

    fn judge(&self, directory: &SessionDirectory) -> Judge {
        let user = AbsolutePath::new(self.place.path("home")).unwrap();
        let sandbox = AbsolutePath::new(directory.sandbox()).unwrap();
        let places = Places {
            home: user.clone(),
            sandbox: Some((sandbox, SandboxKind::Session)),
            protected: vec![AbsolutePath::new(self.home.root()).unwrap()],
        };
        let bounds =
            bounds::gather(&RealDisk, &places, ServersFile::builtin().traits(Confinement::None))
                .unwrap();
        let resolver =
            Resolver { disk: &RealDisk, home: &user, sandbox: None, orders: None, seen_as: None };
        let locate = |text: &str| resolver.locate(text).map_err(|fault| fault.to_string());
        let policy = Policy::load(&Builtin::Default.sources(), &locate).unwrap();
        Judge {
            policy,
            bounds,
            orders: ic_resolve::Orders::of_user(&user),
            heads: ic_judge::heads::Heads::default(),
            earlier: Vec::new(),
            seen_as: None,
            home: user,
        }
    }

    /// Returns a path in Documents, which is read freely and changed with a person.
    pub(super) fn document(&self, name: &str) -> PathBuf {
        self.place.path("home/Documents").join(name)
    }

    /// A script that writes a document, which needs a person.
    pub(super) fn writes(&self, name: &str, text: &str) -> String {
        let path = self.document(name).to_str().unwrap().to_owned();
        format!("filesystem.write_file({{path: {path:?}, content: {text:?}}}); 'written'")
    }

    /// Returns what waits, as somebody at another terminal sees it.
    pub(super) fn pending_elsewhere(&self) -> Vec<Pending> {
        let sessions = Registry::of(&self.home).live().unwrap().sessions;
        Board::default().look(&sessions, SystemClock.now()).pending
    }

    /// Returns the records of a session, as the kind of each and what it says.
    pub(super) fn records(&self, session: &BuiltIn) -> Vec<String> {
        let log = self.home.session(&session.info().id).join("audit.jsonl");
        let text = std::fs::read_to_string(log).unwrap();
        let word = |line: &str| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            let field = |key: &str| record[key].as_str().map(str::to_owned);
            let event = record["arguments"]["event"].as_str().map(str::to_owned);
            let what = event.or_else(|| field("verdict")).or_else(|| field("outcome"));
            format!("{} {}", record["kind"].as_str().unwrap(), what.unwrap_or_default())
        };
        text.lines().map(|line| word(line).trim_end().to_owned()).collect()
    }

    /// Checks that nothing of the sessions of this home runs or is listed, and that all logs are whole.
    #[track_caller]
    pub(super) fn check_nothing_left(&self) {
        assert_eq!(super::processes(), Vec::<String>::new());
        let live = Registry::of(&self.home).live().unwrap();
        assert!(live.sessions.is_empty(), "{:?}", live.sessions);
        let listed = std::fs::read_dir(self.home.registry()).unwrap();
        let names = listed.map(|it| it.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.filter(|it| it.starts_with("session-")).count(), 0);
        let verified = self.place.run(["audit", "verify"]);
        assert_eq!(verified.code, 0, "{verified:?}");
    }
}

/// An observer that hears what happens in a session.
pub(super) struct Ears(pub(super) Receiver<Event>);

impl Ears {
    /// Waits for an event that `is` the one, and returns all up to it, a word for each.
    pub(super) async fn until(&mut self, is: impl Fn(&str) -> bool) -> Vec<String> {
        let mut heard = Vec::new();
        loop {
            let event = tokio::time::timeout(DEADLINE, self.0.recv()).await;
            let event = event.unwrap_or_else(|_| panic!("in vain, after {heard:#?}"));
            let event = event.unwrap();
            // That a call begins is told by what becomes of it.
            if matches!(event, Event::Calling(_)) {
                continue;
            }
            heard.push(word(&event));
            if heard.last().is_some_and(|it| is(it)) {
                return heard;
            }
        }
    }

    /// Waits until the session stands as it is said.
    pub(super) async fn status(&mut self, status: &str) -> Vec<String> {
        let wanted = format!("status {status}");
        self.until(|word| word == wanted).await
    }

    /// Returns what has happened since.
    pub(super) fn rest(&mut self) -> Vec<String> {
        let rest = std::iter::from_fn(|| self.0.try_recv().ok());
        rest.filter(|it| !matches!(it, Event::Calling(_))).map(|it| word(&it)).collect()
    }
}

/// Says what an event is, without what differs each time.
pub(super) fn word(event: &Event) -> String {
    match event {
        Event::Status(status) => format!("status {status}"),
        Event::Text(text) => format!("text {text}"),
        Event::Diagnostic(diagnostic) => format!("diagnostic {}", kind(diagnostic)),
        Event::Calling(call) => format!("{call} begins"),
        Event::Called(call) => {
            let fate = match &call.fate {
                CallFate::Done => "done",
                CallFate::Approved => "approved",
                CallFate::Failed(_) => "failed",
                CallFate::Refused(_) => "refused",
                CallFate::Cancelled => "cancelled",
            };
            format!("{} {fate}", call.call)
        }
        Event::EscalationRaised(_) => "escalation_raised".to_owned(),
        Event::EscalationResolved(_, ending) => match ending {
            Ending::Approved => "escalation_resolved approved".to_owned(),
            Ending::Denied => "escalation_resolved denied".to_owned(),
            Ending::Expired => "escalation_resolved expired".to_owned(),
            Ending::Withdrawn => "escalation_resolved withdrawn".to_owned(),
        },
        Event::EscalationExpired(_) => "escalation_expired".to_owned(),
        Event::Answer(text) => format!("answer {text}"),
        Event::Budget(_) => "budget".to_owned(),
        Event::Notice(text) => format!("notice {text}"),
    }
}

/// Returns the name by which people know a diagnostic.
pub(super) fn kind(diagnostic: &Diagnostic) -> String {
    let written = serde_json::to_value(diagnostic).unwrap();
    written["kind"].as_str().unwrap().to_owned()
}

/// Nobody cancels.
pub(super) fn never() -> CancellationToken {
    CancellationToken::new()
}
