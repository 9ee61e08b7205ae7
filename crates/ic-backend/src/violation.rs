//! Recognises in what a caged server answers that something was refused to it.
//!
//! A server says so in its own words, so this looks for the names and the words of the system's
//! errors, as programs print them. It may well have been the user's own rights that were missing; the
//! note says what to look at, and decides nothing.

use ic_types::{Json, Object, ServerName};

/// What a server was refused, as far as its words tell.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Violation {
    /// The word by which it was recognised.
    sign: &'static str,
    what: Refused,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Refused {
    /// Something about a file, or anything else.
    Access,
    /// Changing a file.
    Writing,
    /// Reaching another machine.
    Network,
}

/// How much of an answer is looked at.
const LOOKED_AT_BYTES_MAX: usize = 64 << 10;

/// Names of errors, and of what programs say they were doing; they stand as words of their own.
const NAMES: [(&str, Refused); 10] = [
    ("EACCES", Refused::Access),
    ("EPERM", Refused::Access),
    ("PermissionError", Refused::Access),
    ("EROFS", Refused::Writing),
    ("EAFNOSUPPORT", Refused::Network),
    ("ENETUNREACH", Refused::Network),
    ("EAI_AGAIN", Refused::Network),
    ("EAI_FAIL", Refused::Network),
    ("ENOTFOUND", Refused::Network),
    ("getaddrinfo", Refused::Network),
];

/// What the system says for them; they stand where a message ends.
const WORDS: [(&str, Refused); 7] = [
    ("Permission denied", Refused::Access),
    ("Operation not permitted", Refused::Access),
    ("Read-only file system", Refused::Writing),
    ("Network is unreachable", Refused::Network),
    ("Address family not supported by protocol", Refused::Network),
    ("Temporary failure in name resolution", Refused::Network),
    ("Name or service not known", Refused::Network),
];

impl Violation {
    /// Looks at the result of a call; one that went well is none.
    pub fn of_result(result: &Json) -> Option<Self> {
        let Json::Object(result) = result else { return None };
        if result.get("isError") != Some(&Json::from(true)) {
            return None;
        }
        let Some(Json::Array(blocks)) = result.get("content") else { return None };
        let text = |block: &Json| match block {
            Json::Object(block) => Self::of_text(block.get("text").and_then(Json::as_str)?),
            _ => None,
        };
        blocks.iter().find_map(text)
    }

    /// Looks at the words of an error.
    pub fn of_text(text: &str) -> Option<Self> {
        let end = text.floor_char_boundary(LOOKED_AT_BYTES_MAX);
        let text = text.get(..end).unwrap_or_default();
        let named = NAMES.iter().find(|(name, _)| has_word(text, name));
        // Programs of some languages write the first letter small.
        let lowered = text.to_ascii_lowercase();
        let said =
            || WORDS.iter().find(|(words, _)| ends_with(&lowered, &words.to_ascii_lowercase()));
        named.or_else(said).map(|(sign, what)| Self { sign, what: *what })
    }

    /// Returns what is recorded.
    pub fn reason(self, server: &ServerName) -> String {
        format!("confinement_violation: {}", self.told(server))
    }

    /// Returns what the model reads beside the server's own words.
    pub fn note(self, server: &ServerName) -> String {
        format!("[IronCurtain: {}]", self.told(server))
    }

    fn told(self, server: &ServerName) -> String {
        let Self { sign, what } = self;
        let keys = match what {
            Refused::Access => "`sandbox.filesystem.allowRead` and `sandbox.filesystem.allowWrite`",
            Refused::Writing => "`sandbox.filesystem.allowWrite`",
            Refused::Network => "`allowedDomains`",
        };
        format!(
            "the server `{server}` runs in a cage, and something that it tried was refused \
             ({sign}); its rights are {keys} of its entry in the servers file, which the user \
             can change"
        )
    }
}

/// Adds a text of ours to a result.
pub fn add_note(result: &mut Object, note: &str) {
    if let Some(Json::Array(blocks)) = result.get_mut("content") {
        let mut block = Object::new();
        block.insert("type", "text");
        block.insert("text", note);
        blocks.push(Json::Object(block));
    }
}

/// Returns whether `word` stands in `text` by itself.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Returns whether `words` stand where a message of the system does: after a mark, up to an end.
fn ends_with(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default().trim_end_matches(' ');
        let after = text.get(at + words.len()..).unwrap_or_default();
        let begins = before.is_empty() || before.ends_with([':', ']', '\n', '"', '\'', '(']);
        let ends = after.is_empty()
            || after.starts_with([':', ',', ';', '\n', '"', '\'', ')', '`'])
            || after.trim_end() == "."
            || after.starts_with(" (os error");
        begins && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_types::JsonLimits;

    #[track_caller]
    fn check(text: &str, expected: Option<Refused>) {
        assert_eq!(Violation::of_text(text).map(|it| it.what), expected, "{text}");
    }

    #[test]
    fn errors_are_recognised_as_programs_print_them() {
        for (text, what) in [
            ("EACCES: permission denied, open '/x'", Refused::Access),
            ("Error: EPERM: operation not permitted, mkdir '/x'", Refused::Access),
            ("[Errno 13] Permission denied: '/x'", Refused::Access),
            ("[Errno 1] Operation not permitted", Refused::Access),
            ("PermissionError: [Errno 13] Permission denied: '/x'", Refused::Access),
            ("cannot open `/x`: Permission denied (os error 13)", Refused::Access),
            ("open /x: permission denied", Refused::Access),
            ("touch: cannot touch '/x': Permission denied\n", Refused::Access),
            ("[Errno 30] Read-only file system: '/usr/x'", Refused::Writing),
            ("EROFS: read-only file system, open '/x'", Refused::Writing),
            ("connect ENETUNREACH 1.1.1.1:443", Refused::Network),
            ("getaddrinfo EAI_AGAIN example.com", Refused::Network),
            ("socket: Address family not supported by protocol", Refused::Network),
            ("[Errno -3] Temporary failure in name resolution", Refused::Network),
            ("dial tcp: lookup x: Network is unreachable", Refused::Network),
        ] {
            check(text, Some(what));
        }
    }

    #[test]
    fn ordinary_words_are_no_errors_of_the_system() {
        for text in [
            "",
            "No such file or directory: '/x'",
            "ENOENT: no such file or directory, open '/x'",
            "Permission denied to user ada on repository x",
            "git@example.com: Permission denied (publickey).",
            "This operation not permitted by your plan",
            "the operation not permitted here was skipped",
            "you need permission",
            "DEEPERMIND",
            "my_EPERM_test",
            "EACCESS",
            "a read-only file system is mounted at /x",
            "the network is unreachable for now, try later",
        ] {
            check(text, None);
        }
        // What lies beyond is not looked at.
        check(&format!("{}\nEACCES", "x".repeat(LOOKED_AT_BYTES_MAX)), None);
    }

    #[test]
    fn only_a_result_that_is_an_error_counts() {
        let result = |is_error: &str| {
            let text = format!(
                "{{\"content\":[{{\"type\":\"image\"}},{{\"type\":\"text\",\"text\":\"EPERM\"}}]{is_error}}}"
            );
            Json::parse(text.as_bytes(), JsonLimits::CALL).unwrap()
        };
        assert!(Violation::of_result(&result(",\"isError\":true")).is_some());
        for is_error in ["", ",\"isError\":false", ",\"isError\":\"true\""] {
            assert_eq!(Violation::of_result(&result(is_error)), None, "{is_error}");
        }
    }
}
