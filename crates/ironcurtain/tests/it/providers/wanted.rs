//! Which model serves: the flag, the configuration, the only provider with a key, or the offline model.

use ic_testkit::ScriptedProvider;
use ic_testkit::provider::{Format, KEY, Reply, Said};

use super::{World, for_all, model, variables};
use crate::place;
use crate::start::Desk;

#[test]
fn the_configuration_names_the_model_and_the_flag_another() {
    for_all(|format| {
        let script = [Reply::Says(Said::text("I")), Reply::Says(Said::text("I again"))];
        let world = World::new(format, script);
        world.set("agentModelId", model(format));
        let output = world.desk.place.run(["start", "--workspace", "work", "who?"]);
        assert_eq!((output.code, output.stdout.as_str()), (0, "I\n"), "{output:?}");
        assert!(output.stderr.contains(&format!("at {}", world.provider.url())), "{output:?}");
        let offline =
            world.desk.place.run(["start", "--model", "offline", "--workspace", "work", "help"]);
        assert_eq!(offline.code, 0, "{offline:?}");
        assert!(
            offline.stderr.contains("model offline: needs no key, understands plain requests only"),
            "{offline:?}"
        );
        assert_eq!(world.provider.requests().len(), 1);
    });
}

#[test]
fn keys_and_addresses_of_the_configuration_do_as_well() {
    for_all(|format| {
        let provider = ScriptedProvider::start([Reply::Says(Said::text("found"))]);
        let desk = Desk::at(place());
        let (key, url) = match format {
            Format::Anthropic => ("apiKey", "baseUrls.anthropic"),
            Format::Responses => ("openaiApiKey", "baseUrls.openai"),
            Format::Chat => ("openaiCompatibleApiKey", "baseUrls.openaiCompatible"),
            Format::Gemini => ("googleApiKey", "baseUrls.google"),
        };
        let set = desk.place.run_with_input(["config", "set", key, "-"], KEY.as_bytes());
        assert_eq!(set.code, 0, "{set:?}");
        let set = desk.place.run(["config", "set", url, &provider.url()]);
        assert_eq!(set.code, 0, "{set:?}");
        let words = ["start", "--model", model(format), "--workspace", "work", "hello"];
        let output = desk.place.run(words);
        assert_eq!((output.code, output.stdout.as_str()), (0, "found\n"), "{output:?}");
    });
}

/// Where only another provider has a key, its default model serves, and is named.
#[test]
fn a_single_key_of_another_provider_is_used() {
    for (variable, url, name) in [
        ("OPENAI_API_KEY", "OPENAI_BASE_URL", "openai:gpt-5"),
        ("GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_BASE_URL", "google:gemini-2.5-pro"),
        ("GEMINI_API_KEY", "GOOGLE_BASE_URL", "google:gemini-2.5-pro"),
        ("GOOGLE_API_KEY", "GOOGLE_BASE_URL", "google:gemini-2.5-pro"),
    ] {
        let provider = ScriptedProvider::start([Reply::Says(Said::text("served"))]);
        let place = place().with_variable(variable, KEY).with_variable(url, &provider.url());
        place.dir("work");
        let output = place.run(["start", "--workspace", "work", "hello"]);
        assert_eq!((output.code, output.stdout.as_str()), (0, "served\n"), "{output:?}");
        assert!(output.stderr.contains(&format!("model {name} at ")), "{variable}: {output:?}");
        assert!(output.stderr.contains("only provider with a key"), "{variable}: {output:?}");
    }
}

#[test]
fn with_two_other_keys_or_a_chosen_model_nothing_is_guessed() {
    let of_two = || {
        place()
            .with_variable("OPENAI_API_KEY", "sk-of-somebody-else")
            .with_variable("GEMINI_API_KEY", "sk-of-somebody-else")
    };
    let chosen = place().with_variable("OPENAI_API_KEY", "sk-of-somebody-else");
    let set = chosen.run(["config", "set", "agentModelId", "anthropic:claude-sonnet-4-6"]);
    assert_eq!(set.code, 0, "{set:?}");
    for place in [of_two(), chosen] {
        place.dir("work");
        let output = place.run(["start", "--workspace", "work", "hello"]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains("error: there is no key for `anthropic`"), "{output:?}");
        for hint in ["`ANTHROPIC_API_KEY`", "config set apiKey -", "--model openai:NAME"] {
            assert!(output.stderr.contains(hint), "{hint}: {output:?}");
        }
        let sessions = std::fs::read_dir(place.path("home/.ironcurtain/sessions"));
        assert_eq!(sessions.map_or(0, Iterator::count), 0, "nothing was begun");
    }
}

#[test]
fn the_key_of_one_provider_is_sent_to_no_other() {
    let provider = ScriptedProvider::start([Reply::Says(Said::text("local"))]);
    let (url, _) = variables(Format::Chat);
    let place = place()
        .with_variable("OPENAI_API_KEY", KEY)
        .with_variable("ANTHROPIC_API_KEY", KEY)
        .with_variable(url, &provider.url());
    place.dir("work");
    let words = ["start", "--model", "openai-compatible:local-model", "--workspace", "work", "hi"];
    let output = place.run(words);
    // It has no key of its own, so none is sent, and this server wants one.
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("there is no key for `openai-compatible`"), "{output:?}");
    let requests = provider.requests();
    assert_eq!(requests.len(), 1);
    assert!(!requests[0].headers.iter().any(|(_, value)| value.contains(KEY)));
}

#[test]
fn an_address_that_nobody_gave_is_asked_for() {
    let place = place();
    place.dir("work");
    let words = ["start", "--model", "openai-compatible:m", "--workspace", "work", "hi"];
    let output = place.run(words);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("hint: set `OPENAI_COMPATIBLE_BASE_URL`"), "{output:?}");
}
