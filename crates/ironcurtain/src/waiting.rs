//! Something that takes a while: what is being done, how far it is, and for how long it has gone on.
//!
//! At a terminal one row is drawn again and again, and is gone at the end; into a pipe go whole lines, fewer
//! and fewer of them. What is waited for is not known here.

use std::io::IsTerminal as _;
use std::time::Duration;

use tokio::time::Instant;

use crate::screen::{Screen, columns, visible};

/// How long nothing is said, and how often lines are written then.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the row at a terminal is drawn then.
const DRAWN_EVERY: Duration = Duration::from_millis(250);
/// Goes to the left edge and empties the row.
const EMPTY_ROW: &str = "\r\x1b[K";

/// Waits for `running`, and says with `told` how far it is.
pub(crate) async fn told<T>(
    running: impl Future<Output = T>,
    told: impl Fn() -> String,
    screen: &mut Screen,
) -> T {
    let width = columns(std::io::stderr()).filter(|_| std::io::stderr().is_terminal());
    told_at(width, running, told, screen).await
}

/// The same, at a terminal of that width, or into a pipe.
async fn told_at<T>(
    width: Option<usize>,
    running: impl Future<Output = T>,
    told: impl Fn() -> String,
    screen: &mut Screen,
) -> T {
    let mut running = std::pin::pin!(running);
    let (began, mut n_told, mut wait) = (Instant::now(), 0_u32, PATIENCE);
    loop {
        let ended = tokio::select! {
            ended = &mut running => Some(ended),
            () = tokio::time::sleep(wait) => None,
        };
        if let Some(ended) = ended {
            if width.is_some() && n_told != 0 {
                screen.send(EMPTY_ROW);
            }
            return ended;
        }
        n_told = n_told.saturating_add(1);
        let line = format!("{} ({})", told(), elapsed(began.elapsed()));
        if let Some(width) = width {
            let row: String = format!("ironcurtain: {}", visible(&line));
            // What is not plain may be two columns wide.
            let row: String = row.chars().filter(|c| c.is_ascii() || *c == '…').collect();
            let row: String = row.chars().take(width.saturating_sub(2)).collect();
            screen.send(&format!("{EMPTY_ROW}{row}"));
            wait = DRAWN_EVERY;
        } else {
            screen.notice(&line);
            // At first each second, then less and less.
            wait = PATIENCE * (1 + n_told.min(9));
        }
    }
}

/// Says how long something has taken, in whole seconds.
fn elapsed(duration: Duration) -> String {
    match (duration.as_secs() / 60, duration.as_secs() % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// What was written.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    async fn written(width: Option<usize>, seconds: u64) -> String {
        let err = Written::default();
        let mut screen = Screen::new(Box::new(std::io::sink()), Box::new(err.clone()));
        let running = tokio::time::sleep(Duration::from_secs(seconds));
        told_at(width, running, || "fetching 2 of 5".to_owned(), &mut screen).await;
        let bytes = err.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    /// Into a pipe go whole lines, fewer and fewer; at a terminal one row, which is gone at the end.
    #[tokio::test(start_paused = true)]
    async fn what_takes_long_says_how_far_it_is_and_for_how_long() {
        assert_eq!(written(None, 0).await, "");
        let lines = written(None, 7).await;
        let expected =
            ["1 s", "3 s", "6 s"].map(|it| format!("ironcurtain: fetching 2 of 5 ({it})\n"));
        assert_eq!(lines, expected.concat());
        let row = written(Some(80), 2).await;
        assert!(
            row.starts_with(&format!("{EMPTY_ROW}ironcurtain: fetching 2 of 5 (1 s)")),
            "{row}"
        );
        assert!(row.ends_with(EMPTY_ROW) && !row.contains('\n'), "{row}");
        let narrow = written(Some(20), 2).await;
        assert!(narrow.split(EMPTY_ROW).all(|it| it.len() <= 18), "{narrow}");
    }

    #[test]
    fn what_has_elapsed_is_said_in_whole_seconds() {
        for (ms, expected) in
            [(999, "0 s"), (59_999, "59 s"), (60_000, "1 min 0 s"), (754_000, "12 min 34 s")]
        {
            assert_eq!(elapsed(Duration::from_millis(ms)), expected);
        }
    }
}
