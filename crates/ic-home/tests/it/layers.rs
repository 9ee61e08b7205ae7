//! Flag before environment before file before default, and what each of them may say.

use ic_home::config::{Flag, KeyName, Origin, Shown};
use ic_types::Json;

use crate::load;

const FILE: &str =
    r#"{"version":1,"agentModelId":"file","baseUrls":{"anthropic":"https://file.example"}}"#;
const VARIABLE: [(&str, &str); 1] = [("ANTHROPIC_BASE_URL", "https://variable.example")];

fn flag(value: &str) -> [Flag; 1] {
    [Flag { name: "--url", key: "baseUrls.anthropic", value: Json::from(value) }]
}

#[track_caller]
fn check(
    file: &str,
    variables: &[(&str, &str)],
    flags: &[Flag],
    origin: Origin,
    expected: Option<&str>,
) {
    let config = load(file, variables, flags).unwrap();
    let setting = config.settings().get(&KeyName::parse("baseUrls.anthropic").unwrap()).unwrap();
    assert_eq!(setting.origin(), origin);
    let url = config.base_urls.anthropic.as_ref().map(|url| url.host_str().unwrap().to_owned());
    assert_eq!(url.as_deref(), expected);
    let shown = expected.map(|host| Shown::Value(Json::from(format!("https://{host}"))));
    assert_eq!(setting.value(), shown, "what is shown is what is in force");
}

#[test]
fn the_strongest_layer_is_in_force() {
    let (none, flags) = (r#"{"version":1}"#, flag("https://flag.example"));
    check(none, &[], &[], Origin::Default, None);
    check(FILE, &[], &[], Origin::File, Some("file.example"));
    let variable = Origin::Environment("ANTHROPIC_BASE_URL");
    check(FILE, &VARIABLE, &[], variable, Some("variable.example"));
    check(none, &VARIABLE, &[], variable, Some("variable.example"));
    check(FILE, &VARIABLE, &flags, Origin::Flag("--url"), Some("flag.example"));
    check(none, &[], &flags, Origin::Flag("--url"), Some("flag.example"));
    check(FILE, &[("ANTHROPIC_BASE_URL", "")], &[], Origin::File, Some("file.example"));
}

#[test]
fn every_layer_is_shown_whoever_wins() {
    let config = load(FILE, &VARIABLE, &flag("https://flag.example")).unwrap();
    let setting = config.settings().get(&KeyName::parse("baseUrls.anthropic").unwrap()).unwrap();
    let shown = |text: &str| Shown::Value(Json::from(text));
    assert_eq!(setting.flag, Some(("--url", shown("https://flag.example"))));
    assert_eq!(
        setting.environment,
        Some(("ANTHROPIC_BASE_URL", shown("https://variable.example")))
    );
    assert_eq!(setting.file, Some(shown("https://file.example")));
    assert_eq!(setting.default, None);
}

#[test]
fn every_variable_reaches_its_key() {
    for (variable, value, key) in [
        ("ANTHROPIC_API_KEY", "sk-1", "apiKey"),
        ("OPENAI_API_KEY", "sk-1", "openaiApiKey"),
        ("GOOGLE_GENERATIVE_AI_API_KEY", "sk-1", "googleApiKey"),
        ("GEMINI_API_KEY", "sk-1", "googleApiKey"),
        ("GOOGLE_API_KEY", "sk-1", "googleApiKey"),
        ("OPENAI_COMPATIBLE_API_KEY", "sk-1", "openaiCompatibleApiKey"),
        ("ANTHROPIC_BASE_URL", "https://x.example", "baseUrls.anthropic"),
        ("OPENAI_BASE_URL", "https://x.example", "baseUrls.openai"),
        ("GOOGLE_BASE_URL", "https://x.example", "baseUrls.google"),
        ("OPENAI_COMPATIBLE_BASE_URL", "https://x.example", "baseUrls.openaiCompatible"),
    ] {
        let file = r#"{"version":1,"apiKey":"a","openaiApiKey":"o","googleApiKey":"g",
            "openaiCompatibleApiKey":"c"}"#;
        let config = load(file, &[(variable, value)], &[]).unwrap();
        let from_environment: Vec<&str> = config
            .settings()
            .iter()
            .filter(|it| it.origin() == Origin::Environment(variable))
            .map(|it| it.name.as_str())
            .collect();
        assert_eq!(from_environment, [key], "{variable}");
    }
}

#[test]
fn a_mistake_in_a_layer_that_loses_is_a_mistake_all_the_same() {
    let file = r#"{"version":1,"baseUrls":{"anthropic":7}}"#;
    let faults = load(file, &[("ANTHROPIC_BASE_URL", "ftp://x")], &flag("nonsense")).unwrap_err();
    let ic_home::config::ConfigError::Faults(faults) = faults else { panic!("{faults}") };
    let places: Vec<String> = faults.iter().map(|it| it.place.to_string()).collect();
    assert_eq!(places, ["/h/config.json", "the variable ANTHROPIC_BASE_URL", "--url"]);
    assert!(faults.iter().all(|it| it.key == "baseUrls.anthropic"), "{faults:?}");
    load(FILE, &VARIABLE, &flag("https://flag.example")).unwrap();
}

#[test]
fn entries_of_maps_stand_where_the_map_stands() {
    let file = r#"{"version":1,"mitm":{"upstreams":{"b.example":{"url":"https://x.example"},"a.example":{"url":"https://y.example"}}}}"#;
    let config = load(file, &[], &[]).unwrap();
    let names: Vec<&str> = config.settings().iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names[names.len() - 4..],
        [
            "docker.packages",
            "mitm.upstreams.b.example",
            "mitm.upstreams.a.example",
            "mitm.allowKeys.<provider>"
        ]
    );
}
