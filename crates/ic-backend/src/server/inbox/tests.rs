//! What a server says of its own accord, in time that stands still.

use ic_inventory::Asks;
use ic_types::ServerName;

use super::*;

/// What is sent to a server, and what is told of it.
struct Rig {
    inbox: Inbox,
    outgoing: mpsc::Receiver<String>,
    news: mpsc::Receiver<News>,
    logs: mpsc::Receiver<News>,
}

impl Rig {
    fn new() -> Self {
        let name: ServerName = "s".parse().unwrap();
        let (connection, outgoing) = Connection::new(name, Asks::default());
        let (tell, news) = mpsc::channel(8);
        let (tell_log, logs) = mpsc::channel(2);
        let mut roots = Object::new();
        roots.insert("roots", Vec::new());
        let inbox = Inbox::new(connection, Json::Object(roots), tell, tell_log);
        Self { inbox, outgoing, news, logs }
    }

    #[track_caller]
    fn says(&mut self, line: &str) {
        self.inbox.take(line.as_bytes()).unwrap();
    }

    /// Lets the server ask, and returns what it is answered.
    #[track_caller]
    fn asks(&mut self, method: &str) -> String {
        self.says(&format!(r#"{{"jsonrpc":"2.0","id":"q","method":"{method}"}}"#));
        self.outgoing.try_recv().unwrap().trim_end().to_owned()
    }

    /// Lets the server notify, and returns what is told of it.
    #[track_caller]
    fn notifies(&mut self, method: &str, params: &str) -> Option<News> {
        self.says(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
        assert!(self.outgoing.try_recv().is_err(), "a notification is answered");
        self.news.try_recv().ok()
    }

    /// Says nonsense until the connection has to end, and returns how often that took.
    fn strikes_left(&mut self) -> u32 {
        (1..=STRIKES_MAX * 2).find(|_| self.inbox.take(b"nonsense").is_err()).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_ping_is_answered() {
    assert_eq!(Rig::new().asks("ping"), r#"{"jsonrpc":"2.0","id":"q","result":{}}"#);
}

#[tokio::test(start_paused = true)]
async fn the_roots_are_those_of_the_session() {
    let answer = Rig::new().asks("roots/list");
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}"#);
}

#[tokio::test(start_paused = true)]
async fn whatever_else_a_server_asks_for_is_refused_and_told() {
    for (method, why) in [
        ("sampling/createMessage", "servers may not use the client's model here"),
        ("elicitation/create", "servers may not send requests to the user here"),
        ("tools/call", "servers may not ask for this here"),
        ("ROOTS/LIST", "servers may not ask for this here"),
        ("", "servers may not ask for this here"),
    ] {
        let mut rig = Rig::new();
        let answer = rig.asks(method);
        assert!(answer.contains(why) && answer.contains("-32601"), "{method}: {answer}");
        assert!(matches!(rig.news.try_recv(), Ok(News::Refused(told, _)) if told == method));
    }
}

#[tokio::test(start_paused = true)]
async fn the_name_of_what_was_asked_for_is_told_in_part() {
    let mut rig = Rig::new();
    rig.asks(&"x".repeat(500));
    assert!(matches!(rig.news.try_recv(), Ok(News::Refused(told, _)) if told.len() == 64));
}

#[tokio::test(start_paused = true)]
async fn tools_that_changed_are_told() {
    let news = Rig::new().notifies("notifications/tools/list_changed", "{}");
    assert!(matches!(news, Some(News::ToolsChanged)));
}

#[tokio::test(start_paused = true)]
async fn other_lists_that_changed_are_told_by_their_name() {
    for method in ["notifications/resources/list_changed", "notifications/prompts/list_changed"] {
        let news = Rig::new().notifies(method, "{}");
        assert!(matches!(news, Some(News::ListChanged(told)) if told == method));
    }
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_changed_is_told_by_its_uri() {
    let mut rig = Rig::new();
    let news = rig.notifies("notifications/resources/updated", r#"{"uri":"a:b"}"#);
    assert!(matches!(news, Some(News::ResourceUpdated(uri)) if uri == "a:b"));
    assert!(rig.notifies("notifications/resources/updated", "{}").is_none());
    assert_eq!(rig.strikes_left(), STRIKES_MAX - 1, "one without a uri is nonsense");
}

#[tokio::test(start_paused = true)]
async fn what_a_server_logs_carries_its_name_and_nothing_that_is_unknown() {
    let mut rig = Rig::new();
    let params = r#"{"level":"info","logger":"l","data":{"x":1},"more":2}"#;
    assert!(rig.notifies("notifications/message", params).is_none());
    let Ok(News::Log(log)) = rig.logs.try_recv() else { panic!("there is no log") };
    assert_eq!(Json::Object(log).to_string(), r#"{"logger":"s/l","level":"info","data":{"x":1}}"#);
}

#[tokio::test(start_paused = true)]
async fn a_log_that_nobody_has_time_for_is_dropped_and_what_must_not_be_missed_is_not() {
    let mut rig = Rig::new();
    for _ in 0..10 {
        rig.notifies("notifications/message", r#"{"level":"info","data":1}"#);
    }
    assert!(rig.notifies("notifications/tools/list_changed", "{}").is_some());
    let told = std::iter::from_fn(|| rig.logs.try_recv().ok()).count();
    assert_eq!(told, 2, "there is room for two");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_known_is_passed_over() {
    let mut rig = Rig::new();
    assert!(rig.notifies("notifications/of/a/later/revision", "{}").is_none());
    assert!(rig.notifies("notifications/cancelled", r#"{"requestId":3}"#).is_none());
    for blank in ["", " ", "\t\r"] {
        rig.says(blank);
    }
    assert_eq!(rig.strikes_left(), STRIKES_MAX, "none of this is nonsense");
}

#[tokio::test(start_paused = true)]
async fn nonsense_ends_the_connection_after_a_while() {
    let mut rig = Rig::new();
    for n in 1..STRIKES_MAX {
        rig.inbox.take(b"nonsense").unwrap_or_else(|_| panic!("it ended after {n}"));
    }
    let ended = rig.inbox.take(b"nonsense").unwrap_err();
    assert!(ended.to_string().contains("not a protocol message"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_waits_for_is_nonsense() {
    for line in [
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"7","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#,
        r#"[{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}]"#,
    ] {
        let mut rig = Rig::new();
        rig.says(line);
        assert_eq!(rig.strikes_left(), STRIKES_MAX - 1, "{line}");
        assert!(rig.news.try_recv().is_err(), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_waits_for_and_that_cannot_be_read_is_nonsense_twice() {
    let mut rig = Rig::new();
    rig.says(r#"{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}"#);
    assert_eq!(rig.strikes_left(), STRIKES_MAX - 2);
}

#[tokio::test(start_paused = true)]
async fn an_answer_over_the_way_of_another_one_is_nonsense() {
    let answer = br#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    for exchange in [Exchange::None, Exchange::Of(8)] {
        let mut rig = Rig::new();
        rig.inbox.take_of(answer, exchange).unwrap();
        assert_eq!(rig.strikes_left(), STRIKES_MAX - 1, "{exchange:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_notification_that_is_too_long_is_nonsense() {
    let mut rig = Rig::new();
    let long = format!(r#"{{"x":"{}"}}"#, "x".repeat(NOTIFICATION_BYTES_MAX));
    assert!(rig.notifies("notifications/tools/list_changed", &long).is_none());
    assert_eq!(rig.strikes_left(), STRIKES_MAX - 1);
}

#[tokio::test(start_paused = true)]
async fn a_flood_ends_the_connection_and_the_same_over_time_does_not() {
    let line = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let mut rig = Rig::new();
    for second in 0..5 {
        for n in 0..CHATTER_MAX {
            rig.inbox.take(line).unwrap_or_else(|_| panic!("after {n} in second {second}"));
        }
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    let ended = (0..=CHATTER_MAX).find_map(|_| rig.inbox.take(line).err()).unwrap();
    assert!(ended.to_string().contains("a flood"), "{ended}");
}

#[tokio::test(start_paused = true)]
async fn few_long_messages_are_a_flood_too() {
    let long = "x".repeat(200 << 10);
    let line =
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"x":"{long}"}}}}"#);
    let mut rig = Rig::new();
    let n = (1..100).find(|_| rig.inbox.take(line.as_bytes()).is_err()).unwrap();
    assert!((15..30).contains(&n), "{n}");
}

#[tokio::test(start_paused = true)]
async fn progress_of_a_call_that_is_not_there_is_told_to_nobody() {
    let mut rig = Rig::new();
    assert!(
        rig.notifies("notifications/progress", r#"{"progressToken":7,"progress":1}"#).is_none()
    );
    assert_eq!(rig.strikes_left(), STRIKES_MAX, "a call may just have ended");
    let mut rig = Rig::new();
    assert!(rig.notifies("notifications/progress", r#"{"progress":1}"#).is_none());
    assert_eq!(rig.strikes_left(), STRIKES_MAX - 1, "without a token it is of no call");
}
