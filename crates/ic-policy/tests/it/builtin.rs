//! The built-in policies load without warnings, and stand on their constitutions.

use ic_policy::{Builtin, Policy, Scenarios, artifact};
use ic_types::{CanonicalPath, Digest, Json};

fn load(builtin: Builtin) -> Policy {
    let locate = |text: &str| {
        let text = text.replacen('~', "/home/user", 1);
        CanonicalPath::new(text).map_err(|error| error.to_string())
    };
    Policy::load(&builtin.sources(), &locate).unwrap()
}

#[test]
fn each_loads_without_warnings() {
    for builtin in Builtin::ALL {
        let policy = load(builtin);
        assert_eq!(policy.warnings(), [] as [String; 0], "{}", builtin.name());
        assert!(!policy.rules().is_empty());
        assert_eq!(Builtin::by_name(builtin.name()), Some(builtin));
    }
    assert_eq!(Builtin::by_name("no-such"), None);
}

#[test]
fn each_rule_quotes_a_sentence_of_its_constitution() {
    for builtin in Builtin::ALL {
        let constitution = builtin.constitution();
        for rule in load(builtin).rules() {
            assert!(!rule.principle().is_empty(), "{} {}", builtin.name(), rule.name());
            assert!(constitution.contains(rule.principle()), "{} {}", builtin.name(), rule.name());
        }
        let hash = Digest::of(constitution.as_bytes()).to_string();
        assert_eq!(load(builtin).constitution_hash(), Some(hash.as_str()), "{}", builtin.name());
    }
}

#[test]
fn each_has_scenarios_for_allow_escalate_and_deny() {
    use ic_policy::ExpectedDecision::{Allow, Deny, Escalate};
    for builtin in Builtin::ALL {
        let scenarios: Scenarios = artifact::read(builtin.scenarios()).unwrap();
        for expected in [Allow, Escalate, Deny] {
            let n = scenarios.scenarios.iter().filter(|s| s.expected_decision == expected).count();
            assert!(2 <= n, "{}: {n} scenarios expect {expected:?}", builtin.name());
        }
    }
}

#[test]
fn annotations_and_schemas_name_the_same_arguments() {
    for (server, tool, annotation) in load(Builtin::Default).annotations() {
        assert!(!annotation.is_draft() && !annotation.comment().is_empty(), "{server}.{tool}");
        let Some(Json::Object(schema)) = annotation.input_schema() else {
            panic!("{server}.{tool}")
        };
        assert_eq!(schema.get("additionalProperties"), Some(&Json::Bool(false)), "{server}.{tool}");
        let Some(Json::Object(properties)) = schema.get("properties") else {
            panic!("{server}.{tool}")
        };
        for property in properties.keys() {
            assert!(annotation.names(property), "{server}.{tool} does not annotate {property}");
        }
        for argument in annotation.arguments() {
            let name = argument.place().argument();
            assert!(properties.get(name).is_some(), "{server}.{tool} has no property {name}");
        }
    }
}
