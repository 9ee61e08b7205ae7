//! Sentences as people write them: each is understood as its row says, or refused with the offer in its row.

use ic_constitution::parse;

const TABLE: &str = include_str!("sentences.txt");

/// Says what became of one sentence: `= sentence` in our own words, or `! problem` and `~ offer`.
fn outcome(text: &str) -> String {
    match parse(text) {
        Ok(found) => {
            let said = found.sentences.iter().map(|it| format!("= {it}"));
            said.collect::<Vec<_>>().join("\n")
        }
        Err(faults) => {
            let first = faults.0.first().unwrap();
            let mut lines = vec![format!("! {}: {}", first.words.escape_debug(), first.problem)];
            lines.extend(first.offers.iter().map(|it| format!("~ {it}")));
            lines.join("\n")
        }
    }
}

/// Splits the table into sentences and what is expected of them.
fn rows() -> Vec<(&'static str, String)> {
    let mut rows: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in TABLE.lines().filter(|it| !it.is_empty() && !it.starts_with('#')) {
        match (line.starts_with(['=', '!', '~']), rows.last_mut()) {
            (true, Some((_, expected))) => expected.push(line),
            _ => rows.push((line, Vec::new())),
        }
    }
    rows.into_iter().map(|(text, expected)| (text, expected.join("\n"))).collect()
}

#[test]
fn every_sentence_means_what_its_row_says() {
    let rows = rows();
    assert!(300 <= rows.len(), "{} rows", rows.len());
    let wrong: Vec<String> = rows
        .iter()
        .filter(|(text, expected)| outcome(text) != *expected)
        .map(|(text, expected)| format!("{text}\n{}\ninstead of\n{expected}\n", outcome(text)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_offered_is_plain_and_allows_nothing_that_was_not_named() {
    for (text, _) in rows() {
        let Err(faults) = parse(text) else { continue };
        for offer in faults.0.iter().flat_map(|fault| &fault.offers) {
            let sentences = parse(offer).unwrap_or_else(|faults| panic!("{offer}\n{faults}"));
            assert_eq!(sentences.sentences.len(), 1, "{offer}");
            assert_eq!(sentences.sentences[0].to_string(), *offer, "{text}");
            let is_wide = offer.starts_with("The agent may") && offer.contains(" anywhere.");
            assert!(!is_wide || text.contains("anywhere"), "{text}: {offer}");
        }
    }
}
