//! What a gate writes down, for tests to look at.

use std::sync::Mutex;

use ic_mitm::{Asked, Ended, Ledger, LedgerError, Refused};

use crate::stage::DEADLINE;

/// What was written down.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) asked: Mutex<Vec<Asked>>,
    pub(crate) ended: Mutex<Vec<(Asked, Ended)>>,
    pub(crate) refused: Mutex<Vec<String>>,
    pub(crate) noticed: Mutex<Vec<String>>,
    pub(crate) is_full: Mutex<bool>,
    changed: tokio::sync::Notify,
}

impl Ledger for Book {
    fn asked(&self, asked: &Asked) -> Result<(), LedgerError> {
        if *self.is_full.lock().unwrap() {
            return Err(LedgerError::new("full"));
        }
        self.asked.lock().unwrap().push(asked.clone());
        Ok(())
    }

    fn ended(&self, asked: &Asked, ended: &Ended) {
        self.ended.lock().unwrap().push((asked.clone(), ended.clone()));
        self.changed.notify_waiters();
    }

    fn refused(&self, refused: &Refused<'_>) {
        let Refused { method, host, path, why } = refused;
        self.refused.lock().unwrap().push(format!("{method} {host} {path}: {why}"));
    }

    fn noticed(&self, notice: &str) {
        self.noticed.lock().unwrap().push(notice.to_owned());
    }
}

impl Book {
    /// Waits until `n` requests have come to their end.
    pub(crate) async fn until_ended(&self, n: usize) -> Vec<(Asked, Ended)> {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                let ended = self.ended.lock().unwrap().clone();
                if n <= ended.len() {
                    return ended;
                }
                changed.await;
            }
        };
        tokio::time::timeout(DEADLINE, waiting).await.expect("an end")
    }
}
