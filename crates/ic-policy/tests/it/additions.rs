//! Additions: what the user says in front of a policy counts by how specific it is, and then by strictness.

use ic_policy::additions;
use ic_policy::artifact::Source;
use ic_policy::{Policy, PolicySources, SandboxKind, Verdict, evaluate};
use ic_types::{CanonicalPath, Role};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::world::{bounds, call, summary};

/// `t` names paths, `u` URLs, `w` nothing.
const ANNOTATIONS: &str = r#"{"servers":{"x":{"tools":[
    {"toolName":"t","args":{"path":["read-path","write-path"]}},
    {"toolName":"u","args":{"url":["fetch-url"]}},
    {"toolName":"w","args":{}}]}}}"#;

fn load(rules: &str, additions: &str) -> Result<Policy, String> {
    let compiled = format!(r#"{{"rules": {rules}}}"#);
    let additions = format!(r#"{{"version": 1, "additions": {additions}}}"#);
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: compiled.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: ANNOTATIONS.as_bytes() },
        lists: None,
    };
    let additions = Source { file: "additions.json", bytes: additions.as_bytes() };
    let locate = |text: &str| CanonicalPath::new(text).map_err(|error| error.to_string());
    Policy::load_with(&sources, Some(additions), &locate).map_err(|error| error.to_string())
}

fn judge(policy: &Policy, tool: &str, role: Option<(Role, &str)>) -> Verdict {
    let values = role.map(|(role, value)| (role, [value]));
    let roles: Vec<(Role, &[&str])> =
        values.iter().map(|(role, values)| (*role, values.as_slice())).collect();
    evaluate(policy, &bounds(SandboxKind::Session), call("x", tool, &roles))
}

#[track_caller]
fn check(rules: &str, additions: &str, path: &str, expected: &str) {
    let policy = load(rules, additions).unwrap();
    assert_eq!(summary(&judge(&policy, "t", Some((Role::ReadPath, path)))), expected, "{path}");
}

const ASK: &str = r#"[{"name":"ask","if":{"paths":{"roles":["read-path"],"within":"/"}},"then":"escalate","reason":"r"}]"#;

