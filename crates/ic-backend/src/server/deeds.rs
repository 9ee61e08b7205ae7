//! What a server that runs for one call may have carried out: the deed of that call, once.
//!
//! ```text
//! call recorded ─▶ warrant ─▶ the server asks ─▶ is it this deed? ─▶ carried out on a thread ─▶ answer
//! ```
//!
//! Anything else that it asks for ends it. What the deed does is known to `ic-servers`; whether the
//! call may be made was decided before.

use std::sync::{Arc, Mutex};

use ic_audit::Recorded;
use ic_confine::{Confinement, without_capabilities};
use ic_mcp::{Request, Response, RpcError, code};
use ic_servers::Cancel;
use ic_servers::filesystem::{NotWarranted, Order, View, Warrant};
use ic_types::{Json, Object};
use tokio_util::task::TaskTracker;

use super::connection::Connection;
use super::inbox::Misbehaved;
use crate::locked;

/// The longest request for a deed: an edited file in base64, and a path or two.
const DEED_BYTES_MAX: usize = 12 << 20;

/// What a server that runs for one call may have carried out.
#[derive(Debug)]
pub(crate) struct Deeds {
    view: View,
    confinement: Confinement,
    tasks: TaskTracker,
    /// There is none before the call was recorded, nor after it was used.
    warrant: Mutex<Option<Warrant>>,
}

impl Deeds {
    pub(super) fn new(view: View, confinement: Confinement, tasks: TaskTracker) -> Self {
        Self { view, confinement, tasks, warrant: Mutex::new(None) }
    }

    /// Lets the server ask for the deed of its call.
    ///
    /// SECURITY: takes the proof that the call was recorded, so that nothing is changed before it is.
    pub(super) fn warrant(&self, recorded: &Recorded) {
        let call = recorded.permit().call();
        self.allow(Warrant::of(call.tool().as_str(), call.sent(), &self.view));
    }

    fn allow(&self, warrant: Option<Warrant>) {
        *locked(&self.warrant) = warrant;
    }

    /// Lets it ask for nothing any more.
    pub(super) fn close(&self) {
        self.allow(None);
    }

    /// Takes a request for a deed, and has it carried out if it is the one that is warranted.
    pub(super) fn begin(
        &self,
        request: Request,
        n_bytes: usize,
        connection: &Arc<Connection>,
    ) -> Result<(), Misbehaved> {
        let order = self.order(&request.params, n_bytes)?;
        let (connection, confinement) = (Arc::clone(connection), self.confinement);
        let cancel = Cancel::new();
        let working = {
            let cancel = cancel.clone();
            tokio::task::spawn_blocking(move || carry_out(&order, confinement, &cancel))
        };
        self.tasks.spawn(async move {
            let mut working = working;
            let worked = tokio::select! {
                worked = &mut working => worked,
                () = connection.over().cancelled() => {
                    // It may be past that; nothing of the session ends before it has.
                    cancel.cancel();
                    working.await
                }
            };
            let failed = || RpcError::new(code::INTERNAL_ERROR, "it cannot be carried out");
            let outcome = match worked {
                Ok(Ok(answer)) => Ok(Json::Object(answer)),
                Ok(Err(_)) | Err(_) => Err(failed()),
            };
            connection.reply(Response { id: Some(request.id), outcome }).await;
        });
        Ok(())
    }

    /// Returns what is to be carried out; a second time there is nothing.
    fn order(&self, asked: &Object, n_bytes: usize) -> Result<Order, Misbehaved> {
        if DEED_BYTES_MAX < n_bytes {
            return Err(Misbehaved(NotWarranted::TooLong.as_str()));
        }
        let Some(warrant) = locked(&self.warrant).take() else {
            return Err(Misbehaved("the server asked for a change that its call is not about"));
        };
        warrant.redeem(asked).map_err(|fault| Misbehaved(fault.as_str()))
    }
}

