//! Hosts in a sentence: the web, local addresses, lists and patterns.
//!
//! What a pattern holds for is not known here.

use ic_policy::Effect;

use super::{Clauses, Stuck};
use crate::parse::place::{any_host, host_of, list_of, look_alike, never_holds, word_with_port};
use crate::sentence::{HostPlace, Place};

/// The ways to say the web.
const WEB: [&[&str]; 3] = [&["web"], &["internet"], &["public", "web"]];
/// The ways to say every host, local ones too.
const ANY_HOST: [[&str; 2]; 8] = [
    ["any", "host"],
    ["any", "website"],
    ["every", "host"],
    ["every", "website"],
    ["all", "hosts"],
    ["all", "websites"],
    ["any", "hosts"],
    ["any", "websites"],
];
const LOCAL: [&[&str]; 3] = [&["local", "addresses"], &["local", "network"], &["local", "hosts"]];

impl Clauses<'_> {
    /// Reads one host.
    pub(super) fn host(&mut self) -> Result<HostPlace, Stuck> {
        let is_any = ANY_HOST.iter().any(|it| self.take(it));
        self.names_any_host |= is_any;
        if is_any || WEB.iter().any(|it| self.take(it)) {
            return Ok(HostPlace::Pattern(any_host().ok_or_else(|| self.stuck("no pattern"))?));
        }
        if LOCAL.iter().any(|it| self.take(it)) {
            return Ok(HostPlace::Local);
        }
        self.nouns();
        let Some(word) = self.words.first() else { return Err(self.stuck("a host is missing")) };
        if let Some(list) = list_of(word) {
            self.skip(1);
            return Ok(HostPlace::List(list));
        }
        if word.text.starts_with(['/', '~']) {
            let problem =
                "this is a directory; a sentence has one kind of place, and this verb has hosts";
            return Err(Stuck::at(Some(word), problem));
        }
        if let Some(place) = word_with_port(word) {
            let problem = format!(
                "`{place}` has no port and no scheme; name the hosts, or put the word in backticks if a host is \
                 called so"
            );
            return Err(Stuck::at(Some(word), problem));
        }
        match host_of(word) {
            Some(pattern) => {
                if let Some(problem) = look_alike(word) {
                    return Err(Stuck::at(Some(word), problem));
                }
                if let Some(problem) = never_holds(&pattern) {
                    return Err(Stuck::at(Some(word), problem));
                }
                self.skip(1);
                Ok(HostPlace::Pattern(pattern))
            }
            None => Err(Stuck::at(
                Some(word),
                "a host is written as `docs.rs`, `*.docs.rs`, `localhost:3000`, the web or local addresses",
            )),
        }
    }

    /// Returns the place that a sentence with this effect means.
    ///
    /// SECURITY: *never … from any host* is a *never* for local addresses, too, and the web is not; where
    /// something is allowed, it is the web alone.
    pub(crate) fn place_for(&self, effect: Effect, place: Place) -> Place {
        let is_everywhere = self.names_any_host && effect != Effect::Allow;
        if is_everywhere { Place::Anywhere } else { place }
    }
}
