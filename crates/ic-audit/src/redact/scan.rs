//! One pass over one text: what is found, where, and what it is called.
//!
//! The rules are in `shapes`, `forms`, `names` and `assignment`; this file joins their findings.

use super::index::{Clue, Index};
use super::own_keys::OwnKeys;
use super::runs::Runs;
use super::shapes::{Left, SHAPES, Shape};
use super::{forms, names};

/// How every mark begins; the kind and `>` follow.
pub(super) const MARK: &str = "<redacted:";

/// The kind of our own keys.
const OWN_KEY: &str = "own-key";

/// A secret that was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: &'static str,
    pub(super) evidence: Evidence,
}

/// How sure the kind is; of overlapping findings, the surest gives the name.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Evidence {
    /// It was redacted before; this is the mark.
    Mark,
    /// Something near it says that this is a secret.
    Context,
    /// It has the shape of one.
    Shape,
    /// It is one of ours.
    Exact,
}

/// The state of a pass.
pub(super) struct Scan<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) runs: Runs<'a>,
    own_keys: &'a OwnKeys,
    spans: Vec<Span>,
    /// Of all findings, the start and end of the one that reaches furthest.
    furthest: (usize, usize),
    /// Where the last mark ends; nothing inside a mark is looked at.
    mark_end: usize,
    /// Where a PEM block began whose end was not seen yet.
    pub(super) pem_start: Option<usize>,
    /// Up to here nothing more can begin a JSON Web Token.
    pub(super) jwt_end: usize,
}

/// Returns the secrets in `bytes`, in no order and with overlaps.
pub(super) fn spans(index: &Index, own_keys: &OwnKeys, bytes: &[u8]) -> Vec<Span> {
    // Nearly all texts hold no clue, and then nothing is set up either.
    let mut scan = None;
    index.each(bytes, |clue, at| {
        scan.get_or_insert_with(|| Scan::new(own_keys, bytes)).look(clue, at);
    });
    scan.map(Scan::finish).unwrap_or_default()
}

/// Returns the mark at the start of `text`, if there is one that we wrote.
pub(super) fn mark_at(text: &[u8]) -> Option<Mark> {
    const KIND_LEN_MAX: usize = 32;
    let rest = text.strip_prefix(MARK.as_bytes())?;
    let len = rest.iter().take(KIND_LEN_MAX).position(|byte| *byte == b'>')?;
    let kind = rest.get(..len)?;
    let kinds = SHAPES.iter().map(|shape| shape.kind);
    let kinds = kinds.chain(names::NAMES.iter().map(|name| name.kind));
    let mut kinds = kinds.chain(forms::KINDS).chain([OWN_KEY]);
    let kind = kinds.find(|known| known.as_bytes() == kind)?;
    Some(Mark { kind, len: MARK.len() + len + 1 })
}

/// What stands in place of a secret.
pub(super) struct Mark {
    kind: &'static str,
    pub(super) len: usize,
}

impl<'a> Scan<'a> {
    fn new(own_keys: &'a OwnKeys, bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            runs: Runs::new(bytes),
            own_keys,
            spans: Vec::new(),
            furthest: (0, 0),
            mark_end: 0,
            pem_start: None,
            jwt_end: 0,
        }
    }

    fn finish(mut self) -> Vec<Span> {
        self.end_pem();
        self.spans
    }

    fn look(&mut self, clue: Clue, at: usize) {
        if at < self.mark_end {
            return;
        }
        match clue {
            Clue::Token(shape, prefix) => self.on_token(shape, prefix, at),
            Clue::Word(word) => self.on_word(word, at),
            Clue::OwnKey(number) => self.on_own_key(number, at),
            Clue::Mark => self.on_mark(at),
            Clue::Pem => self.on_pem(at),
            Clue::Jwt => self.on_jwt(at),
            Clue::Url => self.on_url(at),
            Clue::CurlUser(flag) => self.on_curl_user(flag, at),
            Clue::Bearer => self.on_bearer(at),
            Clue::Telegram => self.on_telegram(at),
            Clue::Discord => self.on_discord(at),
        }
    }

    fn on_token(&mut self, shape: &'static Shape, prefix: &str, at: usize) {
        if !self.rest(at).starts_with(prefix.as_bytes()) || !self.begins(shape.left, at) {
            return;
        }
        let body_start = at + prefix.len();
        let end = self.runs.end(shape.body, body_start);
        if end - body_start >= shape.len_min && shape.look.fits(self.slice(body_start, end)) {
            self.find(at, end, shape.kind, Evidence::Shape);
        }
    }

    fn on_own_key(&mut self, number: usize, at: usize) {
        if let Some(len) = self.own_keys.len_at(number, self.rest(at)) {
            self.find(at, at + len, OWN_KEY, Evidence::Exact);
        }
    }

    fn on_mark(&mut self, at: usize) {
        if let Some(mark) = mark_at(self.rest(at)) {
            self.mark_end = at + mark.len;
            self.spans.push(Span {
                start: at,
                end: self.mark_end,
                kind: mark.kind,
                evidence: Evidence::Mark,
            });
        }
    }

    /// Notes that a secret stands from `start` to `end`.
    pub(super) fn find(
        &mut self,
        start: usize,
        end: usize,
        kind: &'static str,
        evidence: Evidence,
    ) {
        if self.furthest.1 < end {
            self.furthest = (start, end);
        }
        self.spans.push(Span { start, end, kind, evidence });
    }

    /// Returns whether the byte at `at` lies in a secret that was found already.
    pub(super) fn is_found(&self, at: usize) -> bool {
        let (start, end) = self.furthest;
        self.pem_start.is_some() || start <= at && at < end
    }

    /// Returns whether a token can begin at `at`; it can always begin where another ends.
    pub(super) fn begins(&self, left: Left, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return true };
        let Some(byte) = self.bytes.get(before) else { return true };
        let is_word = byte.is_ascii_alphanumeric() || *byte == b'_';
        let is_free = match left {
            Left::Anything => true,
            Left::WordStart => !is_word,
            Left::KebabStart => !is_word && *byte != b'-',
        };
        is_free || self.is_found(before) || self.ends_colour(before)
    }

    /// Returns whether the letter at `at` ends a sequence that colours a terminal.
    fn ends_colour(&self, at: usize) -> bool {
        const LEN_MAX: usize = 16;
        let before = self.slice(at.saturating_sub(LEN_MAX), at).iter().rev();
        let mut before = before.skip_while(|byte| byte.is_ascii_digit() || **byte == b';');
        before.next() == Some(&b'[') && before.next() == Some(&0x1b)
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn rest(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }
}
