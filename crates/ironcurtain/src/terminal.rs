//! A session at a terminal, or in a pipe: what a person sees while it works, and is asked.
//!
//! Progress and questions go to standard error, so that standard output holds nothing but the answer.
//! What a session does is not known here. A task is watched by an [`Onlooker`]; a conversation is held
//! in a [`Repl`], or line by line where there is no terminal.

mod agent_screen;
mod banner;
mod choice;
mod console;
mod full;
mod group;
mod held;
mod onlooker;
mod paint;
mod pen;
mod piped;
mod raw;
mod repl;
mod stage;
mod telling;
mod tty;
mod turn;

pub(crate) use agent_screen::{AgentScreen, Framing, Recording, Seen, create_recording};
pub(crate) use banner::{Asking, Banner, Place};
pub(crate) use choice::{Choice, choose_one};
pub(crate) use console::{Below, Console, moment};
pub(crate) use full::{FullScreen, title};
pub(crate) use group::{Group, Reason};
pub(crate) use held::Held;
pub(crate) use onlooker::{Onlooker, Script, Seat};
pub(crate) use paint::{Paint, Tone};
pub(crate) use piped::{Lines, Next};
pub(crate) use raw::{RawMode, agents_screen, restore, titled};
pub(crate) use repl::{Left, Repl, Scene, Setting, Total};
pub(crate) use stage::{Echo, Room, Row, Stage, room};
pub(crate) use tty::Tty;
