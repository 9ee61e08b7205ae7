//! What other clients fill in when they start a server, written as our entries write it.
//!
//! ```text
//! ${NAME}  ${NAME:-default}  ${env:NAME}  {env:NAME}   a variable      ${ENV:NAME}
//! ${input:id}  {file:path}                             asked for, read a variable of its own
//! ${workspaceFolder}  ${userHome}  ${/}                places          ${SANDBOX}  ${HOME}  /
//! ```
//!
//! What nobody but the client can fill in makes an entry that cannot be added. Nothing of a text is
//! repeated in what is said of it, since it may be secret; names of variables are.

use ic_home::environment::{Stay, VARIABLES};

use super::secrets::{constant, is_secret_name, is_secret_text, is_variable};

/// Where a text stands in an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// The program, which our entries write out.
    Command,
    Argument,
    /// The value of a variable.
    Variable,
    Header,
    /// The address of a server on another machine, which our entries write out.
    Address,
    /// Where it runs.
    Directory,
}

/// Which references a client knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Style {
    /// `${NAME}`; also for clients that fill in nothing and leave that to the server.
    Plain,
    /// Those of VS Code, which have names of their own.
    Editor,
    /// Also `$NAME` in headers.
    Goose,
    /// Also `{env:NAME}` and `{file:path}`.
    OpenCode,
}

/// What is known of this machine.
#[derive(Clone, Copy)]
pub(super) struct Machine<'a> {
    /// The user's home directory, if it is text.
    pub(super) home: Option<&'a str>,
    /// Returns whether a variable is set.
    pub(super) is_set: &'a dyn Fn(&str) -> bool,
}

/// The server whose texts are read.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) server: &'a str,
    pub(super) client: &'static str,
    pub(super) style: Style,
    pub(super) machine: Machine<'a>,
    /// Whether a stranger may have written its entry, as those of a project are.
    pub(super) is_strangers: bool,
}

/// A variable that has to be set before the server can be started.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) why: Why,
}

/// What a variable stands for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Why {
    /// A secret that stood in the file, and was not copied.
    Secret,
    /// What the client asks a person for, under this name.
    Asked(String),
    /// What the client reads from a file.
    File,
    /// The client refers to it, too.
    Named,
    /// The client refers to a variable that holds a provider's key, which no server is given.
    Key(&'static str),
    /// A stranger's entry refers to a variable of the user's.
    Strangers(String),
}

/// What an entry needs, and what is to be said of it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Gathered {
    pub(super) variables: Vec<Wanted>,
    pub(super) notes: Vec<String>,
}

