//! Tells a client that its call waits for a person, if it wants to know.
//!
//! A client that hears nothing may give up before the person has read the question. What the person
//! answers is not known here.

use std::time::Duration;

use ic_backend::server::Progress;
use ic_mcp::{meta, notification_line};
use ic_policy::Ticket;
use ic_types::{Json, JsonLimits, Object};

use super::Going;

/// How often a client is told.
const EVERY: Duration = Duration::from_secs(15);
/// How often a client is told about one question; whoever waits longer knows by then.
const TOLD_MAX: u32 = 240;

/// Does `work` and meanwhile tells the client, if it gave a token for that, what its call waits for.
pub(super) async fn reported<T>(
    work: impl Future<Output = T>,
    going: &Going,
    ticket: &Ticket,
) -> T {
    let Some(progress) = &going.flight.progress else { return work.await };
    let telling = async {
        let mut every = tokio::time::interval(EVERY);
        for count in 1..=TOLD_MAX {
            every.tick().await;
            tell(progress, count, ticket);
        }
        std::future::pending::<T>().await
    };
    tokio::select! {
        // What has come is not kept from the client by words about it.
        biased;
        done = work => done,
        never = telling => never,
    }
}

fn tell(progress: &Progress, count: u32, ticket: &Ticket) {
    let mut params = Object::new();
    params.insert(meta::PROGRESS_TOKEN, progress.token.to_json());
    // It has to grow each time, and what the server says of its own progress is to be more.
    let grown = Json::parse(format!("0.{count:06}").as_bytes(), JsonLimits::CALL);
    params.insert("progress", grown.unwrap_or_else(|_| Json::from(0_u64)));
    let message = format!("waiting for approval until {}", ticket.deadline);
    params.insert("message", message);
    // A client that does not read misses nothing by this.
    progress.outbox.send_if_there_is_room(notification_line("notifications/progress", &params));
}
