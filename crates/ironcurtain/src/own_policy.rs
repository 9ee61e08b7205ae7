//! The user's own policy: made from a built-in one, and changed one addition at a time.
//!
//! The caller has shown what would change ([`preview`]) and asked; here the change is noted in the
//! home's log of policy changes and made, under a lock and whole or not at all. A session that runs keeps
//! the policy that it has: what is changed here holds for sessions that are opened later.

pub(crate) mod always;
pub(crate) mod constitution;
pub(crate) mod content;
pub(crate) mod difference;
pub(crate) mod english;
pub(crate) mod force;
pub(crate) mod meaning;
pub(crate) mod preview;
pub(crate) mod template;
pub(crate) mod words;

use std::path::PathBuf;

use ic_constitution::Tool;
use ic_home::{Clock as _, Environment, Home, Lock, SystemClock, file};
use ic_opening::policy::{ADDITIONS, As, Loaded, NoSandbox, Origin, Wanted};
use ic_policy::additions::{self, Addition};
use ic_policy::artifact::Source;
use ic_policy::{Builtin, Effect};
use ic_resolve::RealDisk;
use ic_resolve::path::{self, Last};
use ic_types::{CanonicalPath, Json, Object};

use crate::error::Failure;
use crate::files;
use crate::judge;
use crate::own_policy::constitution::{CONSTITUTION, Made};
use crate::own_policy::content::Content;
use crate::own_policy::difference::{Difference, Settings};
use crate::own_policy::force::{append, is_in_force, use_policy};
use crate::screen::Screen;

/// How many copies of one built-in policy are made without being asked for by name.
const COPIES_MAX: u32 = 100;

/// The policy that a change goes to.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Its directory.
    pub(crate) directory: PathBuf,
    /// The built-in policy that it is to be a copy of, if it is not there yet.
    pub(crate) copy_of: Option<Builtin>,
    /// The name to put into the configuration, if another policy is in force now.
    pub(crate) becomes: Option<String>,
    /// The policy that is in force without `--policy`.
    wanted: Option<PathBuf>,
}

/// What is changed in a policy.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// These are added.
    Add(Vec<Addition>),
    /// These are taken away.
    Remove(Vec<Addition>),
}

/// Who makes a change, and who agreed to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// The command, or the kind of terminal.
    pub(crate) by: &'static str,
    /// How the user agreed, or that nobody had to.
    pub(crate) how: &'static str,
}

impl Target {
    /// Returns how commands name the policy; `None` if it is the one that is in force.
    pub(crate) fn option(&self) -> Option<String> {
        let named = self.wanted.as_ref().filter(|_| self.becomes.is_none())?;
        Some(format!(" --policy {}", named.display()))
    }

    /// Finds the policy to change: the one that is in force or `named`; a copy if that is built in.
    pub(crate) fn find(
        named: Option<PathBuf>,
        loaded: &Loaded,
        home: &Home,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let builtin = match &loaded.found {
            Origin::Directory(directory) => {
                let directory = directory.as_path().to_owned();
                return Ok(Self { directory, copy_of: None, becomes: None, wanted: named });
            }
            Origin::Builtin(builtin) => *builtin,
        };
        let name = format!("my-{}", builtin.name());
        if named.is_some() {
            // What was named for one session stays what it is.
            let directory = home.policies().join(name);
            let copy_of = file::names(&directory)?.is_none().then_some(builtin);
            return Ok(Self { directory, copy_of, becomes: None, wanted: named });
        }
        // Whoever makes it holds the lock until it is in force.
        let is_made = file::names(home.policies().join(&name))?.is_some();
        let _lock = is_made.then(|| Lock::acquire(home.policies_lock())).transpose()?;
        if is_in_force(&name, home, environment)? {
            // Another process made it since the policy was loaded.
            let directory = home.policies().join(name);
            return Ok(Self { directory, copy_of: None, becomes: None, wanted: None });
        }
        // SECURITY: one that is there is not in force and may allow more, so it is left as it is.
        let name = unused_name(&name, home)?;
        let directory = home.policies().join(&name);
        Ok(Self { directory, copy_of: Some(builtin), becomes: Some(name), wanted: None })
    }

