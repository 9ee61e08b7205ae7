//! What a remote's name stands for in a repository: its config and HEAD read by us, git not run.
//!
//! An agent can write that config. So both the push and the fetch URL count, rewriting included,
//! and a config that says "see also elsewhere" is not believed at all.

use ic_types::CanonicalPath;

use crate::disk::{Disk, Kind};

/// The longest config or HEAD that is read.
pub const CONFIG_BYTES_MAX: usize = 1 << 20;

/// A repository's config, and the branch that is checked out.
#[derive(Debug)]
pub struct Repository {
    config: Vec<Setting>,
    branch: Option<String>,
}

/// One setting: `[section "subsection"] key = value`.
#[derive(Debug, Eq, PartialEq)]
struct Setting {
    /// In lower case.
    section: String,
    subsection: Option<String>,
    /// In lower case.
    key: String,
    value: String,
}

/// Why a repository cannot be used to look up a remote.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum GitFault {
    /// There is no repository.
    #[error("there is no git repository at `{0}`")]
    Absent(CanonicalPath),
    /// `.git` is a link or a file, which leads elsewhere.
    #[error("the `.git` of `{0}` is not a directory, so its configuration is elsewhere")]
    Elsewhere(CanonicalPath),
    /// The config could not be read or understood.
    #[error("cannot read the git configuration of `{path}`: {reason}")]
    Config {
        /// The repository.
        path: CanonicalPath,
        /// What is wrong.
        reason: String,
    },
}

impl Repository {
    /// Opens the repository at `path`; does not search further up.
    pub fn open(disk: &dyn Disk, path: &CanonicalPath) -> Result<Self, GitFault> {
        let config_fault = |reason: String| GitFault::Config { path: path.clone(), reason };
        let git = path.as_path().join(".git");
        match disk.look(&git).map_err(|error| config_fault(error.to_string()))? {
            None => return Err(GitFault::Absent(path.clone())),
            Some(entry) if entry.kind != Kind::Directory => {
                return Err(GitFault::Elsewhere(path.clone()));
            }
            Some(_) => {}
        }
        let read = |name: &str| -> Result<String, GitFault> {
            let bytes = disk
                .read_file(&git.join(name), CONFIG_BYTES_MAX)
                .map_err(|error| config_fault(error.to_string()))?
                .unwrap_or_default();
            String::from_utf8(bytes).map_err(|_| config_fault(format!("`{name}` is not UTF-8")))
        };
        let config = parse_config(&read("config")?).map_err(config_fault)?;
        if config.iter().any(|setting| setting.section.starts_with("include")) {
            return Err(config_fault("it includes other files".to_owned()));
        }
        let head = read("HEAD")?;
        let branch = head.trim_end().strip_prefix("ref: refs/heads/").map(ToOwned::to_owned);
        Ok(Self { config, branch })
    }

    /// Returns every URL behind the remote `name`: fetch and push, rewritten as git would.
    ///
    /// `None` if there is no such remote.
    pub fn remote_urls(&self, name: &str) -> Option<Vec<String>> {
        let urls: Vec<_> = self.all("remote", Some(name), "url").collect();
        let push_urls: Vec<_> = self.all("remote", Some(name), "pushurl").collect();
        if urls.is_empty() && push_urls.is_empty() {
            return None;
        }
        let mut found: Vec<String> = Vec::new();
        for url in urls {
            found.push(self.rewritten(url, "insteadof").unwrap_or_else(|| url.to_owned()));
            if push_urls.is_empty() {
                found.extend(self.rewritten(url, "pushinsteadof"));
            }
        }
        for url in push_urls {
            found.push(self.rewritten(url, "insteadof").unwrap_or_else(|| url.to_owned()));
        }
        Some(deduplicated(found))
    }

    /// Returns what git would make of a URL that it is handed.
    pub fn rewrites(&self, url: &str) -> Vec<String> {
        let kinds = ["insteadof", "pushinsteadof"];
        deduplicated(kinds.iter().filter_map(|key| self.rewritten(url, key)).collect())
    }

    /// Returns the remotes that git takes where none is named: to fetch from, and to push to.
    pub fn default_remotes(&self) -> Vec<String> {
        let of_branch = |key| {
            let branch = self.branch.as_deref()?;
            self.all("branch", Some(branch), key).last().map(ToOwned::to_owned)
        };
        let fetch = of_branch("remote").unwrap_or_else(|| self.only_remote());
        let push = of_branch("pushremote")
            .or_else(|| self.all("remote", None, "pushdefault").last().map(ToOwned::to_owned));
        deduplicated(std::iter::once(fetch).chain(push).collect())
    }