/// Something that a client fills in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Reference<'a> {
    Variable { name: &'a str, default: Option<&'a str> },
    Asked(&'a str),
    File(&'a str),
    Folder,
    Home,
    Separator,
}

// === impl Gathered ===

impl Gathered {
    /// Adds a variable that has to be set, once.
    pub(super) fn want(&mut self, wanted: Wanted) {
        if !self.variables.iter().any(|it| it.name == wanted.name) {
            self.variables.push(wanted);
        }
    }

    /// Adds something to be said, once.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds all of `other`.
    pub(super) fn extend(&mut self, other: Self) {
        for wanted in other.variables {
            self.want(wanted);
        }
        for note in other.notes {
            self.note(note);
        }
    }
}

// === impl Context ===

impl Context<'_> {
    /// Writes a text as our entries would; `own` are the variables that the entry itself sets.
    pub(super) fn translate(
        &self,
        place: Place,
        text: &str,
        own: &[(String, String)],
    ) -> Result<(String, Gathered), String> {
        let (mut written, mut gathered) = (String::with_capacity(text.len()), Gathered::default());
        let (mut rest, mut n_meant) = (text, 0);
        while let Some((before, inside, after)) = self.next(place, rest)? {
            written.push_str(before);
            let reference = self.parse(inside).ok_or_else(|| self.unknown(inside))?;
            let meaning = self.meaning(place, reference, own, &mut gathered)?;
            n_meant += meaning.matches("${").count();
            written.push_str(&meaning);
            rest = after;
        }
        written.push_str(rest);
        // SECURITY: what stands around a reference could make another one of it, of any variable.
        match written.matches("${").count() == n_meant {
            true => Ok((written, gathered)),
            false => Err(self.unknown("")),
        }
    }

    /// Returns the variable of ours that stands for the one that the entry calls `name`.
    ///
    /// A provider's key is taken out of our environment, so another one has to stand for it.
    ///
    /// SECURITY: a stranger's entry could name any secret that is in the environment, and have it sent
    /// to an address of its own; so it gets none but those that were set for it.
    pub(super) fn variable(&self, name: &str, why: Why) -> Wanted {
        let key = VARIABLES.iter().find(|it| it.stay == Stay::Removed && it.name == name);
        match (key, why) {
            (Some(key), _) => Wanted { name: self.own(name), why: Why::Key(key.name) },
            (None, Why::Named) if self.is_strangers => {
                Wanted { name: self.own(name), why: Why::Strangers(name.to_owned()) }
            }
            (None, why) if self.is_strangers => Wanted { name: self.own(name), why },
            (None, why) => Wanted { name: name.to_owned(), why },
        }
    }

    /// Returns the name of a variable that is this server's alone.
    ///
    /// SECURITY: a stranger chooses both parts, and would choose those of a variable that is there.
    pub(super) fn own(&self, what: &str) -> String {
        let prefix = if self.is_strangers { "IMPORTED_" } else { "" };
        format!("{prefix}{}_{}", constant(self.server), constant(what))
    }

    /// Finds the next reference: what stands before it, in it, and after it.
    fn next<'t>(
        &self,
        place: Place,
        text: &'t str,
    ) -> Result<Option<(&'t str, &'t str, &'t str)>, String> {
        let starts = |at: usize| {
            let here = text.get(at..).unwrap_or_default();
            let braces = ["{env:", "{file:"].iter().any(|it| here.starts_with(it));
            match self.style {
                _ if here.starts_with("${") => Some(2),
                Style::OpenCode if braces => Some(1),
                Style::Goose if place == Place::Header && here.starts_with('$') => here
                    .get(1..)?
                    .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    .then_some(0),
                _ => None,
            }
        };
        let found = text.char_indices().find_map(|(at, _)| Some((at, starts(at)?)));
        let Some((at, n_open)) = found else { return Ok(None) };
        let before = text.get(..at).unwrap_or_default();
        let inside = text.get(at + n_open.max(1)..).unwrap_or_default();
        if n_open == 0 {
            let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let (name, after) =
                inside.split_at_checked(end.unwrap_or(inside.len())).unwrap_or_default();
            return Ok(Some((before, name, after)));
        }
        let (inside, after) = inside.split_once('}').ok_or("a `${` of it has no end")?;
        Ok(Some((before, inside, after)))
    }

    fn parse<'t>(&self, inside: &'t str) -> Option<Reference<'t>> {
        let variable = |name: &'t str, default| match name {
            "HOME" => Some(Reference::Home),
            _ => is_variable(name).then_some(Reference::Variable { name, default }),
        };
        match inside.split_once(':') {
            Some(("env", name)) => variable(name, None),
            Some(("input", id)) => Some(Reference::Asked(id)),
            Some(("file", path)) if self.style == Style::OpenCode => Some(Reference::File(path)),
            Some(("workspaceFolder" | "workspaceRoot", _)) => Some(Reference::Folder),
            Some((name, default)) => match (self.parse(name)?, default.strip_prefix('-')) {
                (Reference::Variable { name, .. }, Some(default)) => variable(name, Some(default)),
                (place, Some(_)) => Some(place),
                (_, None) => None,
            },
            None => match inside {
                "workspaceFolder" | "workspaceRoot" | "PWD" | "CLAUDE_PROJECT_DIR" => {
                    Some(Reference::Folder)
                }
                "userHome" => Some(Reference::Home),
                "pathSeparator" | "/" => Some(Reference::Separator),
                name if self.style == Style::Editor
                    && name.starts_with(|c: char| c.is_ascii_lowercase()) =>
                {
                    None
                }
                name => variable(name, None),
            },
        }
    }

    fn unknown(&self, inside: &str) -> String {
        let kind = inside.split(':').next().unwrap_or_default();
        let what = match kind.chars().all(|c| c.is_ascii_alphabetic()) && kind.len() < 32 {
            true if inside.contains(':') => format!("`${{{kind}:…}}`"),
            true => format!("`${{{kind}}}`"),
            false => "something".to_owned(),
        };
        format!(
            "it refers to {what}, which {} would fill in and IronCurtain cannot; write it out with `servers add`",
            self.client
        )
    }

    /// Returns what is written for a reference.
    fn meaning(
        &self,
        place: Place,
        reference: Reference<'_>,
        own: &[(String, String)],
        gathered: &mut Gathered,
    ) -> Result<String, String> {
        let is_written_out = matches!(place, Place::Command | Place::Address);
        match reference {
            Reference::Variable { name, default } => {
                // The server, or a shell, finds it in its own environment.
                if let Some((_, value)) = own.iter().find(|(it, _)| it == name) {
                    return self.only_if(
                        !is_written_out || !value.contains("${"),
                        place,
                        value.clone(),
                    );
                }
                if default.is_some_and(|it| it.contains("${")) {
                    return Err(self.unknown(""));
                }
                let wanted = self.variable(name, Why::Named);
                let is_open = |it: &&str| {
                    !(self.machine.is_set)(&wanted.name)
                        && !is_secret_name(name)
                        && !is_secret_text(it)
                };
                if let Some(default) = default.filter(is_open) {
                    gathered.note(format!("`{name}` is not set here, so its default is written"));
                    return Ok(default.to_owned());
                }
                let text =
                    self.only_if(!is_written_out, place, format!("${{ENV:{}}}", wanted.name))?;
                gathered.want(wanted);
                Ok(text)
            }
            Reference::Asked(id) => {
                let variable = self.own(id);
                let can_stand = !is_written_out && place != Place::Directory;
                let text = self.only_if(can_stand, place, format!("${{ENV:{variable}}}"))?;
                gathered.want(Wanted { name: variable, why: Why::Asked(id.to_owned()) });
                Ok(text)
            }
            Reference::File(path) => {
                let variable = self.own(path.rsplit('/').next().unwrap_or_default());
                let can_stand = !is_written_out && place != Place::Directory;
                let text = self.only_if(can_stand, place, format!("${{ENV:{variable}}}"))?;
                gathered.want(Wanted { name: variable, why: Why::File });
                Ok(text)
            }
            Reference::Folder => {
                let can_stand = !is_written_out && place != Place::Header;
                gathered.note(
                    "the folder that is open in the client is written as `${SANDBOX}`, the directory of the \
                     session",
                );
                self.only_if(can_stand, place, "${SANDBOX}".to_owned())
            }
            Reference::Home => match (place, self.machine.home) {
                (Place::Command, Some(home)) => Ok(home.to_owned()),
                (Place::Command | Place::Address, _) => self.only_if(false, place, String::new()),
                _ => Ok("${HOME}".to_owned()),
            },
            Reference::Separator => Ok("/".to_owned()),
        }
    }

    /// Returns `text`, if it can stand in `place`.
    fn only_if(&self, can_stand: bool, place: Place, text: String) -> Result<String, String> {
        let what = match place {
            Place::Command => "its command",
            Place::Address => "its address",
            Place::Directory => "its directory",
            Place::Argument | Place::Variable | Place::Header => "it",
        };
        match can_stand {
            true => Ok(text),
            false => Err(format!(
                "{what} refers to what {} would fill in, and that has to be written out; do so with \
                 `servers add`",
                self.client
            )),
        }
    }
}

