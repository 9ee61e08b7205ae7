//! Writes answers to a client, as many at a time as there are.
//!
//! Knows nothing of what it writes.

use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use ic_backend::caller::{Outgoing, Slow};

/// How many answers are put together into one write.
const TOGETHER_MAX: usize = 64;
/// How many bytes of them.
const TOGETHER_BYTES_MAX: usize = 1 << 20;
/// How long a client that is one of several may take none of what it is sent.
const STALLED_MAX: Duration = Duration::from_mins(1);

/// Writes lines until there are no more, or the client does not take them; then `gone` is cancelled.
pub(super) async fn write(
    mut writer: impl AsyncWrite + Unpin,
    mut outgoing: Outgoing,
    gone: CancellationToken,
    slow: Slow,
) {
    let mut lines = Vec::with_capacity(TOGETHER_MAX);
    loop {
        outgoing.take(&mut lines, TOGETHER_MAX).await;
        if lines.is_empty() {
            break;
        }
        let written = tokio::select! {
            written = put(&mut writer, &mut lines, &outgoing, slow) => written,
            () = gone.cancelled() => return,
        };
        if written.is_none() {
            break;
        }
    }
    gone.cancel();
}

/// Writes all of `lines`; `None` if the client does not take them.
async fn put(
    writer: &mut (impl AsyncWrite + Unpin),
    lines: &mut Vec<String>,
    outgoing: &Outgoing,
    slow: Slow,
) -> Option<()> {
    let total: usize = lines.iter().map(String::len).sum();
    if 1 < lines.len() && total <= TOGETHER_BYTES_MAX {
        let together = lines.concat();
        lines.clear();
        lines.push(together);
    }
    for line in lines.drain(..) {
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            let writing = writer.write(rest);
            let n_bytes = match slow {
                Slow::IsWaitedFor => writing.await.ok()?,
                Slow::IsDropped => tokio::time::timeout(STALLED_MAX, writing).await.ok()?.ok()?,
            };
            if n_bytes == 0 {
                return None;
            }
            outgoing.written(n_bytes);
            rest = rest.get(n_bytes..).unwrap_or_default();
        }
    }
    writer.flush().await.ok()
}
