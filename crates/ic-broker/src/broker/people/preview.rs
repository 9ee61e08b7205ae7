//! What a push would send, found out before a person is asked: commits and files, by object id.
//!
//! Our git server works it out, in a cage of its own that shows the repository to be read and reaches
//! nobody. It changes nothing and decides nothing: what is bound is the object ids, and if the list
//! cannot be had the person is told so. Its lines are text of strangers.

use std::time::Duration;

use ic_backend::one_shot::OneShot;
use ic_backend::server::{Asking, NoErrand};
use ic_judge::Judged;
use ic_policy::{Escalation, Push};
use ic_resolve::RealDisk;
use ic_servers::filesystem::Rights;
use ic_servers::git::PREVIEW_TOOL;
use ic_types::{Json, Object};

use crate::broker::{Broker, Going};

/// How long it may take; a person waits for it.
const TIME_MAX: Duration = Duration::from_secs(20);
/// How many lines a person is shown, and how long one is.
const LINES_MAX: usize = 400;
const LINE_CHARS_MAX: usize = 400;

impl Broker {
    /// Lists the commits and files that the push of `escalation` would send; nothing if it is no push.
    pub(super) async fn push_preview(&self, escalation: &Escalation, going: &Going) -> Vec<String> {
        let call = escalation.call();
        let Some(Push::Refs(refs)) = call.push().filter(|_| going.found.server.is_git()) else {
            return Vec::new();
        };
        if refs.iter().all(|it| it.new.is_none()) {
            return Vec::new();
        }
        let mut arguments = Object::new();
        arguments.insert("path", call.sent().get("path").cloned().unwrap_or(Json::Null));
        let refs = match call.resolved_json() {
            Json::Object(mut resolved) => resolved.remove(Push::KEY),
            _ => None,
        };
        arguments.insert("refs", refs.unwrap_or(Json::Null));
        let listed = self.listed(escalation, arguments, going);
        let listed = match tokio::time::timeout(TIME_MAX, listed).await {
            Ok(listed) => listed,
            Err(_) => Err(format!("it took longer than {} s", TIME_MAX.as_secs())),
        };
        match listed {
            Ok(text) => {
                let line = |line: &str| line.chars().take(LINE_CHARS_MAX).collect();
                text.lines().take(LINES_MAX).map(line).collect()
            }
            Err(why) => vec![format!("the commits and files could not be listed: {why}")],
        }
    }

    async fn listed(
        &self,
        escalation: &Escalation,
        arguments: Object,
        going: &Going,
    ) -> Result<String, String> {
        let mut judged = Judged::of(escalation.call());
        for it in &mut judged {
            // SECURITY: nobody has approved anything yet.
            it.rights = Rights::READ;
        }
        let one_shot = OneShot::plan_git(&judged, &self.judge.bounds, &RealDisk);
        let one_shot = one_shot.map_err(|fault| fault.to_string())?;
        let (server, cancel) = (&going.found.server, &going.flight.cancel);
        let errand = server.start_once(&one_shot, cancel).await.map_err(|error| match error {
            NoErrand::Cancelled => "cancelled".to_owned(),
            NoErrand::Unshowable(why) | NoErrand::Failed(why) => why,
        })?;
        let write = |out: &mut String, envelope: Object| {
            let mut params = Object::new();
            params.insert("name", PREVIEW_TOOL);
            params.insert("arguments", arguments);
            if !envelope.is_empty() {
                params.insert("_meta", envelope);
            }
            Json::write_object(out, &params);
        };
        let asking = Asking { progress: None, caller: None, cancel, limit: TIME_MAX };
        let outcome = errand.connection.ask("tools/call", write, asking).await;
        errand.end("the preview is done");
        match outcome {
            Ok(Ok(result)) => text_of(&result),
            Ok(Err(error)) => Err(error.message),
            Err(unanswered) => Err(unanswered.to_string()),
        }
    }
}

/// Returns the text of a result; one that says that it failed is an error.
fn text_of(result: &Json) -> Result<String, String> {
    let Json::Object(result) = result else { return Err("no answer".to_owned()) };
    let text = match result.get("content") {
        Some(Json::Array(blocks)) => blocks.iter().find_map(|block| match block {
            Json::Object(block) => block.get("text")?.as_str(),
            _ => None,
        }),
        _ => None,
    };
    match (text, result.get("isError")) {
        (Some(text), None | Some(Json::Bool(false))) => Ok(text.to_owned()),
        (Some(text), _) => Err(text.to_owned()),
        (None, _) => Err("no answer".to_owned()),
    }
}
