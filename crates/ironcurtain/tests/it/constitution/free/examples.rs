//! The worked examples from free wordings: what was proposed for them, recorded, compiles to the same policies.
//!
//! What is about servers that are not there is plain in both.

use std::fs;

use ic_testkit::free::EXAMPLES;

use super::World;

#[test]
fn the_family_example_from_free_wordings_judges_alike() {
    check("family");
}

#[test]
fn the_researcher_example_from_free_wordings_judges_alike() {
    check("researcher");
}

#[test]
fn the_developer_example_from_free_wordings_judges_alike() {
    check("developer");
}

#[test]
fn the_ci_bot_example_from_free_wordings_judges_alike() {
    check("ci-bot");
}

#[test]
fn the_assistant_example_from_free_wordings_judges_alike() {
    check("assistant");
}

fn check(name: &str) {
    let example = EXAMPLES.iter().find(|it| it.name == name).unwrap();
    let world = World::new(&example.constitution(), &example.answers());
    let made = world.compile(&["--yes"]);
    assert_eq!(made.code, 0, "{name}: {made:?}");
    let source = format!("{}/../../examples/{name}.md", env!("CARGO_MANIFEST_DIR"));
    let source = fs::read_to_string(source).unwrap();
    // The scenarios beside an example are not wanted here.
    fs::write(world.place.path("plain.md"), source).unwrap();
    let words = ["compile-policy", "--constitution", "plain.md", "--output", "plain"];
    assert_eq!(world.place.run(words).code, 0, "{name}");
    let compared = world.place.run(["policy", "diff", "--exit-code", "./plain", "./made"]);
    assert_eq!(compared.code, 0, "{name}: {compared:?}");
    assert_eq!(world.provider.n_requests(), 2, "{name}");
}
