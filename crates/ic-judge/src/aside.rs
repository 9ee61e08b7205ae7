//! Work that could keep everybody waiting, done beside the thread that serves everybody.
//!
//! One thread serves all clients, and judging an ordinary call on it costs less than handing it over. Two
//! kinds of work are done elsewhere. A call with thousands of values takes long, and so may one about a
//! repository: one of each at a time. And whatever has to ask the disk may never be answered: it is
//! waited for until a deadline, and then its thread is written off until the disk answers. What the work
//! is is not known here.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ic_types::{Json, Object, locked};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How many values a call may have that is worked on where it is served.
const VALUES_MAX: usize = 256;
/// How many bytes of text.
const BYTES_MAX: usize = 64 << 10;

/// How many light calls ask the disk at once.
const LIGHT_MAX: usize = 4;
/// How long the disk may take to answer what is asked for one call.
pub const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How many calls may wait for file systems that do not answer while others go on.
const WRITTEN_OFF_MAX: usize = 64;

/// How much work a call makes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Weight {
    /// As much as calls do.
    Light,
    /// More than others can be kept waiting for.
    Heavy,
    /// As much as the configuration of a repository makes of it, which may hold thousands of URLs.
    ///
    /// Such a call starts programs, so handing it over costs nothing that is noticed.
    Unknown,
}

/// Where the long steps of calls are done.
#[derive(Debug)]
pub struct Aside {
    /// SECURITY: one at a time, so that no number of calls takes all processors.
    heavy: Arc<Semaphore>,
    /// Likewise; apart, because most of these are light and need not wait behind heavy ones.
    unknown: Arc<Semaphore>,
    /// Of ordinary calls that have to ask the disk, a few at a time.
    light: Arc<Semaphore>,
    /// For those whose disk does not answer: what they held is free for others.
    written_off: Arc<Semaphore>,
}

/// Why a question to the disk was given up.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unanswered {
    /// It was asked, and there is no answer.
    #[error(
        "a file system did not answer within {} seconds, so what the call is about is not known; \
         check whether a network or FUSE mount on the way to its paths hangs",
        ANSWER_MAX.as_secs()
    )]
    TooSlow,
    /// It was not asked, because too many others wait for an answer.
    #[error(
        "{WRITTEN_OFF_MAX} earlier calls still wait for a file system that does not answer, so \
         calls that need to look at the disk are refused; check which mount hangs"
    )]
    Crowded,
}

/// A place in a line, until the work is done or is waited for no longer.
struct Place {
    held: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    written_off: Arc<Semaphore>,
}

