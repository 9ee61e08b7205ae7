//! The built-in MCP servers, and the loop that serves them over two streams.
//!
//! A server is a value that implements [`Tools`]; [`serve()`] reads requests, lets workers make the
//! calls and writes the answers. Whether a call may be made is judged elsewhere, before it gets
//! here: nothing in this crate knows of policy, and a server is given only what it may touch.
//!
//! ```text
//! stdin ──serve──▶ Tools::call ──▶ filesystem: a View of directories, each held by a handle
//!                                  git: the git program in such a View, with a config of ours
//!                                  fetch: one page of the web, over a connection that the host makes
//!                                  shell: one command line, in the cage of this process
//! stdout ◀────────  ToolResult
//! ```
//!
//! Reading order: [`tools`], [`mod@serve`], [`filesystem`], [`git`], [`fetch`], [`shell`].
//!
//! # Invariants
//!
//! - Nothing that is sent makes a server panic, and no line of output is torn by another.
//! - The filesystem server opens nothing by name: every access is beneath a directory handle that
//!   was opened at the start, through no symbolic link and no magic link.
//! - A file is replaced as a whole or not at all, and never written through a link or a hard link.
//! - The git server never lets git read a repository's own config, and runs no hook, filter, driver or
//!   other program that a repository names.
//! - The fetch server connects by the one way that it is given, follows no redirect, and keeps nothing
//!   between calls; what it reads, unpacks and returns has limits.
//! - A server with [`Hands::Asking`](filesystem::Hands::Asking) changes nothing itself.
//!
//! # Example
//!
//! ```
//! use ic_servers::filesystem::{Filesystem, Hands, View};
//! use ic_servers::tools::{Caller, Cancel, Tools};
//! use ic_types::Object;
//!
//! let view = View::parse(r#"{"directories":[],"leaveOut":[],"only":null,"links":"refuse"}"#)?;
//! let server = Filesystem::open(&view, Hands::Own)?;
//! let mut arguments = Object::new();
//! arguments.insert("path", "/etc/passwd");
//! let result = server.call("read_file", &arguments, Caller::silent(&Cancel::new()))?;
//! assert!(result.is_error(), "nothing is in an empty view");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod fetch;
pub mod filesystem;
pub mod git;
pub mod serve;
pub mod shell;
pub mod tools;

pub use fetch::Fetch;
pub use filesystem::{Filesystem, View};
pub use git::Git;
pub use serve::{Ended, ServeError, serve};
pub use shell::Shell;
pub use tools::{Cancel, Tool, ToolResult, Tools};
