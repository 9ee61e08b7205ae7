//! `ironcurtain start` with models of providers: the real binary against a scripted provider, in all four
//! formats.
//!
//! Nothing waits for a while: tests wait for a request, a line, a question or the end of a process.

mod budgets;
mod cancelled;
mod conversations;
mod cuts;
mod doctor;
mod errors;
mod memory;
mod notes;
mod repeated;
mod secrets;
mod turns;
mod wanted;
mod ways;

use ic_testkit::provider::{Format, KEY, Reply};
use ic_testkit::{Output, ScriptedProvider};

use crate::place;
use crate::start::Desk;
use crate::start::started::Started;

/// A place whose model is a scripted one.
struct World {
    desk: Desk,
    provider: ScriptedProvider,
    format: Format,
}

impl World {
    fn new(format: Format, script: impl IntoIterator<Item = Reply>) -> Self {
        Self::at(format, ScriptedProvider::start(script))
    }

    fn at(format: Format, provider: ScriptedProvider) -> Self {
        Self::with_key(format, provider, KEY)
    }

    fn with_key(format: Format, provider: ScriptedProvider, key: &str) -> Self {
        let (base_url, key_variable) = variables(format);
        let place =
            place().with_variable(base_url, &provider.url()).with_variable(key_variable, key);
        Self { desk: Desk::at(place), provider, format }
    }

    /// Runs a task in `work` to its end.
    fn start(&self, task: &str) -> Output {
        self.desk.place.run(self.words(&[], task))
    }

    /// Starts a task in `work`.
    fn begin(&self, arguments: &[&str], task: &str) -> Started {
        Started::new(&self.desk.place, &self.words(arguments, task))
    }

    fn words<'a>(&self, arguments: &[&'a str], task: &'a str) -> Vec<&'a str> {
        let model = ["start", "--model", model(self.format), "--workspace", "work"];
        [&model, arguments, &[task]].concat()
    }

    fn set(&self, key: &str, value: &str) {
        let set = self.desk.place.run(["config", "set", key, value]);
        assert_eq!(set.code, 0, "{set:?}");
    }

    /// Returns the body of the `n`th request, from 1, as text.
    fn request(&self, n: usize) -> String {
        self.provider.requests()[n - 1].body.to_string()
    }

    /// Returns the records of the only session, those of requests to models.
    fn completions(&self) -> Vec<serde_json::Value> {
        let shown = self.desk.place.run(["audit", "export", "--kind", "llm"]);
        assert_eq!(shown.code, 0, "{shown:?}");
        crate::json_lines(&shown)
    }
}

fn variables(format: Format) -> (&'static str, &'static str) {
    match format {
        Format::Anthropic => ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
        Format::Responses => ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
        Format::Chat => ("OPENAI_COMPATIBLE_BASE_URL", "OPENAI_COMPATIBLE_API_KEY"),
        Format::Gemini => ("GOOGLE_BASE_URL", "GOOGLE_GENERATIVE_AI_API_KEY"),
    }
}

fn model(format: Format) -> &'static str {
    match format {
        Format::Anthropic => "claude-sonnet-4-6",
        Format::Responses => "openai:gpt-5",
        Format::Chat => "openai-compatible:local-model",
        Format::Gemini => "google:gemini-2.5-pro",
    }
}

/// Does `check` for every format, at the same time.
#[track_caller]
fn for_all(check: impl Fn(Format) + Sync) {
    std::thread::scope(|scope| {
        for format in Format::ALL {
            let check = &check;
            scope.spawn(move || check(format));
        }
    });
}
