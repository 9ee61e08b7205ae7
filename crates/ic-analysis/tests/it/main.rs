//! What is said of a policy as a whole, compared with what its decision says call by call.

mod builtin;
mod diff;
mod laws;
mod mutations;
mod properties;
mod replay;
mod suggest;
mod world;
