//! What stands before the cursor, completed: the name of a command, or of a file.
//!
//! Which files there are is asked of whoever may look.

use crate::command::COMMANDS;

/// What could be completed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// The name of a command.
    Command(String),
    /// The name of a file.
    File {
        /// The directory as it was typed, with the last `/`, or nothing.
        directory: String,
        /// The beginning of the name.
        stem: String,
    },
}

/// What became of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Completed {
    /// How many characters before the cursor are replaced.
    pub n_chars: usize,
    /// By what.
    pub text: String,
    /// What else it could be, if it could be several things.
    pub choices: Vec<String>,
}

impl Place {
    /// Finds it before the cursor; without the beginning of a word there is nothing to complete.
    pub fn of(before: &str) -> Option<Self> {
        let word = before.rsplit(char::is_whitespace).next().filter(|word| !word.is_empty())?;
        if word.starts_with('/')
            && word.len() == before.trim_start().len()
            && !before.contains('\n')
        {
            let is_name = word.chars().skip(1).all(|c| c.is_ascii_alphabetic() || c == '+');
            if is_name {
                return Some(Self::Command(word.to_owned()));
            }
        }
        let word = word.trim_start_matches(['"', '\'', '`', '(']);
        let (directory, stem) = match word.rsplit_once('/') {
            Some((directory, stem)) => (format!("{directory}/"), stem),
            None => (String::new(), word),
        };
        Some(Self::File { directory, stem: stem.to_owned() })
    }
}

/// Completes `place`; `names` are those of the directory, with a `/` after those that are one.
pub fn complete(place: &Place, names: &[String]) -> Option<Completed> {
    match place {
        Place::Command(stem) => choose(stem, COMMANDS.iter().map(|(name, _)| *name), |_| true),
        Place::File { stem, .. } => {
            let is_hidden_wanted = stem.starts_with('.');
            let names = names.iter().map(String::as_str);
            let names = names.filter(|it| is_hidden_wanted || !it.starts_with('.'));
            choose(stem, names, |name| !name.ends_with('/'))
        }
    }
}

fn choose<'a>(
    stem: &str,
    names: impl Iterator<Item = &'a str>,
    is_final: impl Fn(&str) -> bool,
) -> Option<Completed> {
    let mut choices: Vec<String> =
        names.filter(|it| it.starts_with(stem)).map(str::to_owned).collect();
    choices.sort();
    let first = choices.first()?.clone();
    let n_chars = stem.chars().count();
    if let [only] = choices.as_slice() {
        let space = if is_final(only) { " " } else { "" };
        return Some(Completed { n_chars, text: format!("{only}{space}"), choices: Vec::new() });
    }
    let common = choices.iter().fold(first, |common, name| {
        let n_same = common.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
        common.chars().take(n_same).collect()
    });
    Some(Completed { n_chars, text: common, choices })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(directory: &str, stem: &str) -> Place {
        Place::File { directory: directory.to_owned(), stem: stem.to_owned() }
    }

    #[test]
    fn what_is_completed() {
        for (before, expected) in [
            ("/ap", Some(Place::Command("/ap".to_owned()))),
            ("/", Some(Place::Command("/".to_owned()))),
            ("/etc/ho", Some(file("/etc/", "ho"))),
            ("see /ap", Some(file("/", "ap"))),
            ("read no", Some(file("", "no"))),
            ("read src/ma", Some(file("src/", "ma"))),
            ("read \"no", Some(file("", "no"))),
            ("read ", None),
            ("", None),
        ] {
            assert_eq!(Place::of(before), expected, "{before:?}");
        }
    }

    #[track_caller]
    fn check(place: &Place, names: &[&str], expected: Option<(usize, &str, &[&str])>) {
        let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
        let completed = complete(place, &names);
        let completed =
            completed.as_ref().map(|it| (it.n_chars, it.text.as_str(), it.choices.clone()));
        let expected = expected.map(|(n, text, choices)| {
            (n, text, choices.iter().map(|it| (*it).to_owned()).collect())
        });
        assert_eq!(completed, expected);
    }

    #[test]
    fn choices() {
        check(&Place::Command("/he".to_owned()), &[], Some((3, "/help ", &[])));
        check(
            &Place::Command("/ap".to_owned()),
            &[],
            Some((3, "/approve", &["/approve", "/approve+"])),
        );
        check(&Place::Command("/x".to_owned()), &[], None);
        check(&file("", "no"), &["notes.txt", "src/"], Some((2, "notes.txt ", &[])));
        check(&file("", "s"), &["notes.txt", "src/"], Some((1, "src/", &[])));
        check(&file("", "n"), &["nb", "na"], Some((1, "n", &["na", "nb"])));
        check(&file("", "ö"), &["öl-1", "öl-2"], Some((1, "öl-", &["öl-1", "öl-2"])));
        // What is hidden is completed for whoever asks for it.
        check(&file("", ""), &[".git/", "a"], Some((0, "a ", &[])));
        check(&file("", ".g"), &[".git/", "a"], Some((2, ".git/", &[])));
    }
}
