//! The built-in policies: what holds for them, and how they differ, as a person reads it.

use std::collections::HashMap;

use ic_analysis::describe::Names;
use ic_analysis::property::{self, Level};
use ic_analysis::report::{self, Summary};
use ic_analysis::{Asked, Comparison, Subject, Table};
use ic_policy::bounds::PROTECTED_HOME_NAMES;
use ic_policy::host_executes::HOME_NAMES;
use ic_policy::{
    ArgumentAnnotation, Bounds, Builtin, Containment, HomeExecutes, Policy, Sandbox, SandboxKind,
    ServerTraits,
};
use ic_types::CanonicalPath;

use crate::world::path;

const HOME: &str = "/home/u";

pub(crate) fn locate(text: &str) -> Result<CanonicalPath, String> {
    let text =
        text.replace('~', HOME).replace("${SANDBOX}", "/home/u/.ironcurtain/sessions/1/sandbox");
    CanonicalPath::new(text).map_err(|error| error.to_string())
}

pub(crate) fn load(builtin: Builtin) -> Policy {
    Policy::load(&builtin.sources(), &locate).unwrap()
}

pub(crate) fn bounds() -> Bounds {
    let server = |containment| ServerTraits {
        containment,
        names_files: containment == Containment::Contained,
        allowed_domains: Vec::new(),
    };
    let servers = [
        ("filesystem", server(Containment::ContainedFilesystem)),
        ("git", server(Containment::Contained)),
        ("fetch", server(Containment::Loose)),
    ];
    let at_home = |name: &str| path(&format!("{HOME}/{name}"));
    Bounds {
        sandbox: Some(Sandbox {
            path: at_home(".ironcurtain/sessions/1/sandbox"),
            kind: SandboxKind::Session,
        }),
        protected: PROTECTED_HOME_NAMES.iter().map(|name| at_home(name)).collect(),
        home_executes: HOME_NAMES
            .iter()
            .map(|(name, reach)| HomeExecutes { path: at_home(name), reach: *reach })
            .collect(),
        servers: servers
            .into_iter()
            .map(|(name, it)| (name.parse().unwrap(), it))
            .collect::<HashMap<_, _>>(),
    }
}

#[test]
fn every_property_holds_for_the_built_in_policies() {
    let bounds = bounds();
    for builtin in Builtin::ALL {
        let policy = load(builtin);
        let subject = Subject { policy: &policy, bounds: &bounds };
        let found = property::verify(subject, &[], &|text| locate(text).ok()).unwrap();
        let failed: Vec<_> = found.iter().filter(|it| it.level == Level::Failed).collect();
        assert!(failed.is_empty(), "{}: {failed:#?}", builtin.name());
        let granted: Vec<&str> = found.iter().map(|it| it.rule.as_str()).collect();
        let expected: &[&str] = match builtin {
            Builtin::Default => &[
                "allow-committing-in-downloads-with-git",
                "allow-reading-files-and-writing-files-in-downloads-with-filesystem-git",
            ],
            Builtin::Coding | Builtin::Readonly => &[],
        };
        assert_eq!(granted, expected, "{}", builtin.name());
    }
}

#[test]
fn the_table_is_complete() {
    let (policy, bounds) = (load(Builtin::Default), bounds());
    let table = Table::new(Subject { policy: &policy, bounds: &bounds }, &Asked::default());
    let lines = table.lines().unwrap();
    for (server, tool, annotation) in policy.annotations() {
        let of_tool: Vec<_> =
            lines.iter().filter(|it| it.server == *server && it.tool == *tool).collect();
        assert!(!of_tool.is_empty(), "{server}.{tool}");
        for role in annotation.arguments().iter().flat_map(ArgumentAnnotation::possible_roles) {
            let classes = of_tool.iter().filter(|it| it.role == Some(role) && !it.is_company);
            let classes = classes.map(|it| it.classes.len());
            let expected =
                if role.is_resource() { table.space().examples(role).count() } else { 0 };
            assert_eq!(classes.sum::<usize>(), expected, "{server}.{tool} {role}");
        }
    }
}

#[test]
fn the_built_in_policies_differ_as_a_person_would_say() {
    let bounds = bounds();
    let home = path(HOME);
    let mut page = Vec::new();
    for (one, other) in [
        (Builtin::Default, Builtin::Coding),
        (Builtin::Default, Builtin::Readonly),
        (Builtin::Coding, Builtin::Readonly),
    ] {
        let (before, after) = (load(one), load(other));
        let subject = |policy| Subject { policy, bounds: &bounds };
        let comparison = Comparison::new(subject(&before), subject(&after));
        let changes = comparison.changes().unwrap();
        let names = Names { home: Some(&home), bounds: &bounds };
        let found = report::summaries(&changes, comparison.space(), names, (&before, &after));
        page.push(format!("{} -> {}", one.name(), other.name()));
        let (more, less): (Vec<&Summary>, Vec<&Summary>) =
            found.iter().partition(|it| it.is_widening());
        page.extend(more.iter().map(|it| format!("  {}", it.line())));
        page.extend(report::groups(&less).iter().map(|it| format!("  {}", it.line())));
    }
    let page = page.join("\n");
    assert_eq!(page, include_str!("differences.txt").trim(), "\n{page}\n");
}
