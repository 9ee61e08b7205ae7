//! What a person's own message asks for: whether it names exactly one call, word by word.
//!
//! Pure: text in, yes or doubt out. No model, file or clock is known here, and nothing is approved: the
//! approver in `ic-escalation` asks here first, and goes on only where there is no doubt. There is no
//! answer that denies anything.
//!
//! ```text
//! Message + Wanted ─▶ asked::check ───▶ the words relied on ─▶ the fast model, then an approval
//!                 └─▶ literal::check ─▶ the words relied on ─▶ an approval
//!                                └──▶ Doubt: ask the person
//! ```
//!
//! Reading order: [`message`], [`wanted`] (what is compared), [`token`] (words of a message), `verb` (what
//! may be asked for), [`asked`] and [`literal`] (the two checks), [`doubt`], [`keys`] (how a message is known that
//! was typed at another program).
//!
//! # Invariants
//!
//! - Each resource of the call stands in one clause of the message, as a whole word: a path absolute, as
//!   written and as resolved; a URL as a whole; a remote as host, owner and repository.
//! - That clause names no other resource, and begins with a verb whose roles are those of the call.
//! - Whatever is not understood is a doubt.

pub mod asked;
pub mod doubt;
pub mod keys;
pub mod literal;
pub mod message;
pub mod token;
mod verb;
pub mod wanted;

pub use doubt::Doubt;
pub use keys::{Keys, Sent, Unclear};
pub use message::{Message, Source};
pub use wanted::{Named, Other, Wanted, WantedRole};
