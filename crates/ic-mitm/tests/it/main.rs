//! The gate as a whole: real connections, a provider that follows a script, and agents that do not behave.

mod answers;
mod attacks;
mod clients;
mod connections;
mod records;
mod stage;
