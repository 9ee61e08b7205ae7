//! Hostile text takes no longer than its length explains.

use std::sync::Arc;

use std::time::Duration;

use super::*;

/// Beginnings of secrets that never end; the others of their kind are shorter.
const LONG: &[&str] = &["eyJ", "sk-", "-----BEGIN ", "://"];

const SHORT: &[&str] = &[
    "eyJhbGciOiJ.",
    "eyJeyJeyJeyJ.a ",
    "sk-a1B",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "://a:",
    "://a:b@",
    "://a:b/",
    "password=",
    "password= ",
    "token:",
    "token:<",
    "token:\\",
    "token:\"a ",
    "token:'a token:\"b token:`c ",
    "cookie:",
    "cookie: a= ",
    "authorization:",
    "authorization: digest a1 ",
    "bearer ",
    ":AA",
    "MTA-",
    "<redacted:",
    "<redacted:jwt>",
    "\\",
    "%25",
    "\\u0025",
    "api_key=",
    "--password ",
    "<password>",
    "((((",
    "a",
];

#[test]
fn hostile_text_takes_linear_time() {
    for unit in LONG {
        check_time(unit, 1 << 20);
    }
    for unit in SHORT {
        check_time(unit, 1 << 17);
    }
}

#[track_caller]
fn check_time(unit: &str, len: usize) {
    let redactor = Redactor::new([Arc::new(Secret::new(body(ALNUM, 40)))]);
    let whole = unit.repeat(len / unit.len());
    let half = unit.repeat(len / 2 / unit.len()) + &")".repeat(len / 2);
    for text in [whole, half] {
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let redactor = &redactor;
            scope.spawn(move || sender.send(redactor.text(&text).len()));
            // A linear scan takes a fraction of a second even when it is built for debugging.
            let len = receiver.recv_timeout(Duration::from_secs(20));
            assert!(len.is_ok(), "{unit:?} took too long");
        });
    }
}
