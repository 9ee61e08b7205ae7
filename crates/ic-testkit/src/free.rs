//! The worked examples from free wordings, and the plain sentences that were proposed for them, recorded.

use serde_json::{Value, json};

/// A free wording, and the plain sentences that were proposed for it.
pub type Wording = (&'static str, &'static [&'static str]);

/// A worked example.
#[derive(Debug)]
pub struct Example {
    /// Its name, without what makes it a file's.
    pub name: &'static str,
    /// What stays plain: it is about servers that are not there.
    pub plain: &'static str,
    /// The rest of it.
    pub free: &'static [Wording],
}

impl Example {
    /// Returns the constitution in these wordings.
    pub fn constitution(&self) -> String {
        let wordings: Vec<&str> = self.free.iter().map(|(wording, _)| *wording).collect();
        let free = wordings.join(".\n\n");
        format!("{}\n{free}.\n", self.plain)
    }

    /// Returns what the model answered: plain sentences, and no calls that test them.
    pub fn answers(&self) -> [Value; 2] {
        let statement =
            |(at, (_, sentences)): (usize, &Wording)| json!({"id": at + 1, "sentences": sentences});
        let statements: Vec<Value> = self.free.iter().enumerate().map(statement).collect();
        [json!({"statements": statements}), json!({"scenarios": []})]
    }
}

/// All of them.
pub const EXAMPLES: [Example; 5] = [
    Example {
        name: "family",
        plain: "",
        free: &[
            (
                "Feel free to look at what we have in Pictures and Music and at the school folder in the home \
                 directory",
                &["The agent may read files in ~/Pictures, ~/Music and ~/school."],
            ),
            (
                "Homework (the folder of that name, under school) can be worked on too",
                &["The agent may write files in ~/school/homework."],
            ),
            (
                "Check with me first if a picture is going to be altered",
                &["Ask before writing files in ~/Pictures."],
            ),
            (
                "Nothing gets thrown away, ever: nobody here makes backups",
                &["The agent must never delete files."],
            ),
            ("No shell for you", &["The agent must never run commands."]),
            (
                "For looking things up, Wikipedia in any language and Britannica Kids are fine, the rest of the \
                 internet goes past me",
                &[
                    "The agent may fetch pages from *.wikipedia.org and kids.britannica.com.",
                    "Ask before fetching pages from the web.",
                ],
            ),
            (
                "Leave the router and the other boxes at home alone",
                &["The agent must never fetch pages from local addresses."],
            ),
            ("Writing emails is not your job", &["The agent must never send mail."]),
            ("Whatever I forgot: no", &["Everything else is refused."]),
        ],
    },
    Example {
        name: "researcher",
        plain: "",
        free: &[
            (
                "My papers and notes are open to you, for looking",
                &["The agent may read files in ~/papers and ~/notes."],
            ),
            ("Tools that touch nothing are fine", &["The agent may use tools without resources."]),
            (
                "Sources: the arXiv, Wikipedia (all languages) and docs.rs",
                &["The agent may fetch pages from arxiv.org, *.wikipedia.org and docs.rs."],
            ),
            (
                "Any other site goes past me first, as an address can carry out what was read",
                &["Ask before fetching pages from the web."],
            ),
            (
                "This is a job for looking only: leave everything on the disk and in every repository as it is, keep \
                 off the remotes and off the shell",
                &[
                    "The agent must never write files.",
                    "The agent must never delete files.",
                    "The agent must never commit, branch and tag.",
                    "The agent must never rewrite history.",
                    "The agent must never deal with git remotes.",
                    "The agent must never run commands.",
                ],
            ),
            ("Whatever I forgot: no", &["Everything else is refused."]),
        ],
    },
    Example {
        name: "developer",
        plain: "",
        free: &[
            (
                "Do what you want with files in the code directory of the home",
                &["The agent may read, write and delete files in ~/code."],
            ),
            (
                "The repositories there take your commits, branches and tags, what is committed stays as it is until \
                 I agree",
                &[
                    "The agent may commit, branch and tag in ~/code.",
                    "Ask before rewriting history in ~/code.",
                ],
            ),
            ("Builds and tests can be run from there", &["The agent may run commands in ~/code."]),
            (
                "The deploy directory in it goes to production, so hold it up to me before touching anything",
                &["Ask before writing and deleting files in ~/code/deploy."],
            ),
            (
                "System headers and such (/usr) are fine to look at",
                &["The agent may read files in /usr."],
            ),
            (
                "Documentation: docs.rs, crates.io, everything of rust-lang.org, other sites after a nod of mine, and \
                 nothing on this network",
                &[
                    "The agent may fetch pages from docs.rs, crates.io and *.rust-lang.org.",
                    "Ask before fetching pages from the web.",
                    "The agent must never fetch pages from local addresses.",
                ],
            ),
            (
                "GitHub, in either direction, is mine to approve",
                &["Ask before pushing to or pulling from github.com."],
            ),
            ("As for the rest, come to me", &["Everything else is for a person to decide."]),
        ],
    },
    Example {
        name: "ci-bot",
        plain: "",
        free: &[
            (
                "Everything beneath /builds is yours to look at and to fill",
                &["The agent may read and write files in /builds."],
            ),
            (
                "Clean up in its tmp directory, and nowhere besides",
                &[
                    "The agent may delete files in /builds/tmp.",
                    "The agent must never delete files anywhere else.",
                ],
            ),
            (
                "Commits, branches and tags in /builds are fine, a rewritten past is not",
                &[
                    "The agent may commit, branch and tag in /builds.",
                    "The agent must never rewrite history.",
                ],
            ),
            ("Run things from /builds/tmp", &["The agent may run commands in /builds/tmp."]),
            (
                "Packages come from the registries of npm and Python and from no other site",
                &[
                    "The agent may only fetch pages from registry.npmjs.org, pypi.org and files.pythonhosted.org.",
                ],
            ),
            (
                "The one remote that counts is github.com/acme/app, for pulling",
                &["The agent may only pull from github.com/acme/app."],
            ),
            ("Whatever I forgot: no", &["Everything else is refused."]),
        ],
    },
    Example {
        name: "assistant",
        plain: "The agent may read files in ~/Documents/drafts with attach_file of mail.\n\
                The agent may send mail to people in @family with mail.\n\
                The agent may use list_events and get_event of calendar.\n\
                Ask before using tools of calendar.\n",
        free: &[
            (
                "My documents are there for you to look at",
                &["The agent may read files in ~/Documents."],
            ),
            (
                "Put what you write under drafts there",
                &["The agent may write files in ~/Documents/drafts."],
            ),
            (
                "What doctors wrote (the medical folder) is nobody's business",
                &["The agent must never read files in ~/Documents/medical."],
            ),
            ("Show me each mail before it goes out", &["Ask before sending mail."]),
            ("As for the rest, come to me", &["Everything else is for a person to decide."]),
        ],
    },
];
