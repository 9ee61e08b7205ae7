//! What a cage can have on this kernel, by its release; what has to be tried is not known here.

/// Returns whether each PID namespace has a limit of its own.
///
/// SECURITY: before Linux 6.14 there is one for the whole machine, and root would set that. There the
/// guard counts.
pub(super) fn has_own_pid_max() -> bool {
    is_at_least(rustix::system::uname().release().to_bytes(), (6, 14))
}

/// Returns whether links of a mount can be kept from leading anywhere.
pub(super) fn can_cut_links() -> bool {
    is_at_least(rustix::system::uname().release().to_bytes(), (5, 14))
}

/// Returns whether `release`, such as `6.12.3-amd64`, is `least` or later.
fn is_at_least(release: &[u8], least: (u32, u32)) -> bool {
    let release = String::from_utf8_lossy(release);
    let mut numbers = release.split(|it: char| !it.is_ascii_digit()).map(|it| it.parse().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => least <= (major, minor),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_their_numbers() {
        for (release, expected) in [
            ("6.14.0", true),
            ("6.18.3-amd64", true),
            ("10.0", true),
            ("6.9.1", false),
            ("5.15.0-91-generic", false),
            ("6", false),
            ("x.y", false),
        ] {
            assert_eq!(is_at_least(release.as_bytes(), (6, 14)), expected, "{release}");
        }
    }
}