/// Carries a deed out with the rights that the server would have had.
fn carry_out(order: &Order, confinement: Confinement, cancel: &Cancel) -> std::io::Result<Object> {
    match confinement {
        Confinement::None => Ok(order.carry_out(cancel)),
        // SECURITY: no caged server has capabilities, and what it asks for is done without them too.
        Confinement::Cage(_) => without_capabilities(|| order.carry_out(cancel)),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::super::inbox::{Inbox, News};
    use super::*;
    use std::time::Duration;

    use ic_confine::Rung;
    use ic_inventory::Asks;
    use ic_servers::filesystem::{DEED_METHOD, Links, Rights, ViewDirectory, ViewPath};
    use ic_types::{CanonicalPath, JsonLimits, ServerName};
    use tokio::sync::mpsc;

    /// A server that was asked to write `a.txt` in a directory, and what it sends.
    struct Rig {
        place: tempfile::TempDir,
        inbox: Inbox,
        deeds: Option<Arc<Deeds>>,
        outgoing: mpsc::Receiver<String>,
        news: mpsc::Receiver<News>,
    }

    fn object(text: &str) -> Object {
        match Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap() {
            Json::Object(object) => object,
            other => panic!("no object: {other}"),
        }
    }

    impl Rig {
        /// A server that runs for one call, or one that runs anyway.
        fn new(is_one_shot: bool) -> Self {
            let place = tempfile::tempdir().unwrap();
            let root = CanonicalPath::new(place.path().canonicalize().unwrap()).unwrap();
            let (connection, outgoing) =
                Connection::new("filesystem".parse::<ServerName>().unwrap(), Asks::default());
            let (tell, news) = mpsc::channel(8);
            let (logs, _) = mpsc::channel(8);
            let path = CanonicalPath::new(root.as_path().join("a.txt")).unwrap();
            let rights = Rights::WRITE;
            let view = View {
                directories: vec![ViewDirectory { path: root, rights }],
                leave_out: Vec::new(),
                only: Some(vec![ViewPath { path, rights }]),
                links: Links::Refuse,
            };
            let confinement = Confinement::Cage(Rung::Namespaces);
            let deeds = Arc::new(Deeds::new(view, confinement, TaskTracker::new()));
            let deeds = is_one_shot.then_some(deeds);
            let roots = Json::Object(Object::new());
            let inbox = Inbox::new(connection, roots, tell, logs).with_deeds(deeds.clone());
            Self { place, inbox, deeds, outgoing, news }
        }

        /// Says that the call was recorded.
        fn warrant(&self) {
            let deeds = self.deeds.as_ref().unwrap();
            let path = self.place.path().canonicalize().unwrap().join("a.txt");
            let mut call = Object::new();
            call.insert("path", path.to_str().unwrap());
            call.insert("content", "new");
            deeds.allow(Some(Warrant::of("write_file", &call, &deeds.view).unwrap()));
        }

        /// Lets the server ask for something; `HERE` is the directory.
        fn ask(&mut self, params: &str) -> Result<(), String> {
            let here = self.place.path().canonicalize().unwrap();
            let params = params.replace("HERE", here.to_str().unwrap());
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{DEED_METHOD}","params":{params}}}"#);
            self.inbox.take(line.as_bytes()).map_err(|misbehaved| misbehaved.to_string())
        }

        async fn reply(&mut self) -> Object {
            let reply = tokio::time::timeout(Duration::from_mins(1), self.outgoing.recv());
            object(&reply.await.unwrap().unwrap())
        }

        fn names(&self) -> Vec<String> {
            let entries = std::fs::read_dir(self.place.path()).unwrap();
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    fn in_a_runtime<F: Future<Output = ()>>(test: F) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(test);
    }

    const WRITE: &str = r#"{"do":"write","path":"HERE/a.txt"}"#;

    #[test]
    fn the_deed_of_the_call_is_carried_out_once() {
        in_a_runtime(async {
            let mut rig = Rig::new(true);
            rig.warrant();
            rig.ask(WRITE).unwrap();
            let reply = rig.reply().await;
            assert_eq!(reply.get("result").unwrap().to_string(), r#"{"done":true}"#);
            let path = rig.place.path().join("a.txt");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
            std::fs::remove_file(&path).unwrap();
            assert!(rig.ask(WRITE).unwrap_err().contains("its call is not about"));
            assert!(!path.exists());
        });
    }

    #[test]
    fn what_the_call_is_not_about_is_refused_and_ends_the_server() {
        in_a_runtime(async {
            for (params, part) in [
                (r#"{"do":"write","path":"HERE/b.txt"}"#, "another change"),
                (r#"{"do":"write","path":"HERE"}"#, "another change"),
                (r#"{"do":"write","path":"HERE/a.txt/b"}"#, "another change"),
                (r#"{"do":"remove","path":"HERE/a.txt"}"#, "another change"),
                (r#"{"do":"createDirectory","path":"HERE/a.txt"}"#, "another change"),
                (r#"{"do":"move","path":"HERE/a.txt","to":"HERE/b.txt"}"#, "another change"),
                (r#"{"do":"write","path":"HERE/./a.txt"}"#, "unknown change"),
                (r#"{"do":"write","path":"HERE/a.txt","content":"b3RoZXI="}"#, "unknown change"),
                (r#"{"do":"link","path":"HERE/a.txt"}"#, "unknown change"),
                ("{}", "unknown change"),
            ] {
                let mut rig = Rig::new(true);
                rig.warrant();
                let refused = rig.ask(params).unwrap_err();
                assert!(refused.contains(part), "{params}: {refused}");
                // One that was refused has used up its warrant.
                assert!(rig.ask(WRITE).is_err(), "{params}");
                assert_eq!(rig.names(), [""; 0], "{params}");
            }
        });
    }

    #[test]
    fn nothing_is_carried_out_before_the_call_is_recorded_or_after_it_is_done() {
        in_a_runtime(async {
            let mut rig = Rig::new(true);
            assert!(rig.ask(WRITE).unwrap_err().contains("its call is not about"));
            rig.warrant();
            rig.deeds.as_ref().unwrap().close();
            assert!(rig.ask(WRITE).is_err());
            assert_eq!(rig.names(), [""; 0]);
        });
    }

    #[test]
    fn a_deed_that_is_too_long_is_refused_unread() {
        in_a_runtime(async {
            let mut rig = Rig::new(true);
            rig.warrant();
            let long = " ".repeat(DEED_BYTES_MAX);
            let refused = rig.ask(&format!("{{{long}{}", WRITE.trim_start_matches('{')));
            assert!(refused.unwrap_err().contains("too long"));
            assert_eq!(rig.names(), [""; 0]);
        });
    }

    #[test]
    fn a_server_that_runs_anyway_asks_in_vain() {
        in_a_runtime(async {
            let mut rig = Rig::new(false);
            rig.ask(WRITE).unwrap();
            let reply = rig.reply().await;
            assert!(reply.get("error").unwrap().to_string().contains("may not ask"), "{reply:?}");
            assert!(
                matches!(rig.news.try_recv(), Ok(News::Refused(method, _)) if method == DEED_METHOD)
            );
            assert_eq!(rig.names(), [""; 0]);
        });
    }
}
