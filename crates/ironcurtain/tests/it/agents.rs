//! `ironcurtain start --agent A`: real agents in their cages, with a provider that follows a script.
//!
//! The packages come from `scripts/test-packages`; where they are missing these tests say so and do nothing,
//! except in CI.

mod attaching;
mod attempts;
mod contained;
mod edited;
mod every;
mod grounds;
mod hidden;
mod hostile;
mod installing;
mod interface;
mod limits;
mod own_git;
mod packages;
mod phases;
mod planting;
mod spending;
mod tools;
mod turns;

use ic_testkit::Place;
use ic_testkit::agents::{self, Row};
use ic_testkit::place::Output;
use ic_testkit::provider::{KEY, Reply, Said, ScriptedProvider};
use serde_json::{Value, json};

use crate::clients::Packages;
use crate::start::started::Started;

/// A real agent that is installed, and its provider.
pub(crate) struct Stage {
    pub(crate) provider: ScriptedProvider,
    pub(crate) place: Place,
    pub(crate) row: &'static Row,
}

impl Stage {
    /// Sets the stage for Claude Code; `None`, loudly, where the packages are missing.
    pub(crate) fn claude(script: impl IntoIterator<Item = Reply>) -> Option<Self> {
        Self::set(&agents::CLAUDE_CODE, script)
    }

    /// Likewise for any agent.
    pub(crate) fn set(row: &'static Row, script: impl IntoIterator<Item = Reply>) -> Option<Self> {
        Self::set_before(row, ScriptedProvider::start_for_stranger(script))
    }

    /// Likewise, before a provider that runs already.
    pub(crate) fn set_before(row: &'static Row, provider: ScriptedProvider) -> Option<Self> {
        let packages = Packages::find()?;
        let engine = if row.is_contained { Some(contained::engine()?) } else { None };
        let place = crate::place().with_variable("ANTHROPIC_API_KEY", KEY);
        let place = place.with_variable("OPENAI_API_KEY", KEY);
        let upstream = json!({"url": provider.url()}).to_string();
        for host in ["api.anthropic.com", "api.openai.com"] {
            let set = place.run(["config", "set", &format!("mitm.upstreams.{host}"), &upstream]);
            assert_eq!(set.code, 0, "{}", set.stderr);
        }
        row.register(&place, &packages.0);
        place.write("work/a.txt", "what was there");
        let place = match engine {
            Some(engine) => contained::configure(place, &engine),
            None => place,
        };
        Some(Self { provider, place, row })
    }

    /// Runs one task in the workspace.
    pub(crate) fn start(&self, words: &[&str]) -> Output {
        self.place.run(self.words(words))
    }

    /// Starts a task in the workspace.
    pub(crate) fn begin(&self, words: &[&str]) -> Started {
        Started::new(&self.place, &self.words(words))
    }

    fn words<'a>(&self, words: &[&'a str]) -> Vec<&'a str> {
        let start = ["start", "--agent", self.row.agent, "--workspace", "work"];
        [&start, self.row.options, words].concat()
    }

    /// Returns the words that go on with a session.
    pub(crate) fn going_on<'a>(&self, words: &[&'a str]) -> Vec<&'a str> {
        [&["start"], self.row.options, words].concat()
    }

    /// Returns what the last request to the model says.
    pub(crate) fn last_request(&self) -> String {
        self.provider.requests().pop().unwrap().body.to_string()
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.place.path(path)).ok()
    }
}

/// The model asks for one of the agent's tools, or for one of ours.
pub(crate) fn uses(id: &str, tool: &str, input: Value) -> Reply {
    Reply::Says(Said::tool(id, tool, input))
}

pub(crate) fn says(text: &str) -> Reply {
    Reply::Says(Said::text(text))
}
