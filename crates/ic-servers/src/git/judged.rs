//! Where a call goes: the remote that it means, as the one URL that git is given.
//!
//! The config is read once more here, and may have been changed since the call was judged. So what
//! comes out has to be among the URLs that were judged, or nothing is reached. Nothing is judged here.

use ic_resolve::git::config::Setting;
use ic_resolve::remote::{self, Remote};

use super::fault::Fault;
use crate::filesystem::show;

/// What is done with a remote.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Way {
    /// Something is brought from it.
    Fetch,
    /// Something is sent to it.
    Push,
}

/// How a remote is spoken to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Transport {
    Https,
    Ssh,
}

/// A remote that was judged.
///
/// Invariant: `url` is one of the URLs that the call was judged about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct JudgedRemote {
    /// What it is called in the repository, if it has a name there.
    pub(super) name: Option<String>,
    /// What git is given.
    pub(super) url: String,
    pub(super) transport: Transport,
}

impl JudgedRemote {
    /// Finds the remote that `text` means, or the one that git takes if nothing is said.
    pub(super) fn find(
        settings: &[Setting],
        branch: Option<&str>,
        text: Option<&str>,
        way: Way,
        judged: &[String],
    ) -> Result<Self, Fault> {
        let config = Config(settings);
        let meant = match text {
            Some(text) => text.to_owned(),
            None => config.usual(branch, way),
        };
        let (name, url) = match config.url(&meant, way)? {
            Some(url) => (Some(meant), url),
            None => (None, config.rewritten(&meant, way).unwrap_or(meant)),
        };
        Self::of_url(&url, judged).map(|remote| Self { name, ..remote })
    }

    /// Takes a URL, if it was judged.
    pub(super) fn of_url(text: &str, judged: &[String]) -> Result<Self, Fault> {
        let value = match remote::parse(text) {
            Ok(Remote::Network(value)) => value,
            Ok(Remote::Local(_)) => {
                return Err(Fault::Not(format!(
                    "`{}` is a directory of this machine: remotes are reached by https or ssh",
                    show::text(text)
                )));
            }
            Ok(Remote::Name(_)) => {
                return Err(Fault::Revision {
                    text: text.to_owned(),
                    reason: "is not a remote of this repository",
                });
            }
            Err(fault) => {
                return Err(Fault::Not(format!("`{}`: {fault}", show::text(text))));
            }
        };
        // SECURITY: this is the one place where a URL comes to be used.
        if !judged.contains(&value.text) {
            return Err(Fault::Not(format!(
                "`{}` is not what was judged, so nothing was done: the repository's remotes changed \
                 meanwhile, or `path` was not named; try again",
                show::text(&value.text)
            )));
        }
        // What git would take for another transport cannot be read as a remote on the network.
        let transport = match value.text.starts_with("https://") {
            true => Transport::Https,
            false => Transport::Ssh,
        };
        if transport == Transport::Ssh && user(&value.text).is_none() {
            return Err(Fault::Not(format!(
                "`{}` names no user: write it, as in `git@host:path`",
                show::text(&value.text)
            )));
        }
        Ok(Self { name: None, url: value.text, transport })
    }
}

/// Returns the user of an ssh URL.
pub fn user(url: &str) -> Option<&str> {
    let authority = match url.split_once("://") {
        Some((_, rest)) => rest.split('/').next()?,
        None => url.split([':', '/']).next()?,
    };
    authority.split_once('@').map(|(user, _)| user).filter(|user| !user.is_empty())
}

struct Config<'a>(&'a [Setting]);

impl<'a> Config<'a> {
    /// Returns the remote that git takes if none is named.
    fn usual(&self, branch: Option<&str>, way: Way) -> String {
        let of_branch = |key| branch.and_then(|name| self.values("branch", Some(name), key).last());
        let pushed = || {
            of_branch("pushremote").or_else(|| self.values("remote", None, "pushdefault").last())
        };
        let named = match way {
            Way::Push => pushed().or_else(|| of_branch("remote")),
            Way::Fetch => of_branch("remote"),
        };
        let mut names: Vec<&str> = self
            .0
            .iter()
            .filter(|it| it.section == "remote")
            .filter_map(|it| it.subsection.as_deref())
            .collect();
        names.sort_unstable();
        names.dedup();
        match (named, names.as_slice()) {
            (Some(named), _) => named.to_owned(),
            (None, [only]) => (*only).to_owned(),
            (None, _) => "origin".to_owned(),
        }
    }

    /// Returns the URL behind a name; `None` if there is no remote of that name.
    fn url(&self, name: &str, way: Way) -> Result<Option<String>, Fault> {
        let urls: Vec<&str> = self.values("remote", Some(name), "url").collect();
        let pushed: Vec<&str> = self.values("remote", Some(name), "pushurl").collect();
        let urls: Vec<String> = match (way, pushed.as_slice()) {
            (Way::Push, [_, ..]) => pushed
                .iter()
                .map(|url| self.replaced(url, "insteadof").unwrap_or_else(|| (*url).to_owned()))
                .collect(),
            (Way::Push, []) => urls
                .iter()
                .map(|url| self.rewritten(url, way).unwrap_or_else(|| (*url).to_owned()))
                .collect(),
            (Way::Fetch, _) => urls
                .first()
                .map(|url| self.rewritten(url, way).unwrap_or_else(|| (*url).to_owned()))
                .into_iter()
                .collect(),
        };
        match urls.as_slice() {
            [] => Ok(None),
            [url] => Ok(Some(url.clone())),
            [_, _, ..] => Err(Fault::Not(format!(
                "the remote `{}` has several URLs to push to; name one of them as `remote`",
                show::text(name)
            ))),
        }
    }

