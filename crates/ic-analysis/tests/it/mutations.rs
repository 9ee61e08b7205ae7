//! Policies with one mistake: every part of a rule has one, and each of them is what it says.

use ic_analysis::mutate::{Written, mutants};
use ic_analysis::{Comparison, Subject};
use ic_policy::artifact::Source;
use ic_policy::{Policy, PolicySources, SandboxKind};
use ic_types::CanonicalPath;

use crate::world::{ANNOTATIONS, bounds};

const RULES: &str = r#"{"rules":[
    {"name":"d","if":{"server":["fs","git"],"paths":{"roles":["read-path","write-path"],"within":"/d/a"}},"then":"allow","reason":"r"},
    {"name":"web","if":{"domains":{"roles":["fetch-url"],"allowed":["b.example","@more"]}},"then":"escalate","reason":"r"},
    {"name":"rest","if":{},"then":"deny","reason":"r"}]}"#;
const LISTS: &str =
    r#"{"lists":{"more":{"values":["c.example"],"manualAdditions":["d.example"]}}}"#;

fn load(compiled: &str, lists: &str) -> Policy {
    let sources = PolicySources {
        compiled: Source { file: "compiled-policy.json", bytes: compiled.as_bytes() },
        annotations: Source { file: "tool-annotations.json", bytes: ANNOTATIONS[0].as_bytes() },
        lists: Some(Source { file: "dynamic-lists.json", bytes: lists.as_bytes() }),
    };
    Policy::load(&sources, &|text| CanonicalPath::new(text).map_err(|error| error.to_string()))
        .unwrap()
}

#[test]
fn every_part_of_every_rule_gets_a_mistake() {
    let source = |file, text: &'static str| Source { file, bytes: text.as_bytes() };
    let (compiled, lists) = (source("compiled", RULES), Some(source("lists", LISTS)));
    let all = mutants(Written { compiled, lists, additions: None }).unwrap();
    let shown: Vec<String> = all.iter().map(|it| format!("{}: {}", it.rule, it.mistake)).collect();
    assert_eq!(
        shown,
        [
            "d: deleted",
            "d: allow turned into escalate",
            "d: allow turned into deny",
            "d: widened: `server` is not asked for",
            "d: narrowed: `server` without `fs`",
            "d: narrowed: `server` without `git`",
            "d: widened: `/d/a` became `/d`",
            "d: narrowed: `/d/a` became `/d/a/narrowed`",
            "d: narrowed: `paths.roles` without `read-path`",
            "d: narrowed: `paths.roles` without `write-path`",
            "web: deleted",
            "web: escalate turned into allow",
            "web: escalate turned into deny",
            "web: narrowed: `domains.allowed` without `b.example`",
            "web: narrowed: `domains.allowed` without `@more`",
            "web: widened: `b.example` became `*.b.example`",
            "rest: deleted",
            "rest: deny turned into allow",
            "rest: deny turned into escalate",
            "@more: `values` without `c.example`",
            "@more: `manualAdditions` without `d.example`",
        ]
    );
    let (original, bounds) = (load(RULES, LISTS), bounds(SandboxKind::Session));
    for mutant in &all {
        let policy = load(&mutant.compiled, mutant.lists.as_deref().unwrap());
        let subject = |policy| Subject { policy, bounds: &bounds };
        let change = Comparison::new(subject(&original), subject(&policy)).first_change().unwrap();
        // The tools of git have other roles, which are denied anyway. Without `rest` almost all of it is
        // denied too, but making `/d/a` itself would be asked about.
        let is_equivalent = mutant.mistake == "narrowed: `server` without `git`";
        assert_eq!(change.is_none(), is_equivalent, "{} {}", mutant.rule, mutant.mistake);
        let Some(change) = change else { continue };
        match mutant.mistake.split(':').next() {
            Some("widened") => assert!(change.is_widening(), "{}", mutant.mistake),
            Some("narrowed") => assert!(!change.is_widening(), "{}", mutant.mistake),
            _ => {}
        }
    }
}

#[test]
fn every_part_of_every_addition_gets_a_mistake() {
    let source = |file, text: &'static str| Source { file, bytes: text.as_bytes() };
    let additions = r#"{"version":1,"additions":[
        {"then":"allow","server":"fs","tool":"read","roles":["read-path","write-path"],"within":"/d/a"},
        {"then":"deny","host":"b.example"}]}"#;
    let written = Written {
        compiled: source("compiled", r#"{"rules":[]}"#),
        lists: None,
        additions: Some(source("additions", additions)),
    };
    let all = mutants(written).unwrap();
    let shown: Vec<String> = all.iter().map(|it| format!("{}: {}", it.rule, it.mistake)).collect();
    assert_eq!(
        shown,
        [
            "additions[0]: deleted",
            "additions[0]: allow turned into escalate",
            "additions[0]: allow turned into deny",
            "additions[0]: widened: `server` is not asked for",
            "additions[0]: widened: `tool` is not asked for",
            "additions[0]: widened: `roles` is not asked for",
            "additions[0]: narrowed: `roles` without `read-path`",
            "additions[0]: narrowed: `roles` without `write-path`",
            "additions[0]: widened: `/d/a` became `/d`",
            "additions[0]: narrowed: `/d/a` became `/d/a/narrowed`",
            "additions[1]: deleted",
            "additions[1]: deny turned into allow",
            "additions[1]: deny turned into escalate",
            "additions[1]: widened: `b.example` became `*.b.example`",
        ]
    );
    for mutant in &all {
        assert_eq!(mutant.compiled, r#"{"rules":[]}"#, "{}", mutant.mistake);
        assert_ne!(mutant.additions.as_deref(), Some(additions), "{}", mutant.mistake);
    }
}
