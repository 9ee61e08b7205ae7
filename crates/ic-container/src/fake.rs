//! An engine in memory, for tests: it keeps what it is given and reports it back as it was asked for.
//!
//! It runs nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ic_types::{Json, Object};

use crate::engine::{Asked, Build, Engine, EngineError, Streams};
use crate::preflight::Facts;

/// The engine.
#[derive(Debug, Default)]
pub struct Fake {
    /// Labels by the id of their container.
    containers: Mutex<BTreeMap<String, Object>>,
}

impl Fake {
    /// Puts a container there.
    pub fn put(&self, id: &str, labels: &Object) {
        self.all().insert(id.to_owned(), labels.clone());
    }

    /// Returns the ids of its containers.
    pub fn names(&self) -> Vec<String> {
        self.all().keys().cloned().collect()
    }

    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Object>> {
        self.containers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing<T>() -> Result<T, EngineError> {
    let (doing, message) = ("do that", "this engine runs nothing".to_owned());
    Err(EngineError::Refused { doing, status: 501, message })
}

fn answer<'a, T: Send + 'a>(answer: Result<T, EngineError>) -> Asked<'a, T> {
    Box::pin(std::future::ready(answer))
}

impl Engine for Fake {
    fn socket(&self) -> &Path {
        Path::new("/run/fake.sock")
    }

    fn facts(&self) -> Asked<'_, Facts> {
        answer(Ok(Facts::default()))
    }

    fn create<'a>(&'a self, name: &'a str, request: &'a Object) -> Asked<'a, String> {
        let labels = match request.get("Labels") {
            Some(Json::Object(labels)) => labels.clone(),
            _ => Object::new(),
        };
        self.put(name, &labels);
        answer(Ok(name.to_owned()))
    }

    fn inspect<'a>(&'a self, id: &'a str) -> Asked<'a, Option<Object>> {
        answer(Ok(self.all().get(id).cloned()))
    }

    fn attach<'a>(&'a self, _: &'a str, _: bool) -> Asked<'a, Streams> {
        answer(missing())
    }

    fn resize<'a>(&'a self, _: &'a str, _: (u16, u16)) -> Asked<'a, ()> {
        answer(missing())
    }

    fn start<'a>(&'a self, _: &'a str) -> Asked<'a, ()> {
        answer(missing())
    }

    fn wait<'a>(&'a self, _: &'a str) -> Asked<'a, i64> {
        answer(missing())
    }

    fn kill<'a>(&'a self, _: &'a str) -> Asked<'a, ()> {
        answer(Ok(()))
    }

    fn pause<'a>(&'a self, _: &'a str) -> Asked<'a, ()> {
        answer(missing())
    }

    fn resume<'a>(&'a self, _: &'a str) -> Asked<'a, ()> {
        answer(Ok(()))
    }

    fn remove<'a>(&'a self, id: &'a str) -> Asked<'a, ()> {
        self.all().remove(id);
        answer(Ok(()))
    }

    fn containers<'a>(&'a self, label: &'a str) -> Asked<'a, Vec<Object>> {
        let (name, value) = label.split_once('=').unwrap_or((label, ""));
        let all = self.all();
        let has = |labels: &Object| labels.get(name).and_then(Json::as_str) == Some(value);
        let listed = all.iter().filter(|(_, labels)| has(labels)).map(|(id, labels)| {
            let mut listed = Object::new();
            listed.insert("Id", id.as_str());
            listed.insert("Labels", labels.clone());
            listed
        });
        answer(Ok(listed.collect()))
    }

    fn images<'a>(&'a self, _: &'a str) -> Asked<'a, Vec<Object>> {
        answer(Ok(Vec::new()))
    }

    fn image<'a>(&'a self, _: &'a str) -> Asked<'a, Option<Object>> {
        answer(Ok(None))
    }

    fn networks(&self) -> Asked<'_, Vec<String>> {
        answer(Ok(Vec::new()))
    }

    fn pull<'a>(&'a self, _: &'a str, _: &'a (dyn Fn(&str) + Send + Sync)) -> Asked<'a, ()> {
        answer(missing())
    }

    fn remove_image<'a>(&'a self, _: &'a str) -> Asked<'a, ()> {
        answer(Ok(()))
    }

    fn build<'a>(&'a self, _: Build<'a>, _: &'a (dyn Fn(&str) + Send + Sync)) -> Asked<'a, ()> {
        answer(missing())
    }
}
