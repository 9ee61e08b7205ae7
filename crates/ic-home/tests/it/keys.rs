//! Every key: changing it changes what its owner and `explain` see; nothing is read by nobody.

use ic_home::Config;
use ic_home::PolicyChoice;
use ic_home::config::{KEYS, KeyName, Kind, Origin, Shown};
use ic_types::{Json, JsonLimits};

use crate::load;

/// A key, a value that is not its default, what the owner sees, and how the owner sees it.
type Row = (&'static str, &'static str, &'static str, fn(&Config) -> String);

/// Returns whether there is a key, which is all that may be seen of one.
fn is_set(key: Option<&ic_home::environment::ApiKey>) -> String {
    key.map_or("none".to_owned(), |key| format!("{key:?}"))
}

fn option<T: ToString>(value: Option<T>) -> String {
    value.map_or("off".to_owned(), |value| value.to_string())
}

fn url(value: Option<&url::Url>) -> String {
    option(value)
}

const SECRET: &str = "Secret(..)";

const ROWS: &[Row] = &[
    ("agentModelId", r#""openai:gpt-9""#, "openai:gpt-9", |it| it.agent_model.to_string()),
    ("policyModelId", r#""opus""#, "anthropic:opus", |it| it.policy_model.to_string()),
    ("fastModelId", r#""google:flash""#, "google:flash", |it| it.fast_model.to_string()),
    ("apiKey", r#""sk-a""#, SECRET, |it| is_set(it.api_keys.anthropic.as_ref())),
    ("openaiApiKey", r#""sk-o""#, SECRET, |it| is_set(it.api_keys.openai.as_ref())),
    ("googleApiKey", r#""sk-g""#, SECRET, |it| is_set(it.api_keys.google.as_ref())),
    ("openaiCompatibleApiKey", r#""sk-c""#, SECRET, |it| {
        is_set(it.api_keys.openai_compatible.as_ref())
    }),
    ("baseUrls.anthropic", r#""https://a.example/v1""#, "https://a.example/v1", |it| {
        url(it.base_urls.anthropic.as_ref())
    }),
    ("baseUrls.openai", r#""https://o.example/""#, "https://o.example/", |it| {
        url(it.base_urls.openai.as_ref())
    }),
    ("baseUrls.google", r#""https://g.example/""#, "https://g.example/", |it| {
        url(it.base_urls.google.as_ref())
    }),
    (
        "baseUrls.openaiCompatible",
        r#""http://localhost:11434/v1""#,
        "http://localhost:11434/v1",
        |it| url(it.base_urls.openai_compatible.as_ref()),
    ),
    ("policy", r#""~/rules""#, "/home/ada/rules", |it| match &it.policy {
        Some(PolicyChoice::Directory(directory)) => directory.as_path().display().to_string(),
        Some(PolicyChoice::Named(name)) => name.to_string(),
        None => String::new(),
    }),
    ("escalationTimeoutSeconds", "60", "60s", |it| format!("{:?}", it.escalation_timeout)),
    ("approvals.scripted", "true", "true", |it| it.approvals_scripted.to_string()),
    ("notify.command", r#"["~/bin/tell", "a b"]"#, r#"/home/ada/bin/tell ["a b"]"#, |it| {
        option(
            it.notify_command
                .as_ref()
                .map(|it| format!("{} {:?}", it.program.display(), it.arguments)),
        )
    }),
    ("protectedPaths", r#"["/a b", "~/x"]"#, r#"["/a b", "/home/ada/x"]"#, |it| {
        format!("{:?}", it.protected_paths)
    }),
    ("agent.show", r#"["/opt/go", "~/.cargo"]"#, r#"["/opt/go", "/home/ada/.cargo"]"#, |it| {
        format!("{:?}", it.agent_shown)
    }),
    ("agent.registries", r#"["npm", "crates"]"#, "npm crates", |it| {
        it.agent_registries.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(" ")
    }),
    ("session.autoSave", "false", "false", |it| it.session.auto_save.to_string()),
    ("session.maxSessions", "3", "3", |it| it.session.sessions_max.to_string()),
    ("budget.maxTotalTokens", "9", "9", |it| option(it.budget.tokens_max)),
    ("budget.maxSteps", "null", "off", |it| option(it.budget.steps_max)),
    ("budget.maxSessionSeconds", "7", "7", |it| {
        option(it.budget.duration_max.map(|it| it.as_secs()))
    }),
    ("budget.maxEstimatedCostUsd", "0.25", "0.25", |it| option(it.budget.cost_usd_max)),
    ("budget.warnPercent", "50", "50", |it| option(it.budget.warn_percent)),
    ("agent.budget.maxEstimatedCostUsd", "null", "off", |it| option(it.agent.budget.cost_usd_max)),
    ("agent.budget.maxTotalTokens", "5", "5", |it| option(it.agent.budget.tokens_max)),
    ("agent.budget.maxSessionSeconds", "6", "6", |it| {
        option(it.agent.budget.duration_max.map(|it| it.as_secs()))
    }),
    ("agent.maxConcurrentSessions", "3", "3", |it| it.agent.concurrent_sessions_max.to_string()),
    ("agent.login.codex", r#""/x/auth.json""#, SECRET, |it| is_set(it.agent.logins.get("codex"))),
    ("audit.sync", r#""each""#, "Each", |it| format!("{:?}", it.audit_sync)),
    ("audit.maxMiB", "7", "7", |it| it.audit_mib_max.to_string()),
    ("autoApprove.enabled", "true", "true", |it| it.auto_approve.to_string()),
    ("autoApprove.literal", "true", "true", |it| it.auto_approve_literal.to_string()),
    ("confinement", r#""warn""#, "Warn", |it| format!("{:?}", it.confinement)),
    ("agent.backend", r#""docker""#, "docker", |it| it.agent.backend.as_str().to_owned()),
    ("agent.default", r#""goose""#, "goose", |it| it.agent.default.clone()),
    ("agent.memoryMb", "512", "512", |it| it.agent.memory_mib.to_string()),
    ("agent.cpus", "0.5", "0.5", |it| it.agent.cpus.to_string()),
    ("agent.pidsLimit", "64", "64", |it| it.agent.pids_max.to_string()),
    ("docker.baseImage", r#""debian:trixie""#, "debian:trixie", |it| it.docker.base_image.clone()),
    ("docker.packages", r#"["g++", "git"]"#, "g++ git", |it| it.docker.packages.join(" ")),
    ("agent.apiKeys.codex", r#""sk-c""#, SECRET, |it| is_set(it.agent.api_keys.get("codex"))),
    (
        "mitm.upstreams.api.openai.com",
        r#"{"url": "https://127.0.0.1:9/x", "caFile": "~/ca.pem"}"#,
        r#"https://127.0.0.1:9/x Some("/home/ada/ca.pem")"#,
        |it| {
            let upstream = it.mitm.upstreams.get(&"api.openai.com".parse().unwrap());
            option(upstream.map(|it| format!("{} {:?}", it.url, it.ca_file)))
        },
    ),
    ("mitm.allowKeys.anthropic", r#"["context_management"]"#, "context_management", |it| {
        option(it.mitm.allow_keys.get(&ic_types::Provider::Anthropic).map(|it| it.join(" ")))
    }),
];

/// Writes a file that sets one key.
fn file(name: &KeyName, value: &str) -> String {
    let mut parts: Vec<String> = match name.key().name.split_once('<') {
        Some((map, _)) => map.trim_end_matches('.').split('.').map(str::to_owned).collect(),
        None => name.to_string().split('.').map(str::to_owned).collect(),
    };
    if let Some((map, _)) = name.key().name.split_once('<') {
        parts.push(name.to_string().replacen(map, "", 1));
    }
    let nested =
        parts.iter().rev().fold(value.to_owned(), |value, part| format!(r#"{{"{part}":{value}}}"#));
    format!(r#"{{"version":1,{}"#, nested.strip_prefix('{').unwrap())
}

#[test]
fn changing_a_key_changes_what_its_owner_and_explain_see() {
    let before = load(r#"{"version":1}"#, &[], &[]).unwrap();
    for (name, value, expected, see) in ROWS {
        assert_ne!(see(&before), *expected, "{name}: the row shows no change");
        let name = KeyName::parse(name).unwrap();
        let after = load(&file(&name, value), &[], &[]).unwrap();
        assert_eq!(see(&after), *expected, "{name}");

        let setting = after.settings().get(&name).unwrap();
        assert_eq!(setting.origin(), Origin::File, "{name}");
        let shown = match name.key().kind {
            Kind::Secret => Shown::Set,
            _ => Shown::Value(Json::parse(value.as_bytes(), JsonLimits::CALL).unwrap()),
        };
        assert_eq!(setting.value(), Some(shown), "{name}");

        // And nobody else's: every other row sees what it saw before.
        for (other, _, _, see) in ROWS.iter().filter(|(other, ..)| *other != name.to_string()) {
            assert_eq!(see(&after), see(&before), "{name} changed {other}");
        }
    }
}

#[test]
fn no_key_is_without_a_row_and_every_default_is_allowed() {
    for key in KEYS {
        let rows =
            ROWS.iter().filter(|(name, ..)| KeyName::parse(name).unwrap().key().name == key.name);
        assert_eq!(rows.count(), 1, "rows of {}", key.name);
        assert!(!key.about.is_empty(), "{}", key.name);
        if let Some(default) = key.default {
            let default = Json::parse(default.as_bytes(), JsonLimits::CALL).unwrap();
            key.kind.check(&default, &crate::environment(&[])).unwrap();
        }
    }
}

#[test]
fn nothing_that_is_shown_holds_a_secret() {
    for (name, value, ..) in ROWS.iter().filter(|(_, value, ..)| value.contains("sk-")) {
        let name = KeyName::parse(name).unwrap();
        let config = load(&file(&name, value), &[("OPENAI_API_KEY", "sk-o2")], &[]).unwrap();
        assert!(!format!("{config:?}").contains("sk-"), "{name}");
    }
    let wrong =
        load(r#"{"version":1,"apiKey":"sk secret","openaiApiKey":["sk-secret"]}"#, &[], &[]);
    let wrong = format!("{:?}", wrong.unwrap_err());
    assert!(!wrong.contains("secret") && wrong.contains("apiKey"), "{wrong}");
}
