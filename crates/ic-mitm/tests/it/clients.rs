//! Well-behaved clients: what they ask reaches the provider with the real key, and comes back.

use hyper::body::Bytes;
use ic_mitm::Budget;
use ic_model::Cost;
use ic_types::Provider;

use crate::stage::{KEY, Says, Setting, Stage, UNLIMITED, whole};

const ANSWER: &str =
    r#"{"type":"message","content":[],"usage":{"input_tokens":5,"output_tokens":3}}"#;

fn json(body: &str) -> Says {
    Says::Answer(
        200,
        vec![("content-type", "application/json".to_owned())],
        vec![Bytes::from(body.to_owned())],
    )
}

#[tokio::test]
async fn a_request_passes_in_every_mix_of_versions() {
    for (ours, theirs) in
        [("http/1.1", "http/1.1"), ("http/1.1", "h2"), ("h2", "http/1.1"), ("h2", "h2")]
    {
        let protocols: &'static [&'static str] =
            if theirs == "h2" { &["h2"] } else { &["http/1.1"] };
        let stage = Stage::set(Setting { protocols, ..Setting::default() }, |_| json(ANSWER)).await;
        let body = r#"{ "model": "claude-sonnet-4-6", "max_tokens": 5, "messages": [] }"#;
        let request = stage.request(ours, "/v1/messages?beta=true", body);
        let (status, answer) = whole(stage.send(ours, request).await).await;
        assert_eq!((status.as_u16(), answer.as_str()), (200, ANSWER), "{ours} {theirs}");
        let got = stage.got();
        assert_eq!(got.len(), 1);
        assert_eq!(got[0].path, "/v1/messages?beta=true");
        assert_eq!(got[0].headers["x-api-key"], KEY);
        assert_eq!(got[0].body, r#"{"model":"claude-sonnet-4-6","max_tokens":5,"messages":[]}"#);
        assert_eq!(got[0].version == hyper::Version::HTTP_2, theirs == "h2");
        let fake = stage.gate.fake().as_str();
        assert!(!format!("{:?}", got[0].headers).contains(fake) && !got[0].body.contains(fake));
        let ended = stage.book.until_ended(1).await;
        let (asked, ended) = &ended[0];
        assert_eq!(asked.model.as_deref(), Some("anthropic:claude-sonnet-4-6"));
        assert_eq!((ended.status, ended.failed.as_deref()), (Some(200), None));
        assert_eq!(ended.usage.unwrap().total(), 8);
        assert_eq!(ended.cost.billionths(), 5 * 3_000 + 3 * 15_000);
    }
}

#[tokio::test]
async fn every_provider_has_its_key_in_its_place() {
    for (provider, path, body, header) in [
        (Provider::OpenAi, "/v1/responses", r#"{"model":"gpt-5","input":"x"}"#, "authorization"),
        (Provider::OpenAi, "/v1/chat/completions", r#"{"model":"gpt-5"}"#, "authorization"),
        (Provider::OpenAiCompatible, "/v1/chat/completions", r#"{"model":"m"}"#, "authorization"),
        (
            Provider::Google,
            "/v1beta/models/gemini-2.5-pro:generateContent",
            r#"{"contents":[]}"#,
            "x-goog-api-key",
        ),
    ] {
        let stage = Stage::set(Setting { provider, ..Setting::default() }, |_| json("{}")).await;
        let (status, _) = whole(stage.send("h2", stage.request("h2", path, body)).await).await;
        assert_eq!(status, 200, "{provider}");
        let sent = stage.got()[0].headers[header].to_str().unwrap().to_owned();
        assert!(sent == KEY || sent == format!("Bearer {KEY}"), "{provider}");
    }
}

#[tokio::test]
async fn connections_to_the_provider_are_used_again() {
    let stage =
        Stage::set(Setting { protocols: &["http/1.1"], ..Setting::default() }, |_| json(ANSWER))
            .await;
    for _ in 0..20 {
        let (status, _) = stage.complete("http/1.1", r#"{"model":"m"}"#).await;
        assert_eq!(status, 200);
    }
    assert_eq!(stage.got().len(), 20);
    stage.book.until_ended(20).await;
}

#[tokio::test]
async fn a_budget_that_is_used_up_refuses_the_next_request() {
    let budget = Budget { cost_max: Some(Cost::from_billionths(50_000)), ..UNLIMITED };
    let stage = Stage::set(Setting { budget, ..Setting::default() }, |_| json(ANSWER)).await;
    let body = r#"{"model":"claude-sonnet-4-6"}"#;
    assert_eq!(stage.complete("h2", body).await.0, 200);
    stage.book.until_ended(1).await;
    let (status, answer) = stage.complete("h2", body).await;
    assert_eq!(status, 403);
    assert!(answer.contains("budget of this session is used up"), "{answer}");
    assert_eq!(stage.got().len(), 1);
    assert_eq!(stage.gate.account().spent().n_requests, 1);
}

#[tokio::test]
async fn what_the_provider_runs_is_removed_and_what_nobody_knows_is_named() {
    let stage = Stage::set(Setting::default(), |_| json(ANSWER)).await;
    let body = r#"{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search"}],"mcp_servers":[{"url":"https://evil.example"}],"messages":[]}"#;
    // Without the gate, the provider is told to run it.
    let request = stage.request("h2", "/v1/messages", body);
    whole(stage.send_without_gate("h2", request).await).await;
    assert_eq!(stage.got.lock().unwrap().remove(0).body, body);
    assert_eq!(stage.complete("h2", body).await.0, 200);
    assert_eq!(stage.got()[0].body, r#"{"model":"m","messages":[]}"#);
    let asked = stage.book.asked.lock().unwrap()[0].clone();
    assert_eq!(asked.removed, ["mcp_servers", "web_search_20250305"]);
    let (status, answer) = stage.complete("h2", r#"{"model":"m","surprise":1}"#).await;
    assert_eq!(status, 403);
    assert!(
        answer.contains("`surprise`") && answer.contains("mitm.allowKeys.anthropic"),
        "{answer}"
    );
    assert_eq!(stage.got().len(), 1);
}

#[tokio::test]
async fn an_unknown_beta_is_removed_and_told() {
    let stage = Stage::set(Setting::default(), |_| json(ANSWER)).await;
    for _ in 0..2 {
        let mut request = stage.request("h2", "/v1/messages", r#"{"model":"m"}"#);
        let betas = "claude-code-20250219,mcp-client-2025-11-20".parse().unwrap();
        request.headers_mut().insert("anthropic-beta", betas);
        assert_eq!(whole(stage.send("h2", request).await).await.0, 200);
    }
    assert_eq!(stage.got()[1].headers["anthropic-beta"], "claude-code-20250219");
    let noticed = stage.book.noticed.lock().unwrap().clone();
    assert_eq!(noticed, ["removed `mcp-client-2025-11-20` from `anthropic-beta`"]);
}