/// Returns whether a text of ours is nothing but references: then no secret is in it.
pub(super) fn is_only_references(text: &str) -> bool {
    let mut rest = text;
    while let Some((inside, after)) = rest.strip_prefix("${").and_then(|it| it.split_once('}')) {
        if inside.is_empty() {
            return false;
        }
        rest = after;
    }
    rest.is_empty() && !text.is_empty()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A machine on which only `IS_SET` is set.
    pub(in super::super) fn context(server: &str, style: Style) -> Context<'_> {
        let machine = Machine { home: Some("/home/ada"), is_set: &|name| name == "IS_SET" };
        Context { server, client: "a client", style, machine, is_strangers: false }
    }

    #[track_caller]
    fn check(style: Style, place: Place, text: &str, expected: Result<&str, &str>) {
        let own = [("OWN", "Bearer ${ENV:TOKEN}"), ("HALF", "{ENV:OTHER")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let written = context("far-away", style).translate(place, text, &own).map(|(text, _)| text);
        match (written, expected) {
            (Ok(written), Ok(expected)) => assert_eq!(written, expected, "{text}"),
            (Err(why), Err(part)) => {
                assert!(why.contains(part) && !why.contains("hunter2"), "{text}: {why}");
            }
            (written, expected) => panic!("{text}: {written:?}, not {expected:?}"),
        }
    }

    #[test]
    fn references_of_other_clients_become_ours() {
        use Place::{Argument, Command, Directory, Header, Variable};
        for (style, place, text, expected) in [
            (Style::Plain, Argument, "--x=${A_B}/c", "--x=${ENV:A_B}/c"),
            (Style::Plain, Argument, "${A}${B}", "${ENV:A}${ENV:B}"),
            (Style::Plain, Argument, "$A {env:B} $$ {}", "$A {env:B} $$ {}"),
            (Style::Plain, Variable, "${HOME}/x", "${HOME}/x"),
            (Style::Plain, Argument, "${PWD}", "${SANDBOX}"),
            (Style::Plain, Argument, "${CLAUDE_PROJECT_DIR:-.}/x", "${SANDBOX}/x"),
            (Style::Plain, Argument, "${LEVEL:-3}", "3"),
            (Style::Plain, Argument, "${IS_SET:-3}", "${ENV:IS_SET}"),
            (Style::Plain, Argument, "${API_KEY:-hunter2}", "${ENV:API_KEY}"),
            (Style::Plain, Argument, "Authorization:${OWN}", "Authorization:Bearer ${ENV:TOKEN}"),
            (Style::Plain, Command, "${HOME}/bin/x", "/home/ada/bin/x"),
            (Style::Plain, Command, "${NODE:-node}", "node"),
            (Style::Plain, Variable, "${OPENAI_API_KEY}", "${ENV:FAR_AWAY_OPENAI_API_KEY}"),
            (Style::Editor, Argument, "${env:A}", "${ENV:A}"),
            (Style::Editor, Argument, "${input:my-token}", "${ENV:FAR_AWAY_MY_TOKEN}"),
            (Style::Editor, Argument, "${workspaceFolder:app}${/}x", "${SANDBOX}/x"),
            (Style::Editor, Command, "${userHome}${pathSeparator}x", "/home/ada/x"),
            (Style::Editor, Directory, "${userHome}/x", "${HOME}/x"),
            (Style::OpenCode, Variable, "{env:A}-{env:B}", "${ENV:A}-${ENV:B}"),
            (Style::OpenCode, Header, "{file:~/.secrets/a-key}", "${ENV:FAR_AWAY_A_KEY}"),
            (Style::OpenCode, Argument, "{\"a\": 1}", "{\"a\": 1}"),
            (Style::Goose, Header, "Bearer $A_TOKEN", "Bearer ${ENV:A_TOKEN}"),
            (Style::Goose, Header, "$5 ${A}", "$5 ${ENV:A}"),
            (Style::Goose, Argument, "$A", "$A"),
        ] {
            check(style, place, text, Ok(expected));
        }
    }

    #[test]
    fn what_only_the_client_can_fill_in_is_an_error_that_repeats_no_text() {
        use Place::{Address, Argument, Command, Header};
        for (style, place, text, part) in [
            (Style::Editor, Argument, "${config:a.hunter2}", "`${config:…}`"),
            (Style::Editor, Argument, "${command:hunter2}", "`${command:…}`"),
            (Style::Editor, Argument, "${file}", "`${file}`"),
            (Style::Editor, Argument, "${workspaceFolderBasename}", "`${workspaceFolderBasename}`"),
            (Style::Editor, Header, "${workspaceFolder}", "written out"),
            (Style::Editor, Command, "${workspaceFolder}/x", "its command"),
            (Style::Editor, Command, "${input:x}", "its command"),
            (Style::Plain, Command, "${NODE}", "its command"),
            (Style::Plain, Address, "https://${HOST}/x", "its address"),
            (Style::Plain, Argument, "${hunter2 x}", "something"),
            (Style::Plain, Argument, "${A:?hunter2}", "`${A:…}`"),
            (Style::Plain, Argument, "${A:-${hunter2}}", "refers to"),
            (Style::Plain, Argument, "${A hunter2", "has no end"),
            (Style::Plain, Argument, "${}", "refers to"),
            // Around a reference, the rest of another one.
            (Style::Plain, Argument, "$${A:-}{ENV:OTHER}", "refers to"),
            (Style::Plain, Header, "Bearer $${A:-{ENV:OTHER}}", "refers to"),
            (Style::Plain, Argument, "$${HALF}}", "refers to"),
        ] {
            check(style, place, text, Err(part));
        }
    }

    /// What is in the environment is the user's, and a project does not choose from it.
    #[test]
    fn a_strangers_entry_gets_no_variable_by_its_own_name() {
        let strangers = Context { is_strangers: true, ..context("far-away", Style::OpenCode) };
        for (text, expected) in [
            ("${A_TOKEN}", "${ENV:IMPORTED_FAR_AWAY_A_TOKEN}"),
            ("${env:A_TOKEN}", "${ENV:IMPORTED_FAR_AWAY_A_TOKEN}"),
            ("{env:A_TOKEN}", "${ENV:IMPORTED_FAR_AWAY_A_TOKEN}"),
            ("${IS_SET:-3}", "3"),
            ("${A_TOKEN:-3}", "${ENV:IMPORTED_FAR_AWAY_A_TOKEN}"),
            ("${HOME}", "${HOME}"),
        ] {
            for place in [Place::Argument, Place::Variable, Place::Header] {
                let (written, _) = strangers.translate(place, text, &[]).unwrap();
                assert_eq!(written, expected, "{text}");
            }
        }
        let kept = strangers.variable("A_TOKEN", Why::Secret);
        assert_eq!((kept.name.as_str(), kept.why), ("IMPORTED_FAR_AWAY_A_TOKEN", Why::Secret));
    }

    #[test]
    fn only_references_are_told_from_what_may_hold_a_secret() {
        for (text, expected) in [
            ("${ENV:A}", true),
            ("${ENV:A}${HOME}", true),
            ("", false),
            ("x${ENV:A}", false),
            ("${ENV:A}x", false),
            ("${}", false),
        ] {
            assert_eq!(is_only_references(text), expected, "{text}");
        }
    }
}
