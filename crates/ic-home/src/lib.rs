//! This machine: home directory layout, configuration, environment, hardened files, locks, clock.
//!
//! The one crate that reads the environment and the time of day, and the one that the others open
//! our own files with. It knows no policy, starts no process and opens no socket.
//!
//! Reading order: [`environment`] says where the home is and which keys there are, [`layout`] what
//! is where in it, [`mod@file`] how files there are read and written, [`scratch`] what is there for
//! the moment, [`tree`] how directories of others are copied, [`lock`] how processes take turns, [`config`] what the user wants, [`migrate`] what is
//! taken over from the other program, [`clock`] what time it is, [`process`] who is running.
//!
//! # Invariants
//!
//! - A file of ours is 0600 in a directory that is 0700; it is replaced as a whole or not at all,
//!   and no link at its name is followed.
//! - A home that another program made, or that belongs to another user, is refused before anything
//!   in it is changed.
//! - Every value of the configuration was checked, in every layer; a mistake is an error that names
//!   the place, the key and what is allowed.
//! - A provider's key is in a `Secret`, and in no environment: not in that of a child, and not in
//!   `/proc/PID/environ`.
//!
//! # Example
//!
//! ```
//! use ic_home::config::{Config, ConfigFile, Layers};
//! use ic_home::environment::Environment;
//! use ic_home::layout::Home;
//!
//! let variables = [("HOME".into(), "/home/nobody-is-here".into())];
//! let environment = Environment::of(&variables, None)?;
//! let home = Home::new(environment.ironcurtain_home()?);
//! let file = ConfigFile::read(&home)?;
//! let config = Config::load(&Layers { flags: &[], environment: &environment, file: &file })?;
//! assert_eq!(config.escalation_timeout.as_secs(), 300);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod clock;
pub mod config;
pub mod environment;
pub mod file;
mod hand_over;
pub mod layout;
pub mod lock;
pub mod migrate;
pub mod policy_name;
mod prepare;
pub mod process;
pub mod random;
pub mod scratch;
mod temporary;
pub mod tree;
pub mod watch;

pub use clock::{Clock, SystemClock};
pub use config::Config;
pub use environment::Environment;
pub use file::FileError;
pub use layout::{Home, HomeError, Look};
pub use lock::Lock;
pub use policy_name::{PolicyChoice, PolicyName};
pub use process::Process;
pub use scratch::{Scratch, remove_tree, remove_tree_but};
