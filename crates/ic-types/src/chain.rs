//! An error with its causes in one line, as people and logs get it.
//!
//! What is said of an error is its own business; nothing is left out or shortened here.

use std::error::Error;

/// Joins an error and its causes by colons.
pub fn chain(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(": ");
        message.push_str(&error.to_string());
        cause = error.source();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open the door")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("there is no key")]
    struct Inner;

    #[test]
    fn the_causes_follow_the_error() {
        assert_eq!(chain(&Outer(Inner)), "cannot open the door: there is no key");
        assert_eq!(chain(&Inner), "there is no key");
    }
}
