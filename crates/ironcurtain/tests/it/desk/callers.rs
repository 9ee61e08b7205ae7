//! Questions of several clients on one socket: whoever goes away takes its own along, and no others.

use ic_testkit::{Caller, Proxy};
use rustix::process::Signal;

use super::{Desk, approve};
use crate::proxy::until;

#[test]
fn a_client_that_vanishes_withdraws_its_questions_and_no_others() {
    let mut desk = Desk::new();
    let socket = desk.place.path("sockets/proxy.sock");
    let mut proxy = Proxy::start(&desk.place, &["--socket", socket.to_str().unwrap()]);
    let mut staying = Caller::begin(&socket, "staying");
    let mut leaving = Caller::begin(&socket, "leaving");
    let id = staying.ask_call("filesystem__write_file", &desk.write_call("stays.txt", "x"));
    for name in ["a.txt", "b.txt"] {
        leaving.ask_call("filesystem__write_file", &desk.write_call(name, "x"));
    }
    desk.questions(3);
    drop(leaving);
    let left = desk.question();
    approve(&left);
    staying.answer(&id).good();
    assert_eq!(desk.read("stays.txt").as_deref(), Some("x"));
    assert_eq!((desk.read("a.txt"), desk.read("b.txt")), (None, None));
    until("both are recorded as withdrawn", || {
        desk.events("escalation").iter().filter(|it| *it == "withdrawn").count() == 2
    });
    proxy.signal(Signal::TERM);
    assert_eq!(proxy.end(), 0, "{}", proxy.stderr());
    desk.check_log();
}
