//! What asks a command that runs for long to end.
//!
//! Says only that; how it ends is the command's own business.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::Failure;

/// Returns a token that is cancelled when somebody asks us to end.
pub(crate) fn stop_on_signals() -> Result<CancellationToken, Failure> {
    let stop = CancellationToken::new();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let mut signal = signal(kind).map_err(|source| {
            Failure::environment("cannot wait for signals").with_source(source)
        })?;
        let stop = stop.clone();
        tokio::spawn(async move {
            signal.recv().await;
            stop.cancel();
        });
    }
    Ok(stop)
}
