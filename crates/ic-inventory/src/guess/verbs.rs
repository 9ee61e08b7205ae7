//! Verbs by which a tool says that it changes something, in the forms in which texts use them.
//!
//! A word is taken for a verb of change rather too often than too seldom: the guess is then only stricter.

use crate::draft::names::words;

/// What a tool does that changes something.
const CHANGING: &str = "add alter append apply archive assign backup build cancel change chmod chown clean \
    clear clobber commit compress copy create delete deploy destroy detach disable discard drop edit eject empty \
    enable erase evict exec execute expunge extract flush grant import init initialize insert install invoke \
    kill launch make merge migrate mkdir modify mount move mutate nuke obliterate overwrite patch persist \
    post prune publish purge push put rebase rebuild register remove rename replace replicate reset restart \
    restore revert revoke rewrite rm rmdir rollback run save scrub send set shred shutdown spawn start stop \
    store strip submit swap symlink sync synchronize touch transfer trash trigger trim truncate uninstall \
    unlink unpack untar unzip update upload upsert vacuum wipe write zap";
/// Forms that do not follow from the verb.
const IRREGULAR: &str = "built made overwritten overwrote ran rebuilt reran rewritten rewrote sent wrote \
    written removal deletion erasure destruction destructive modification cleanup backup copies";
/// What makes another form of a verb: persons, times, and the noun for doing it.
const ENDINGS: [&str; 25] = [
    "", "e", "y", "s", "es", "ies", "d", "ed", "ied", "ing", "ying", "er", "ers", "or", "ors",
    "al", "als", "ion", "ions", "ation", "ations", "ition", "ication", "ment", "ments",
];
/// Verbs whose past is often said of a file without being done to it: "last modified", "the time it was created".
const OF_TIMES: [&str; 7] = ["chang", "creat", "edit", "modif", "sav", "updat", "writ"];
const TIMES: [&str; 7] = ["at", "date", "dates", "time", "times", "timestamp", "timestamps"];

/// Returns whether a text says that something is changed, or may say so in a way that we do not read.
pub(super) fn tell_of_change(text: &str) -> bool {
    !is_plain(text)
        || said(&words(text))
        // `de-letes` and `deLetes` are read as one word, too.
        || said(&joined(text))
}

/// Returns whether a text is written in letters that we know; in another script, or with letters that nobody
/// sees, anything may be said.
fn is_plain(text: &str) -> bool {
    let is_odd = |c: char| {
        (c.is_alphanumeric() && !c.is_ascii())
            || (c.is_control() && !c.is_ascii_whitespace())
            || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
            || matches!(c, '\u{180b}'..='\u{180f}' | '\u{e0000}'..='\u{e0fff}')
    };
    !text.contains(is_odd)
}

fn joined(text: &str) -> Vec<String> {
    let text: String =
        text.to_lowercase().chars().filter(|c| !"-\u{2010}\u{2011}'’".contains(*c)).collect();
    words(&text)
}

fn said(words: &[String]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).map(String::as_str);
        let after = words.get(at + 1).map(String::as_str);
        let is_time = before == Some("last") || after.is_some_and(|after| TIMES.contains(&after));
        let is_past = word.ends_with("ed") || word == "written" || word == "modification";
        let is_of_times = OF_TIMES.iter().any(|stem| word.starts_with(stem));
        is_changing(word) && !(is_time && is_past && is_of_times)
    })
}

/// Returns whether a word is a verb of change, in any of its forms.
pub(super) fn is_changing(word: &str) -> bool {
    IRREGULAR.split_whitespace().any(|form| form == word)
        || CHANGING.split_whitespace().any(|verb| is_form_of(verb, word))
}

fn is_form_of(verb: &str, word: &str) -> bool {
    let ends = |rest: &str| ENDINGS.contains(&rest);
    let doubled = |rest: &str| {
        let rest = verb.chars().last().and_then(|last| rest.strip_prefix(last));
        rest.is_some_and(|rest| rest != "e" && rest != "y" && rest != "s" && ends(rest))
    };
    let whole = word.strip_prefix(verb);
    // `moving` is one of `move`, and `cops` none of `copy`.
    let stem = verb.strip_suffix(['e', 'y']).and_then(|stem| word.strip_prefix(stem));
    whole.is_some_and(|rest| ends(rest) || (!rest.is_empty() && doubled(rest)))
        || stem.is_some_and(|rest| !rest.is_empty() && rest != "s" && ends(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_known_in_all_forms() {
        let forms = "delete deletes deleted deleting deletion deleter removes removed removal removing purge purged \
                     purges erases erased erasure destroys destroyed destruction wipes wiped wiping unlink unlinked \
                     rm trashed kills killed shreds shredded cleans cleanup overwritten written writes wrote exec \
                     execs deploys deployment syncs synchronized renamed applied applies copied copies modified \
                     modification modifies created creation sent made setting insertion installation replacement \
                     truncated dropped dropping committed committer moved merged resets";
        for word in forms.split_whitespace() {
            assert!(tell_of_change(word), "{word}");
        }
        for word in "read file path address addresses settings important clearly information posture cops runtime \
                     additional modal removable status section"
            .split_whitespace()
        {
            assert!(!tell_of_change(word), "{word}");
        }
    }

    #[test]
    fn a_text_that_cannot_be_read_may_say_anything() {
        for text in [
            "Löscht die Datei",
            "ｄｅｌｅｔｅｓ it",
            "del\u{200b}etes it",
            "de-letes it",
            "deLetes it",
            "DELETES IT",
        ] {
            assert!(tell_of_change(text), "{text}");
        }
        for text in [
            "Reads it — with “quotes” … and • points",
            "When it was last modified",
            "The modified time, created at",
            "The file's contents",
        ] {
            assert!(!tell_of_change(text), "{text}");
        }
        // Only the time of a change is harmless, and only of some.
        for text in ["last deleted", "is modified afterwards", "The file is written"] {
            assert!(tell_of_change(text), "{text}");
        }
    }
}