#[test]
fn an_addition_holds_in_its_place_and_nowhere_else() {
    let allow = r#"[{"then":"allow","server":"x","tool":"t","within":"/d/a"}]"#;
    check(ASK, allow, "/d/a/f", "allow by added-1-allow-x.t");
    check(ASK, allow, "/d/ab", "escalate by ask (read-path)");
    check(ASK, allow, "/d", "escalate by ask (read-path)");
    // Another tool, another role and another server are not meant.
    let policy = load(ASK, r#"[{"then":"allow","server":"x","tool":"z","within":"/d"}]"#).unwrap();
    let verdict = judge(&policy, "t", Some((Role::ReadPath, "/d/f")));
    assert_eq!(summary(&verdict), "escalate by ask (read-path)");
    let policy =
        load(ASK, r#"[{"then":"allow","server":"x","roles":["read-path"],"within":"/d"}]"#)
            .unwrap();
    let verdict = judge(&policy, "t", Some((Role::WritePath, "/d/f")));
    assert_eq!(summary(&verdict), "deny by default-deny");
}

#[test]
fn what_is_protected_stays_protected() {
    let allow = r#"[{"then":"allow","server":"x","within":"/p"},{"then":"allow","server":"x","within":"/p/key"}]"#;
    check(ASK, allow, "/p/key", "deny by structural-protected-path");
}

#[test]
fn no_addition_overrides_a_never_that_is_as_specific() {
    let never = r#"{"then":"deny","server":"x","tool":"t","within":"/d"}"#;
    let allow = r#"{"then":"allow","server":"x","tool":"t","within":"/d"}"#;
    for both in [format!("[{never},{allow}]"), format!("[{allow},{never}]")] {
        let policy = load(ASK, &both).unwrap();
        let verdict = judge(&policy, "t", Some((Role::ReadPath, "/d/f")));
        assert!(matches!(verdict, Verdict::Deny(_)), "{}", summary(&verdict));
    }
    // One without a place is absolute.
    let both = r#"[{"then":"deny","server":"x"},{"then":"allow","server":"x","tool":"t","within":"/d/a"}]"#;
    check(ASK, both, "/d/a/f", "deny by added-1-never-x");
    // One with a place can have an exception, in whatever order they were said.
    let both = r#"[{"then":"deny","server":"x","within":"/d"},{"then":"allow","server":"x","within":"/d/a"}]"#;
    check(ASK, both, "/d/a/f", "allow by added-2-allow-x");
    check(ASK, both, "/d/f", "deny by added-1-never-x");
}

#[test]
fn a_rule_of_the_policy_counts_where_it_is_not_less_specific() {
    let rules = r#"[
        {"name":"open","if":{"server":["x"],"paths":{"roles":["read-path"],"within":"/d/p/ok"}},"then":"allow","reason":"r"},
        {"name":"private","if":{"paths":{"roles":["read-path"],"within":"/d/p"}},"then":"deny","reason":"r"},
        {"name":"ask","if":{"paths":{"roles":["read-path"],"within":"/"}},"then":"escalate","reason":"r"}]"#;
    let allow = r#"[{"then":"allow","server":"x","within":"/d"}]"#;
    check(rules, allow, "/d/f", "allow by added-1-allow-x");
    check(rules, allow, "/d/p/f", "deny by private");
    check(rules, allow, "/d/p/ok/f", "allow by open");
    // What the policy forbids everywhere stays forbidden.
    let rules = r#"[{"name":"never","if":{"roles":["read-path"]},"then":"deny","reason":"r"}]"#;
    check(rules, allow, "/d/f", "deny by never");
    // What it refuses anywhere else does not.
    let rules = r#"[{"name":"else","if":{"paths":{"roles":["read-path"],"within":"/"}},"then":"deny","reason":"r"}]"#;
    check(rules, allow, "/d/f", "allow by added-1-allow-x");
}

#[test]
fn allowed_without_a_place_is_only_what_names_none() {
    let rules = r#"[{"name":"ask","if":{},"then":"escalate","reason":"r"}]"#;
    let policy = load(rules, r#"[{"then":"allow","server":"x"}]"#).unwrap();
    assert_eq!(summary(&judge(&policy, "w", None)), "allow by added-1-allow-x");
    let verdict = judge(&policy, "t", Some((Role::ReadPath, "/d/f")));
    assert_eq!(summary(&verdict), "escalate by ask (read-path)");
    let verdict = judge(&policy, "u", Some((Role::FetchUrl, "https://b.example")));
    assert_eq!(summary(&verdict), "escalate by ask (fetch-url)");
}

#[test]
fn a_broken_file_is_an_error_with_its_place() {
    for (additions, expected) in [
        ("[", "additions.json: expected a value at line 1"),
        (r#"[{"then":"allow"}]"#, "additions.json: additions[0]: an `allow` needs a server"),
        (r#"[{"then":"allow","within":"/d"}]"#, "additions[0]: an `allow` needs a server"),
        (r#"[{"then":"deny"}]"#, "additions[0]: it names no server, no place and no role"),
        (r#"[{"then":"deny","tool":"t","within":"/d"}]"#, "additions[0]: it names a tool without"),
        (
            r#"[{"then":"maybe","server":"x"}]"#,
            "additions.json: additions[0].then: unknown variant",
        ),
        (r#"[{"then":"allow","server":"x","z":1}]"#, "additions.json: additions[0]"),
        (
            r#"[{"then":"allow","server":"x","within":"d"}]"#,
            "additions.json: additions[0].within: ",
        ),
        (
            r#"[{"then":"allow","server":"x","within":"/"}]"#,
            "additions.json: additions[0].within: an addition cannot allow everything",
        ),
        (r#"[{"then":"allow","server":"x","host":"a b"}]"#, "additions.json: additions[0].host: "),
        (
            r#"[{"then":"allow","server":"x","host":"a.example","within":"/d"}]"#,
            "additions.json: additions[0].host: an addition has `within` or `host`, not both",
        ),
        (
            r#"[{"then":"allow","server":"x","roles":["fetch-url"],"within":"/d"}]"#,
            "additions.json: additions[0].roles: the role `fetch-url` is not about files",
        ),
        (r#"[{"then":"deny","server":"x","roles":[]}]"#, "additions.json: additions[0].roles: "),
        (r#"[{"then":"allow","server":"x","host":"a.example/o/r"}]"#, "additions[0].roles: only"),
    ] {
        let error = load("[]", additions).unwrap_err();
        assert!(error.contains(expected), "{additions}: {error}");
    }
    let entry = r#"{"then":"deny","server":"x"}"#;
    let many = format!("[{}]", vec![entry; additions::ADDITIONS_MAX + 1].join(","));
    assert!(load("[]", &many).unwrap_err().contains("at most 1000"));
}

#[test]
fn without_a_server_every_server_is_meant() {
    let never = r#"{"then":"deny","within":"/d"}"#;
    let every = format!("[{never}]");
    check(ASK, &every, "/d/a/f", "deny by added-1-never");
    check(ASK, &every, "/e", "escalate by ask (read-path)");
    // A rule of the policy that names servers is not the more specific one for that.
    let rules = r#"[{"name":"open","if":{"server":["x"],"paths":{"roles":["read-path"],"within":"/d"}},"then":"allow","reason":"r"}]"#;
    check(rules, &every, "/d/f", "deny by added-1-never");
    // Neither is another addition; one with a place beneath it is.
    let allow = r#"{"then":"allow","server":"x","within":"/d"}"#;
    check(ASK, &format!("[{allow},{never}]"), "/d/f", "deny by added-2-never");
    let beneath = r#"{"then":"allow","server":"x","within":"/d/a"}"#;
    check(ASK, &format!("[{never},{beneath}]"), "/d/a/f", "allow by added-2-allow-x");
    // Without a place nothing makes an exception.
    let never =
        r#"[{"then":"deny","roles":["read-path"]},{"then":"allow","server":"x","within":"/d"}]"#;
    check(ASK, never, "/d/f", "deny by added-1-never");
    // Only servers that have to do with such places get rules.
    let policy = load("[]", r#"[{"then":"deny","roles":["email-address"]}]"#).unwrap();
    assert!(policy.rules().is_empty(), "{:?}", policy.rules());
}

#[test]
fn what_is_written_is_read_back() {
    let text = r#"{"version":1,"additions":[
        {"then":"allow","server":"x","tool":"t","roles":["read-path"],"within":"~/a \"b\"","addedAt":"2026","addedBy":"cli"},
        {"then":"escalate","server":"x","host":"https://*.b.example:8080"},{"then":"deny","server":"x"},
        {"then":"deny","within":"~/p"}]}"#;
    let read = |text: &str| {
        additions::read(Source { file: "additions.json", bytes: text.as_bytes() }).unwrap()
    };
    let all = read(text);
    assert_eq!(all.len(), 4);
    assert_eq!(read(&additions::write(&all)), all);
    assert_eq!(read(&additions::write(&[])), []);
    assert_eq!(all[0].to_string(), "allow x.t for read-path in ~/a \"b\"");
    assert_eq!(all[3].to_string(), "never any server in ~/p");
}

// === a second opinion ===

/// A sentence, or a rule of the policy: what the reference compares.
#[derive(Clone, Debug)]
struct Sentence {
    effect: usize,
    server: Option<&'static str>,
    tool: Option<&'static str>,
    /// A directory, or a host pattern.
    place: Option<&'static str>,
    roles: Option<Vec<Role>>,
    is_rule: bool,
}

const EFFECTS: [&str; 3] = ["allow", "escalate", "deny"];
const PLACES: [&str; 6] = ["/", "/d", "/d/a", "/d/a/b", "/e", "/e/a"];
const HOSTS: [&str; 4] = ["*", "*.b.example", "a.b.example", "c.example"];

fn is_host(place: &str) -> bool {
    !place.starts_with('/')
}

/// Returns whether `wide` holds everything that `narrow` does.
fn holds(wide: Option<&str>, narrow: Option<&str>) -> bool {
    match (wide, narrow) {
        (None | Some("/"), _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) if is_host(wide) != is_host(narrow) => false,
        (Some("*"), Some(_)) => true,
        (Some(wide), Some(narrow)) if is_host(wide) => match wide.strip_prefix("*.") {
            Some(name) => {
                let narrow = narrow.trim_start_matches("*.");
                narrow == name || narrow.ends_with(&format!(".{name}"))
            }
            None => wide == narrow,
        },
        (Some(wide), Some(narrow)) => narrow == wide || narrow.starts_with(&format!("{wide}/")),
    }
}

impl Sentence {
    fn is_about(&self, role: Role) -> bool {
        let is_path = matches!(role, Role::ReadPath | Role::WritePath);
        self.roles.as_ref().is_none_or(|roles| roles.contains(&role))
            && self.place.is_none_or(|place| is_host(place) != is_path)
    }

    fn applies(&self, tool: &str, role: Role, value: &str) -> bool {
        // A sentence that allows without a place is not about what names one.
        if !self.is_rule && self.effect == 0 && self.place.is_none() {
            return false;
        }
        self.server.is_none_or(|server| server == "x")
            && self.tool.is_none_or(|it| it == tool)
            && self.is_about(role)
            && self.place.is_none_or(|place| holds(Some(place), Some(value)))
    }

    fn is_narrower(&self, other: &Self) -> bool {
        let server = (
            other.server.is_none() || self.server == other.server,
            self.server.is_none() || self.server == other.server,
        );
        let tool = (
            other.tool.is_none() || self.tool == other.tool,
            self.tool.is_none() || self.tool == other.tool,
        );
        let place = (holds(other.place, self.place), holds(self.place, other.place));
        let all = [server, tool, place];
        all.iter().all(|it| it.0) && all.iter().any(|it| !it.1)
    }

    fn is_absolute(&self) -> bool {
        let is_rest =
            self.is_rule && self.server.is_none() && self.tool.is_none() && self.roles.is_none();
        self.effect == 2 && self.place.is_none() && !is_rest
    }

    fn to_rule(&self, number: usize) -> String {
        let mut parts = Vec::new();
        if let Some(server) = self.server {
            parts.push(format!(r#""server":["{server}"]"#));
        }
        if let Some(tool) = self.tool {
            parts.push(format!(r#""tool":["{tool}"]"#));
        }
        let names = |roles: &[Role]| {
            let names: Vec<String> = roles.iter().map(|it| format!("\"{it}\"")).collect();
            format!("[{}]", names.join(","))
        };
        if let Some(roles) = &self.roles {
            parts.push(format!(r#""roles":{}"#, names(roles)));
        }
        match self.place {
            Some(place) if is_host(place) => {
                parts.push(format!(r#""domains":{{"roles":["fetch-url"],"allowed":["{place}"]}}"#));
            }
            Some(place) => parts.push(format!(
                r#""paths":{{"roles":["read-path","write-path"],"within":"{place}"}}"#
            )),
            None => {}
        }
        format!(
            r#"{{"name":"r{number}","if":{{{}}},"then":"{}","reason":"r"}}"#,
            parts.join(","),
            EFFECTS[self.effect]
        )
    }

    fn to_addition(&self) -> String {
        let tool = self.tool.map_or_else(String::new, |tool| format!(r#","tool":"{tool}""#));
        let place = match self.place {
            Some(place) if is_host(place) => format!(r#","host":"{place}""#),
            Some(place) => format!(r#","within":"{place}""#),
            None => String::new(),
        };
        let roles = self.roles.as_ref().map_or_else(String::new, |roles| {
            let names: Vec<String> = roles.iter().map(|it| format!("\"{it}\"")).collect();
            format!(r#","roles":[{}]"#, names.join(","))
        });
        format!(r#"{{"then":"{}","server":"x"{tool}{roles}{place}}}"#, EFFECTS[self.effect])
    }
}

/// What the specification says about one value, without regions, closures or intersections.
fn reference(rules: &[Sentence], said: &[Sentence], tool: &str, role: Role, value: &str) -> usize {
    let here: Vec<&Sentence> = said.iter().filter(|it| it.applies(tool, role, value)).collect();
    if here.iter().any(|it| it.is_absolute()) {
        return 2;
    }
    let rule = rules
        .iter()
        .filter(|it| it.applies(tool, role, value))
        .find(|rule| rule.is_absolute() || !here.iter().any(|it| it.is_narrower(rule)));
    let counting = here.iter().filter(|it| {
        !here.iter().any(|other| other.is_narrower(it))
            && !rule.is_some_and(|rule| rule.is_narrower(it))
    });
    counting.map(|it| it.effect).chain(rule.map(|it| it.effect)).max().unwrap_or(2)
}

fn place_and_roles() -> impl Strategy<Value = (Option<&'static str>, Option<Vec<Role>>)> {
    let paths = vec![Role::ReadPath, Role::WritePath];
    let all = vec![Role::ReadPath, Role::WritePath, Role::FetchUrl];
    prop_oneof![
        3 => (select(PLACES.to_vec()), prop::option::of(subsequence(paths, 1..=2)))
            .prop_map(|(place, roles)| (Some(place), roles)),
        1 => select(HOSTS.to_vec()).prop_map(|host| (Some(host), None)),
        2 => prop::option::of(subsequence(all, 1..=3)).prop_map(|roles| (None, roles)),
    ]
}

fn sentence(is_rule: bool) -> impl Strategy<Value = Sentence> {
    let server = prop_oneof![2 => Just(Some("x")), 1 => Just(None)];
    let tool = prop_oneof![2 => Just(None), 1 => Just(Some("t")), 1 => Just(Some("u"))];
    let all = (0..3_usize, server, tool, place_and_roles());
    // An addition that allows everything is an error.
    let is_one =
        move |it: &(usize, _, _, (Option<&str>, _))| is_rule || it.0 != 0 || it.3.0 != Some("/");
    all.prop_filter("allows everything", is_one).prop_map(
        move |(effect, server, tool, (place, roles))| Sentence {
            effect,
            server: if is_rule { server } else { Some("x") },
            tool,
            place,
            roles,
            is_rule,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Additions in front of a policy judge as sentences beside it would.
    #[test]
    fn additions_count_like_sentences(
        rules in prop::collection::vec(sentence(true), 0..6),
        said in prop::collection::vec(sentence(false), 0..5),
        order in any::<prop::sample::Index>(),
    ) {
        let text = rules.iter().enumerate().map(|(at, it)| it.to_rule(at)).collect::<Vec<_>>();
        let text = format!("[{}]", text.join(","));
        let additions = |said: &[Sentence]| {
            format!("[{}]", said.iter().map(Sentence::to_addition).collect::<Vec<_>>().join(","))
        };
        let policy = load(&text, &additions(&said)).unwrap();
        let mut turned = said.clone();
        if !turned.is_empty() {
            let by = order.index(turned.len());
            turned.rotate_left(by);
        }
        let other = load(&text, &additions(&turned)).unwrap();
        let calls = ["t", "u"].into_iter().flat_map(|tool| {
            let paths = ["/d/f", "/d/a/f", "/d/a/b/f", "/e/f", "/e/a/f", "/f"];
            let roles = [Role::ReadPath, Role::WritePath];
            let files = roles.into_iter().flat_map(move |role| paths.map(|path| (tool, role, path)));
            let hosts = ["a.b.example", "b.example", "c.example", "d.example"];
            files.chain(hosts.map(|host| (tool, Role::FetchUrl, host)))
        });
        for (tool, role, value) in calls {
            let url = format!("https://{value}");
            let text = if role == Role::FetchUrl { url.as_str() } else { value };
            let expected = EFFECTS[reference(&rules, &said, tool, role, value)];
            let judged = judge(&policy, tool, Some((role, text)));
            prop_assert_eq!(judged.effect().as_str(), expected, "{} {} {}", tool, role, value);
            // Order means nothing.
            let turned = judge(&other, tool, Some((role, text)));
            prop_assert_eq!(turned.effect().as_str(), expected, "turned: {} {} {}", tool, role, value);
        }
    }
}
