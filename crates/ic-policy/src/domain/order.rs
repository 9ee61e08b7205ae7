//! Which of two patterns means more: whether one holds wherever the other does, and whether they meet.
//!
//! Used when a policy is put together, never to decide about a call.

use ic_types::Host;

use super::pattern::{Constraint, DomainPattern, HostPattern, Reading};

impl DomainPattern {
    /// Returns whether this pattern holds for everything that `other` holds for.
    ///
    /// In doubt it says no.
    pub fn covers(&self, other: &Self) -> bool {
        (self.host.covers(&other.host) || self.is_all_outside() && other.is_outside())
            && self.constraint.covers(&other.constraint)
            && self.covers_repository(other)
    }

    /// Returns whether this holds for every address that is not local, as `*` at every port does.
    fn is_all_outside(&self) -> bool {
        self.host == HostPattern::AnyPublic && self.constraint.is_any_port
    }

    fn is_outside(&self) -> bool {
        matches!(&self.host, HostPattern::Exact(host) if host.can_be_outside())
    }

    fn covers_repository(&self, other: &Self) -> bool {
        match (&self.repository, &other.repository) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(one), Some(other)) if self.reading == Reading::Widely => {
                one.eq_ignore_ascii_case(other)
            }
            (Some(one), Some(text)) => one == text && other.reading != Reading::Widely,
        }
    }

    /// Returns whether something may exist that both patterns hold for.
    ///
    /// In doubt it says yes.
    pub fn meets(&self, other: &Self) -> bool {
        let is_outside = self.is_all_outside() && other.is_outside()
            || other.is_all_outside() && self.is_outside();
        (self.host.meets(&other.host) || is_outside)
            && self.constraint.meets(&other.constraint)
            && (other.repository.is_none()
                || self.covers_repository(other)
                || other.covers_repository(self))
    }
}

impl HostPattern {
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::AnyPublic, Self::AnyPublic) => true,
            (Self::AnyPublic, Self::Under(name)) => is_public(name),
            (Self::AnyPublic, Self::Exact(host)) => host.is_public_name(),
            (Self::Under(above), Self::Under(name)) => is_under(name, above),
            (Self::Under(above), Self::Exact(Host::Name(name))) => is_under(name.as_str(), above),
            (Self::Exact(this), Self::Exact(other)) => this == other,
            (Self::Under(_), Self::AnyPublic | Self::Exact(Host::V4(_) | Host::V6(_)))
            | (Self::Exact(_), Self::AnyPublic | Self::Under(_)) => false,
        }
    }

    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            // A name beneath a single label can be public though the label itself cannot.
            (Self::AnyPublic, Self::Under(name)) | (Self::Under(name), Self::AnyPublic) => {
                is_public(&format!("x.{name}"))
            }
            (
                Self::AnyPublic | Self::Under(_) | Self::Exact(_),
                Self::AnyPublic | Self::Under(_) | Self::Exact(_),
            ) => self.covers(other) || other.covers(self),
        }
    }
}

impl Constraint {
    fn covers(&self, other: &Self) -> bool {
        if self.is_any_port || other.is_any_port {
            return self.is_any_port;
        }
        if self.scheme.is_some() && self.scheme != other.scheme {
            return false;
        }
        match (self.port, other.port) {
            (None, None) => true,
            (Some(port), Some(other)) => port == other,
            (None, Some(port)) | (Some(port), None) => {
                other.scheme.is_some_and(|scheme| scheme.port() == port)
            }
        }
    }

    fn meets(&self, other: &Self) -> bool {
        if self.is_any_port || other.is_any_port {
            return true;
        }
        let is_one_scheme =
            self.scheme.is_none() || other.scheme.is_none() || self.scheme == other.scheme;
        is_one_scheme
            && match (self.port, other.port) {
                (None, None) => true,
                (Some(port), Some(other)) => port == other,
                (None, Some(port)) | (Some(port), None) => match self.scheme.or(other.scheme) {
                    Some(scheme) => scheme.port() == port,
                    None => matches!(port, 22 | 80 | 443),
                },
            }
    }
}

fn is_public(name: &str) -> bool {
    name.parse::<Host>().is_ok_and(|host| host.is_public_name())
}

fn is_under(name: &str, above: &str) -> bool {
    match name.strip_suffix(above) {
        Some("") => true,
        Some(rest) => rest.ends_with('.'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> DomainPattern {
        DomainPattern::parse(text).unwrap()
    }

    #[test]
    fn a_pattern_covers_what_it_means_and_nothing_more() {
        for (wide, narrow) in [
            ("*", "docs.rs"),
            ("*", "*.docs.rs"),
            ("*.docs.rs", "docs.rs"),
            ("*.docs.rs", "a.b.docs.rs"),
            ("docs.rs", "https://docs.rs"),
            ("docs.rs", "https://docs.rs:443"),
            ("docs.rs:443", "https://docs.rs"),
            ("github.com", "github.com/a/b"),
        ] {
            assert!(pattern(wide).covers(&pattern(narrow)), "{wide} {narrow}");
            assert!(!pattern(narrow).covers(&pattern(wide)), "{narrow} {wide}");
            assert!(pattern(wide).meets(&pattern(narrow)), "{wide} {narrow}");
        }
        for (one, other) in [
            ("docs.rs", "xdocs.rs"),
            ("*.docs.rs", "xdocs.rs"),
            ("*", "127.0.0.1"),
            ("*", "*.internal"),
            ("docs.rs", "docs.rs:8080"),
            ("https://docs.rs", "http://docs.rs"),
            ("https://docs.rs:80", "docs.rs:443"),
            ("github.com/a/b", "github.com/a/c"),
        ] {
            let (one, other) = (pattern(one), pattern(other));
            assert!(!one.meets(&other) && !other.meets(&one), "{one} {other}");
            assert!(!one.covers(&other) && !other.covers(&one), "{one} {other}");
        }
        // Neither means more, and both hold for https at port 443.
        let (one, other) = (pattern("docs.rs:443"), pattern("docs.rs"));
        assert!(one.meets(&other) && !one.covers(&other) && !other.covers(&one));
        assert!(pattern("*").meets(&pattern("*.rs")) && !pattern("*").covers(&pattern("*.rs")));
    }
}
