//! Logins of agents: expired in the middle of a session, refused, renewed by two at once, and a file that
//! changes underneath.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::body::Bytes;
use ic_egress::{Egress, SystemResolver};
use ic_home::Clock;
use ic_home::environment::Network;
use ic_mitm::provider::login::{self, LoginRules};
use ic_mitm::{Login, LoginSource, Pay, Place, Upstream};
use ic_testkit::web::Identity;
use ic_types::{Provider, Timestamp};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use crate::stage::{Got, Says, Setting, Stage, Unwritten, provide, real, whole};

const BODY: &str = r#"{"model":"claude-sonnet-4-6"}"#;
const NOW_MS: u64 = 1_795_000_000_000;
const HOUR_MS: u64 = 3_600_000;
const FIRST: &str = "sk-ant-oat01-first-0123456789abcdef";
const SECOND: &str = "sk-ant-oat01-second-0123456789abcdef";
const THIRD: &str = "sk-ant-oat01-third-0123456789abcdef";

struct Hand(AtomicU64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.0.load(Ordering::Relaxed))
    }
}

/// A login file, and the host that renews its tokens.
struct Scene {
    rules: &'static LoginRules,
    file: PathBuf,
    clock: Arc<Hand>,
    /// The port of the token host, and the certificate that it shows.
    token_host: (u16, PathBuf),
    renewals: Arc<Mutex<Vec<Got>>>,
    _directory: tempfile::TempDir,
}

impl Scene {
    /// Sets the scene; `answer` is what the token host says.
    async fn set(
        agent: &str,
        content: Value,
        answer: impl Fn(&Got) -> Says + Send + Sync + 'static,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().canonicalize().unwrap().join("login.json");
        std::fs::write(&file, content.to_string()).unwrap();
        let identity = Identity::new();
        let ca_file = directory.path().join("token-host.pem");
        std::fs::write(&ca_file, &identity.authority).unwrap();
        let renewals = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(answer);
        let port = provide(&identity, &["http/1.1"], script, Arc::clone(&renewals)).await;
        Self {
            rules: login::of(agent).unwrap(),
            file,
            clock: Arc::new(Hand(AtomicU64::new(NOW_MS))),
            token_host: (port, ca_file),
            renewals,
            _directory: directory,
        }
    }

    fn pay(&self) -> Pay {
        self.pay_with(LoginSource::File(self.file.clone()))
    }

    fn pay_with(&self, source: LoginSource) -> Pay {
        let (port, ca_file) = &self.token_host;
        let place = Place {
            url: format!("https://localhost:{port}").parse().unwrap(),
            has_version: false,
            ca_file: Some(ca_file.clone()),
            is_named: true,
        };
        let egress =
            Egress::new(Arc::new(SystemResolver::new()), Arc::new(Unwritten), TaskTracker::new());
        let upstream =
            Upstream::new(&place, "login".parse().unwrap(), egress, &Network::default()).unwrap();
        Pay::Login(Login::new(self.rules, source, upstream, Arc::clone(&self.clock) as _))
    }

    fn n_renewals(&self) -> usize {
        self.renewals.lock().unwrap().len()
    }

    fn content(&self) -> Value {
        content(&self.file)
    }
}

