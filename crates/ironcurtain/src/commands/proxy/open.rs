//! Opens the session behind a proxy once there is a client.

use std::sync::{Arc, OnceLock};

use ic_broker::Broker;
use ic_client::client::{ClientInfo, Open, ScriptTool};
use ic_home::Environment;
use ic_judge::method::CallMethod;
use ic_opening::SessionWanted;
use ic_opening::policy::Wanted;
use ic_policy::SandboxKind;
use ic_session::{AtTerminal, Journal, News, ProxySession, SessionKind, Wait};
use ic_types::SessionName;

use super::witness::StderrWitness;
use crate::error::Failure;
use crate::opening::open;
use crate::screen::Screen;

/// The tool that clients are offered in code mode, once there is a session.
#[derive(Clone)]
pub(super) struct CodeMode(Option<Arc<OnceLock<Arc<dyn ScriptTool>>>>);

impl CodeMode {
    pub(super) fn of(is_on: bool) -> Self {
        Self(is_on.then(Arc::default))
    }

    pub(super) fn tool(&self) -> Option<Arc<dyn ScriptTool>> {
        self.0.as_ref().and_then(|it| it.get().cloned())
    }
}

/// What is needed to open the session.
pub(super) struct Opener<'a> {
    /// What the command line asks for, until it is asked for.
    pub(super) wanted: Option<(Wanted, Option<SessionName>)>,
    /// The methods besides calls of tools for which a server may be asked.
    pub(super) offered: Arc<[CallMethod]>,
    pub(super) wait: Wait,
    pub(super) code_mode: CodeMode,
    /// Where the session is left, to be closed at the end.
    pub(super) at_end: &'a mut Option<ProxySession>,
    pub(super) environment: &'a Environment,
    pub(super) screen: &'a mut Screen,
}

impl Open for Opener<'_> {
    type Error = Failure;

    fn offers(&self, method: CallMethod) -> bool {
        self.offered.contains(&method)
    }

    fn script_tool(&self) -> Option<Arc<dyn ScriptTool>> {
        self.code_mode.tool()
    }

    async fn open(&mut self, client: &ClientInfo) -> Result<Arc<Broker>, Failure> {
        let Some((wanted, name)) = self.wanted.take() else {
            return Err(Failure::environment("the session was opened before, and failed"));
        };
        let session = SessionWanted {
            wanted,
            name,
            own_sandbox: SandboxKind::Session,
            about: None,
            resumed: None,
            kind: SessionKind::Proxy,
            agent: client.name.as_deref().unwrap_or("mcp-client"),
            seen_as: None,
            task: None,
            wait: self.wait,
            // Its terminal, if there is one, belongs to the client.
            at_terminal: AtTerminal::default(),
        };
        let mut news = None;
        let witness =
            |directory: &ic_session::SessionDirectory| -> Result<Arc<dyn ic_backend::Witness>, _> {
                let made = Arc::new(News::new(Journal::open(&directory.log())?));
                news = Some(Arc::clone(&made));
                Ok(Arc::new(StderrWitness::new(made)?))
            };
        let opened = open(session, witness, self.environment, self.screen).await?;
        let news = news.ok_or_else(|| Failure::environment("the session has no journal"))?;
        let workers = (opened.launcher, opened.holding.confinement);
        let workers = self.code_mode.0.is_some().then_some(workers);
        let session = ProxySession::new(opened.ground, news, workers);
        if let (Some(code_mode), Some(tool)) = (&self.code_mode.0, session.script_tool()) {
            code_mode.get_or_init(|| tool);
        }
        let broker = session.broker();
        *self.at_end = Some(session);
        Ok(broker)
    }
}
