//! `cargo xtask provider`: a provider of models on this machine, for people who have no key.
//!
//! The offline model thinks in it; the formats are those of the real ones. It serves until it is ended.

use std::io::Write;
use std::net::TcpListener;

use anyhow::Context as _;
use ic_testkit::ScriptedProvider;
use ic_testkit::provider::brain::PROVOCATIONS;
use ic_testkit::provider::{KEY, MODELS};

/// The variables of each provider, and a model of it.
const PROVIDERS: [(&str, &str, &str); 4] = [
    ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "anthropic"),
    ("OPENAI_BASE_URL", "OPENAI_API_KEY", "openai"),
    ("GOOGLE_BASE_URL", "GOOGLE_GENERATIVE_AI_API_KEY", "google"),
    ("OPENAI_COMPATIBLE_BASE_URL", "OPENAI_COMPATIBLE_API_KEY", "openai-compatible"),
];

/// Serves until the process is ended.
pub fn run(port: u16, out: &mut dyn Write) -> anyhow::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port))
        .with_context(|| format!("cannot listen at port {port}; `--port` names another"))?;
    let provider = ScriptedProvider::start_for_people(listener);
    let url = provider.url();
    writeln!(out, "A provider of models serves at {url}, with the offline model behind it.\n")?;
    for ((base_url, key, name), model) in PROVIDERS.into_iter().zip(models()) {
        writeln!(out, "{base_url}={url} {key}={KEY} \\")?;
        writeln!(out, "    ironcurtain start --model {name}:{model} \"list the files\"")?;
    }
    writeln!(out, "\nMessages that go wrong on purpose:")?;
    for (word, about) in PROVOCATIONS {
        writeln!(out, "  provoke {word:11} {about}")?;
    }
    writeln!(out, "\nCtrl-C ends it.")?;
    out.flush()?;
    loop {
        std::thread::park();
    }
}

fn models() -> [&'static str; 4] {
    let [anthropic, openai, google, compatible] = MODELS;
    [anthropic, openai, google, compatible]
}