    fn only_remote(&self) -> String {
        let of_remotes = self.config.iter().filter(|setting| setting.section == "remote");
        let names = of_remotes.filter(|setting| setting.key == "url" || setting.key == "pushurl");
        let mut names: Vec<&str> =
            names.filter_map(|setting| setting.subsection.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        match names.as_slice() {
            [only] => (*only).to_owned(),
            _ => "origin".to_owned(),
        }
    }

    /// Applies the longest `url.<base>.<key>` that `url` begins with.
    fn rewritten(&self, url: &str, key: &str) -> Option<String> {
        self.config
            .iter()
            .filter(|setting| setting.section == "url" && setting.key == key)
            .filter_map(|setting| {
                let base = setting.subsection.as_deref()?;
                let rest = url.strip_prefix(setting.value.as_str())?;
                Some((setting.value.len(), format!("{base}{rest}")))
            })
            .max_by_key(|(matched, _)| *matched)
            .map(|(_, url)| url)
    }

    fn all(
        &self,
        section: &'static str,
        subsection: Option<&str>,
        key: &'static str,
    ) -> impl Iterator<Item = &str> {
        self.config
            .iter()
            .filter(move |setting| {
                setting.section == section
                    && setting.subsection.as_deref() == subsection
                    && setting.key == key
            })
            .map(|setting| setting.value.as_str())
    }
}

fn deduplicated(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}

/// Parses the text of a git config; whatever git might read differently is an error.
fn parse_config(text: &str) -> Result<Vec<Setting>, String> {
    let mut parser = ConfigParser {
        chars: text.strip_prefix('\u{feff}').unwrap_or(text).chars().peekable(),
        line: 1,
        section: None,
        settings: Vec::new(),
    };
    parser.parse().map_err(|reason| format!("line {}: {reason}", parser.line))?;
    Ok(parser.settings)
}

struct ConfigParser<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
    section: Option<(String, Option<String>)>,
    settings: Vec<Setting>,
}

impl ConfigParser<'_> {
    fn parse(&mut self) -> Result<(), String> {
        while let Some(c) = self.chars.peek().copied() {
            match c {
                '\n' | ' ' | '\t' | '\r' => {
                    self.next();
                }
                '#' | ';' => self.skip_comment(),
                '[' => self.section()?,
                c if c.is_ascii_alphabetic() => self.setting()?,
                _ => return Err("expected a section or a setting".to_owned()),
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let c = self.chars.next();
        self.line += usize::from(c == Some('\n'));
        c
    }

    fn skip_comment(&mut self) {
        while self.chars.peek().is_some_and(|c| *c != '\n') {
            self.next();
        }
    }

    /// `[section]`, `[section.subsection]` or `[section "subsection"]`.
    fn section(&mut self) -> Result<(), String> {
        self.next();
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
        if name.is_empty() {
            return Err("a section needs a name".to_owned());
        }
        let name = name.to_ascii_lowercase();
        let subsection = match self.next() {
            Some(']') => {
                let (section, subsection) = match name.split_once('.') {
                    Some((section, subsection)) => (section, Some(subsection.to_owned())),
                    None => (name.as_str(), None),
                };
                self.section = Some((section.to_owned(), subsection));
                return Ok(());
            }
            Some(' ' | '\t') => self.quoted_subsection()?,
            _ => return Err("a section's name is not closed".to_owned()),
        };
        self.section = Some((name, Some(subsection)));
        Ok(())
    }

    fn quoted_subsection(&mut self) -> Result<String, String> {
        self.take_while(|c| c == ' ' || c == '\t');
        if self.next() != Some('"') {
            return Err("a subsection stands in quotes".to_owned());
        }
        let mut subsection = String::new();
        loop {
            match self.next() {
                Some('"') => break,
                Some('\\') => match self.next() {
                    Some('\n') | None => return Err("a subsection is not closed".to_owned()),
                    Some(c) => subsection.push(c),
                },
                Some('\n') | None => return Err("a subsection is not closed".to_owned()),
                Some(c) => subsection.push(c),
            }
        }
        match self.next() {
            Some(']') => Ok(subsection),
            _ => Err("a section's name is not closed".to_owned()),
        }
    }

    fn setting(&mut self) -> Result<(), String> {
        let key = self.take_while(|c| c.is_ascii_alphanumeric() || c == '-').to_ascii_lowercase();
        let Some((section, subsection)) = self.section.clone() else {
            return Err("a setting stands before any section".to_owned());
        };
        self.take_while(|c| c == ' ' || c == '\t');
        let value = match self.chars.peek() {
            Some('=') => {
                self.next();
                self.value()?
            }
            // A key alone is `true`.
            Some('\n' | '\r' | '#' | ';') | None => "true".to_owned(),
            Some(_) => return Err(format!("expected `=` after `{key}`")),
        };
        self.settings.push(Setting { section, subsection, key, value });
        Ok(())
    }

    fn value(&mut self) -> Result<String, String> {
        let mut value = String::new();
        // Where the value ends if only white space follows.
        let mut end = 0;
        let mut in_quotes = false;
        self.take_while(|c| c == ' ' || c == '\t');
        loop {
            match self.next() {
                None | Some('\n') if in_quotes => return Err("a quote is not closed".to_owned()),
                None | Some('\n') => break,
                Some('"') => {
                    in_quotes = !in_quotes;
                    end = value.len();
                }
                Some('#' | ';') if !in_quotes => {
                    self.skip_comment();
                    break;
                }
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some('\r') if self.chars.peek() == Some(&'\n') => {
                        self.next();
                    }
                    escape => {
                        value.push(unescape(escape)?);
                        end = value.len();
                    }
                },
                Some(c) => {
                    value.push(c);
                    if in_quotes || !c.is_ascii_whitespace() {
                        end = value.len();
                    }
                }
            }
        }
        value.truncate(end);
        Ok(value)
    }

    fn take_while(&mut self, is_taken: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(c) = self.chars.peek().copied().filter(|c| is_taken(*c)) {
            taken.push(c);
            self.next();
        }
        taken
    }
}

fn unescape(escape: Option<char>) -> Result<char, String> {
    match escape {
        Some('n') => Ok('\n'),
        Some('t') => Ok('\t'),
        Some('b') => Ok('\u{8}'),
        Some(c @ ('"' | '\\')) => Ok(c),
        Some(c) => Err(format!("`\\{}` is no escape of git", c.escape_debug())),
        None => Err("the file ends in an escape".to_owned()),
    }
}

#[cfg(test)]
mod tests;
