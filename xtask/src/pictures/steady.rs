//! Makes one run's text equal to the next one's: ids, names with a random ending, times, the home.
//!
//! Replacements keep the width of what they replace where the program aligns columns.

use std::path::Path;

use regex::Regex;

/// What to replace, and by what.
#[derive(Debug)]
pub(super) struct Steady {
    rules: Vec<(Regex, String)>,
}

impl Steady {
    /// Prepares the replacements for a run whose home directory is `home`.
    pub(super) fn new(home: &Path) -> anyhow::Result<Self> {
        let home = regex::escape(&home.display().to_string());
        let rules = [
            (home.as_str(), "/home/you"),
            (
                "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
                "6f1c7f0e-3a8e-4a53-9a34-5a4a7f0c2b11",
            ),
            (
                "[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}-[0-9]{2}-[0-9]{2}-[0-9]{3}-[a-z0-9]{4}",
                "2026-11-17-09-30-00-000-k3v9",
            ),
            ("built-in-[a-z0-9]{4}", "built-in-k3v9"),
            ("[0-9]+(\\.[0-9]+)? m?s\\b", "1 s"),
            ("[0-9] min [0-9]{1,2} s", "4 min 59 s"),
            ("at [0-9]{2}:[0-9]{2}:[0-9]{2} UTC", "at 09:34:59 UTC"),
            ("confinement (namespaces|bubblewrap|landlock)", "confinement namespaces"),
        ];
        let rules = rules
            .into_iter()
            .map(|(pattern, by)| Ok((Regex::new(pattern)?, by.to_owned())))
            .collect::<anyhow::Result<_>>()?;
        Ok(Self { rules })
    }

    /// Replaces all of it in one piece of text.
    pub(super) fn apply(&self, text: &str) -> String {
        self.rules.iter().fold(text.to_owned(), |text, (pattern, by)| {
            pattern.replace_all(&text, by.as_str()).into_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_look_alike() -> anyhow::Result<()> {
        let one = Steady::new(Path::new("/tmp/.abc"))?;
        let two = Steady::new(Path::new("/tmp/.xyz"))?;
        let first = "#1 built-in-g2fb /tmp/.abc/.ssh expires: in 4 min 9 s (at 10:00:09 UTC) id: 97ed3e2b-94a3-4dd9-b4b5-2d2e8c812f95";
        let second = "#1 built-in-0x1y /tmp/.xyz/.ssh expires: in 4 min 58 s (at 23:59:58 UTC) id: 00000000-94a3-4dd9-b4b5-2d2e8c812f95";
        assert_eq!(one.apply(first), two.apply(second));
        assert!(one.apply(first).contains("4 min 59 s"), "{}", one.apply(first));
        Ok(())
    }

    #[test]
    fn other_words_stay() -> anyhow::Result<()> {
        let steady = Steady::new(Path::new("/tmp/.abc"))?;
        assert_eq!(
            steady.apply("read-path (asks): /etc/hostname"),
            "read-path (asks): /etc/hostname"
        );
        Ok(())
    }
}
