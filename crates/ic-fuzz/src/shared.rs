//! Recorded answers and hostile inputs that lie beside the project, in `../shared`.
//!
//! They are other people's data and no part of the project. Where the folder is missing, the tests
//! that read it say so loudly; the classes behind the data are table tests of our own.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "test support: it reads files, and a failure is a failed test"
)]

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

/// Returns the path of `name` in the shared folder, or says that it is missing.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    if path.exists() {
        return Some(path.canonicalize().expect("it exists"));
    }
    eprintln!("SKIPPED: `{name}` is not there; get the shared folder to run this test in full");
    None
}

/// Reads the vectors of one corpus.
pub fn corpus(name: &str) -> Option<Vec<Value>> {
    let path = find(&format!("corpora/{name}.json"))?;
    let text = std::fs::read_to_string(path).expect("a readable corpus");
    let mut corpus: Value = serde_json::from_str(&text).expect("a corpus in JSON");
    match corpus.get_mut("vectors").map(Value::take) {
        Some(Value::Array(vectors)) => Some(vectors),
        _ => None,
    }
}

/// Returns the inputs of one corpus as bytes; none where the folder is missing.
pub fn inputs(name: &str) -> Vec<Vec<u8>> {
    let vectors = corpus(name).unwrap_or_default();
    vectors
        .iter()
        .filter_map(|vector| match vector.get("b64").and_then(Value::as_str) {
            Some(text) => Some(BASE64_STANDARD.decode(text).expect("base64")),
            None => vector.get("input").and_then(Value::as_str).map(|it| it.as_bytes().to_vec()),
        })
        .collect()
}
