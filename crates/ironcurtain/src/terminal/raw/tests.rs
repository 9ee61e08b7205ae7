//! Tests of the ways out, at a terminal that nobody looks at.

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::*;

/// Makes a terminal: what it shows, and what a program sees of it.
fn terminal() -> (OwnedFd, OwnedFd) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK;
    (screen, rustix::fs::open(name, flags, Mode::empty()).unwrap())
}

fn is_raw(terminal: &OwnedFd) -> bool {
    let modes = tcgetattr(terminal).unwrap();
    !modes.local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
}

/// One test, because a process has one terminal.
#[test]
fn a_terminal_is_given_back_on_every_way_out() {
    let (_screen, terminal) = terminal();
    let enter = || RawMode::enter(&terminal).unwrap();
    assert!(!is_raw(&terminal));
    let raw = enter();
    assert!(is_raw(&terminal));
    drop(raw);
    assert!(!is_raw(&terminal), "by leaving");
    let raw = enter();
    restore();
    assert!(!is_raw(&terminal), "by whoever hears a signal");
    restore();
    drop(raw);
    assert!(!is_raw(&terminal));
    // A panic gives it back before anything is said about it, even if nothing is dropped.
    let raw = enter();
    let panicked = std::thread::spawn(|| panic!("on purpose")).join();
    assert!(panicked.is_err());
    assert!(!is_raw(&terminal), "by a panic");
    drop(raw);
    // Whoever takes it twice gives back what was there at first.
    let raw = enter();
    RawMode::again(&terminal).unwrap();
    assert!(is_raw(&terminal));
    drop(raw);
    assert!(!is_raw(&terminal));
}