    /// Returns what the policy is called.
    pub(crate) fn name(&self) -> String {
        let name = self.directory.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_named = self.directory.parent().is_some_and(|it| it.ends_with("policies"));
        match (name, is_named) {
            (Some(name), true) => name,
            (_, _) => self.directory.display().to_string(),
        }
    }

    /// Says where the change goes, and what else comes with it.
    pub(crate) fn describe(&self) -> Vec<String> {
        let name = self.name();
        let mut lines = vec![match self.copy_of {
            Some(builtin) => {
                format!("policy: `{name}`, a copy of the built-in `{}` made now", builtin.name())
            }
            None => format!("policy: `{name}` ({})", self.directory.display()),
        }];
        match (&self.becomes, &self.wanted) {
            (Some(_), _) => lines.push(format!("`{name}` becomes the policy in force")),
            (None, Some(wanted)) if self.directory != *wanted => lines
                .push(format!("start sessions with `--policy {name}` for this to hold in them")),
            (None, _) => {}
        }
        lines
    }

    /// Returns what is changed in it: its sentences, or what was added to rules without any.
    pub(crate) fn content(&self) -> Result<Content, Failure> {
        if let Some(builtin) = self.copy_of {
            let name = self.name();
            return Ok(Content::Constitution(template::constitution(&name, builtin)));
        }
        let path = self.directory.join(ADDITIONS);
        let added = match files::read_if_present(&path)? {
            Some(bytes) => {
                let file = path.display().to_string();
                additions::read(Source { file: &file, bytes: &bytes })?
            }
            None => Vec::new(),
        };
        // A home from before sentences has both, and goes on as it began.
        match added.is_empty() {
            true => Ok(match constitution::source_of(&self.directory)? {
                Some((_, text)) => Content::Constitution(text),
                None => Content::Additions(added),
            }),
            false => Ok(Content::Additions(added)),
        }
    }

    /// Returns the policy to load before it is changed.
    pub(crate) fn policy(&self) -> PathBuf {
        match self.copy_of {
            Some(builtin) => PathBuf::from(builtin.name()),
            None => self.directory.clone(),
        }
    }

    /// Compiles the sentences for this policy.
    pub(crate) fn made(&self, text: &str, tools: &[Tool]) -> Result<Made, Failure> {
        let made = Made::of(text, tools, &self.directory, Vec::new());
        made.map_err(|error| error.of(&self.directory.join(CONSTITUTION).display().to_string()))
    }

    /// Loads the policy as it would be with this content.
    pub(crate) fn load_with(
        &self,
        content: &Content,
        tools: &[Tool],
        environment: &Environment,
        screen: &mut Screen,
    ) -> Result<Loaded, Failure> {
        self.with(content, tools, |wanted, how| {
            judge::load_as(wanted, NoSandbox::None, how, environment, screen)
        })
    }

    /// Loads the policy in all surroundings, as it is.
    pub(crate) fn settings(&self, environment: &Environment) -> Result<Settings, Failure> {
        Settings::load_as(&self.to_load(), As::IS, environment, &mut Screen::silent())
    }

    /// Loads the policy in all surroundings, as it would be with this content.
    pub(crate) fn settings_with(
        &self,
        content: &Content,
        tools: &[Tool],
        environment: &Environment,
    ) -> Result<Settings, Failure> {
        self.with(content, tools, |wanted, how| {
            Settings::load_as(wanted, how, environment, &mut Screen::silent())
        })
    }

