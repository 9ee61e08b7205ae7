//! A sandbox to test in, and somebody who serves its calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ic_confine::{Hold, Launcher, Rung};
use ic_sandbox::{
    BoxFuture, Called, Calls, Catalogue, Denial, Ended, Limits, Pause, Run, Sandbox, SandboxSpec,
    Script, ServerEntry, ToolEntry,
};
use ic_types::{Json, JsonLimits, Object, ToolCall};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The worker's program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_ic-sandbox-worker");

/// A sandbox and its place.
pub(crate) struct Ground {
    pub(crate) sandbox: Sandbox,
    pub(crate) calls: Tools,
    _place: TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self::with(Limits::DEFAULT)
    }

    pub(crate) fn with(limits: Limits) -> Self {
        Self::of(Rung::Namespaces, "code-worker", limits)
    }

    pub(crate) fn of(rung: Rung, command: &str, limits: Limits) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let sandbox = Sandbox::new(SandboxSpec {
            launcher: Launcher::at(PROGRAM),
            arguments: vec![command.into()],
            hold: Hold::Caged(rung, ic_sandbox::cage(place.path().to_owned())),
            limits,
        });
        Self { sandbox, calls: Tools::default(), _place: place }
    }

    /// Runs a script without arguments.
    pub(crate) async fn run(&self, source: &str) -> Run {
        self.run_with(source, &[]).await
    }

    pub(crate) async fn run_with(&self, source: &str, arguments: &[&str]) -> Run {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let script = Script { source: source.to_owned(), arguments };
        soon(self.sandbox.run(&script, &self.calls, &CancellationToken::new())).await
    }

    /// Checks that a script runs as if nothing had happened.
    #[track_caller]
    pub(crate) fn goes_on(&self) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let run = self.run("tools.echo({ text: 'still ' + 'here' })").await;
            assert_eq!(run.ended, Ended::Done, "{caller}: {run:?}");
            assert_eq!(run.value.as_deref(), Some("still here"), "{caller}");
        }
    }
}

/// Waits for what comes at once, or never.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_mins(1), future).await.expect("it happens in time")
}

/// Serves the calls of tests.
#[derive(Default)]
pub(crate) struct Tools {
    pub(crate) n_calls: AtomicU64,
    pub(crate) seen: std::sync::Mutex<Vec<ToolCall>>,
    pub(crate) cancelled: AtomicU64,
}

impl Calls for Tools {
    fn catalogue(&self) -> BoxFuture<'_, Arc<Catalogue>> {
        Box::pin(async { Arc::new(catalogue()) })
    }

    fn call<'a>(
        &'a self,
        call: ToolCall,
        pause: &'a Pause,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Called> {
        self.n_calls.fetch_add(1, Ordering::SeqCst);
        self.seen.lock().expect("no panic").push(call.clone());
        Box::pin(async move {
            let text = call.arguments.get("text").and_then(Json::as_str).unwrap_or_default();
            match call.tool.as_str() {
                "echo" => Called::Done { text: text.to_owned(), structured: None },
                "count" | "unstructured" => Called::Done {
                    text: "as text".to_owned(),
                    structured: Some(json(r#"{"n": 2, "then": "x"}"#).into()),
                },
                "fails" => Called::Failed { message: "it did not work".to_owned() },
                "denied" => Called::Denied(Denial {
                    message: "DENIED: not here".to_owned(),
                    decision: "deny".to_owned(),
                    rule: "structural-protected-path".to_owned(),
                    reason: "protected".to_owned(),
                    next_step: Some("ask a person".to_owned()),
                }),
                "asks" => {
                    let _held = pause.hold();
                    tokio::time::sleep(Duration::from_millis(600)).await;
                    Called::Done { text: "a person said yes".to_owned(), structured: None }
                }
                "hangs" => {
                    cancel.cancelled().await;
                    self.cancelled.fetch_add(1, Ordering::SeqCst);
                    Called::Failed { message: "cancelled".to_owned() }
                }
                other => Called::Failed { message: format!("no tool {other}") },
            }
        })
    }
}

pub(crate) fn catalogue() -> Catalogue {
    let tool = |name: &str| ToolEntry {
        name: name.parse().expect("a name"),
        description: Some(format!("Does {name}.\nAnd more.")),
        input_schema: json(
            r#"{"type": "object", "required": ["text"], "properties": {
                "text": {"type": "string", "description": "What to say"},
                "times": {"type": "array", "items": {"type": "integer"}}}}"#,
        ),
        output_schema: None,
    };
    let names = ["echo", "unstructured", "fails", "denied", "asks", "hangs", "with-dash"];
    let mut tools: Vec<_> = names.into_iter().map(tool).collect();
    tools.push(ToolEntry { output_schema: Some(json(r#"{"type": "object"}"#)), ..tool("count") });
    let server = |name: &str, tools: Vec<ToolEntry>| ServerEntry {
        name: name.parse().expect("a name"),
        description: Some("For tests".to_owned()),
        tools,
    };
    Catalogue {
        servers: vec![
            server("tools", tools),
            server("my-server", vec![tool("echo")]),
            server("JSON", vec![tool("echo")]),
        ],
    }
}

pub(crate) fn json(text: &str) -> Object {
    match Json::parse(text.as_bytes(), JsonLimits::CALL) {
        Ok(Json::Object(object)) => object,
        other => panic!("{text}: {other:?}"),
    }
}

/// Returns the processes that were started with `marker` among their words.
pub(crate) fn leftovers(marker: usize) -> Vec<u32> {
    let marker = marker.to_string();
    let is_ours = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == marker.as_bytes())
    };
    let entries = std::fs::read_dir("/proc").expect("a list of processes");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(is_ours).collect()
}

/// Returns whether a rung works here, and says so if it does not.
pub(crate) async fn works(rung: Rung) -> bool {
    let place = tempfile::tempdir().expect("a directory");
    match Launcher::at(PROGRAM).try_rung(rung, place.path()).await {
        Ok(()) => true,
        Err(fault) => {
            assert!(!fault.reason.starts_with("a caged child could"), "{fault:?}");
            assert!(std::env::var_os("CI").is_none(), "in CI every rung works: {fault:?}");
            eprintln!("SKIPPED: {rung} does not work here: {fault:?}");
            false
        }
    }
}
