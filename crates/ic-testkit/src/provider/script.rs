//! What a scripted provider is told to do, in words that fit every format.

use serde_json::{Value, json};

/// What it does when it is asked once.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It answers.
    Says(Said),
    /// It answers with an error.
    Fails(Fault),
    /// It says so many events of an answer, and then an error in the stream.
    FailsAfter(usize, Said, Fault),
    /// It says so many events of an answer, and then closes the connection.
    CutsAfter(usize, Said),
    /// It says so many events of an answer, and then nothing until the client closes the connection.
    HangsAfter(usize, Said),
    /// It writes these bytes, and closes the connection.
    Raw(Vec<u8>),
}

/// A message of the model.
#[derive(Clone, Debug)]
pub struct Said {
    /// What it thinks first, signed.
    pub thought: Option<String>,
    /// What it says.
    pub text: String,
    /// The tools that it wants to be used.
    pub uses: Vec<Use>,
    /// Why it ends.
    pub stop: Stop,
    /// What it takes.
    pub tokens: Tokens,
}

/// A tool use.
#[derive(Clone, Debug)]
pub struct Use {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input.
    pub input: Value,
}

/// Why a message ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stop {
    /// All is said, or tools are wanted.
    Done,
    /// It may not be longer.
    Full,
    /// It is withheld.
    Refused,
}

/// What a message takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Tokens {
    /// All that went in.
    pub input: u64,
    /// Those of them that a cache had.
    pub cached: u64,
    /// Those of them that were put into a cache; only Anthropic tells.
    pub written: u64,
    /// All that came out.
    pub output: u64,
}

/// An answer that is none.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Fault {
    /// The key is wrong.
    BadKey,
    /// There is no such model.
    UnknownModel,
    /// The account is empty.
    NoCredit,
    /// Too many requests; with the value of `retry-after`.
    RateLimit(&'static str),
    /// No capacity; with the value of `retry-after`.
    Overloaded(&'static str),
    /// It fails by itself; with the value of `retry-after`.
    Failing(&'static str),
    /// The conversation is too long.
    TooLong,
    /// The request is wrong, in these words.
    Rejected(String),
}

impl Said {
    /// Says a text.
    pub fn text(text: &str) -> Self {
        let tokens = Tokens { input: 100, cached: 0, written: 0, output: 10 };
        let (thought, uses, text) = (None, Vec::new(), text.to_owned());
        Self { thought, text, uses, stop: Stop::Done, tokens }
    }

    /// Wants code to be run, one tool use for each.
    pub fn code(codes: &[&str]) -> Self {
        let uses = codes.iter().enumerate().map(|(at, code)| Use {
            id: format!("use_{at}_{}", code.len()),
            name: "execute_code".to_owned(),
            input: json!({"code": code}),
        });
        Self { uses: uses.collect(), ..Self::text("") }
    }

    /// Wants one tool to be used; `namespace::name` is what some agents call a tool of a server.
    pub fn tool(id: &str, name: &str, input: Value) -> Self {
        let used = Use { id: id.to_owned(), name: name.to_owned(), input };
        Self { uses: vec![used], ..Self::text("") }
    }

    /// Thinks first.
    #[must_use]
    pub fn thinking(self, thought: &str) -> Self {
        Self { thought: Some(thought.to_owned()), ..self }
    }

    /// Says something before it uses tools.
    #[must_use]
    pub fn saying(self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self }
    }

    /// Takes so many tokens.
    #[must_use]
    pub fn taking(self, input: u64, cached: u64, output: u64) -> Self {
        Self { tokens: Tokens { input, cached, output, written: 0 }, ..self }
    }

    /// Ends for another reason.
    #[must_use]
    pub fn stopping(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }
}

/// Signs a thought, so that one that comes back altered is recognised.
pub fn signature(thought: &str) -> String {
    let sum = thought
        .bytes()
        .fold(17_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("sig{sum:016x}==")
}

/// Encrypts a thought, for those who get it like that.
pub fn encrypted(thought: &str) -> String {
    format!("gAAAA{}{}", thought.len(), signature(thought))
}