    /// Has `load` load the policy as it would be with this content.
    fn with<T>(
        &self,
        content: &Content,
        tools: &[Tool],
        load: impl FnOnce(&Wanted, As<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let load = |how: As<'_>| load(&self.to_load(), As { confirmed: As::IS.confirmed, ..how });
        match content {
            Content::Additions(all) => {
                let bytes = additions::write(all).into_bytes();
                load(As { additions: Some(&bytes), ..As::IS })
            }
            Content::Constitution(text) => load(self.made(text, tools)?.load_as()),
        }
    }

    /// Returns what is loaded: this policy, in no place.
    fn to_load(&self) -> Wanted {
        let policy = Some(self.policy());
        Wanted { policy, sandbox: None, protected: Vec::new(), servers: None }
    }

    /// Makes the change, after it was noted.
    pub(crate) fn apply(
        &self,
        change: &Change,
        agreed: Agreed,
        environment: &Environment,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let home = Home::new(environment.ironcurtain_home()?);
        home.prepare()?;
        let _lock = Lock::acquire(home.policies_lock())?;
        // Another process may have made it meanwhile.
        let is_there = file::names(&self.directory)?.is_some();
        if let (true, Some(_), Some(name)) = (is_there, self.copy_of, &self.becomes)
            && !is_in_force(name, &home, environment)?
        {
            // SECURITY: nobody was shown what it allows.
            return Err(Failure::config(format!("the policy `{name}` was made meanwhile"))
                .with_hint("do it again: the change then goes to another copy"));
        }
        let target = match self.copy_of {
            Some(_) if is_there => Self { copy_of: None, ..self.clone() },
            _ => self.clone(),
        };
        let settings_before = target.settings(environment)?;
        let tools = english::tools(&settings_before.session);
        let before = target.content()?;
        if let Content::Constitution(_) = before {
            screen.notice("compiling and testing the sentences …");
        }
        let after = change.on(&before, agreed.by, &tools)?;
        let settings_after = target.settings_with(&after, &tools, environment)?;
        if let Content::Constitution(text) = &after {
            // The log follows once the engine has found the policy to be what its sentences say.
            target.made(text, &tools)?.verify(target.policy(), environment, screen)?;
        }
        target.note(change, agreed, &home, (&settings_before, &settings_after))?;
        target.write(&after, &tools, &home)?;
        if let Some(name) = &target.becomes {
            use_policy(name, &home, environment)?;
        }
        target.remember_roots(&home, environment, screen)
    }

    /// Writes what the policy is from now on.
    fn write(&self, content: &Content, tools: &[Tool], home: &Home) -> Result<(), Failure> {
        match (content, self.copy_of) {
            (Content::Constitution(text), Some(builtin)) => {
                template::write(&self.directory, builtin, &self.made(text, tools)?, home)
            }
            (Content::Constitution(text), None) => {
                let source = constitution::source_of(&self.directory)?;
                let source = source.map_or_else(|| self.directory.join(CONSTITUTION), |it| it.0);
                self.made(text, tools)?.write(&self.directory, &source)
            }
            (Content::Additions(all), _) => {
                let path = self.directory.join(ADDITIONS);
                Ok(file::replace(&path, additions::write(all).as_bytes())?)
            }
        }
    }

    /// Takes other sentences for those of the policy, after it was noted; the caller holds the lock.
    pub(crate) fn replace(
        &self,
        made: &Made,
        agreed: Agreed,
        (before, after, difference): (&Loaded, &Loaded, &Difference),
        home: &Home,
        environment: &Environment,
    ) -> Result<(), Failure> {
        let mut line = Object::new();
        line.insert("timestamp", SystemClock.now().to_string());
        line.insert("policy", self.directory.display().to_string());
        line.insert("change", "edit");
        line.insert("by", agreed.by);
        line.insert("agreed", agreed.how);
        line.insert("policyHashBefore", before.judge.policy.hash().to_string());
        line.insert("policyHashAfter", after.judge.policy.hash().to_string());
        difference.note(&mut line);
        append(home, &Json::Object(line))?;
        if let Some(builtin) = self.copy_of {
            template::write(&self.directory, builtin, made, home)?;
        } else {
            // What was added is among the sentences now.
            let added = self.directory.join(ADDITIONS);
            if files::read_if_present(&added)?.is_some() {
                file::remove(&added)?;
            }
            let above = self.directory.parent().map(|it| it.join(CONSTITUTION));
            let above = above.filter(|_| self.directory.ends_with("generated"));
            let source = above.unwrap_or_else(|| self.directory.join(CONSTITUTION));
            made.write(&self.directory, &source)?;
        }
        if let Some(name) = &self.becomes {
            use_policy(name, home, environment)?;
        }
        let mut silent = Screen::silent();
        self.remember_roots(home, environment, &mut silent)
    }

    /// Takes note of where its directories lead, unless one of them leads elsewhere than it did.
    fn remember_roots(
        &self,
        home: &Home,
        environment: &Environment,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let policy = Some(self.directory.clone());
        let wanted = Wanted { policy, sandbox: None, protected: Vec::new(), servers: None };
        let loaded = judge::load(&wanted, NoSandbox::None, environment, screen)?;
        Ok(loaded.roots.remember(&loaded.origin, home)?)
    }

    /// Writes a line to the home's log of policy changes.
    fn note(
        &self,
        change: &Change,
        agreed: Agreed,
        home: &Home,
        (before, after): (&Settings, &Settings),
    ) -> Result<(), Failure> {
        let (what, entries) = match change {
            Change::Add(entries) => ("add", entries),
            Change::Remove(entries) => ("remove", entries),
        };
        let entries: Vec<Json> = entries.iter().map(|it| Json::from(it.to_string())).collect();
        let mut line = Object::new();
        line.insert("timestamp", SystemClock.now().to_string());
        line.insert("policy", self.directory.display().to_string());
        line.insert("change", what);
        line.insert("entries", entries);
        line.insert("by", agreed.by);
        line.insert("agreed", agreed.how);
        line.insert("policyHashBefore", before.session.judge.policy.hash().to_string());
        line.insert("policyHashAfter", after.session.judge.policy.hash().to_string());
        Difference::shown_of(before, after).note(&mut line);
        append(home, &Json::Object(line))
    }
}

impl Change {
    /// Returns whether something may be allowed, or asked about, that is not now.
    pub(crate) fn may_widen(&self) -> bool {
        match self {
            Self::Add(entries) => entries.iter().any(|it| it.effect() != Effect::Deny),
            Self::Remove(entries) => entries.iter().any(|it| it.effect() != Effect::Allow),
        }
    }

