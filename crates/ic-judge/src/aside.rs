//! Calls with very many values, and calls about repositories: worked on beside the thread that serves
//! everybody.
//!
//! One thread serves all clients, and judging an ordinary call on it costs less than handing it over. A
//! call with thousands of values would keep everybody waiting, so its long steps are done elsewhere, for
//! one such call at a time. What the steps do is not known here.

use std::sync::Arc;

use ic_types::{Json, Object};
use tokio::sync::Semaphore;

/// How many values a call may have that is worked on where it is served.
const VALUES_MAX: usize = 256;
/// How many bytes of text.
const BYTES_MAX: usize = 64 << 10;

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
        let turns = || Arc::new(Semaphore::new(1));
        Self { heavy: turns(), unknown: turns() }
    }

    /// Does `work`: here if it is light, else elsewhere once it is its turn.
    pub async fn run<T: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let turns = match weight {
            Weight::Light => return work(),
            Weight::Heavy => &self.heavy,
            Weight::Unknown => &self.unknown,
        };
        let turn = Arc::clone(turns).acquire_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            // Held until the work is done, also if nobody waits for it any more.
            let _turn = turn;
            work()
        });
        match done.await.map_err(tokio::task::JoinError::try_into_panic) {
            Ok(done) => done,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // We are ending, and nobody waits for an answer.
            Err(Err(_)) => std::future::pending().await,
        }
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
}