impl Place {
    /// Lets others go on while the work waits, unless too much waits already.
    fn write_off(&self) {
        let mut held = locked(&self.held);
        if held.is_some() {
            // SECURITY: without room for it the place stays taken, so that threads do not pile up.
            if let Ok(instead) = Arc::clone(&self.written_off).try_acquire_owned() {
                *held = Some(instead);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Nobody waits any more, so nobody would notice that it takes too long.
        self.write_off();
    }
}

impl Weight {
    /// Weighs the arguments of a call; looks no further than it takes to know.
    pub fn of(arguments: &Object) -> Self {
        let (mut n_values, mut n_bytes) = (0, 0);
        let mut rest: Vec<&Json> = Vec::new();
        let mut entries = arguments.iter();
        loop {
            let value = match rest.pop() {
                Some(value) => value,
                None => match entries.next() {
                    Some((key, value)) => {
                        n_bytes += key.len();
                        value
                    }
                    None => return Self::Light,
                },
            };
            n_values += 1;
            match value {
                Json::String(text) => n_bytes += text.len(),
                Json::Array(items) if items.len() <= VALUES_MAX => rest.extend(items),
                Json::Object(object) if object.len() <= VALUES_MAX => {
                    n_bytes += object.keys().map(str::len).sum::<usize>();
                    rest.extend(object.iter().map(|(_, value)| value));
                }
                Json::Array(_) | Json::Object(_) => return Self::Heavy,
                Json::Null | Json::Bool(_) | Json::Number(_) => {}
            }
            if VALUES_MAX < n_values || BYTES_MAX < n_bytes {
                return Self::Heavy;
            }
        }
    }
}

impl Default for Aside {
    fn default() -> Self {
        Self::new()
    }
}

impl Aside {
    /// Makes the places for such work.
    pub fn new() -> Self {
        let turns = |n: usize| Arc::new(Semaphore::new(n));
        let (light, written_off) = (turns(LIGHT_MAX), turns(WRITTEN_OFF_MAX));
        Self { heavy: turns(1), unknown: turns(1), light, written_off }
    }

    /// Does `work`, which asks no disk: here if it is light, else elsewhere once it is its turn.
    pub async fn run<T: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        if weight == Weight::Light {
            return work();
        }
        let turn = Arc::clone(self.turns(weight)).acquire_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            // Held until the work is done, also if nobody waits for it any more.
            let _turn = turn;
            work()
        });
        finished(done).await
    }

    /// Does `work`, which asks the disk, elsewhere; gives up if the disk does not answer.
    ///
    /// SECURITY: what was given up goes on once the disk answers, and what it comes to is dropped.
    pub async fn look<T: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let turn = self.turn(weight).await?;
        let held = Arc::new(Mutex::new(Some(turn)));
        let place = Place { held: Arc::clone(&held), written_off: Arc::clone(&self.written_off) };
        let mut done = tokio::task::spawn_blocking(move || {
            let _held = Release(held);
            work()
        });
        if let Ok(done) = timeout(patience(weight), finished(&mut done)).await {
            return Ok(done);
        }
        place.write_off();
        let rest = ANSWER_MAX.saturating_sub(patience(weight));
        timeout(rest, finished(&mut done)).await.map_err(|_| Unanswered::TooSlow)
    }

    async fn turn(&self, weight: Weight) -> Result<OwnedSemaphorePermit, Unanswered> {
        let turn = Arc::clone(self.turns(weight)).acquire_owned();
        tokio::pin!(turn);
        loop {
            match timeout(ANSWER_MAX, &mut turn).await {
                Ok(Ok(turn)) => return Ok(turn),
                // Nobody closes the line.
                Ok(Err(_)) => return Err(Unanswered::Crowded),
                Err(_) if self.written_off.available_permits() == 0 => {
                    return Err(Unanswered::Crowded);
                }
                Err(_) => {}
            }
        }
    }

    fn turns(&self, weight: Weight) -> &Arc<Semaphore> {
        match weight {
            Weight::Light => &self.light,
            Weight::Heavy => &self.heavy,
            Weight::Unknown => &self.unknown,
        }
    }
}

/// Returns how long others wait in line behind work that does not end.
fn patience(weight: Weight) -> Duration {
    match weight {
        Weight::Light => Duration::from_millis(100),
        Weight::Unknown => Duration::from_secs(1),
        Weight::Heavy => Duration::from_secs(3),
    }
}

