//! What is said of a policy as a whole, compared with what its decision says call by call.

mod laws;
mod world;
