//! The names that people give to secrets, however they spell them.
//!
//! `API_KEY`, `apiKey`, `x-api-key` and `Api Key` are one name. A name counts by its end:
//! `db_password` is a password, `password_length` is none.

use super::runs::Class;

/// A name, and how far it is to be believed.
pub(super) struct Name {
    /// The end of the name, in small letters and digits alone.
    end: &'static str,
    /// What is written in place of the value.
    pub(super) kind: &'static str,
    pub(super) manner: Manner,
}

/// How a value with this name is told from an ordinary word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Manner {
    /// People choose passwords: every value counts that is no placeholder.
    Password,
    /// The same, but `PWD` is also the working directory.
    PasswordOrDirectory,
    /// Machines make tokens: a bare word after `token:` is none.
    Token,
    /// Only what looks made by a machine.
    Doubtful,
    /// The header, with its scheme.
    Authorization,
    /// The header, to the end of the line.
    Cookie,
    /// A part of a URL's query that stands for a signature; elsewhere it is no secret.
    Query,
}

const fn name(end: &'static str, kind: &'static str, manner: Manner) -> Name {
    Name { end, kind, manner }
}

/// Every name; the longer of two that end alike comes first.
pub(super) const NAMES: &[Name] = &[
    name("password", "password", Manner::Password),
    name("passwords", "password", Manner::Password),
    name("passwd", "password", Manner::Password),
    name("passphrase", "password", Manner::Password),
    name("passcode", "password", Manner::Password),
    name("pwd", "password", Manner::PasswordOrDirectory),
    name("secret", "secret", Manner::Token),
    name("secretstring", "secret", Manner::Token),
    name("secretvalue", "secret", Manner::Token),
    name("token", "token", Manner::Token),
    name("tokenvalue", "token", Manner::Token),
    name("apikey", "api-key", Manner::Token),
    name("authkey", "api-key", Manner::Token),
    name("subscriptionkey", "api-key", Manner::Token),
    name("secretaccesskey", "aws-secret-key", Manner::Token),
    name("accountkey", "azure-key", Manner::Token),
    name("sharedaccesskey", "azure-key", Manner::Token),
    name("accesskey", "secret-key", Manner::Token),
    name("secretkey", "secret-key", Manner::Token),
    name("secretkeybase", "secret-key", Manner::Token),
    name("encryptionkey", "secret-key", Manner::Token),
    name("signingkey", "secret-key", Manner::Token),
    name("masterkey", "secret-key", Manner::Token),
    name("privatekey", "private-key", Manner::Token),
    name("authorization", "authorization", Manner::Authorization),
    name("cookie", "cookie", Manner::Cookie),
    name("auth", "authorization", Manner::Doubtful),
    name("credential", "credential", Manner::Doubtful),
    name("credentials", "credential", Manner::Doubtful),
    name("sig", "signature", Manner::Query),
    name("signature", "signature", Manner::Query),
];

/// What a name can end in, as it is written; the scan looks for these.
pub(super) const LAST_WORDS: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "secretstring",
    "secretvalue",
    "secret_value",
    "secret_key_base",
    "token",
    "tokenvalue",
    "token_value",
    "key",
    "authorization",
    "cookie",
    "auth",
    "credential",
    "credentials",
    "sig",
    "signature",
];

/// No end is longer.
const END_LEN_MAX: usize = 20;

/// Tokens that are made to be seen.
const PUBLIC_ENDS: &[&str] = &[
    "pagetoken",
    "nexttoken",
    "continuationtoken",
    "progresstoken",
    "cancellationtoken",
    "synctoken",
    "bostoken",
    "eostoken",
    "padtoken",
    "unktoken",
    "septoken",
    "clstoken",
    "masktoken",
    "starttoken",
    "stoptoken",
    "endtoken",
];

/// Returns the name that `raw` ends in, digits at its end aside.
pub(super) fn classify(raw: &[u8]) -> Option<&'static Name> {
    let n_digits = raw.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let raw = raw.get(..raw.len() - n_digits)?;
    if !can_end(raw) {
        return None;
    }
    let folded = fold(raw);
    let name = NAMES.iter().find(|name| folded.ends_with(name.end.as_bytes()))?;
    // `api key` is a name too, but the `next` before ` --token` is no part of it.
    let word = fold(raw.rsplit(|byte| !Class::Url64.holds(*byte)).next().unwrap_or(raw));
    let is_public = PUBLIC_ENDS.iter().any(|end| word.ends_with(end.as_bytes()));
    (!is_public).then_some(name)
}

/// For each letter that a name ends in, the letters that may stand before it, as bits.
#[expect(clippy::indexing_slicing, reason = "five bits are less than 32")]
const LAST_LETTERS: [u32; 32] = {
    let mut letters = [0; 32];
    let mut names = NAMES;
    while let [name, rest @ ..] = names {
        if let [.., before, last] = name.end.as_bytes() {
            letters[(*last & 31) as usize] |= 1 << (*before & 31);
        }
        names = rest;
    }
    letters
};

/// Returns whether some name has the last two letters of `raw`; nearly all keys end here.
fn can_end(raw: &[u8]) -> bool {
    let [.., before, last] = raw else { return false };
    let letters = LAST_LETTERS.get(usize::from(last & 31)).copied().unwrap_or_default();
    letters >> (before & 31) & 1 == 1 || letters != 0 && !before.is_ascii_alphanumeric()
}

/// Returns the last letters and digits of `raw`, without case and what separates words.
fn fold(raw: &[u8]) -> [u8; END_LEN_MAX] {
    let letters = raw.iter().rev().filter(|byte| byte.is_ascii_alphanumeric());
    let mut folded = [0; END_LEN_MAX];
    for (slot, byte) in folded.iter_mut().rev().zip(letters) {
        *slot = byte.to_ascii_lowercase();
    }
    folded
}