/// Gives back what work held, however it ended.
struct Release(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Drop for Release {
    fn drop(&mut self) {
        *locked(&self.0) = None;
    }
}

async fn finished<T>(done: impl Future<Output = Result<T, tokio::task::JoinError>>) -> T {
    match done.await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // We are ending, and nobody waits for an answer.
        Err(Err(_)) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use ic_types::JsonLimits;

    use super::*;

    fn weight(text: &str) -> Weight {
        let Ok(Json::Object(object)) = Json::parse(text.as_bytes(), JsonLimits::CALL) else {
            panic!("{text}");
        };
        Weight::of(&object)
    }

    #[test]
    fn what_has_many_values_or_long_ones_is_heavy() {
        let many = |item: &str, n: usize| vec![item; n].join(",");
        for (text, expected) in [
            ("{}".to_owned(), Weight::Light),
            (r#"{"a":"x","b":[1,{"c":null}]}"#.to_owned(), Weight::Light),
            (format!(r#"{{"a":[{}]}}"#, many("1", 255)), Weight::Light),
            (format!(r#"{{"a":[{}]}}"#, many("1", 257)), Weight::Heavy),
            (format!(r#"{{"a":[{}]}}"#, many("[1]", 200)), Weight::Heavy),
            (format!(r#"{{"a":[{}]}}"#, many("1", 9999)), Weight::Heavy),
            (format!(r#"{{"a":"{}"}}"#, "x".repeat(BYTES_MAX)), Weight::Heavy),
            (format!(r#"{{"{}":1}}"#, "x".repeat(BYTES_MAX + 1)), Weight::Heavy),
        ] {
            assert_eq!(weight(&text), expected, "{text:.60}");
        }
    }

    #[tokio::test]
    async fn heavy_work_is_done_on_another_thread_and_light_work_on_this_one() {
        let here = std::thread::current().id();
        let there = || std::thread::current().id();
        let aside = Aside::new();
        assert_eq!(aside.run(Weight::Light, there).await, here);
        assert_ne!(aside.run(Weight::Heavy, there).await, here);
        assert_ne!(aside.run(Weight::Unknown, there).await, here);
    }

    /// Work that ends once it is let go.
    fn stuck() -> (std::sync::mpsc::Sender<()>, impl FnOnce() + Send + 'static) {
        let (go, wait) = std::sync::mpsc::channel();
        (go, move || wait.recv().unwrap_or_default())
    }

    async fn pass(time: Duration) {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(time).await;
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_end_is_given_up_and_others_go_on() {
        let aside = Arc::new(Aside::new());
        for weight in [Weight::Light, Weight::Unknown, Weight::Heavy] {
            let mut waiting = Vec::new();
            for _ in 0..LIGHT_MAX {
                let (aside, (go, work)) = (Arc::clone(&aside), stuck());
                waiting.push((go, tokio::spawn(async move { aside.look(weight, work).await })));
            }
            for _ in 0..LIGHT_MAX {
                pass(patience(weight)).await;
            }
            assert_eq!(aside.look(weight, || 7).await, Ok(7), "{weight:?}: others go on");
            pass(ANSWER_MAX).await;
            for (go, it) in waiting {
                assert_eq!(it.await.unwrap(), Err(Unanswered::TooSlow), "{weight:?}");
                drop(go);
            }
        }
    }

    /// What waits takes threads, so there is an end to it; and once the disk answers, all goes on.
    #[tokio::test(start_paused = true)]
    async fn too_many_that_wait_refuse_others() {
        let aside = Arc::new(Aside::new());
        let mut waiting = Vec::new();
        for _ in 0..WRITTEN_OFF_MAX + LIGHT_MAX {
            let (aside, (go, work)) = (Arc::clone(&aside), stuck());
            waiting.push((go, tokio::spawn(async move { aside.look(Weight::Light, work).await })));
            pass(patience(Weight::Light)).await;
        }
        pass(ANSWER_MAX).await;
        let one_more = tokio::spawn({
            let aside = Arc::clone(&aside);
            async move { aside.look(Weight::Light, || ()).await }
        });
        pass(ANSWER_MAX).await;
        assert_eq!(one_more.await.unwrap(), Err(Unanswered::Crowded));
        let (go, waited): (Vec<_>, Vec<_>) = waiting.into_iter().unzip();
        drop(go);
        for it in waited {
            assert_eq!(it.await.unwrap(), Err(Unanswered::TooSlow));
        }
        assert_eq!(aside.look(Weight::Light, || 7).await, Ok(7));
    }

    /// Nobody waits for a call that was taken back, and its place is free all the same.
    #[tokio::test(start_paused = true)]
    async fn what_is_not_waited_for_is_written_off_at_once() {
        let aside = Aside::new();
        let mut let_go = Vec::new();
        for _ in 0..LIGHT_MAX * 2 {
            let (go, work) = stuck();
            let_go.push(go);
            let given_up = timeout(Duration::ZERO, aside.look(Weight::Light, work)).await;
            assert!(given_up.is_err());
        }
        assert_eq!(aside.light.available_permits(), LIGHT_MAX);
    }
}
