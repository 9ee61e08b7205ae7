//! Writes answers to a client, as many at a time as there are.
//!
//! Knows nothing of what it writes.

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How many answers are put together into one write.
const TOGETHER_MAX: usize = 64;

/// Writes lines until there are no more, or the client does not take them; then `gone` is cancelled.
pub(super) async fn write(
    mut writer: impl AsyncWrite + Unpin,
    mut outgoing: mpsc::Receiver<String>,
    gone: CancellationToken,
) {
    let mut lines = Vec::with_capacity(TOGETHER_MAX);
    while outgoing.recv_many(&mut lines, TOGETHER_MAX).await != 0 {
        let written = match lines.as_slice() {
            [line] => writer.write_all(line.as_bytes()).await,
            lines => writer.write_all(lines.concat().as_bytes()).await,
        };
        lines.clear();
        if written.is_err() || writer.flush().await.is_err() {
            break;
        }
    }
    gone.cancel();
}
