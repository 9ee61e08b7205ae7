//! How a broker is put together.
//!
//! Everything it needs is handed in; no file is looked for here, and no server is started.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use ic_audit::{AuditLog, Redactor};
use ic_backend::{Backends, Witness};
use ic_escalation::Plans;
use ic_home::{Clock, FileError};
use ic_judge::{Aside, Judge};
use tokio::sync::{RwLock, broadcast};

use super::catalog::Catalog;
use super::changing::Changing;
use super::lists::House;
use super::shelf::Shelf;
use super::{Broker, People, news, petitions};
use crate::breaker::Breaker;
use crate::questions::Questions;

/// How many announcements a slow client may miss none of.
const ANNOUNCEMENTS_MAX: usize = 256;
/// What a broker is made of.
pub struct Setup {
    /// Who decides.
    pub judge: Arc<Judge>,
    /// What serves the calls.
    pub backends: Backends,
    /// The record; whoever opened it closes it.
    pub log: Arc<AuditLog>,
    /// What hides our keys.
    pub redactor: Arc<Redactor>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// The directory of the locks that all sessions have in common.
    pub locks: PathBuf,
    /// Keeps the requests of this run apart from those of earlier ones.
    pub run: String,
    /// How people are asked.
    pub people: People,
    /// The observer that is to know what happens.
    pub witness: Arc<dyn Witness>,
}

impl Setup {
    /// Makes the broker; must be called within the runtime that its servers are to live in.
    pub fn build(self) -> Result<Arc<Broker>, FileError> {
        let Backends { servers, levels, news, words, raised, tasks, stop } = self.backends;
        let changing = Changing::new(&self.judge, &self.locks)?;
        let (announcements, _) = broadcast::channel(ANNOUNCEMENTS_MAX);
        let house = House::new(&announcements, &self.witness, (&tasks, &stop));
        let broker = Arc::new(Broker {
            judge: self.judge,
            log: self.log,
            aside: Aside::new(),
            clock: self.clock,
            redactor: self.redactor,
            shelf: Shelf::new(&servers, &house),
            servers,
            catalog: RwLock::new(Arc::new(Catalog::default())),
            last_list: Mutex::new(None),
            tool_list: tokio::sync::Mutex::new(None),
            changing,
            breaker: Mutex::new(Breaker::default()),
            plans: Plans::default(),
            questions: Mutex::new(Questions::default()),
            people: self.people,
            announcements,
            levels,
            witness: self.witness,
            requests: AtomicU64::new(1),
            run: self.run,
            tasks: tasks.clone(),
            stop: stop.clone(),
        });
        tasks.spawn(news::deal(Arc::downgrade(&broker), news, words, stop.clone()));
        let listing = Arc::downgrade(&broker);
        tasks.spawn(async move {
            if let Some(broker) = listing.upgrade() {
                broker.prepare_list().await;
            }
        });
        tasks.spawn(petitions::take_in(Arc::downgrade(&broker), raised, stop));
        Ok(broker)
    }
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").finish_non_exhaustive()
    }
}
