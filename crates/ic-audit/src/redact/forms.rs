//! Secrets that are known by how they are built: PEM blocks, web tokens, URLs, tokens of bots.

use super::runs::{Class, is_quote};
use super::scan::{Evidence, Scan};
use super::shapes::Left;
use super::value::{is_random, is_reference};

/// In the heading of every PEM block that holds a private key; forms write the space as `+`.
pub(super) const PEM: &str = "PRIVATE";
/// The base64 of `{"`, with which the header of every JSON Web Token begins.
pub(super) const JWT: &str = "eyJ";
/// Before the host of a URL.
pub(super) const URL: &str = "://";
/// Before a token, in any case.
pub(super) const BEARER: &str = "bearer";
/// Between the number of a Telegram bot and its secret.
pub(super) const TELEGRAM: &str = ":AA";

/// Before the user and password that `curl` is given, short and long.
pub(super) const CURL_USER: [&str; 2] = ["-u ", "--user "];

const PRIVATE_KEY: &str = "private-key";
const WEB_TOKEN: &str = "jwt";
const URL_PASSWORD: &str = "url-password";
const URL_TOKEN: &str = "url-token";
const BEARER_TOKEN: &str = "bearer-token";
const TELEGRAM_TOKEN: &str = "telegram-token";
const DISCORD_TOKEN: &str = "discord-token";

/// The kinds that this file finds.
pub(super) const KINDS: [&str; 7] =
    [PRIVATE_KEY, WEB_TOKEN, URL_PASSWORD, URL_TOKEN, BEARER_TOKEN, TELEGRAM_TOKEN, DISCORD_TOKEN];

/// How a Discord bot's number begins in base64: two digits, and the half of a third.
pub(super) fn discord_beginnings() -> impl Iterator<Item = [u8; 3]> {
    let pairs = ["MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"];
    let thirds = b"AEIMQUYcgk";
    pairs.into_iter().flat_map(move |pair| {
        thirds.iter().filter_map(move |third| match pair.as_bytes() {
            [first, second] => Some([*first, *second, *third]),
            _ => None,
        })
    })
}

// PEM blocks.
impl Scan<'_> {
    /// Opens or closes a block at its heading.
    pub(super) fn on_pem(&mut self, at: usize) {
        let Some(b"PRIVATE KEY" | b"PRIVATE+KEY") = self.rest(at).first_chunk::<11>() else {
            return;
        };
        let Some((start, edge)) = self.pem_edge(at) else { return };
        let mut end = at + "PRIVATE KEY".len();
        if let Some(b" BLOCK" | b"+BLOCK") = self.rest(end).first_chunk::<6>() {
            end += " BLOCK".len();
        }
        let dashes = self.rest(end).iter().take_while(|byte| matches!(byte, b'-' | b' ' | b'+'));
        end += dashes.take(PEM_DASHES).count();
        match (edge, self.pem_start) {
            (PemEdge::Begin, None) => self.pem_start = Some(start),
            (PemEdge::Begin, Some(_)) => {}
            (PemEdge::End, Some(begun)) => {
                self.pem_start = None;
                self.find(begun, end, PRIVATE_KEY, Evidence::Shape);
            }
            (PemEdge::End, None) => {
                // The beginning was cut off: what stands before is the key.
                let n_body = self.slice(0, start).iter().rev().take_while(|b| is_pem_body(**b));
                let n_body = n_body.count();
                if PEM_BODY_MIN <= n_body {
                    self.find(start - n_body, end, PRIVATE_KEY, Evidence::Shape);
                }
            }
        }
    }

    /// Returns where the heading around `at` starts, and whether it begins or ends a block.
    fn pem_edge(&self, at: usize) -> Option<(usize, PemEdge)> {
        let before = self.slice(at.saturating_sub(PEM_LABEL_MAX), at);
        let is_label = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b" +".contains(b);
        let n_label = before.iter().rev().take_while(|b| is_label(b)).count();
        let dashed = before.get(..before.len() - n_label)?;
        let label = before.get(dashed.len()..)?;
        let edge = match label.trim_ascii_start() {
            [b'B', b'E', b'G', b'I', b'N', ..] => PemEdge::Begin,
            [b'E', b'N', b'D', ..] => PemEdge::End,
            _ => return None,
        };
        let n_dashes = dashed.iter().rev().take_while(|b| **b == b'-').take(PEM_DASHES).count();
        (0 < n_dashes).then_some((at - n_label - n_dashes, edge))
    }

    /// Takes a block whose end is missing to the end of the text.
    pub(super) fn end_pem(&mut self) {
        if let Some(start) = self.pem_start.take() {
            self.find(start, self.bytes.len(), PRIVATE_KEY, Evidence::Shape);
        }
    }
}

/// Which heading of a block this is.
#[derive(Clone, Copy)]
enum PemEdge {
    Begin,
    End,
}

/// How many dashes stand at each side of a heading.
const PEM_DASHES: usize = 5;
/// The longest label before `PRIVATE KEY`, with its dashes.
const PEM_LABEL_MAX: usize = 48;
/// Less than this before the end of a block is no part of a key.
const PEM_BODY_MIN: usize = 16;

const fn is_pem_body(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\r' | b'\n' | b'\\')
}

