//! Opens the session behind a proxy once there is a client.

use std::sync::Arc;

use ic_audit::AuditLog;
use ic_broker::Broker;
use ic_client::client::{ClientInfo, Open};
use ic_home::Environment;
use ic_judge::method::CallMethod;
use ic_opening::SessionWanted;
use ic_opening::policy::Wanted;
use ic_policy::SandboxKind;
use ic_session::{AtTerminal, OpenDesk, SessionKind, Wait};
use ic_types::SessionName;

use super::witness::StderrWitness;
use crate::error::Failure;
use crate::opening::open;
use crate::screen::Screen;

/// The desk and the log of a session, once there is one.
pub(super) type AtEnd = Option<(OpenDesk, Arc<AuditLog>)>;

/// What is needed to open the session.
pub(super) struct Opener<'a> {
    /// What the command line asks for, until it is asked for.
    pub(super) wanted: Option<(Wanted, Option<SessionName>)>,
    /// The methods besides calls of tools for which a server may be asked.
    pub(super) offered: Arc<[CallMethod]>,
    pub(super) wait: Wait,
    /// Where the desk and the log are left, to be closed at the end.
    pub(super) at_end: &'a mut AtEnd,
    pub(super) environment: &'a Environment,
    pub(super) screen: &'a mut Screen,
}

impl Open for Opener<'_> {
    type Error = Failure;

    fn offers(&self, method: CallMethod) -> bool {
        self.offered.contains(&method)
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
            task: None,
            wait: self.wait,
            // Its terminal, if there is one, belongs to the client.
            at_terminal: AtTerminal::default(),
        };
        let witness =
            |directory: &ic_session::SessionDirectory| -> Result<Arc<dyn ic_backend::Witness>, _> {
                Ok(Arc::new(StderrWitness::new(&directory.log())?))
            };
        let opened = open(session, witness, self.environment, self.screen).await?;
        *self.at_end = Some((opened.ground.desk, opened.ground.log));
        Ok(opened.ground.broker)
    }
}
