//! The code sandbox: the agent's scripts, each in a caged process of its own that can only ask.
//!
//! ```text
//! ic-session ── Sandbox::run ─▶ host side ◀── frames over two pipes ──▶ worker (this program again)
//!            ◀── Calls::call ──                                         caged, then tightened:
//!                (the broker)                                           no files, no network, no exec
//! ```
//!
//! A script is TypeScript or JavaScript. Its types are taken out and it is run in the worker, which
//! never sees the host's memory; each tool that it calls is a frame to the host, and the host asks
//! [`Calls`]. A worker serves one run and is killed; one more is kept ready, so that the next run need
//! not wait for it. Whatever a worker says is untrusted: what is malformed, too much or out of turn
//! ends that worker and that run, and nothing else.
//!
//! This crate knows no broker, no policy and no model.
//!
//! In reading order: `sandbox` hands out workers, `run` is one run seen from the host, `calls` and
//! `catalogue` are what a script can reach, `pause` is the clock that stops for people, `limits` and
//! `output` hold things to size, `process` is the host's hold on a worker, `wire` and `frame` are what
//! both sides say, and [`worker`] is the other side.
//!
//! ```no_run
//! # async fn example(calls: &dyn ic_sandbox::Calls) -> Result<(), Box<dyn std::error::Error>> {
//! use ic_confine::{Hold, Launcher, Rung};
//! use ic_sandbox::{Ended, Limits, Sandbox, SandboxSpec, Script};
//! use tokio_util::sync::CancellationToken;
//!
//! let sandbox = Sandbox::new(SandboxSpec {
//!     launcher: Launcher::this_program()?,
//!     arguments: vec!["code-worker".into()],
//!     hold: Hold::Caged(Rung::Namespaces, ic_sandbox::cage("/var/empty".into())),
//!     limits: Limits::DEFAULT,
//! });
//! let script = Script { source: "[1, 2, 3].map((n: number) => n * 2)".into(), arguments: vec![] };
//! let run = sandbox.run(&script, calls, &CancellationToken::new()).await;
//! assert_eq!(run.ended, Ended::Done);
//! sandbox.close().await;
//! # Ok(())
//! # }
//! ```

mod calls;
mod catalogue;
mod frame;
mod limits;
mod output;
mod pause;
mod process;
mod run;
mod sandbox;
mod wire;
pub mod worker;

pub use calls::{BoxFuture, Called, Calls, Denial};
pub use catalogue::{Catalogue, ServerEntry, ToolEntry};
pub use limits::Limits;
pub use pause::{Held, Pause};
pub use process::cage;
pub use run::{Ended, Run, Script};
pub use sandbox::{Sandbox, SandboxSpec};
