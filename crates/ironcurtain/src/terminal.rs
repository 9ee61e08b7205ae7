//! A session at a terminal, or in a pipe: what a person sees while it works, and is asked.
//!
//! Progress and questions go to standard error, so that standard output holds nothing but the answer.
//! What a session does is not known here.

mod banner;
mod onlooker;
mod paint;
mod tty;

pub(crate) use onlooker::Onlooker;
pub(crate) use paint::Paint;
pub(crate) use tty::Tty;
