//! Mutated constitutions: what is understood is the same in our own words, and what is not has a place.

use ic_constitution::{Sentence, compile, parse};
use ic_fuzz::{Outcome, Target};

const SEEDS: &str = include_str!("sentences.txt");

#[test]
fn fuzz_constitution() {
    let sentences =
        SEEDS.lines().filter(|line| !line.starts_with(['#', '=', '!', '~']) && !line.is_empty());
    Target::new("constitution")
        .seeds(sentences)
        .seeds([
            include_str!("../../../../examples/coding.md"),
            include_str!("../../../../examples/family.md"),
        ])
        .words([
            "The agent may ",
            "The agent must never ",
            "Ask before ",
            " is for a person to decide.",
            "Everything else is refused.",
            "read",
            "write",
            "delete",
            "fetch",
            " files",
            " in ",
            " and ",
            ", ",
            " or ",
            "~/notes",
            "`",
            "`a b`",
            "@list",
            "the sandbox",
            "anywhere",
            "anywhere else",
            " with filesystem",
            "git_push of git",
            " because ",
            ".",
            "\n",
            "\n\n",
            "> ",
            "# ",
            "- ",
            "```\n",
            "<!-- ",
            " -->",
            "not",
            "never",
            "only",
            "unless",
            "except",
            "a.example",
            "*.a.example",
            "\u{a0}",
            "\u{202e}",
            "\u{2019}",
        ])
        .bytes_max(600)
        .runs(1500)
        .run(check);
}

fn check(bytes: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(bytes) else { return Outcome::refused("no text") };
    match parse(text) {
        Ok(constitution) => {
            let ours: Vec<String> =
                constitution.sentences.iter().map(ToString::to_string).collect();
            let again =
                parse(&ours.join("\n")).unwrap_or_else(|faults| panic!("our own words: {faults}"));
            let meant = |it: &Sentence| Sentence { line: 0, text: String::new(), ..it.clone() };
            let meanings = |all: &[Sentence]| all.iter().map(meant).collect::<Vec<_>>();
            assert_eq!(
                meanings(&again.sentences),
                meanings(&constitution.sentences),
                "it means something else"
            );
            let kind =
                (ours.len().min(4), constitution.sentences.iter().map(|it| it.effect as u8).max());
            let compiled = compile(&constitution, &[]).ok();
            // The place of a sentence in the text does not belong to what it means.
            if let (Some(one), Ok(other)) = (&compiled, compile(&again, &[])) {
                assert_eq!(one.rules.len(), other.rules.len(), "it compiles to something else");
            }
            Outcome::accepted((kind, compiled.is_some()))
        }
        Err(faults) => {
            let n_lines = text.lines().count().max(1);
            for fault in &faults.0 {
                assert!((1..=n_lines).contains(&fault.line), "no such line: {fault}");
                assert!(!fault.problem.is_empty());
                for offer in &fault.offers {
                    assert!(parse(offer).is_ok(), "the offer is not understood: {offer}");
                }
            }
            Outcome::refused(
                faults.0.first().map(|it| it.problem.split('`').next().map(str::to_owned)),
            )
        }
    }
}
