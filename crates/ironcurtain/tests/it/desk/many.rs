//! Many questions at once, each with its own answer.

use super::{Desk, approve, deny};

const N_CALLS: usize = 20;

#[test]
fn twenty_calls_wait_at_once_and_each_gets_its_own_answer() {
    let mut desk = Desk::new();
    let mut proxy = desk.start();
    let name = |n: usize| format!("{n}.txt");
    let ids: Vec<String> =
        (0..N_CALLS).map(|n| desk.ask_write(&mut proxy, &name(n), &n.to_string())).collect();
    let questions = desk.questions(N_CALLS);
    let mut numbers: Vec<u64> = questions.iter().map(ic_escalation::Pending::number).collect();
    // Those of one millisecond are numbered as they were seen.
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=20).collect::<Vec<u64>>());
    for question in questions.iter().rev() {
        let content = question.request().arguments.get("content");
        let n: usize = content.and_then(|it| it.as_str()).unwrap().parse().unwrap();
        if n.is_multiple_of(2) { approve(question) } else { deny(question) }
    }
    for (n, id) in ids.iter().enumerate() {
        let answer = proxy.answer(id);
        let content = desk.read(&name(n));
        if n.is_multiple_of(2) {
            answer.good();
            assert_eq!(content.unwrap(), n.to_string());
        } else {
            assert!(answer.bad().starts_with("ESCALATION DENIED: "), "{}", answer.line);
            assert_eq!(content, None);
        }
    }
    proxy.finish();
    assert_eq!(desk.events("escalation").len(), 2 * N_CALLS);
    desk.check_log();
}