// Tokens.
impl Scan<'_> {
    /// Finds a JSON Web Token: a header, a dot, and either another object or another dot.
    pub(super) fn on_jwt(&mut self, at: usize) {
        const HEADER_MIN: usize = 10;
        if at < self.jwt_end || !self.rest(at).starts_with(JWT.as_bytes()) {
            return;
        }
        let header_end = self.runs.end(Class::Url64, at);
        // What begins later in the same run has the same end, and is shorter.
        self.jwt_end = header_end;
        if header_end - at < HEADER_MIN || self.byte(header_end) != Some(b'.') {
            return;
        }
        let payload_start = header_end + 1;
        let payload_end = self.runs.end(Class::Url64, payload_start);
        let is_object = self.rest(payload_start).starts_with(JWT.as_bytes());
        if is_object || self.byte(payload_end) == Some(b'.') {
            let end = self.runs.end(Class::Dotted, at);
            self.find(at, end, WEB_TOKEN, Evidence::Shape);
        }
    }

    pub(super) fn on_bearer(&mut self, at: usize) {
        const LEN_MIN: usize = 16;
        let Some(word) = self.rest(at).first_chunk::<6>() else { return };
        if !word.eq_ignore_ascii_case(BEARER.as_bytes()) {
            return;
        }
        let n_spaces = self.rest(at + word.len()).iter().take_while(|b| **b == b' ').count();
        let start = at + word.len() + n_spaces;
        let end = self.runs.end(Class::Blob, start);
        let token = self.slice(start, end);
        let has_digit = token.iter().take(LEN_MIN * 4).any(u8::is_ascii_digit);
        if 0 < n_spaces && LEN_MIN <= token.len() && has_digit {
            self.find(start, end, BEARER_TOKEN, Evidence::Context);
        }
    }

    pub(super) fn on_telegram(&mut self, at: usize) {
        const NUMBER_MIN: usize = 8;
        const NUMBER_MAX: usize = 12;
        const SECRET_MIN: usize = 35;
        if !self.rest(at).starts_with(TELEGRAM.as_bytes()) {
            return;
        }
        let before = self.slice(at.saturating_sub(NUMBER_MAX), at);
        let n_digits = before.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        let end = self.runs.end(Class::Url64, at + 1);
        if NUMBER_MIN <= n_digits && SECRET_MIN <= end - (at + 1) {
            self.find(at - n_digits, end, TELEGRAM_TOKEN, Evidence::Shape);
        }
    }

    /// Finds a Discord bot's token: its number, a time and a signature.
    pub(super) fn on_discord(&mut self, at: usize) {
        const LENS: [(usize, usize); 3] = [(22, 30), (6, 7), (27, 64)];
        let begins = matches!(self.byte(at), Some(b'M' | b'N' | b'O'));
        if !begins || !self.begins(Left::WordStart, at) {
            return;
        }
        let mut end = at;
        for (number, (len_min, len_max)) in LENS.into_iter().enumerate() {
            if 0 < number {
                if self.byte(end) != Some(b'.') {
                    return;
                }
                end += 1;
            }
            let part = self.rest(end).iter().take_while(|byte| Class::Url64.holds(**byte));
            let len = part.take(len_max).count();
            if len < len_min {
                return;
            }
            end += len;
        }
        let end = self.runs.end(Class::Url64, end);
        self.find(at, end, DISCORD_TOKEN, Evidence::Shape);
    }
}

// URLs.
impl Scan<'_> {
    /// Finds the password, or the token in place of a user, between `://` and the host.
    pub(super) fn on_url(&mut self, at: usize) {
        const TOKEN_MIN: usize = 20;
        if !self.rest(at).starts_with(URL.as_bytes()) {
            return;
        }
        let user_start = at + URL.len();
        let user_end = self.runs.end(Class::User, user_start);
        match self.byte(user_end) {
            Some(b'@') => {
                let user = self.slice(user_start, user_end);
                if TOKEN_MIN <= user.len() && is_random(user) {
                    self.find(user_start, user_end, URL_TOKEN, Evidence::Context);
                }
            }
            Some(b':') => {
                let start = user_end + 1;
                if let Some(end) = self.url_password_end(start)
                    && !is_reference(self.slice(start, end))
                {
                    self.find(start, end, URL_PASSWORD, Evidence::Context);
                }
            }
            Some(_) | None => {}
        }
    }

    /// Finds the password in `curl -u user:password`.
    pub(super) fn on_curl_user(&mut self, flag: &str, at: usize) {
        const COMMAND_LEN_MAX: usize = 128;
        if !self.rest(at).starts_with(flag.as_bytes()) || !self.begins(Left::KebabStart, at) {
            return;
        }
        let is_quoted = self.byte(at + flag.len()).is_some_and(is_quote);
        let user_start = at + flag.len() + usize::from(is_quoted);
        let start = self.runs.end(Class::User, user_start) + 1;
        let end = self.runs.end(Class::Value, start);
        let password = self.slice(start, end);
        let command = self.slice(at.saturating_sub(COMMAND_LEN_MAX), at);
        if self.byte(start - 1) == Some(b':')
            && !is_reference(password)
            && command.windows(4).any(|word| word == b"curl")
        {
            self.find(start, end, URL_PASSWORD, Evidence::Context);
        }
    }

    fn url_password_end(&mut self, start: usize) -> Option<usize> {
        const LEN_MAX: usize = 256;
        let authority_end = self.runs.end(Class::Authority, start);
        let authority = self.slice(start, authority_end);
        if let Some(len) = authority.iter().rposition(|byte| *byte == b'@') {
            return Some(start + len);
        }
        if authority.iter().all(u8::is_ascii_digit) {
            return None;
        }
        // People forget to encode `/` in passwords.
        let end = self.runs.end(Class::BeforeAt, start);
        let is_host = self.byte(end + 1).is_some_and(|byte| byte.is_ascii_alphanumeric());
        (self.byte(end) == Some(b'@') && is_host && end - start <= LEN_MAX).then_some(end)
    }
}
