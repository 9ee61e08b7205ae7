//! An answer as it came: status, headers, body, each within its limit.
//!
//! Nothing is made of it here.

/// The most that is read of a body, and the most that comes out when it is unpacked.
pub(super) const BODY_BYTES_MAX: usize = 10 << 20;

/// What a host answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) reason: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// Whether the body is longer than what is held.
    pub(super) is_cut: bool,
}

impl Answer {
    /// Returns the first header called `name`, which is in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns where a redirect leads, if this is one.
    pub(super) fn location(&self) -> Option<&str> {
        match self.status {
            301 | 302 | 303 | 307 | 308 => self.header("location"),
            _ => None,
        }
    }
}