fn content(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn claude(access: &str, refresh: &str, expires_ms: u64) -> Value {
    json!({"other": [1], "claudeAiOauth": {"accessToken": access, "refreshToken": refresh,
        "expiresAt": expires_ms, "scopes": ["user:inference"], "subscriptionType": "max"}})
}

fn renewed(access: &str, refresh: &str) -> Says {
    let body = json!({"access_token": access, "refresh_token": refresh, "expires_in": 7200});
    Says::Answer(200, Vec::new(), vec![Bytes::from(body.to_string())])
}

/// A provider that takes one token, and echoes it.
fn takes(token: &'static str) -> impl Fn(&Got) -> Says + Send + Sync + 'static {
    move |got| {
        let sent = got.headers["authorization"].to_str().unwrap().to_owned();
        let status = if sent == format!("Bearer {token}") { 200 } else { 401 };
        Says::Answer(status, Vec::new(), vec![Bytes::from(format!(r#"{{"sent":"{sent}"}}"#))])
    }
}

async fn stage(pay: Pay, script: impl Fn(&Got) -> Says + Send + Sync + 'static) -> Stage {
    Stage::set(Setting { pay: Some(pay), ..Setting::default() }, script).await
}

fn sent(stage: &Stage) -> Vec<String> {
    let header = |got: Got| got.headers["authorization"].to_str().unwrap().to_owned();
    stage.got().into_iter().map(header).collect()
}

#[tokio::test]
async fn the_agent_sees_a_fake_bearer_and_the_provider_the_token() {
    let scene = Scene::set("claude-code", json!({}), |_| renewed(SECOND, "r2")).await;
    let stage = stage(scene.pay_with(LoginSource::Token(real(FIRST))), takes(FIRST)).await;
    let fake = stage.gate.fake().as_str().to_owned();
    assert!(fake.starts_with("sk-ant-oat01-") && fake != FIRST, "{fake}");
    let (status, answer) = stage.complete("h2", BODY).await;
    assert_eq!(status, 200, "{answer}");
    assert!(!answer.contains(FIRST) && answer.contains("<redacted:key>"), "{answer}");
    assert_eq!(sent(&stage), [format!("Bearer {FIRST}")]);
    // The agent's own variable, and not that of the API key.
    let surroundings = ic_mitm::Surroundings { proxy: None, certificate: "/ca.pem" };
    let environment = stage.gate.environment(&surroundings);
    assert!(environment.contains(&("CLAUDE_CODE_OAUTH_TOKEN".to_owned(), fake.clone())));
    assert!(!environment.iter().any(|(name, _)| name == "ANTHROPIC_API_KEY"));
    // Another place, or the real token itself, is refused.
    for (name, value) in [("x-api-key", fake), ("authorization", format!("Bearer {FIRST}"))] {
        let mut request = stage.request("h2", "/v1/messages", BODY);
        request.headers_mut().remove("authorization");
        request.headers_mut().insert(name, value.parse().unwrap());
        assert_eq!(whole(stage.send("h2", request).await).await.0, 403, "{name}");
    }
    assert_eq!((stage.got().len(), scene.n_renewals()), (1, 0));
}

#[tokio::test]
async fn a_login_that_expires_in_the_middle_is_renewed_and_written_back() {
    let content = claude(FIRST, "r1", NOW_MS + HOUR_MS);
    let scene = Scene::set("claude-code", content, |_| renewed(SECOND, "r2")).await;
    let stage = stage(scene.pay(), |_| Says::Answer(200, Vec::new(), Vec::new())).await;
    assert_eq!(stage.complete("h2", BODY).await.0, 200);
    assert_eq!(scene.n_renewals(), 0);
    scene.clock.0.fetch_add(HOUR_MS, Ordering::Relaxed);
    for _ in 0..2 {
        assert_eq!(stage.complete("h2", BODY).await.0, 200);
    }
    let second = format!("Bearer {SECOND}");
    assert_eq!(sent(&stage), [format!("Bearer {FIRST}"), second.clone(), second]);
    assert_eq!(scene.n_renewals(), 1);
    let asked: Value = serde_json::from_str(&scene.renewals.lock().unwrap()[0].body).unwrap();
    assert_eq!(
        (&asked["grant_type"], &asked["refresh_token"]),
        (&json!("refresh_token"), &json!("r1"))
    );
    // Everything else in the file is as it was, and nobody else may read it.
    let expected = claude(SECOND, "r2", NOW_MS + HOUR_MS + 7_200_000);
    assert_eq!(scene.content(), expected);
    assert!(!scene.file.with_file_name(".oauth_refresh.lock").exists());
    let noticed = stage.book.noticed.lock().unwrap().join(" ");
    assert!(noticed.contains("login of `claude-code`") && !noticed.contains(SECOND), "{noticed}");
}

#[tokio::test]
async fn a_token_that_the_provider_refuses_is_renewed_once() {
    let content = claude(FIRST, "r1", NOW_MS + HOUR_MS);
    let scene = Scene::set("claude-code", content, |_| renewed(SECOND, "r2")).await;
    let stage = stage(scene.pay(), takes(SECOND)).await;
    let (status, answer) = stage.complete("http/1.1", BODY).await;
    assert_eq!(status, 200, "{answer}");
    assert!(!answer.contains(SECOND), "the new token is masked as well: {answer}");
    assert_eq!((stage.got().len(), scene.n_renewals()), (2, 1));
    // One that is refused although it is new is not renewed for ever.
    let scene =
        Scene::set("claude-code", claude(FIRST, "r1", NOW_MS + HOUR_MS), |_| renewed(SECOND, "r2"))
            .await;
    let stage = self::stage(scene.pay(), takes(THIRD)).await;
    assert_eq!(stage.complete("http/1.1", BODY).await.0, 401);
    assert_eq!((stage.got().len(), scene.n_renewals()), (2, 1));
}

#[tokio::test]
async fn a_renewal_that_is_refused_is_told_to_the_agent_as_a_403() {
    for (status, part) in
        [(400, "was not renewed"), (401, "was not renewed"), (503, "could not be renewed")]
    {
        let content = claude(FIRST, "r1", NOW_MS - 1);
        let scene = Scene::set("claude-code", content.clone(), move |_| {
            Says::Answer(status, Vec::new(), vec![Bytes::from(r#"{"error":"invalid_grant r1"}"#)])
        })
        .await;
        let stage = stage(scene.pay(), takes(FIRST)).await;
        let (answered, answer) = stage.complete("h2", BODY).await;
        assert_eq!(answered, 403, "{answer}");
        assert!(answer.contains(part) && answer.contains("log in to `claude-code`"), "{answer}");
        assert!(!answer.contains(FIRST) && !answer.contains("invalid_grant"), "{answer}");
        assert_eq!(scene.content(), content, "the file is left alone");
        assert!(stage.got().is_empty());
    }
    // A token that lasts, and does not.
    let scene = Scene::set("claude-code", json!({}), |_| renewed(SECOND, "r2")).await;
    let stage = stage(scene.pay_with(LoginSource::Token(real(FIRST))), takes(SECOND)).await;
    let (status, answer) = stage.complete("h2", BODY).await;
    assert_eq!(status, 403);
    assert!(answer.contains("does not accept the login"), "{answer}");
}

#[tokio::test]
async fn a_file_that_changes_underneath_is_believed_and_not_overwritten() {
    // Before the renewal: the person's own program was faster.
    let scene =
        Scene::set("claude-code", claude(FIRST, "r1", NOW_MS + HOUR_MS), |_| renewed(THIRD, "r3"))
            .await;
    let stage = stage(scene.pay(), |_| Says::Answer(200, Vec::new(), Vec::new())).await;
    assert_eq!(stage.complete("h2", BODY).await.0, 200);
    scene.clock.0.fetch_add(HOUR_MS, Ordering::Relaxed);
    let theirs = claude(SECOND, "r2", NOW_MS + 3 * HOUR_MS);
    std::fs::write(&scene.file, theirs.to_string()).unwrap();
    assert_eq!(stage.complete("h2", BODY).await.0, 200);
    assert_eq!(sent(&stage)[1], format!("Bearer {SECOND}"));
    assert_eq!((scene.n_renewals(), scene.content()), (0, theirs.clone()));

    // During the renewal, whether it is granted or refused.
    for is_granted in [true, false] {
        let path: Arc<Mutex<Option<PathBuf>>> = Arc::default();
        let (written, text) = (Arc::clone(&path), theirs.to_string());
        let scene = Scene::set("claude-code", claude(FIRST, "r1", NOW_MS - 1), move |_| {
            std::fs::write(written.lock().unwrap().as_ref().unwrap(), &text).unwrap();
            match is_granted {
                true => renewed(THIRD, "r3"),
                false => Says::Answer(400, Vec::new(), Vec::new()),
            }
        })
        .await;
        *path.lock().unwrap() = Some(scene.file.clone());
        let stage = self::stage(scene.pay(), |_| Says::Answer(200, Vec::new(), Vec::new())).await;
        assert_eq!(stage.complete("h2", BODY).await.0, 200, "{is_granted}");
        assert_eq!(sent(&stage), [format!("Bearer {SECOND}")], "{is_granted}");
        assert_eq!(scene.content(), theirs, "{is_granted}: the file is theirs");
    }
}

#[tokio::test]
async fn two_sessions_at_once_renew_once() {
    let scene = Scene::set("claude-code", claude(FIRST, "r1", 1), |got| {
        // As hosts do that give out a new token each time.
        match got.body.contains(r#""r1""#) {
            true => renewed(SECOND, "r2"),
            false => Says::Answer(400, Vec::new(), Vec::new()),
        }
    })
    .await;
    // The lock is made now, and must not look old.
    scene.clock.0.store(ic_home::SystemClock.now().unix_ms(), Ordering::Relaxed);
    let fine = |_: &Got| Says::Answer(200, Vec::new(), Vec::new());
    let (first, second) = (stage(scene.pay(), fine).await, stage(scene.pay(), fine).await);
    let requests = [&first, &second, &first, &second].map(|it| it.complete("h2", BODY));
    let [a, b, c, d] = requests;
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    for (status, answer) in [a, b, c, d] {
        assert_eq!(status, 200, "{answer}");
    }
    assert_eq!(scene.n_renewals(), 1);
    for stage in [&first, &second] {
        assert!(sent(stage).iter().all(|it| *it == format!("Bearer {SECOND}")));
    }
    assert_eq!(scene.content()["claudeAiOauth"]["refreshToken"], "r2");
}

#[tokio::test]
async fn a_lock_that_was_left_behind_does_not_stop_renewals() {
    let scene =
        Scene::set("claude-code", claude(FIRST, "r1", NOW_MS - 1), |_| renewed(SECOND, "r2")).await;
    let lock = scene.file.with_file_name(".oauth_refresh.lock");
    std::fs::create_dir(&lock).unwrap();
    // It was made just now, and the clock of the gate is years ahead of that.
    scene.clock.0.store(u64::MAX / 4, Ordering::Relaxed);
    let stage = stage(scene.pay(), |_| Says::Answer(200, Vec::new(), Vec::new())).await;
    assert_eq!(stage.complete("h2", BODY).await.0, 200);
    assert!(!lock.exists());
}

#[tokio::test]
async fn a_codex_login_pays_at_its_own_host_with_its_account() {
    let token = |seconds: u64, name: &str| {
        let claims = URL_SAFE_NO_PAD.encode(json!({"exp": seconds, "name": name}).to_string());
        format!("head.{claims}.signature")
    };
    let (old, new) = (token(NOW_MS / 1000 - 1, "old"), token(NOW_MS / 1000 + 3600, "new"));
    let content = json!({"OPENAI_API_KEY": null, "last_refresh": "2026-01-01T00:00:00Z",
        "tokens": {"id_token": "i1", "access_token": old, "refresh_token": "r1", "account_id": "acct-7"}});
    let answer = json!({"id_token": "i2", "access_token": new, "refresh_token": "r2"}).to_string();
    let scene = Scene::set("codex", content, move |_| {
        Says::Answer(200, Vec::new(), vec![Bytes::from(answer.clone())])
    })
    .await;
    let setting =
        Setting { pay: Some(scene.pay()), provider: Provider::OpenAi, ..Setting::default() };
    let stage = Stage::set(setting, |_| Says::Answer(200, Vec::new(), Vec::new())).await;
    assert_eq!(stage.host(), "chatgpt.com");
    let body = r#"{"model":"gpt-5","input":"x"}"#;
    for (path, expected) in [
        ("/backend-api/codex/responses", 200),
        ("/backend-api/accounts/check", 404),
        ("/v1/responses", 403),
    ] {
        let (status, answer) = whole(stage.send("h2", stage.request("h2", path, body)).await).await;
        assert_eq!(status, expected, "{path}: {answer}");
    }
    let got = stage.got();
    assert_eq!(got.len(), 1);
    assert_eq!(got[0].headers["authorization"], format!("Bearer {new}"));
    assert_eq!(got[0].headers["chatgpt-account-id"], "acct-7");
    let after = scene.content();
    assert_eq!(after["tokens"]["id_token"], "i2");
    assert_eq!(after["tokens"]["account_id"], "acct-7");
    assert_ne!(after["last_refresh"], "2026-01-01T00:00:00Z");
    let surroundings = ic_mitm::Surroundings { proxy: None, certificate: "/ca.pem" };
    let base = ("OPENAI_BASE_URL".to_owned(), "https://chatgpt.com/backend-api/codex".to_owned());
    assert!(stage.gate.environment(&surroundings).contains(&base));
}

#[tokio::test]
async fn a_file_that_is_no_login_is_said_to_be_none() {
    for content in [
        json!({}),
        json!({"claudeAiOauth": {}}),
        json!([]),
        json!({"claudeAiOauth": {"accessToken": ""}}),
    ] {
        let scene = Scene::set("claude-code", content.clone(), |_| renewed(SECOND, "r2")).await;
        let stage = stage(scene.pay(), takes(FIRST)).await;
        let (status, answer) = stage.complete("h2", BODY).await;
        assert_eq!(status, 403, "{answer}");
        assert!(answer.contains("does not hold a login"), "{answer}");
        assert_eq!((stage.got().len(), scene.n_renewals(), scene.content()), (0, 0, content));
    }
    let scene = Scene::set("claude-code", json!({}), |_| renewed(SECOND, "r2")).await;
    std::fs::remove_file(&scene.file).unwrap();
    let stage = stage(scene.pay(), takes(FIRST)).await;
    let (status, answer) = stage.complete("h2", BODY).await;
    assert!(status == 403 && answer.contains("there is no login at"), "{status} {answer}");
}
