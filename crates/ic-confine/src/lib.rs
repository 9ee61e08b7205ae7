//! Child processes: started with what was written out for them, and ended with us.
//!
//! ```text
//! host ── Launcher::start ─▶ guard ─────────────▶ server ─▶ whatever it starts
//!                            (this program again)  (a copy of the guard, until it runs the server)
//!      ◀───────────── stdin, stdout, stderr ─────▶
//! ```
//!
//! A server gets an array of arguments (no shell ever sees them), exactly the environment that was
//! written out for it, a working directory, and the descriptors 0, 1 and 2. It runs in a session of
//! its own, so that the keys pressed at our terminal are not for it; one that is started
//! [at a terminal](Launcher::start_at_terminal) has one of its own, of which the host holds the other side. Beside it stands a guard: it
//! adopts everything that the server leaves behind, and ends all of it when the host asks for that,
//! when the server ends, and when the host is gone, by `kill -9` too.
//!
//! Nothing is confined yet: a server may do whatever the user may do, and [`Confinement`] says so.
//! This crate does not know what a server is for, what is written to it, or whether it should run.
//!
//! In reading order: `program` finds the file, `start` starts the guard, `child` is the host's hold
//! on it, `orders` is what host, guard and server-to-be tell each other, `launch` is what the guard
//! does, `table` is what the system says about processes, and `proc` is where it says so. `tighten` is
//! for one of our programs that gives up the rest by itself, `inner` for one that runs another program to its
//! end in its own cage, `room` for what an agent starts with in a container, and `orphans` for what such a program leaves behind.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use ic_confine::{Child, ChildSpec, Hold, Launcher};
//!
//! let spec = ChildSpec {
//!     program: "cat".into(),
//!     arguments: vec!["-u".into()],
//!     environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
//!     directory: None,
//!     grace: std::time::Duration::from_secs(2),
//!     hold: Hold::Free,
//! };
//! let Child { stdin, stdout, stderr, mut process, .. } = Launcher::this_program()?.start(&spec)?;
//! # drop((stdin, stdout, stderr));
//! process.stop().await?;
//! # Ok(())
//! # }
//! ```

mod cage;
mod child;
mod covers;
mod doors;
mod hand;
mod inner;
mod launch;
mod orders;
mod orphans;
mod probe;
mod proc;
mod program;
mod room;
mod rung;
mod start;
mod sys;
mod table;
mod terminal;
mod tighten;

pub use cage::{Access, CageSpec, CageUser, Limits, Link, Network, Placed, Relaxation, Seen};
pub use child::{AtTerminal, Child, ChildHandle, Confinement, Sleep, StandingStill};
pub use covers::Renewals;
pub use doors::{DNS_PORT, Doors, DoorsToCome, PROXY_PORT};
pub use hand::without_capabilities;
pub use inner::{Excess, InnerError, InnerLimits, InnerOutput, InnerSpec, holds_inner, run_inner};
pub use launch::{
    EXIT_CANNOT_RUN, EXIT_EXCESS, EXIT_FULL, EXIT_LAUNCHER, EXIT_NO_PROGRAM, EXIT_SHIFTED,
    EXIT_SHIFTED_ASLEEP, EXIT_TOO_MANY, GUARD_SUFFIX, run_launcher,
};
pub use orders::{LAUNCH, SETTLE};
pub use orphans::{adopt_orphans, end_children};
pub use probe::RungFault;
pub use program::{FindError, find_program};
pub use room::{LEASH, ROOM, door_socket, run_room};
pub use rung::Rung;
pub use start::{ChildSpec, Hold, Launcher, StartError};
pub use table::Asleep;
pub use terminal::{HostTerminal, TerminalSize};
pub use tighten::{TightenError, tighten};