    /// Returns what it adds or takes away.
    pub(crate) fn entries(&self) -> &[Addition] {
        match self {
            Self::Add(entries) | Self::Remove(entries) => entries,
        }
    }
}

/// Returns `name`, or the first of `name-2`, `name-3` and so on that no policy has.
fn unused_name(name: &str, home: &Home) -> Result<String, Failure> {
    let numbered = (2..=COPIES_MAX).map(|number| format!("{name}-{number}"));
    for name in std::iter::once(name.to_owned()).chain(numbered) {
        if file::names(home.policies().join(&name))?.is_none() {
            return Ok(name);
        }
    }
    Err(Failure::config(format!("there are {COPIES_MAX} policies `{name}` already")).with_hint(
        "remove those that you do not need, or choose one with `ironcurtain policy use`",
    ))
}

/// Returns how a directory is written in an addition: from the home, if it lies there.
pub(crate) fn spelled(path: &CanonicalPath, environment: &Environment) -> Result<String, Failure> {
    let home = environment.home()?;
    let home = path::follow(&RealDisk, &home, Last::Follow).map_err(|fault| {
        Failure::environment("cannot find the home directory").with_source(fault)
    })?;
    if let (true, Ok(rest)) =
        (path.is_within(&home.path), path.as_path().strip_prefix(home.path.as_path()))
        && let Some(rest) = rest.to_str()
    {
        return Ok(if rest.is_empty() { "~".to_owned() } else { format!("~/{rest}") });
    }
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| Failure::usage("the path of the directory is not valid Unicode"))
}