    /// Returns what git makes of a URL.
    fn rewritten(&self, url: &str, way: Way) -> Option<String> {
        let pushed = match way {
            Way::Push => self.replaced(url, "pushinsteadof"),
            Way::Fetch => None,
        };
        pushed.or_else(|| self.replaced(url, "insteadof"))
    }

    /// Replaces the longest beginning that a `url.<base>.<key>` names.
    fn replaced(&self, url: &str, key: &str) -> Option<String> {
        let of_key = self.0.iter().filter(|it| it.section == "url" && it.key == key);
        let matching = of_key.filter_map(|it| {
            let rest = url.strip_prefix(it.value.as_str())?;
            Some((it.value.len(), format!("{}{rest}", it.subsection.as_deref()?)))
        });
        matching.max_by_key(|(n_bytes, _)| *n_bytes).map(|(_, url)| url)
    }

    fn values(
        &self,
        section: &'static str,
        subsection: Option<&str>,
        key: &'static str,
    ) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |it| it.section == section && it.key == key)
            .filter(move |it| it.subsection.as_deref() == subsection)
            .map(|it| it.value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ic_resolve::git::config::parse;

    const CONFIG: &str = "[remote \"origin\"]\nurl = https://a.example/o/r\n\
        pushurl = git@b.example:o/r\n[remote \"two\"]\nurl = https://x.example/1\n\
        url = https://x.example/2\n[remote \"here\"]\nurl = /tmp/r\n\
        [remote \"plain\"]\nurl = sc:r\n[url \"https://c.example/\"]\ninsteadOf = sc:\n\
        [url \"ssh://git@d.example/\"]\npushInsteadOf = sc:\n\
        [branch \"main\"]\nremote = plain\npushRemote = origin\n\
        [branch \"lit\"]\nremote = https://e.example/x\n\
        [remote \"nobody\"]\nurl = ssh://f.example/x\n[remote \"ext\"]\nurl = ext::sh -c x\n";

    #[track_caller]
    fn check(text: Option<&str>, branch: &str, way: Way, expected: Result<&str, &str>) {
        let judged = [
            "https://a.example/o/r",
            "git@b.example:o/r",
            "https://c.example/r",
            "ssh://git@d.example/r",
            "https://e.example/x",
            "ssh://f.example/x",
            "https://x.example/1",
        ]
        .map(str::to_owned);
        let settings = parse(CONFIG).unwrap();
        let found = JudgedRemote::find(&settings, Some(branch), text, way, &judged);
        match (found, expected) {
            (Ok(remote), Ok(url)) => assert_eq!(remote.url, url),
            (Err(fault), Err(part)) => assert!(fault.to_string().contains(part), "{fault}"),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }

    #[test]
    fn git_is_given_the_url_that_it_would_take_itself_if_that_was_judged() {
        use Way::{Fetch, Push};
        check(Some("origin"), "x", Fetch, Ok("https://a.example/o/r"));
        check(Some("origin"), "x", Push, Ok("git@b.example:o/r"));
        check(Some("plain"), "x", Fetch, Ok("https://c.example/r"));
        check(Some("plain"), "x", Push, Ok("ssh://git@d.example/r"));
        check(None, "main", Fetch, Ok("https://c.example/r"));
        check(None, "main", Push, Ok("git@b.example:o/r"));
        check(None, "lit", Fetch, Ok("https://e.example/x"));
        check(None, "other", Fetch, Ok("https://a.example/o/r"));
        check(Some("two"), "x", Fetch, Ok("https://x.example/1"));
        check(Some("https://e.example/x"), "x", Push, Ok("https://e.example/x"));
        check(Some("sc:r"), "x", Push, Ok("ssh://git@d.example/r"));
    }

    #[test]
    fn what_was_not_judged_is_not_given_to_git() {
        use Way::{Fetch, Push};
        check(Some("https://evil.example/x"), "x", Fetch, Err("not what was judged"));
        check(Some("https://a.example/o/other"), "x", Fetch, Err("not what was judged"));
        check(Some("two"), "x", Push, Err("several URLs"));
        check(Some("here"), "x", Fetch, Err("directory of this machine"));
        check(Some("file:///tmp/r"), "x", Fetch, Err("directory of this machine"));
        check(Some("nobody"), "x", Fetch, Err("names no user"));
        check(Some("missing"), "x", Fetch, Err("not a remote"));
        check(Some("ext"), "x", Fetch, Err("ext::"));
        check(Some("--upload-pack=x"), "x", Fetch, Err("`--upload-pack=x`"));
        check(Some("ssh://-oProxyCommand=x/y"), "x", Fetch, Err("-oProxyCommand"));
        check(Some("http://a.example/o/r"), "x", Fetch, Err("http:"));
    }

    #[test]
    fn the_user_stands_before_the_host() {
        for (url, expected) in [
            ("ssh://git@a.example:22/x", Some("git")),
            ("git@a.example:x@y", Some("git")),
            ("ssh://a.example/x@y", None),
            ("a.example:x", None),
            ("ssh://@a/x", None),
        ] {
            assert_eq!(user(url), expected, "{url}");
        }
    }
}
