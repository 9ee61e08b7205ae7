//! The table: its examples are plain, and what we write is understood as what it was.

use ic_constitution::grammar::{self, LISTS, VERBS};
use ic_constitution::{Sentence, Verb, parse};
use ic_types::Role;

/// Reads a text of one sentence.
#[track_caller]
pub(crate) fn one(text: &str) -> Sentence {
    let mut sentences = parse(text).unwrap_or_else(|faults| panic!("{text}\n{faults}")).sentences;
    assert_eq!(sentences.len(), 1, "{text}");
    sentences.remove(0)
}

/// Compares what two sentences say, not how.
fn said(sentence: &Sentence) -> Sentence {
    Sentence { text: String::new(), line: 0, ..sentence.clone() }
}

#[test]
fn every_example_is_plain_and_survives_our_own_words() {
    for example in grammar::examples() {
        let sentence = one(example);
        assert_eq!(said(&one(&sentence.to_string())), said(&sentence), "{example}\n{sentence}");
    }
}

#[test]
fn every_example_of_a_list_is_understood() {
    for row in &LISTS {
        let lists = parse(row.example).unwrap().lists;
        assert_eq!(lists.len(), 1, "{}", row.example);
    }
}

#[test]
fn every_phrase_of_every_verb_is_understood_in_both_forms() {
    for row in &VERBS {
        for (base, gerund) in row.phrases {
            let (may, ask) = (format!("The agent may {base}."), format!("Ask before {gerund}."));
            for text in [may, ask] {
                // What `them` are has to be said in the same sentence.
                if base.contains("them") {
                    let faults = parse(&text).unwrap_err().to_string();
                    assert!(faults.contains("in another sentence"), "{faults}");
                    continue;
                }
                let deed = one(&text).deed;
                assert_eq!(deed, ic_constitution::Deed::Verbs(vec![row.verb]), "{text}");
            }
        }
    }
}

#[test]
fn every_role_has_a_verb_of_its_own() {
    for role in Role::all() {
        let verbs: Vec<Verb> =
            Verb::all().filter(|verb| verb.row().roles == [role] && *verb != Verb::Run).collect();
        assert_eq!(verbs.len(), 1, "{role}: {verbs:?}");
    }
    for verb in Verb::all() {
        assert_eq!(verb.row().verb, verb);
    }
}

#[test]
fn the_page_shows_every_row_with_its_example() {
    let page = grammar::page();
    for example in grammar::examples() {
        assert!(page.contains(example), "{example}");
    }
}

#[test]
fn a_list_takes_the_words_of_its_introduction() {
    let text = "The agent must never:\n\n- delete files in ~/a,\n- write files in ~/b\n  and in ~/c.\n\nAsk before reading files.\n";
    let sentences = parse(text).unwrap().sentences;
    let said: Vec<String> = sentences.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "The agent must never delete files in ~/a.",
            "The agent must never write files in ~/b and ~/c.",
            "Ask before reading files."
        ]
    );
    assert_eq!(sentences.iter().map(|it| it.line).collect::<Vec<_>>(), [3, 4, 7]);
}

#[test]
fn sentences_may_wrap_and_may_miss_their_full_stop() {
    let text = "The agent may read files\nin ~/a. Ask before deleting\nfiles in ~/a\nThe agent may write files in ~/b\n\n1. Never fetch pages\n2. Everything else is refused";
    let said: Vec<String> =
        parse(text).unwrap().sentences.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "The agent may read files in ~/a.",
            "Ask before deleting files in ~/a.",
            "The agent may write files in ~/b.",
            "The agent must never fetch pages.",
            "Everything else is refused."
        ]
    );
}

#[test]
fn faults_name_line_column_and_words_and_offer_a_sentence() {
    let faults = parse(
        "# Mine\n\nThe agent may read files in ~/a.\nThe agent shuold not delete files in ~/a.\n",
    )
    .unwrap_err();
    assert_eq!(
        faults.to_string(),
        "line 4, column 5: `agent`: a sentence says `The agent may …`, `The agent must never …`, \
         `Ask before …` or `… is for a person to decide`\n  perhaps: The agent must never delete files in ~/a."
    );
}

/// Found by mutated inputs: words without any verb were offered as a sentence without one.
#[test]
fn what_is_offered_for_words_without_a_verb_is_a_sentence() {
    for text in ["/s and ask", "or never ~", "except /o", "never ~/a but ask", "~/a except ~/b"] {
        let faults = parse(text).unwrap_err();
        for offer in faults.0.iter().flat_map(|fault| &fault.offers) {
            assert!(parse(offer).is_ok(), "{text}: {offer}");
        }
    }
}

#[test]
fn what_would_take_too_long_to_read_is_refused() {
    let rows = [
        (")".repeat(200_000), "a word has at most 4096 bytes"),
        ("(".repeat(200_000), "a word has at most 4096 bytes"),
        ("~/a".repeat(200_000), "a word has at most 4096 bytes"),
        ("( ".repeat(200_000), "a sentence has at most 10000 words"),
        ("~/a and ".repeat(100_000), "a sentence has at most 10000 words"),
    ];
    for (text, problem) in rows {
        let faults = parse(&format!("The agent may read files in {text}.")).unwrap_err();
        assert!(faults.0[0].problem.starts_with(problem), "{}", faults.0[0].problem);
    }
}
